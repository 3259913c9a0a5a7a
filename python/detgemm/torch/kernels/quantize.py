# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Rows to e4m3 with a scale per leaf, read once: gathered by an index, or silu(gate) * up. One program per row and few leaves.

    leaf   x x x x x x x x      the largest finite magnitude, in any order; then the scale,
                                then each number by itself

Tested in Triton's interpreter, and on an H200 against the definitions.
"""
import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from detgemm.torch.kernels.arithmetic import widened
from detgemm.torch.kernels.fused import _programmatic, gated
from detgemm.torch.kernels.launch import TYPES


@triton.jit
def e4m3(v):
    """As plain/quantize.py, in integers."""
    bits = v.to(tl.int32, bitcast=True)
    magnitude = bits & 0x7fffffff
    small = (magnitude.to(tl.float32, bitcast=True) + 16384.0).to(tl.int32, bitcast=True) - 0x46800000
    large = ((magnitude + 0x7ffff + ((magnitude >> 20) & 1)) >> 20) - 960
    code = tl.where(magnitude < 0x3c800000, small, large)
    code = tl.where(code > 0x7e, 0x7e, code) | ((bits >> 24) & 0x80)
    return tl.where(magnitude >= 0x7f800000, 0x7f, code).to(tl.uint8)


@triton.jit
def leaf_codes(value):
    """A scale for each row of a tile, and its numbers in e4m3."""
    magnitude = value.to(tl.int32, bitcast=True) & 0x7fffffff
    largest = tl.max(tl.where(magnitude < 0x7f800000, magnitude, 0), axis=1).to(tl.float32, bitcast=True)
    scale = tl.math.div_rn(tl.where(largest > 1e-4, largest, 1e-4), 448.0)
    return scale, e4m3(value * tl.math.div_rn(1.0, scale)[:, None])


@triton.jit
def _quantize(x, index, codes, scales, n, stride, copies, leaf, leaves, TYPE: tl.constexpr, GATED: tl.constexpr,
              GATHERED: tl.constexpr, EARLY: tl.constexpr, LEAVES: tl.constexpr, WIDTH: tl.constexpr):
    if EARLY:
        gdc_launch_dependents()
    row = tl.program_id(0).to(tl.int64)
    which = tl.program_id(1) * LEAVES + tl.arange(0, LEAVES)
    lane = tl.arange(0, WIDTH)
    column = which[:, None] * leaf + lane[None, :]
    there = (lane < leaf)[None, :] & (column < n)
    if EARLY:
        gdc_wait()
    if GATHERED:
        key = tl.load(index + row).to(tl.int64)
        value = widened(tl.load(x + key // copies * stride + column, mask=there & (key >= 0), other=0.0))
    else:
        value = widened(tl.load(x + row * stride + column, mask=there, other=0.0))
    if GATED:
        up = widened(tl.load(x + row * stride + n + column, mask=there, other=0.0))
        value = widened(gated(value, up, TYPE))
    scale, code = leaf_codes(value)
    tl.store(scales + row * leaves + which, scale, mask=which < leaves)
    tl.store(codes + row * n + column, code, mask=there)


def _launched(x, index, rows, n, leaf, copies=1):
    leaves = triton.cdiv(n, leaf)
    codes = torch.empty((rows, n), dtype=torch.uint8, device=x.device)
    scales = torch.empty((rows, leaves), dtype=torch.float32, device=x.device)
    if rows:
        width = triton.next_power_of_2(min(leaf, n))
        together = max(1, min(1024 // width, triton.next_power_of_2(leaves)))
        early = _programmatic(x.device)
        more = {"launch_pdl": True} if early else {}
        _quantize[(rows, triton.cdiv(leaves, together))](
            x, codes if index is None else index, codes, scales, n, x.stride(0), copies, leaf, leaves, TYPE=TYPES[x.dtype],
            GATED=index is None, GATHERED=index is not None, EARLY=early, LEAVES=together, WIDTH=width,
            num_warps=4, enable_fp_fusion=False, **more)
    return codes.view(torch.float8_e4m3fn), scales


def silu_mul_quantize(x, leaf):
    """x: rows x 2n, its last dimension contiguous."""
    return _launched(x, None, x.shape[0], x.shape[1] // 2, leaf)


def gather_quantize(x, index, copies, leaf):
    """x: rows x n, its last dimension contiguous; index: one dimension, contiguous."""
    return _launched(x, index, len(index), x.shape[1], leaf, copies)
