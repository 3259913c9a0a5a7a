# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Rotary embedding of the heads of a token, behind a norm of each head or not: one program per token and block of heads.

    program (t, b)    heads of q for b < QS, heads of k from there on; reads and writes rows of its own alone

Compared with its definition in Triton's interpreter and on an H200.
"""
import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from detgemm.torch.kernels.arithmetic import narrowed as rounded
from detgemm.torch.kernels.arithmetic import square_root, tree
from detgemm.torch.kernels.fused import _options, _programmatic
from detgemm.torch.kernels.launch import TYPES, launch
from detgemm.torch.plain.norms import inverse

TOGETHER = 8  # heads per program


@triton.jit
def _product(a, b, TYPE: tl.constexpr):
    return rounded(a * b, TYPE).to(tl.float32)


@triton.jit
def _inverse_rms(source, valid, eps, inverse_n, DIM: tl.constexpr, LANES: tl.constexpr, LEVELS: tl.constexpr, HEADS: tl.constexpr):
    """As fused._rms_norm has it for rows of DIM elements, one per lane."""
    lane = tl.arange(0, LANES)
    wide = tl.load(source + lane[None, :], mask=valid & (lane < DIM)[None, :], other=0.0).to(tl.float32)
    mean = tree(wide * wide, HEADS, LANES, LEVELS) * inverse_n
    return rounded(tl.math.div_rn(1.0, square_root(mean + eps)), tl.float32)


@triton.jit
def _element(source, weight, at, mask, r, TYPE: tl.constexpr, NORM: tl.constexpr):
    x = tl.load(source + at[None, :], mask=mask, other=0.0).to(tl.float32)
    if NORM:
        w = tl.load(weight + at[None, :], mask=mask, other=0.0).to(tl.float32)
        x = _product(rounded(x * r[:, None], TYPE).to(tl.float32), w, TYPE)
    return x


@triton.jit
def _turn(x, weight, y, row, block, heads, token_stride, head_stride, eps, inverse_n, TYPE: tl.constexpr, DIM: tl.constexpr,
          HALF: tl.constexpr, WIDTH: tl.constexpr, REST: tl.constexpr, HEADS: tl.constexpr, PAIRED: tl.constexpr, NORM: tl.constexpr,
          LANES: tl.constexpr, LEVELS: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    head = block * HEADS + tl.arange(0, HEADS)
    valid = (head < heads)[:, None]
    i = tl.arange(0, WIDTH)
    there = valid & (i < HALF)[None, :]
    cos = rounded(tl.load(row + i, mask=i < HALF, other=0.0).to(tl.float32), TYPE).to(tl.float32)[None, :]
    sin = rounded(tl.load(row + HALF + i, mask=i < HALF, other=0.0).to(tl.float32), TYPE).to(tl.float32)[None, :]
    first_at = 2 * i if PAIRED else i
    second_at = first_at + (1 if PAIRED else HALF)
    source = x + token * token_stride + head.to(tl.int64)[:, None] * head_stride
    target = y + (token * heads + head)[:, None] * DIM
    r = tl.zeros([HEADS], tl.float32)
    if NORM:
        r = _inverse_rms(source, valid, eps, inverse_n, DIM, LANES, LEVELS, HEADS)
    first = _element(source, weight, first_at, there, r, TYPE, NORM)
    second = _element(source, weight, second_at, there, r, TYPE, NORM)
    tl.store(target + first_at[None, :],
             rounded(_product(first, cos, TYPE) - _product(second, sin, TYPE), TYPE), mask=there)
    tl.store(target + second_at[None, :],
             rounded(_product(second, cos, TYPE) + _product(first, sin, TYPE), TYPE), mask=there)
    if REST:
        at = 2 * HALF + tl.arange(0, REST)
        more = valid & (at < DIM)[None, :]
        if NORM:
            tl.store(target + at[None, :], rounded(_element(source, weight, at, more, r, TYPE, NORM), TYPE), mask=more)
        else:  # bits as they are, those of a NaN too
            tl.store(target + at[None, :], tl.load(source + at[None, :], mask=more, other=0.0), mask=more)


@triton.jit(do_not_specialize=["q_heads", "k_heads", "q_blocks"])
def _rotary(q, k, positions, cache, q_weight, k_weight, q_out, k_out, q_heads, k_heads, q_blocks, q_token, q_head, k_token, k_head,
            cache_stride, eps, inverse_n, TYPE: tl.constexpr, DIM: tl.constexpr, HALF: tl.constexpr, WIDTH: tl.constexpr,
            REST: tl.constexpr, HEADS: tl.constexpr, PAIRED: tl.constexpr, NORM: tl.constexpr, LANES: tl.constexpr,
            LEVELS: tl.constexpr, EARLY: tl.constexpr):
    if EARLY:
        gdc_launch_dependents()
        gdc_wait()
    block = tl.program_id(1)
    row = cache + tl.load(positions + tl.program_id(0)).to(tl.int64) * cache_stride
    if block < q_blocks:
        _turn(q, q_weight, q_out, row, block, q_heads, q_token, q_head, eps, inverse_n, TYPE, DIM, HALF, WIDTH, REST, HEADS, PAIRED,
              NORM, LANES, LEVELS)
    else:
        _turn(k, k_weight, k_out, row, block - q_blocks, k_heads, k_token, k_head, eps, inverse_n, TYPE, DIM, HALF, WIDTH, REST,
              HEADS, PAIRED, NORM, LANES, LEVELS)


def rotary_pair(q, k, positions, cache, interleaved, q_weight=None, k_weight=None, eps=0.0):
    """As plain/rotary.py; the last dimension of q, k and cache is contiguous, weights are contiguous."""
    (tokens, q_heads, dim), k_heads = q.shape, k.shape[1]
    q_out, k_out = (torch.empty(x.shape, dtype=x.dtype, device=x.device) for x in (q, k))
    half, norm = cache.shape[1] // 2, q_weight is not None
    if tokens and q_heads + k_heads and dim:
        early = _programmatic(q.device)
        together = min(TOGETHER, triton.next_power_of_2(max(1, min(q_heads, k_heads) or max(q_heads, k_heads))))
        rest, lanes = dim - 2 * half, triton.next_power_of_2(dim)
        q_blocks = triton.cdiv(q_heads, together)
        launch(
            _rotary, (tokens, q_blocks + triton.cdiv(k_heads, together)), q, k, positions, cache, q_weight if norm else q,
            k_weight if norm else k, q_out, k_out, q_heads, k_heads, q_blocks, q.stride(0), q.stride(1), k.stride(0), k.stride(1),
            cache.stride(0), eps, inverse(dim), TYPE=TYPES[q.dtype], DIM=dim, HALF=half, WIDTH=triton.next_power_of_2(half),
            REST=triton.next_power_of_2(rest) if rest else 0, HEADS=together, PAIRED=interleaved, NORM=norm, LANES=lanes,
            LEVELS=lanes.bit_length() - 1, EARLY=early, num_warps=4, enable_fp_fusion=False, **_options(early))
    return q_out, k_out


def rotary(x, positions, cache, interleaved):
    """As plain/rotary.py; the last dimension of x and of cache is contiguous."""
    return rotary_pair(x, x[:, :0], positions, cache, interleaved)[0]
