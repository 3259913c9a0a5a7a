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
from detgemm.torch.kernels.routed import choice, leaf_codes

MOST_SLOTS = 1024


@triton.jit(do_not_specialize=["slots", "first", "groups", "of_experts", "pitch"])
def _place(x, logits, bias, weights, experts, offs, places, y, scales, n, stride, slots, first, groups, of_experts, scale, leaf, leaves,
           pitch, ROUTE: tl.constexpr, SIGMOID: tl.constexpr, BIASED: tl.constexpr, NORM: tl.constexpr, GROUPS: tl.constexpr,
           CHOSEN: tl.constexpr, TOP: tl.constexpr, SLOTS: tl.constexpr, ALL: tl.constexpr, MINE: tl.constexpr, QUANTIZE: tl.constexpr,
           EARLY: tl.constexpr, EXPERTS: tl.constexpr, LEVELS: tl.constexpr, LEAVES: tl.constexpr, BLOCK: tl.constexpr):
    if EARLY:
        gdc_launch_dependents()
    token, part = tl.program_id(0), tl.program_id(1)
    slot, lane = tl.arange(0, SLOTS), tl.arange(0, ALL)
    if EARLY:
        gdc_wait()
    if ROUTE:
        mine, values = choice(logits, bias, of_experts, scale, SIGMOID, BIASED, NORM, GROUPS, CHOSEN, TOP, SLOTS, EXPERTS, LEVELS)
        if part == 0:
            tl.store(weights + slot, values, mask=slot < TOP)
            tl.store(experts + slot, mine, mask=slot < TOP)
        every = mine
    else:
        every = tl.load(experts + lane, mask=lane < slots, other=0)
        mine = tl.load(experts + token * TOP + slot, mask=slot < TOP, other=0)
    every, mine = every - first, mine - first
    inside = (lane < slots) & (every >= 0) & (every < groups)
    held = (slot < TOP) & (mine >= 0) & (mine < groups)
    earlier = (every[None, :] < mine[:, None]) | ((every[None, :] == mine[:, None]) & (lane[None, :] < (token * TOP + slot)[:, None]))
    place = tl.where(held, tl.sum((inside[None, :] & earlier).to(tl.int32), axis=1), -1)
    if part == 0:
        tl.store(places + token * TOP + slot, place, mask=slot < TOP)
        group = token * MINE + tl.arange(0, MINE)
        ends = tl.sum((inside[None, :] & (every[None, :] <= group[:, None])).to(tl.int32), axis=1)
        tl.store(offs + group, ends, mask=group < groups)
    row = x + token.to(tl.int64) * stride
    if QUANTIZE:
        which = part * LEAVES + tl.arange(0, LEAVES)
        inner = tl.arange(0, BLOCK)
        column = which[:, None] * leaf + inner[None, :]
        there = (inner < leaf)[None, :] & (column < n)
        scale_of_leaf, code = leaf_codes(widened(tl.load(row + column, mask=there, other=0.0)))
        tl.store(scales + which[None, :] * pitch + place[:, None], tl.broadcast_to(scale_of_leaf[None, :], [SLOTS, LEAVES]),
                 mask=held[:, None] & (which < leaves)[None, :])
        at = place.to(tl.int64)[:, None, None] * n + column[None, :, :]
        tl.store(y + at, tl.broadcast_to(code[None, :, :], [SLOTS, LEAVES, BLOCK]), mask=held[:, None, None] & there[None, :, :])
    else:
        column = part * BLOCK + tl.arange(0, BLOCK)
        there = column < n
        value = tl.load(row + column, mask=there, other=0.0)
        at = place.to(tl.int64)[:, None] * n + column[None, :]
        tl.store(y + at, tl.broadcast_to(value[None, :], [SLOTS, BLOCK]), mask=held[:, None] & there[None, :])


def serve(slots):
    """Whether so many slots are taken."""
    return 0 < slots <= MOST_SLOTS


def place(x, experts, first, groups, leaf=0, routed=None):
    """(offs, places, rows, their scales or None). x: tokens x n, its last dimension contiguous; experts: tokens x k, contiguous.

    leaf    0: rows in x's type; else e4m3 with a scale per so many numbers
    routed  of one token: (logits, bias, norm, sigmoid, groups, chosen groups, scale, weights), as `route` takes them; its choice
            is written to experts and weights
    """
    (tokens, n), slots, top = x.shape, experts.numel(), experts.shape[1]
    new = dict(device=x.device)
    offs, places = torch.empty((groups,), dtype=torch.int32, **new), torch.empty((slots,), dtype=torch.int32, **new)
    leaves, pitch = triton.cdiv(n, leaf) if leaf else 1, (slots + 3) // 4 * 4
    rows = torch.empty((slots, n), dtype=torch.uint8 if leaf else x.dtype, **new)
    scales = torch.empty((leaves, pitch), dtype=torch.float32, **new) if leaf else None
    block = triton.next_power_of_2(min(leaf, n)) if leaf else 1024
    together = max(1, min(1024 // block, triton.next_power_of_2(leaves))) if leaf else 1
    logits, bias, norm, sigmoid, of_groups, chosen, scale, weights = routed or (x, None, False, False, 1, 1, 1.0, places)
    width, early = triton.next_power_of_2(logits.shape[1]) if routed else 1, _programmatic(x.device)
    count = triton.next_power_of_2(top)
    launch(_place, (tokens, triton.cdiv(leaves, together) if leaf else triton.cdiv(n, block)), x, logits, weights if bias is None else bias,
           weights, experts, offs, places, rows, rows if scales is None else scales, n, x.stride(0), slots, first, groups,
           logits.shape[1], scale, leaf, leaves, pitch, ROUTE=routed is not None, SIGMOID=sigmoid, BIASED=bias is not None, NORM=norm,
           GROUPS=of_groups, CHOSEN=chosen, TOP=top, SLOTS=count, ALL=count if routed else triton.next_power_of_2(slots),
           MINE=triton.next_power_of_2(triton.cdiv(groups, tokens)), QUANTIZE=leaf > 0, EARLY=early, EXPERTS=width,
           LEVELS=width.bit_length() - 1, LEAVES=together, BLOCK=block, num_warps=4, enable_fp_fusion=False, **_options(early))
    if leaf:
        return offs, places, rows.view(torch.float8_e4m3fn), scales[:, :slots].t()
    return offs, places, rows, None
