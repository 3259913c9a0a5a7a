# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Sums of rows in their order: acc[j] + x[0, j] + x[1, j] + ..., one fp32 addition after the other.

    memory     x[r .. r + DEEP)   is read while   x[r - DEEP .. r)   is added, a thread per column
"""
import triton
import triton.language as tl

from detgemm.torch.kernels.arithmetic import rounded
from detgemm.torch.kernels.launch import launch

DEEP, WIDTH = 96, 32


@triton.jit
def _read(x, first, there, N: tl.constexpr, DEEP: tl.constexpr):
    found = ()
    for r in tl.static_range(DEEP):
        found = found + (tl.load(x + first * N + r * N, mask=there, other=0.0),)
    return found


@triton.jit
def _read_some(x, first, rows, there, N: tl.constexpr, DEEP: tl.constexpr):
    found = ()
    for r in tl.static_range(DEEP):
        found = found + (tl.load(x + first * N + r * N, mask=there & (first + r < rows), other=0.0),)
    return found


@triton.jit(do_not_specialize=["rows"])
def _sum_rows(acc, x, rows, N: tl.constexpr, DEEP: tl.constexpr, WIDTH: tl.constexpr):
    column = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    there, x = column < N, x + column
    total = tl.load(acc + column, mask=there, other=0.0)
    zero = (rows * 0).to(tl.int64)
    last = tl.maximum(rows // DEEP - 1, 0) * DEEP + zero
    ahead = _read_some(x, zero, rows, there, N, DEEP)
    for first in range(DEEP, rows - DEEP + 1, DEEP):
        following = _read(x, zero + first, there, N, DEEP)
        for r in tl.static_range(DEEP):
            total = total + ahead[r]
        ahead = following
    following = _read_some(x, last + DEEP, rows, there, N, DEEP)
    for r in tl.static_range(DEEP):
        total = tl.where(last + r < rows, total + ahead[r], total)
    for r in tl.static_range(DEEP):
        total = tl.where(last + DEEP + r < rows, total + following[r], total)
    tl.store(acc + column, rounded(total, tl.float32), mask=there)


def sum_rows_(acc, x):
    """acc: n in fp32; x: rows x n in fp32, contiguous."""
    rows, n = x.shape
    if rows and n:
        launch(_sum_rows, (triton.cdiv(n, WIDTH),), acc, x, rows, N=n, DEEP=DEEP, WIDTH=WIDTH, num_warps=1, enable_fp_fusion=False)
