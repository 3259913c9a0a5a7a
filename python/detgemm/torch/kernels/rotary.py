# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Rotary embedding of the heads of a token, behind a norm of each head or not: one program per token and block of heads.

    program (t, b)    heads of q for b < QS, heads of k from there on; reads and writes rows of its own alone

With a paged cache, keys are stored there in place of a tensor, and blocks behind those of k copy values to it: one kernel
in place of two.

Compared with its definition in Triton's interpreter and on an H200.
"""
import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from detgemm.torch.kernels.arithmetic import narrowed as rounded
from detgemm.torch.kernels.arithmetic import square_root, tree
from detgemm.torch.kernels.fused import _options, _programmatic
from detgemm.torch.kernels.launch import TYPES, cdiv, launch, power_of_2
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
def _turn(x, weight, y, row, block, heads, token_stride, head_stride, y_head, eps, inverse_n, TYPE: tl.constexpr, DIM: tl.constexpr,
          HALF: tl.constexpr, WIDTH: tl.constexpr, REST: tl.constexpr, HEADS: tl.constexpr, PAIRED: tl.constexpr, NORM: tl.constexpr,
          LANES: tl.constexpr, LEVELS: tl.constexpr):
    """The heads of a block, from x to y, where this token's heads are y_head apart."""
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
    target = y + head.to(tl.int64)[:, None] * y_head
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


@triton.jit
def _copy(x, y, block, heads, token_stride, head_stride, y_head, DIM: tl.constexpr, LANES: tl.constexpr, HEADS: tl.constexpr):
    head = (block * HEADS + tl.arange(0, HEADS)).to(tl.int64)[:, None]
    lane = tl.arange(0, LANES)[None, :]
    there = (head < heads) & (lane < DIM)
    row = x + tl.program_id(0).to(tl.int64) * token_stride
    tl.store(y + head * y_head + lane, tl.load(row + head * head_stride + lane, mask=there, other=0.0), mask=there)


@triton.jit(do_not_specialize=["q_heads", "k_heads", "q_blocks", "k_blocks", "slot_count"])
def _rotary(q, k, v, positions, cache, q_weight, k_weight, q_out, k_out, v_out, slots, q_heads, k_heads, q_blocks, k_blocks,
            slot_count, q_token, q_head, k_token, k_head, v_token, v_head, out_page, out_row, out_head, cache_stride, eps, inverse_n,
            TYPE: tl.constexpr, DIM: tl.constexpr, HALF: tl.constexpr, WIDTH: tl.constexpr, REST: tl.constexpr, HEADS: tl.constexpr,
            PAIRED: tl.constexpr, NORM: tl.constexpr, LANES: tl.constexpr, LEVELS: tl.constexpr, PAGE: tl.constexpr,
            EARLY: tl.constexpr):
    """PAGE = 0: k_out is tokens x heads x DIM. Otherwise k_out and v_out are pages, and a token without a slot is not stored."""
    if EARLY:
        gdc_launch_dependents()
        gdc_wait()
    token, block = tl.program_id(0), tl.program_id(1)
    row = cache + tl.load(positions + token).to(tl.int64) * cache_stride
    at, stored = token.to(tl.int64) * k_heads * DIM, True
    if PAGE:
        slot = tl.load(slots + token, mask=token < slot_count, other=-1).to(tl.int64)
        stored = slot >= 0
        slot = tl.where(stored, slot, 0)
        at = (slot // PAGE) * out_page + (slot % PAGE) * out_row
    if block < q_blocks:
        _turn(q, q_weight, q_out + token.to(tl.int64) * q_heads * DIM, row, block, q_heads, q_token, q_head, DIM, eps, inverse_n, TYPE,
              DIM, HALF, WIDTH, REST, HEADS, PAIRED, NORM, LANES, LEVELS)
    elif stored:
        if block < q_blocks + k_blocks:
            _turn(k, k_weight, k_out + at, row, block - q_blocks, k_heads, k_token, k_head, out_head, eps, inverse_n, TYPE, DIM, HALF,
                  WIDTH, REST, HEADS, PAIRED, NORM, LANES, LEVELS)
        elif PAGE:
            _copy(v, v_out + at, block - q_blocks - k_blocks, k_heads, v_token, v_head, out_head, DIM, LANES, HEADS)


def _run(q, k, v, positions, cache, interleaved, q_weight, k_weight, eps, q_out, k_out, v_out, slots):
    """k_out: as k, contiguous, where slots is None; otherwise it and v_out are pages x page x heads x d of the same strides."""
    (tokens, q_heads, dim), k_heads = q.shape, k.shape[1]
    half, norm, early = cache.shape[1] // 2, q_weight is not None, _programmatic(q.device)
    if not (tokens and q_heads + k_heads and dim):
        return
    together = min(TOGETHER, power_of_2(max(1, min(q_heads, k_heads) or max(q_heads, k_heads))))
    rest, lanes = dim - 2 * half, power_of_2(dim)
    q_blocks, k_blocks = cdiv(q_heads, together), cdiv(k_heads, together)
    page, strides = (0, (0, 0, dim)) if slots is None else (k_out.shape[1], k_out.stride()[:3])
    launch(
        _rotary, (tokens, q_blocks + k_blocks * (2 if page else 1)), q, k, v if page else k, positions, cache, q_weight if norm else q,
        k_weight if norm else k, q_out, k_out, v_out if page else k_out, slots if page else positions, q_heads, k_heads, q_blocks,
        k_blocks, slots.shape[0] if page else 0, q.stride(0), q.stride(1), k.stride(0), k.stride(1), *(v.stride()[:2] if page else (0, 0)),
        *strides, cache.stride(0), eps, inverse(dim), TYPE=TYPES[q.dtype], DIM=dim, HALF=half, WIDTH=power_of_2(half),
        REST=power_of_2(rest) if rest else 0, HEADS=together, PAIRED=interleaved, NORM=norm, LANES=lanes,
        LEVELS=lanes.bit_length() - 1, PAGE=page, EARLY=early, num_warps=4, enable_fp_fusion=False, **_options(early))


def rotary_pair(q, k, positions, cache, interleaved, q_weight=None, k_weight=None, eps=0.0):
    """As plain/rotary.py; the last dimension of q, k and cache is contiguous, weights are contiguous."""
    q_out, k_out = (torch.empty(x.shape, dtype=x.dtype, device=x.device) for x in (q, k))
    _run(q, k, None, positions, cache, interleaved, q_weight, k_weight, eps, q_out, k_out, None, None)
    return q_out, k_out


def rotary_store(q, k, v, positions, cache, interleaved, q_weight, k_weight, eps, k_pages, v_pages, slots):
    """As plain/rotary.py; the last dimension of all tensors is contiguous, and k_pages and v_pages have the same strides."""
    q_out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    _run(q, k, v, positions, cache, interleaved, q_weight, k_weight, eps, q_out, k_pages, v_pages, slots)
    return q_out


def rotary(x, positions, cache, interleaved):
    """As plain/rotary.py; the last dimension of x and of cache is contiguous."""
    return rotary_pair(x, x[:, :0], positions, cache, interleaved)[0]
