# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Rotary embedding of the heads of a token, one program per token and block of heads.

Not run on a GPU yet: tested in Triton's interpreter.
"""
import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from detgemm.torch.kernels.arithmetic import rounded
from detgemm.torch.kernels.fused import _programmatic
from detgemm.torch.kernels.launch import TYPES


@triton.jit
def _product(a, b, TYPE: tl.constexpr):
    return rounded(a * b, TYPE).to(tl.float32)


@triton.jit(do_not_specialize=["heads"])
def _rotary(x, positions, cache, y, heads, token_stride, head_stride, cache_stride, TYPE: tl.constexpr, DIM: tl.constexpr,
            HALF: tl.constexpr, WIDTH: tl.constexpr, REST: tl.constexpr, HEADS: tl.constexpr, PAIRED: tl.constexpr,
            EARLY: tl.constexpr):
    if EARLY:
        gdc_launch_dependents()
    token = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1) * HEADS + tl.arange(0, HEADS)
    i = tl.arange(0, WIDTH)
    there = (head < heads)[:, None] & (i < HALF)[None, :]
    if EARLY:
        gdc_wait()
    row = tl.load(positions + token).to(tl.int64) * cache_stride
    cos = rounded(tl.load(cache + row + i, mask=i < HALF, other=0.0).to(tl.float32), TYPE).to(tl.float32)[None, :]
    sin = rounded(tl.load(cache + row + HALF + i, mask=i < HALF, other=0.0).to(tl.float32), TYPE).to(tl.float32)[None, :]
    first_at = 2 * i if PAIRED else i
    second_at = first_at + (1 if PAIRED else HALF)
    source = x + token * token_stride + head.to(tl.int64)[:, None] * head_stride
    target = y + (token * heads + head)[:, None] * DIM
    first = tl.load(source + first_at[None, :], mask=there, other=0.0).to(tl.float32)
    second = tl.load(source + second_at[None, :], mask=there, other=0.0).to(tl.float32)
    tl.store(target + first_at[None, :],
             rounded(_product(first, cos, TYPE) - _product(second, sin, TYPE), TYPE), mask=there)
    tl.store(target + second_at[None, :],
             rounded(_product(second, cos, TYPE) + _product(first, sin, TYPE), TYPE), mask=there)
    if REST:
        at = 2 * HALF + tl.arange(0, REST)
        more = (head < heads)[:, None] & (at < DIM)[None, :]
        tl.store(target + at[None, :], tl.load(source + at[None, :], mask=more, other=0.0), mask=more)


def rotary(x, positions, cache, interleaved):
    """As plain/rotary.py; the last dimension of x and of cache is contiguous."""
    tokens, heads, dim = x.shape
    y = torch.empty((tokens, heads, dim), dtype=x.dtype, device=x.device)
    half = cache.shape[1] // 2
    if tokens and heads and dim:
        early = _programmatic(x.device)
        more = {"launch_pdl": True} if early else {}
        together = min(8, triton.next_power_of_2(heads))
        rest = dim - 2 * half
        _rotary[(tokens, triton.cdiv(heads, together))](
            x, positions, cache, y, heads, x.stride(0), x.stride(1), cache.stride(0), TYPE=TYPES[x.dtype], DIM=dim, HALF=half,
            WIDTH=triton.next_power_of_2(half), REST=triton.next_power_of_2(rest) if rest else 0, HEADS=together,
            PAIRED=interleaved, EARLY=early, num_warps=4, enable_fp_fusion=False, **more)
    return y
