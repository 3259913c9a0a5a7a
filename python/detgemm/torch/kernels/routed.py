# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""What stands between the products of a layer of experts: the choice of a token's experts, the places of rows sorted by expert,
rows at their places, and rows as e4m3 with a scale per leaf. None of them waits for the device.

    choice   probabilities of one token in one program; k times the largest key, of equal ones the first; then k times the first
             of those taken, so that slots are in the order of experts' numbers:  s = ((v_0 + v_1) + v_2) + ...
    places   one program per expert: the slots of experts before it are counted, then its own are numbered, ascending
    leaf     x x x x x x x x      the largest finite magnitude, in any order; then the scale, then each number by itself

Scales are stored leaf by leaf, which is how products over groups read them fastest.
"""
import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from detgemm.torch.kernels.arithmetic import exp, rounded, tree, widened
from detgemm.torch.kernels.fused import _options, _programmatic, gated, sigmoid
from detgemm.torch.kernels.launch import TYPES, launch
from detgemm.torch.kernels.quantize import leaf_codes

LEAST = tl.constexpr(-2 ** 31)  # the key of an expert that cannot be taken


@triton.jit
def _key(score):
    """An integer in the order of fp32 numbers: -0 as +0, NaN above all."""
    bits = (score + 0.0).to(tl.int32, bitcast=True)
    return tl.where(score != score, 0x7fffffff, tl.where(bits < 0, bits ^ 0x7fffffff, bits))


@triton.jit
def _score(key):
    return tl.where(key < 0, key ^ 0x7fffffff, key).to(tl.float32, bitcast=True)


@triton.jit
def _first(taken, lane, WIDTH: tl.constexpr):
    return tl.min(tl.where(taken, lane, WIDTH), axis=0)


@triton.jit
def _of_groups(key, lane, n, GROUPS: tl.constexpr, CHOSEN: tl.constexpr, TWO: tl.constexpr, WIDTH: tl.constexpr):
    """Keys of the experts of the CHOSEN groups with the largest score: that of its best expert, or the sum of its best two."""
    size = n // GROUPS
    which = tl.arange(0, GROUPS)
    of_groups = tl.full([GROUPS], LEAST, tl.int32)
    for group in range(GROUPS):
        mine = tl.where(lane // size == group, key, LEAST)
        best = tl.max(mine, axis=0)
        if TWO:
            second = tl.max(tl.where(lane == _first(mine == best, lane, WIDTH), LEAST, mine), axis=0)
            best = _key(_score(best) + _score(second))
        of_groups = tl.where(which == group, best, of_groups)
    allowed = lane < 0
    for _ in range(CHOSEN):
        group = _first(of_groups == tl.max(of_groups, axis=0), which, GROUPS)
        allowed = allowed | (lane // size == group)
        of_groups = tl.where(which == group, LEAST, of_groups)
    return tl.where(allowed, key, LEAST)


@triton.jit
def choice(logits, bias, n, scale, SIGMOID: tl.constexpr, BIASED: tl.constexpr, NORM: tl.constexpr, GROUPS: tl.constexpr,
           CHOSEN: tl.constexpr, TOP: tl.constexpr, WIDTH: tl.constexpr, LEVELS: tl.constexpr):
    """Of one token, by expert: whether it is taken, its slot and its weight."""
    lane = tl.arange(0, WIDTH)
    there = lane < n
    x = widened(tl.load(logits + lane, mask=there, other=float("-inf")))
    if SIGMOID:
        p = rounded(sigmoid(x), tl.float32)
    else:
        power = tl.where(there, exp(x - tl.max(x, axis=0)), 0.0)
        total = tl.sum(tree(tl.reshape(power, [1, WIDTH]), 1, WIDTH, LEVELS), axis=0)
        p = rounded(power * tl.math.div_rn(1.0, total), tl.float32)
    score = p
    if BIASED:
        score = p + tl.load(bias + lane, mask=there, other=0.0)
    key = tl.where(there, _key(score), LEAST)
    if GROUPS > 1:
        key = _of_groups(key, lane, n, GROUPS, CHOSEN, BIASED, WIDTH)
    packed = (key.to(tl.int64) << 12) | (4095 - lane)  # of equal keys the first is the largest
    taken = lane < 0
    for _ in range(TOP):
        best = packed == tl.max(packed, axis=0)
        taken = taken | best
        packed = tl.where(best, -2 ** 62, packed)
    slot = tl.cumsum(taken.to(tl.int32), axis=0) - 1
    weight = p
    if NORM:
        total = tl.sum(tl.where(taken & (slot == 0), p, 0.0), axis=0)
        for at in tl.static_range(1, TOP):
            total = total + tl.sum(tl.where(taken & (slot == at), p, 0.0), axis=0)
        weight = tl.math.div_rn(p, total)
    return taken, slot, weight * scale


@triton.jit(do_not_specialize=["n"])
def _route(logits, bias, weights, experts, n, stride, scale, SIGMOID: tl.constexpr, BIASED: tl.constexpr, NORM: tl.constexpr,
           GROUPS: tl.constexpr, CHOSEN: tl.constexpr, TOP: tl.constexpr, EARLY: tl.constexpr, WIDTH: tl.constexpr,
           LEVELS: tl.constexpr):
    if EARLY:
        gdc_launch_dependents()
    token = tl.program_id(0).to(tl.int64)
    if EARLY:
        gdc_wait()
    taken, slot, weight = choice(logits + token * stride, bias, n, scale, SIGMOID, BIASED, NORM, GROUPS, CHOSEN, TOP, WIDTH, LEVELS)
    tl.store(weights + token * TOP + slot, weight, mask=taken)
    tl.store(experts + token * TOP + slot, tl.arange(0, WIDTH), mask=taken)


@triton.jit(do_not_specialize=["slots", "first", "groups"])
def _sort(experts, offs, places, slots, first, groups, EARLY: tl.constexpr, BLOCK: tl.constexpr):
    """The last program has the slots of no expert here."""
    if EARLY:
        gdc_launch_dependents()
    mine = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    below = tl.zeros([BLOCK], tl.int32)
    equal = tl.zeros([BLOCK], tl.int32)
    if EARLY:
        gdc_wait()
    for start in range(0, slots, BLOCK):
        there = start + lane < slots
        key = tl.load(experts + start + lane, mask=there, other=0) - first
        inside = there & (key >= 0) & (key < groups)
        below += (inside & (key < mine)).to(tl.int32)
        equal += (inside & (key == mine)).to(tl.int32)
    count = tl.sum(below, axis=0)
    tl.store(offs + mine, count + tl.sum(equal, axis=0), mask=mine < groups)
    for start in range(0, slots, BLOCK):
        there = start + lane < slots
        key = tl.load(experts + start + lane, mask=there, other=0) - first
        key = tl.where((key >= 0) & (key < groups), key, groups)
        here = (there & (key == mine)).to(tl.int32)
        place = count + tl.cumsum(here, axis=0) - 1
        tl.store(places + start + lane, tl.where(mine < groups, place, -1), mask=here > 0)
        count += tl.sum(here, axis=0)


@triton.jit
def _spread(x, places, y, n, stride, SLOTS: tl.constexpr, EARLY: tl.constexpr, BLOCK: tl.constexpr):
    if EARLY:
        gdc_launch_dependents()
    token = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    there = column < n
    if EARLY:
        gdc_wait()
    value = tl.load(x + token * stride + column, mask=there, other=0.0)
    for slot in range(SLOTS):
        place = tl.load(places + token * SLOTS + slot).to(tl.int64)
        tl.store(y + place * n + column, value, mask=there & (place >= 0))


@triton.jit(do_not_specialize=["pitch"])
def _quantize(x, places, codes, scales, n, stride, leaf, leaves, pitch, TYPE: tl.constexpr, GATED: tl.constexpr,
              SLOTS: tl.constexpr, EARLY: tl.constexpr, LEAVES: tl.constexpr, WIDTH: tl.constexpr):
    """SLOTS = 0: each row, or silu(gate) * up of it, at its own place; else each row at the places of its slots."""
    if EARLY:
        gdc_launch_dependents()
    row = tl.program_id(0).to(tl.int64)
    which = tl.program_id(1) * LEAVES + tl.arange(0, LEAVES)
    lane = tl.arange(0, WIDTH)
    column = which[:, None] * leaf + lane[None, :]
    there = (lane < leaf)[None, :] & (column < n)
    if EARLY:
        gdc_wait()
    value = widened(tl.load(x + row * stride + column, mask=there, other=0.0))
    if GATED:
        up = widened(tl.load(x + row * stride + n + column, mask=there, other=0.0))
        value = widened(gated(value, up, TYPE))
    scale, code = leaf_codes(value)
    if SLOTS == 0:
        tl.store(scales + which * pitch + row, scale, mask=which < leaves)
        tl.store(codes + row * n + column, code, mask=there)
    else:
        for slot in range(SLOTS):
            place = tl.load(places + row * SLOTS + slot).to(tl.int64)
            tl.store(scales + which * pitch + place, scale, mask=(which < leaves) & (place >= 0))
            tl.store(codes + place * n + column, code, mask=there & (place >= 0))


def route(logits, bias, top_k, norm, sigmoid, groups, chosen, scale):
    """As plain/routed.py; the last dimension of logits is contiguous."""
    tokens, n = logits.shape
    weights = torch.empty((tokens, top_k), dtype=torch.float32, device=logits.device)
    experts = torch.empty((tokens, top_k), dtype=torch.int32, device=logits.device)
    if tokens:
        early, width = _programmatic(logits.device), triton.next_power_of_2(n)
        launch(_route, (tokens,), logits, weights if bias is None else bias, weights, experts, n, logits.stride(0), scale,
               SIGMOID=sigmoid, BIASED=bias is not None, NORM=norm, GROUPS=groups, CHOSEN=chosen, TOP=top_k,
               EARLY=early, WIDTH=width, LEVELS=width.bit_length() - 1,
               num_warps=max(1, width // 256), enable_fp_fusion=False, **_options(early))
    return weights, experts


def sort(experts, first, groups):
    """experts: one dimension, contiguous int32."""
    slots, early = len(experts), _programmatic(experts.device)
    offs = torch.empty((groups,), dtype=torch.int32, device=experts.device)
    places = torch.empty((slots,), dtype=torch.int32, device=experts.device)
    block = max(32, min(4096, triton.next_power_of_2(slots)))
    launch(_sort, (groups + 1,), experts, offs, places, slots, first, groups, EARLY=early, BLOCK=block,
           num_warps=max(1, block // 512), enable_fp_fusion=False, **_options(early))
    return offs, places


def spread(x, places, slots):
    """x: tokens x n, its last dimension contiguous; places: tokens * slots, contiguous int32."""
    tokens, n = x.shape
    y = torch.empty((tokens * slots, n), dtype=x.dtype, device=x.device)
    if tokens:
        early = _programmatic(x.device)
        launch(_spread, (tokens, triton.cdiv(n, 1024)), x, places, y, n, x.stride(0), SLOTS=slots, EARLY=early, BLOCK=1024,
               num_warps=4, enable_fp_fusion=False, **_options(early))
    return y


def _quantized(x, places, slots, n, leaf, gated=False):
    rows = x.shape[0] * max(1, slots)
    leaves, pitch = triton.cdiv(n, leaf), (rows + 3) // 4 * 4
    codes = torch.empty((rows, n), dtype=torch.uint8, device=x.device)
    scales = torch.empty((leaves, pitch), dtype=torch.float32, device=x.device)
    if rows:
        early, width = _programmatic(x.device), triton.next_power_of_2(min(leaf, n))
        together = max(1, min(1024 // width, triton.next_power_of_2(leaves)))
        launch(_quantize, (x.shape[0], triton.cdiv(leaves, together)), x, codes if places is None else places, codes, scales, n,
               x.stride(0), leaf, leaves, pitch, TYPE=TYPES[x.dtype], GATED=gated, SLOTS=slots, EARLY=early, LEAVES=together,
               WIDTH=width, num_warps=4, enable_fp_fusion=False, **_options(early))
    return codes.view(torch.float8_e4m3fn), scales[:, :rows].t()


def spread_quantize(x, places, slots, leaf):
    """As spread, quantised on the way."""
    return _quantized(x, places, slots, x.shape[1], leaf)


def silu_mul_quantize(x, leaf):
    """x: rows x 2n, its last dimension contiguous."""
    return _quantized(x, None, 0, x.shape[1] // 2, leaf, gated=True)


def quantize(x, leaf):
    """x: rows x n, its last dimension contiguous."""
    return _quantized(x, None, 0, x.shape[1], leaf)
