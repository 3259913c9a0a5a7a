# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""softmax and log-softmax of few long rows, with the bits of softmax.py: a row's 1024 lanes are spread
over programs, and a lane's elements stay in one of them, in order.

    row      x[0] .. x[n - 1]                     lanes of a program       elements of lane j
    _tops    the maximum of each CHUNK            -                        -
    _sums    8 programs                           128 each                 j, j + 1024, j + 2048, ...
    _finish  a program per CHUNK                  all 1024 sums, by halves
"""
import torch
import triton
import triton.language as tl

from detgemm.torch import order
from detgemm.torch.kernels.arithmetic import exp, log, rounded, tree
from detgemm.torch.kernels.launch import TYPES

CHUNK, SHARE = 4096, 128
WIDTH = tl.constexpr(order.LANES)


def serve(rows, n):
    """Whether rows of n elements are spread over programs, which is 2.7 to 8 times as fast for 1 to 128
    rows of 151936; a grid has at most 65535 of them."""
    return 0 < rows < 65536 and n >= 8 * CHUNK


@triton.jit
def _tops(x, tops, n, CHUNK: tl.constexpr):
    row, part = tl.program_id(1).to(tl.int64), tl.program_id(0)
    at = part * CHUNK + tl.arange(0, CHUNK)
    wide = tl.load(x + row * n + at, mask=at < n, other=float("-inf")).to(tl.float32)
    tl.store(tops + row * tl.num_programs(0) + part, tl.max(wide, axis=0))


@triton.jit
def _top(tops, row, parts, PARTS: tl.constexpr):
    part = tl.arange(0, PARTS)
    return tl.max(tl.load(tops + row * parts + part, mask=part < parts, other=float("-inf")), axis=0)


@triton.jit
def _term(wide, at, n, top):
    return tl.where(at < n, exp(wide.to(tl.float32) - top), 0.0)


@triton.jit
def _sums(x, tops, sums, n, parts, PARTS: tl.constexpr, SHARE: tl.constexpr):
    row = tl.program_id(1).to(tl.int64)
    lane = tl.program_id(0) * SHARE + tl.arange(0, SHARE)
    top = _top(tops, row, parts, PARTS)
    x += row * n
    acc = tl.zeros([SHARE], tl.float32)
    for start in tl.range(0, n, 4 * WIDTH):
        at0, at1 = start + lane, start + WIDTH + lane
        at2, at3 = start + 2 * WIDTH + lane, start + 3 * WIDTH + lane
        wide0 = tl.load(x + at0, mask=at0 < n, other=0.0)  # four loads are on their way at once
        wide1 = tl.load(x + at1, mask=at1 < n, other=0.0)
        wide2 = tl.load(x + at2, mask=at2 < n, other=0.0)
        wide3 = tl.load(x + at3, mask=at3 < n, other=0.0)
        acc = acc + _term(wide0, at0, n, top)
        acc = acc + _term(wide1, at1, n, top)
        acc = acc + _term(wide2, at2, n, top)
        acc = acc + _term(wide3, at3, n, top)
    tl.store(sums + row * WIDTH + lane, acc)


@triton.jit
def _finish(x, y, tops, sums, n, parts, TYPE: tl.constexpr, LOG: tl.constexpr,
            PARTS: tl.constexpr, LEVELS: tl.constexpr, CHUNK: tl.constexpr):
    row = tl.program_id(1).to(tl.int64)
    top = _top(tops, row, parts, PARTS)
    lanes = tl.load(sums + row * WIDTH + tl.arange(0, WIDTH))
    total = tl.max(tree(tl.reshape(lanes, [1, WIDTH]), 1, WIDTH, LEVELS), axis=0)  # of one number: itself
    factor = log(total) if LOG else tl.math.div_rn(1.0, total)
    at = tl.program_id(0) * CHUNK + tl.arange(0, CHUNK)
    d = tl.load(x + row * n + at, mask=at < n, other=0.0).to(tl.float32) - top
    result = d - factor if LOG else exp(d) * factor
    tl.store(y + row * n + at, rounded(result, TYPE), mask=at < n)


def forward(x, y, is_log):
    """y = softmax(x), or its logarithm. x, y: rows x n, contiguous, for which `serve` holds."""
    rows, n = x.shape
    parts = triton.cdiv(n, CHUNK)
    tops = torch.empty((rows, parts), dtype=torch.float32, device=x.device)
    sums = torch.empty((rows, order.LANES), dtype=torch.float32, device=x.device)
    places = {"PARTS": triton.next_power_of_2(parts), "enable_fp_fusion": False}
    _tops[(parts, rows)](x, tops, n, CHUNK=CHUNK, enable_fp_fusion=False)
    _sums[(order.LANES // SHARE, rows)](x, tops, sums, n, parts, SHARE=SHARE, num_warps=4, **places)
    _finish[(parts, rows)](x, y, tops, sums, n, parts, TYPE=TYPES[y.dtype], LOG=is_log,
                           LEVELS=order.LANES.bit_length() - 1, CHUNK=CHUNK, **places)
