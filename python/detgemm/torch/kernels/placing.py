# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""For few tokens, in one launch: where each slot's row is among rows sorted by expert, and the rows there; for one token its choice
of experts before that.

    program (token, columns)   place = slots of experts before mine, and earlier slots of mine; all slots fit into registers

What is written is what `route`, `sort`, and `spread` or `spread_quantize` of kernels/routed.py write.
"""
import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from detgemm.torch.kernels.arithmetic import widened
from detgemm.torch.kernels.fused import _options, _programmatic
from detgemm.torch.kernels.launch import launch
from detgemm.torch.kernels.quantize import leaf_codes
from detgemm.torch.kernels.routed import choice

MOST_SLOTS = 1024


@triton.jit
def _read(row, part, n, leaf, QUANTIZE: tl.constexpr, LEAVES: tl.constexpr, BLOCK: tl.constexpr):
    """What is written at each place: where in a row, which of it is there, numbers and scales."""
    which = part * LEAVES + tl.arange(0, LEAVES)
    inner = tl.arange(0, BLOCK)
    column = which[:, None] * leaf + inner[None, :]
    there = (inner < leaf)[None, :] & (column < n)
    value = tl.load(row + column, mask=there, other=0.0)
    if QUANTIZE:
        scale, code = leaf_codes(widened(value))
    else:
        scale, code = which.to(tl.float32), value
    return column, there, code, which, scale


@triton.jit
def _write(y, scales, place, n, column, there, code, which, scale, leaves, pitch, held, QUANTIZE: tl.constexpr):
    tl.store(y + place * n + column, code, mask=there & held)
    if QUANTIZE:
        tl.store(scales + which * pitch + place, scale, mask=(which < leaves) & held)


@triton.jit(do_not_specialize=["slots", "first", "groups", "pitch"])
def _few(x, experts, offs, places, y, scales, n, stride, slots, first, groups, leaf, leaves, pitch, TOP: tl.constexpr, ALL: tl.constexpr,
         MINE: tl.constexpr, QUANTIZE: tl.constexpr, EARLY: tl.constexpr, LEAVES: tl.constexpr, BLOCK: tl.constexpr):
    if EARLY:
        gdc_launch_dependents()
    token, part = tl.program_id(0), tl.program_id(1)
    lane = tl.arange(0, ALL)
    if EARLY:
        gdc_wait()
    column, there, code, which, scale = _read(x + token.to(tl.int64) * stride, part, n, leaf, QUANTIZE, LEAVES, BLOCK)
    every = tl.load(experts + lane, mask=lane < slots, other=0) - first
    inside = (lane < slots) & (every >= 0) & (every < groups)
    if part == 0:
        group = token * MINE + tl.arange(0, MINE)
        ends = tl.sum((inside[None, :] & (every[None, :] <= group[:, None])).to(tl.int32), axis=1)
        tl.store(offs + group, ends, mask=group < groups)
    for slot in range(TOP):
        at = token * TOP + slot
        mine = tl.load(experts + at) - first
        held = (mine >= 0) & (mine < groups)
        earlier = (every < mine) | ((every == mine) & (lane < at))
        place = tl.where(held, tl.sum((inside & earlier).to(tl.int32), axis=0), -1)
        if part == 0:
            tl.store(places + at, place)
        _write(y, scales, place, n, column, there, code, which, scale, leaves, pitch, held, QUANTIZE)


@triton.jit(do_not_specialize=["first", "groups", "of_experts", "pitch"])
def _one(x, logits, bias, weights, experts, offs, places, y, scales, n, first, groups, of_experts, factor, leaf, leaves, pitch,
         SIGMOID: tl.constexpr, BIASED: tl.constexpr, NORM: tl.constexpr, GROUPS: tl.constexpr, CHOSEN: tl.constexpr, TOP: tl.constexpr,
         WIDTH: tl.constexpr, LEVELS: tl.constexpr, QUANTIZE: tl.constexpr, EARLY: tl.constexpr, LEAVES: tl.constexpr,
         BLOCK: tl.constexpr):
    """One token: the rows of its experts here are at the first places."""
    if EARLY:
        gdc_launch_dependents()
    part = tl.program_id(0)
    lane = tl.arange(0, WIDTH)
    if EARLY:
        gdc_wait()
    column, there, code, which, scale = _read(x, part, n, leaf, QUANTIZE, LEAVES, BLOCK)
    taken, slot, weight = choice(logits, bias, of_experts, factor, SIGMOID, BIASED, NORM, GROUPS, CHOSEN, TOP, WIDTH, LEVELS)
    mine = (lane >= first) & (lane < first + groups)
    here = (taken & mine).to(tl.int32)
    ends = tl.cumsum(here, axis=0)
    if part == 0:
        tl.store(weights + slot, weight, mask=taken)
        tl.store(experts + slot, lane, mask=taken)
        tl.store(places + slot, tl.where(mine, ends - 1, -1), mask=taken)
        tl.store(offs + lane - first, ends, mask=mine)
    count = tl.sum(here, axis=0)
    for place in range(TOP):
        _write(y, scales, place, n, column, there, code, which, scale, leaves, pitch, place < count, QUANTIZE)


def serve(slots):
    """Whether so many slots are taken."""
    return 0 < slots <= MOST_SLOTS


def place(x, experts, first, groups, leaf=0, routed=None):
    """(offs, places, rows, their scales or None). x: tokens x n, its last dimension contiguous; experts: tokens x k, contiguous.

    leaf    0: rows in x's type; else e4m3 with a scale per so many numbers
    routed  of one token: (logits, bias, norm, sigmoid, groups, chosen groups, scale, weights), as `route` takes them; its choice
            is written to experts and weights
    """
    (tokens, n), slots, top, device = x.shape, experts.numel(), experts.shape[1], x.device
    offs = torch.empty((groups,), dtype=torch.int32, device=device)
    places = torch.empty((slots,), dtype=torch.int32, device=device)
    part = leaf or (512 if routed else 1024)  # columns of a line of a tile
    lines, pitch, block = triton.cdiv(n, part), (slots + 3) // 4 * 4, triton.next_power_of_2(min(part, n))
    rows = torch.empty((slots, n), dtype=torch.uint8 if leaf else x.dtype, device=device)
    scales = torch.empty((lines, pitch), dtype=torch.float32, device=device) if leaf else None
    together = max(1, min((256 if routed else 1024) // block, triton.next_power_of_2(lines))) if leaf else 1
    early, parts, of_rows = _programmatic(device), triton.cdiv(lines, together), places if scales is None else scales
    shape = {"QUANTIZE": leaf > 0, "EARLY": early, "LEAVES": together, "BLOCK": block}
    if routed:
        logits, bias, norm, sigmoid, of_groups, chosen, factor, weights = routed
        width = triton.next_power_of_2(logits.shape[1])
        launch(_one, (parts,), x, logits, weights if bias is None else bias, weights, experts, offs, places, rows, of_rows, n, first, groups,
               logits.shape[1], factor, part, lines, pitch, SIGMOID=sigmoid, BIASED=bias is not None, NORM=norm, GROUPS=of_groups,
               CHOSEN=chosen, TOP=top, WIDTH=width, LEVELS=width.bit_length() - 1, **shape, num_warps=1, enable_fp_fusion=False,
               **_options(early))
    else:
        launch(_few, (tokens, parts), x, experts, offs, places, rows, of_rows, n, x.stride(0), slots, first, groups, part, lines, pitch,
               TOP=top, ALL=triton.next_power_of_2(slots), MINE=triton.next_power_of_2(triton.cdiv(groups, tokens)), **shape, num_warps=4,
               enable_fp_fusion=False, **_options(early))
    return (offs, places, rows.view(torch.float8_e4m3fn), scales[:, :slots].t()) if leaf else (offs, places, rows, None)
