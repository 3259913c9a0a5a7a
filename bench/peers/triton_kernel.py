# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""A persistent Triton matmul: one accumulator runs through K in ascending order.

matmul(a, b, config) takes any strides; matmul_tma(a, b, config) reads both operands by TMA and
wants both K-major and aligned, as the forward layer has them.
"""
import functools

import torch
import triton
import triton.language as tl


@triton.jit
def place(tile, tiles_m, tiles_n, GROUP: tl.constexpr):
    """Tiles in bands of GROUP rows, so that neighbours share operands in L2."""
    band = tile // (GROUP * tiles_n)
    first = band * GROUP
    height = min(tiles_m - first, GROUP)
    inside = tile % (GROUP * tiles_n)
    return first + inside % height, inside // height


@triton.jit
def chain(a, b, d, m, n, k, a_row, a_col, b_row, b_col, d_row,
          BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
          WORKERS: tl.constexpr):
    tiles_m = tl.cdiv(m, BM)
    tiles_n = tl.cdiv(n, BN)
    for tile in range(tl.program_id(0), tiles_m * tiles_n, WORKERS):
        tile_m, tile_n = place(tile, tiles_m, tiles_n, GROUP)
        rows = (tile_m * BM + tl.arange(0, BM)).to(tl.int64)
        cols = (tile_n * BN + tl.arange(0, BN)).to(tl.int64)
        ks = tl.arange(0, BK).to(tl.int64)
        a_at = a + rows[:, None] * a_row + ks[None, :] * a_col
        b_at = b + ks[:, None] * b_row + cols[None, :] * b_col
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for step in range(tl.cdiv(k, BK)):
            left = k - step * BK
            x = tl.load(a_at, mask=(rows[:, None] < m) & (ks[None, :] < left), other=0.0)
            y = tl.load(b_at, mask=(ks[:, None] < left) & (cols[None, :] < n), other=0.0)
            acc = tl.dot(x, y, acc)
            a_at += BK * a_col
            b_at += BK * b_row
        tl.store(d + rows[:, None] * d_row + cols[None, :], acc.to(d.dtype.element_ty),
                 mask=(rows[:, None] < m) & (cols[None, :] < n))


@triton.jit
def chain_tma(a, b, d, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
              GROUP: tl.constexpr, WORKERS: tl.constexpr):
    tiles_m = tl.cdiv(m, BM)
    tiles_n = tl.cdiv(n, BN)
    for tile in tl.range(tl.program_id(0), tiles_m * tiles_n, WORKERS, flatten=True):
        tile_m, tile_n = place(tile, tiles_m, tiles_n, GROUP)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for step in range(tl.cdiv(k, BK)):
            x = a.load([tile_m * BM, step * BK])
            y = b.load([tile_n * BN, step * BK])
            acc = tl.dot(x, y.T, acc)
        d.store([tile_m * BM, tile_n * BN], acc.to(d.dtype))


@functools.cache
def workers():
    return torch.cuda.get_device_properties(0).multi_processor_count


# (BM, BN, BK, warps, stages)
def configs(m):
    """What is tried for this many rows; the fastest counts."""
    if m <= 16:
        return [(16, 64, 128, 4, 6), (16, 128, 128, 4, 4), (16, 32, 256, 4, 5), (16, 64, 256, 4, 4)]
    if m <= 32:
        return [(32, 64, 128, 4, 5), (32, 128, 128, 4, 4), (32, 32, 256, 4, 4)]
    if m <= 64:
        return [(64, 64, 128, 4, 5), (64, 128, 64, 4, 5), (64, 32, 128, 4, 6)]
    if m <= 256:
        return [(64, 128, 64, 4, 5), (128, 128, 64, 8, 4), (128, 64, 64, 4, 5), (64, 64, 128, 4, 4)]
    return [(128, 256, 64, 8, 3), (128, 128, 64, 8, 4), (256, 128, 64, 8, 3), (128, 128, 64, 4, 4)]


def matmul(a, b, config=None, out=None):
    """a (m x k) times b (k x n), any strides; d is row-major."""
    (m, k), n = a.shape, b.shape[1]
    bm, bn, bk, warps, stages = config or configs(m)[0]
    d = torch.empty((m, n), dtype=a.dtype, device=a.device) if out is None else out
    grid = (min(workers(), triton.cdiv(m, bm) * triton.cdiv(n, bn)),)
    chain[grid](a, b, d, m, n, k, a.stride(0), a.stride(1), b.stride(0), b.stride(1), d.stride(0),
                BM=bm, BN=bn, BK=bk, GROUP=8, WORKERS=grid[0], num_warps=warps, num_stages=stages)
    return d


def takes_tma(a, b):
    """Whether matmul_tma reads these operands: K-major, 16-byte rows."""
    k_major = a.stride(1) == 1 and b.stride(0) == 1
    aligned = a.stride(0) % 8 == 0 and b.stride(1) % 8 == 0 and b.shape[1] % 8 == 0
    return k_major and aligned and a.data_ptr() % 16 == 0 and b.data_ptr() % 16 == 0


def matmul_tma(a, b, config=None, out=None):
    from triton.tools.tensor_descriptor import TensorDescriptor
    (m, k), n = a.shape, b.shape[1]
    bm, bn, bk, warps, stages = config or configs(m)[0]
    d = torch.empty((m, n), dtype=a.dtype, device=a.device) if out is None else out
    grid = (min(workers(), triton.cdiv(m, bm) * triton.cdiv(n, bn)),)
    chain_tma[grid](TensorDescriptor.from_tensor(a, [bm, bk]),
                    TensorDescriptor.from_tensor(b.t(), [bn, bk]),
                    TensorDescriptor.from_tensor(d, [bm, bn]), m, n, k,
                    BM=bm, BN=bn, BK=bk, GROUP=8, WORKERS=grid[0], num_warps=warps,
                    num_stages=stages)
    return d
