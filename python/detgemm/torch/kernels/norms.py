# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""RMSNorm: one program for a few rows, forward and backward."""
import torch
import triton
import triton.language as tl

from detgemm.torch.kernels.arithmetic import rounded, square_root, tree
from detgemm.torch.kernels.launch import TYPES, launch, rows_per_program
from detgemm.torch.plain.norms import inverse


@triton.jit(do_not_specialize=["rows"])
def _forward(x, weight, y, scale, rows, n, eps, inverse_n, TYPE: tl.constexpr,
             ROWS: tl.constexpr, WIDTH: tl.constexpr, LEVELS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    lane = tl.arange(0, WIDTH)
    at = row[:, None] * n + lane[None, :]
    lanes = tl.zeros([ROWS, WIDTH], tl.float32)
    for start in range(0, n, WIDTH):
        there = (row[:, None] < rows) & (start + lane[None, :] < n)
        wide = tl.load(x + at + start, mask=there, other=0.0).to(tl.float32)
        lanes = lanes + wide * wide
    mean = tree(lanes, ROWS, WIDTH, LEVELS) * inverse_n
    r = rounded(tl.math.div_rn(1.0, square_root(mean + eps)), tl.float32)
    tl.store(scale + row, r, mask=row < rows)
    for start in range(0, n, WIDTH):
        there = (row[:, None] < rows) & (start + lane[None, :] < n)
        wide = tl.load(x + at + start, mask=there, other=0.0).to(tl.float32)
        w = tl.load(weight + start + lane, mask=start + lane < n, other=0.0).to(tl.float32)
        normal = rounded(wide * r[:, None], TYPE).to(tl.float32)
        tl.store(y + at + start, rounded(normal * w[None, :], TYPE), mask=there)


@triton.jit(do_not_specialize=["rows"])
def _backward(dy, x, weight, scale, dx, products, rows, n, inverse_n, TYPE: tl.constexpr,
              ROWS: tl.constexpr, WIDTH: tl.constexpr, LEVELS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    lane = tl.arange(0, WIDTH)
    at = row[:, None] * n + lane[None, :]
    r = tl.load(scale + row, mask=row < rows, other=0.0)
    lanes = tl.zeros([ROWS, WIDTH], tl.float32)
    for start in range(0, n, WIDTH):
        there = (row[:, None] < rows) & (start + lane[None, :] < n)
        wide = tl.load(x + at + start, mask=there, other=0.0).to(tl.float32)
        g = tl.load(dy + at + start, mask=there, other=0.0).to(tl.float32)
        w = tl.load(weight + start + lane, mask=start + lane < n, other=0.0).to(tl.float32)
        lanes = lanes + (g * w[None, :]) * (wide * r[:, None])
    q = tree(lanes, ROWS, WIDTH, LEVELS) * inverse_n
    for start in range(0, n, WIDTH):
        there = (row[:, None] < rows) & (start + lane[None, :] < n)
        wide = tl.load(x + at + start, mask=there, other=0.0).to(tl.float32)
        g = tl.load(dy + at + start, mask=there, other=0.0).to(tl.float32)
        w = tl.load(weight + start + lane, mask=start + lane < n, other=0.0).to(tl.float32)
        normal = wide * r[:, None]
        d = r[:, None] * (g * w[None, :] - normal * q[:, None])
        tl.store(dx + at + start, rounded(d, TYPE), mask=there)
        tl.store(products + at + start, g * rounded(normal, TYPE).to(tl.float32), mask=there)


def rms_norm(x, weight, eps):
    """x: rows x n contiguous, weight: n; returns y and r as plain.norms.rms_norm does."""
    rows, n = x.shape
    y, scale = torch.empty_like(x), torch.empty(rows, dtype=torch.float32, device=x.device)
    if rows and n:
        shape = rows_per_program(rows, n)
        launch(
            _forward, (triton.cdiv(rows, shape["ROWS"]),), x, weight, y, scale, rows, n, eps, inverse(n), TYPE=TYPES[x.dtype], **shape)
    return y, scale


def rms_norm_backward(dy, x, weight, scale):
    rows, n = x.shape
    dx, products = torch.empty_like(x), torch.empty(x.shape, dtype=torch.float32, device=x.device)
    if rows and n:
        shape = rows_per_program(rows, n)
        launch(
            _backward, (triton.cdiv(rows, shape["ROWS"]),), dy, x, weight, scale, dx, products, rows, n, inverse(n), TYPE=TYPES[x.dtype], **shape)
    return dx, products
