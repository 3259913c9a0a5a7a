# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""softmax and log-softmax, forward and backward: one program for a few rows; for long rows, as
logits are, kernels of long_rows.py that share a row."""
import torch
import triton
import triton.language as tl

from detgemm.torch.kernels import long_rows
from detgemm.torch.kernels.arithmetic import exp, log, rounded, tree
from detgemm.torch.kernels.launch import TYPES, rows_per_program


@triton.jit(do_not_specialize=["rows"])
def _forward(x, y, rows, n, TYPE: tl.constexpr, LOG: tl.constexpr,
             ROWS: tl.constexpr, WIDTH: tl.constexpr, LEVELS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    lane = tl.arange(0, WIDTH)
    at = row[:, None] * n + lane[None, :]
    tops = tl.full([ROWS, WIDTH], float("-inf"), tl.float32)
    for start in tl.range(0, n, WIDTH, loop_unroll_factor=4):
        there = (row[:, None] < rows) & (start + lane[None, :] < n)
        wide = tl.load(x + at + start, mask=there, other=float("-inf")).to(tl.float32)
        tops = tl.maximum(tops, wide)
    top = tl.max(tops, axis=1)[:, None]
    lanes = tl.zeros([ROWS, WIDTH], tl.float32)
    for start in tl.range(0, n, WIDTH, loop_unroll_factor=4):
        there = (row[:, None] < rows) & (start + lane[None, :] < n)
        wide = tl.load(x + at + start, mask=there, other=0.0).to(tl.float32)
        lanes = lanes + tl.where(there, exp(wide - top), 0.0)
    total = tree(lanes, ROWS, WIDTH, LEVELS)[:, None]
    factor = log(total) if LOG else tl.math.div_rn(1.0, total)
    for start in tl.range(0, n, WIDTH, loop_unroll_factor=4):
        there = (row[:, None] < rows) & (start + lane[None, :] < n)
        d = tl.load(x + at + start, mask=there, other=0.0).to(tl.float32) - top
        result = d - factor if LOG else exp(d) * factor
        tl.store(y + at + start, rounded(result, TYPE), mask=there)


@triton.jit(do_not_specialize=["rows"])
def _backward(dy, y, dx, rows, n, TYPE: tl.constexpr, LOG: tl.constexpr,
              ROWS: tl.constexpr, WIDTH: tl.constexpr, LEVELS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    lane = tl.arange(0, WIDTH)
    at = row[:, None] * n + lane[None, :]
    lanes = tl.zeros([ROWS, WIDTH], tl.float32)
    for start in tl.range(0, n, WIDTH, loop_unroll_factor=4):
        there = (row[:, None] < rows) & (start + lane[None, :] < n)
        g = tl.load(dy + at + start, mask=there, other=0.0).to(tl.float32)
        if LOG:
            lanes = lanes + g
        else:
            lanes = lanes + g * tl.load(y + at + start, mask=there, other=0.0).to(tl.float32)
    total = tree(lanes, ROWS, WIDTH, LEVELS)[:, None]
    for start in tl.range(0, n, WIDTH, loop_unroll_factor=4):
        there = (row[:, None] < rows) & (start + lane[None, :] < n)
        g = tl.load(dy + at + start, mask=there, other=0.0).to(tl.float32)
        p = tl.load(y + at + start, mask=there, other=0.0).to(tl.float32)
        result = g - exp(p) * total if LOG else p * (g - total)
        tl.store(dx + at + start, rounded(result, TYPE), mask=there)


def _forwards(x, dtype, is_log):
    rows, n = x.shape
    y = torch.empty(x.shape, dtype=dtype, device=x.device)
    if long_rows.serve(rows, n):
        long_rows.forward(x, y, is_log)
    elif rows and n:
        shape = rows_per_program(rows, n)
        _forward[(triton.cdiv(rows, shape["ROWS"]),)](
            x, y, rows, n, TYPE=TYPES[dtype], LOG=is_log, **shape)
    return y


def _backwards(dy, y, dtype, is_log):
    rows, n = y.shape
    dx = torch.empty(y.shape, dtype=dtype, device=y.device)
    if rows and n:
        shape = rows_per_program(rows, n)
        _backward[(triton.cdiv(rows, shape["ROWS"]),)](
            dy, y, dx, rows, n, TYPE=TYPES[dtype], LOG=is_log, **shape)
    return dx


def softmax(x, dtype):
    return _forwards(x, dtype, False)


def softmax_backward(dy, y, dtype):
    return _backwards(dy, y, dtype, False)


def log_softmax(x, dtype):
    return _forwards(x, dtype, True)


def log_softmax_backward(dy, y, dtype):
    return _backwards(dy, y, dtype, True)
