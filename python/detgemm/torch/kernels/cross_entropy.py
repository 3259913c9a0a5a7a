# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Both passes of a cross entropy whose sum is a product: by element, one program per row and block of columns."""
import torch
import triton
import triton.language as tl

from detgemm.torch.kernels.arithmetic import exp, rounded, widened
from detgemm.torch.kernels.launch import TYPES

BLOCK = 2048


@triton.jit
def _powers(x, top, e, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    there = column < n
    d = widened(tl.load(x + row * n + column, mask=there, other=0.0)) - tl.load(top + row)
    tl.store(e + row * n + column, rounded(exp(d), tl.float32), mask=there)


@triton.jit
def _gradient(e, inverse, label, g, dx, n, TYPE: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    there = column < n
    p = tl.load(e + row * n + column, mask=there, other=0.0) * tl.load(inverse + row)
    p = p - tl.where(column == tl.load(label + row), 1.0, 0.0)
    tl.store(dx + row * n + column, rounded(p * tl.load(g + row), TYPE), mask=there)


def powers(x, top):
    """exp(x - top) in fp32. x: rows x n, contiguous; top: rows, fp32."""
    rows, n = x.shape
    e = torch.empty((rows, n), dtype=torch.float32, device=x.device)
    if rows and n:
        _powers[(rows, triton.cdiv(n, BLOCK))](x, top, e, n, BLOCK=BLOCK, num_warps=4, enable_fp_fusion=False)
    return e


def gradient(e, inverse, label, g, dtype):
    """round((e inverse - [label]) g). e: rows x n; inverse, g: rows in fp32; label: rows in int64, -1 for none."""
    rows, n = e.shape
    dx = torch.empty((rows, n), dtype=dtype, device=e.device)
    if rows and n:
        _gradient[(rows, triton.cdiv(n, BLOCK))](e, inverse, label, g, dx, n, TYPE=TYPES[dtype], BLOCK=BLOCK, num_warps=4,
                                                 enable_fp_fusion=False)
    return dx
