# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""A layer of experts for few tokens, in two launches behind the choice, or three: where weights are all that takes time.

    up     program (expert, columns)   gate and up of one expert by its tokens, 16 at a time, then silu(gate) * up
    down   program (columns)           of one token: all of its experts, and their weighted sum
           program (expert, columns)   of more: as up; then `combine`

An element of a product is one chain on tensor cores, k ascending: of 16-bit numbers `hopper/TYPE/chain` whichever instruction
multiplies, of e4m3 by wgmma (64 rows of weights or more) a chain per leaf, leaves joined by one fma as scaled:128 says:

    acc = step(step(step(+0, k 0..15), k 16..31), ...)                 sum = fma(sa sb, chain(leaf), sum)

So these have the bits of the products over groups, and are for compute capability 9.0 alone.
"""
import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from detgemm.torch.kernels import combine
from detgemm.torch.kernels.arithmetic import rounded, widened
from detgemm.torch.kernels.fused import gated
from detgemm.torch.kernels.launch import TYPES, launch, power_of_2
from detgemm.torch.kernels.quantize import leaf_codes
from detgemm.torch.kernels.routed import quantize

MOST_TOKENS, MOST_SLOTS = 64, 512
TOGETHER = 16  # tokens of a tile
LEAF = 128
KINDS = ("bf16", torch.bfloat16), ("fp16", torch.float16)
# By whether numbers are e4m3 and whether there is one token, of up and of down: rows of a tile of weights, k per stage, warps, stages.
TILES = {(False, True): ((32, 128, 2, 6), (128, 128, 4, 4)), (False, False): ((64, 128, 4, 4), (64, 128, 4, 4)),
         (True, True): ((64, 128, 4, 5), (64, 128, 4, 6)), (True, False): ((64, 128, 4, 5), (128, 128, 8, 4))}


@triton.jit
def _held(experts, slots, first, groups, BY_SLOT: tl.constexpr, SLOTS: tl.constexpr):
    """The expert of this program among those here, how many slots have it, and of each slot its rank among them or -1. BY_SLOT:
    programs are slots, and the first one with an expert has all of its slots; else they are experts."""
    at = tl.arange(0, SLOTS)
    all = tl.load(experts + at, mask=at < slots, other=-1)
    expert = tl.program_id(0)
    if BY_SLOT:
        expert = tl.load(experts + expert) - first
    match = (all == first + expert) & (at < slots) & (expert >= 0) & (expert < groups)
    count = tl.sum(match.to(tl.int32), axis=0)
    if BY_SLOT:
        count = tl.where(tl.min(tl.where(match, at, SLOTS), axis=0) == tl.program_id(0), count, 0)
    return expert.to(tl.int64), count, tl.where(match, tl.cumsum(match.to(tl.int32), axis=0) - 1, -1)


@triton.jit
def _slots(rank, begin, SLOTS: tl.constexpr, TOKENS: tl.constexpr):
    """The slots of ranks begin .. begin + TOKENS - 1, or -1."""
    wanted = begin + tl.arange(0, TOKENS)
    return tl.max(tl.where(rank[:, None] == wanted[None, :], tl.arange(0, SLOTS)[:, None], -1), axis=0)


@triton.jit(do_not_specialize=["slots", "first", "groups", "pitch"])
def _up(x, of_x, experts, weights, of_weights, y, places, n, k, stride, pitch, scale_expert, scale_row, scale_leaf, slots, first, groups,
        TOP: tl.constexpr, SLOTS: tl.constexpr, TOKENS: tl.constexpr, BY_SLOT: tl.constexpr, SCALED: tl.constexpr, TYPE: tl.constexpr,
        EARLY: tl.constexpr, ROWS: tl.constexpr, DEPTH: tl.constexpr):
    if EARLY:
        gdc_launch_dependents()
    part = tl.program_id(1)
    row, lane = tl.arange(0, ROWS), tl.arange(0, DEPTH)
    line = row // (ROWS // 2) * n + part * (ROWS // 2) + row % (ROWS // 2)  # of gate, then of up
    column = part * (ROWS // 2) + tl.arange(0, ROWS // 2)
    if EARLY:
        gdc_wait()
    expert, count, rank = _held(experts, slots, first, groups, BY_SLOT, SLOTS)
    if (tl.program_id(0) == 0) & (part == 0):
        at = tl.arange(0, SLOTS)
        number = tl.load(experts + at, mask=at < slots, other=-1) - first
        tl.store(places + at, tl.where((number >= 0) & (number < groups), at, -1), mask=at < slots)
    of_line = weights + expert * (2 * n * k) + line[:, None] * k + lane[None, :]
    of_scale = of_weights + expert * scale_expert + line // 128 * scale_row
    for begin in range(0, count, TOKENS):
        slot = _slots(rank, begin, SLOTS, TOKENS)
        token, there = slot // TOP, slot >= 0
        of_row = x + token[None, :] * stride + lane[:, None]
        acc = tl.zeros([ROWS, TOKENS], tl.float32)
        for start in range(0, k, DEPTH):
            tile = tl.load(of_line + start)
            rows = tl.load(of_row + start, mask=there[None, :], other=0.0)
            if SCALED:
                leaf = start // DEPTH
                scale = tl.load(of_x + leaf * pitch + token, mask=there, other=0.0)[None, :] * tl.load(of_scale + leaf * scale_leaf)[:, None]
                acc = tl.fma(scale, tl.dot(tile, rows), acc)
            else:
                acc = tl.dot(tile, rows, acc)
        gate, up = tl.split(tl.permute(tl.reshape(acc, [2, ROWS // 2, TOKENS]), (1, 2, 0)))
        value = gated(widened(rounded(gate, TYPE)), widened(rounded(up, TYPE)), TYPE)
        tl.store(y + slot[None, :] * n + column[:, None], value, mask=there[None, :])


@triton.jit
def _leaf(rows):
    """Of a k x columns tile: scales of the columns, and its numbers in e4m3."""
    scale, codes = leaf_codes(tl.trans(widened(rows)))
    return scale, tl.trans(codes).to(tl.float8e4nv, bitcast=True)


@triton.jit(do_not_specialize=["slots", "first", "groups"])
def _down(x, experts, weights, of_weights, y, n, k, scale_expert, scale_row, scale_leaf, slots, first, groups, TOP: tl.constexpr,
          SLOTS: tl.constexpr, TOKENS: tl.constexpr, BY_SLOT: tl.constexpr, SCALED: tl.constexpr, TYPE: tl.constexpr, EARLY: tl.constexpr,
          ROWS: tl.constexpr, DEPTH: tl.constexpr):
    if EARLY:
        gdc_launch_dependents()
    line, lane = tl.program_id(1) * ROWS + tl.arange(0, ROWS), tl.arange(0, DEPTH)
    if EARLY:
        gdc_wait()
    expert, count, rank = _held(experts, slots, first, groups, BY_SLOT, SLOTS)
    of_line = weights + expert * (n * k) + line[:, None] * k + lane[None, :]
    of_scale = of_weights + expert * scale_expert + line // 128 * scale_row
    for begin in range(0, count, TOKENS):
        slot = _slots(rank, begin, SLOTS, TOKENS)
        there = (slot >= 0)[None, :]
        of_row = x + slot[None, :] * k + lane[:, None]
        acc = tl.zeros([ROWS, TOKENS], tl.float32)
        for start in range(0, k, DEPTH):
            tile = tl.load(of_line + start)
            rows = tl.load(of_row + start, mask=there, other=0.0)
            if SCALED:
                of_rows, codes = _leaf(rows)
                scale = of_rows[None, :] * tl.load(of_scale + start // DEPTH * scale_leaf)[:, None]
                acc = tl.fma(scale, tl.dot(tile, codes), acc)
            else:
                acc = tl.dot(tile, rows, acc)
        tl.store(y + slot[None, :] * n + line[:, None], rounded(acc, TYPE), mask=there)


@triton.jit
def _picked(x, mask):
    """The one number of each row that mask names, bit for bit; +0 where there is none."""
    return tl.sum(tl.where(mask, x.to(tl.int32, bitcast=True), 0), axis=1).to(tl.float32, bitcast=True)


@triton.jit(do_not_specialize=["first", "groups", "total", "rounds"])
def _down_one(x, experts, factors, weights, of_weights, y, n, k, scale_expert, scale_row, scale_leaf, first, groups, total, rounds,
              TOP: tl.constexpr, TOPS: tl.constexpr, TOKENS: tl.constexpr, SCALED: tl.constexpr, TYPE: tl.constexpr, OUT: tl.constexpr,
              EARLY: tl.constexpr, ROWS: tl.constexpr, DEPTH: tl.constexpr):
    """One token. Rows of the tile are TOPS slots of ROWS / TOPS columns each; every slot meets every row of x, and its own is kept."""
    if EARLY:
        gdc_launch_dependents()
    COLUMNS: tl.constexpr = ROWS // TOPS
    part = tl.program_id(0)
    row, lane, token = tl.arange(0, ROWS), tl.arange(0, DEPTH), tl.arange(0, TOKENS)
    slot, line = row // COLUMNS, part * COLUMNS + row % COLUMNS
    if EARLY:
        gdc_wait()
    number = tl.load(experts + slot, mask=slot < TOP, other=-1)
    expert = number - first
    held = (expert >= 0) & (expert < groups) & (slot < TOP)
    expert = tl.where(held, expert, 0).to(tl.int64)
    of_line = weights + expert[:, None] * (n * k) + line[:, None] * k + lane[None, :]
    of_row = x + token[None, :] * k + lane[:, None]
    own = slot[:, None] == token[None, :]
    if SCALED:
        of_scale = of_weights + expert * scale_expert + line // 128 * scale_row
        value = tl.zeros([ROWS], tl.float32)
        for start in range(0, k, DEPTH):
            tile = tl.load(of_line + start, mask=held[:, None], other=0.0)
            of_rows, codes = _leaf(tl.load(of_row + start, mask=(token < TOP)[None, :], other=0.0))
            of_rows = _picked(tl.broadcast_to(of_rows[None, :], [ROWS, TOKENS]), own)
            scale = of_rows * tl.load(of_scale + start // DEPTH * scale_leaf)
            value = tl.fma(scale, _picked(tl.dot(tile, codes), own), value)
    else:
        acc = tl.zeros([ROWS, TOKENS], tl.float32)
        for start in range(0, k, DEPTH):
            tile = tl.load(of_line + start, mask=held[:, None], other=0.0)
            acc = tl.dot(tile, tl.load(of_row + start, mask=(token < TOP)[None, :], other=0.0), acc)
        value = _picked(acc, own)
    product = widened(rounded(value, TYPE)) * tl.load(factors + slot, mask=slot < TOP, other=0.0)
    eighth = tl.where(held, number * 8 // total, 8)
    nothing = tl.full([COLUMNS], -2147483648, tl.int32).to(tl.float32, bitcast=True)  # -0, which changes no sum
    one, two, four, whole = nothing, nothing, nothing, nothing
    by_slot = tl.reshape(product, [TOPS, COLUMNS]).to(tl.int32, bitcast=True)
    eighths = tl.reshape(eighth, [TOPS, COLUMNS])
    each = tl.arange(0, TOPS)[:, None]
    products, places = (), ()
    for at in tl.static_range(TOP):
        products = products + (tl.sum(tl.where(each == at, by_slot, 0), axis=0).to(tl.float32, bitcast=True),)
        places = places + (tl.sum(tl.where(each == at, eighths, 0), axis=0),)
    for which in range(rounds):  # 8, as in `combine`
        mine = nothing
        for at in tl.static_range(TOP):
            mine = mine + tl.where(places[at] == which, products[at], nothing)
        pair = one + mine
        quad = two + pair
        whole = four + quad
        one = tl.where(which % 2 == 0, mine, one)
        two = tl.where(which % 4 == 1, pair, two)
        four = tl.where(which == 3, quad, four)
    tl.store(y + part * COLUMNS + tl.arange(0, COLUMNS), rounded(whole, OUT))


CONTRACTS = {**{f"hopper/{name}/chain->{name}": dtype for name, dtype in KINDS}, **{f"hopper/e4m3/scaled:128->{name}": dtype for name, dtype in KINDS}}


def serve(x, slots, gate_up, down, scales, contract):
    """Whether these kernels compute such a layer: whole tiles, arrays without gaps, and tensor cores that were compared."""
    n, k, step = gate_up.shape[1] // 2, gate_up.shape[2], LEAF
    shapes = 0 < len(x) <= MOST_TOKENS and slots <= MOST_SLOTS and n % step == 0 and k % step == 0
    given = gate_up.is_contiguous() and down.is_contiguous() and CONTRACTS.get(contract) == x.dtype
    scaled = all(each is None or each.dtype == torch.float32 for each in scales)
    return shapes and given and scaled and torch.version.hip is None and torch.cuda.get_device_capability(x.device) == (9, 0)


def _strides(scale):
    return (0, 0, 0) if scale is None else scale.stride()


def _launched(kernel, grid, arguments, shape, constants, early):
    tile, depth, warps, stages = shape
    launch(kernel, grid, *arguments, **constants, EARLY=early, ROWS=tile, DEPTH=depth, num_warps=warps, num_stages=stages,
           enable_fp_fusion=False, **({"launch_pdl": True} if early else {}))


def layer(x, weights, experts, gate_up, down, scales, first, total, dtype, early=True):
    """The weighted sum of the experts' results. x: tokens x k, its last dimension contiguous; weights, experts: tokens x slots.

    scales  of gate_up and down, experts x blocks x leaves, or None twice
    """
    (tokens, k), slots, top, n, groups = x.shape, experts.numel(), experts.shape[1], gate_up.shape[1] // 2, len(gate_up)
    device, scaled = x.device, scales[0] is not None
    (of_gate_up, of_down), (codes, of_x) = scales if scaled else (gate_up, down), quantize(x, LEAF) if scaled else (x, x)
    programs, all = min(slots, groups), power_of_2(slots)
    constants = {"TOP": top, "SLOTS": all, "TOKENS": TOGETHER, "BY_SLOT": slots <= groups, "SCALED": scaled, "TYPE": TYPES[x.dtype]}
    alone = tokens == 1 and top <= TOGETHER
    up_shape, shape = TILES[scaled, alone]
    rows = torch.empty((slots, n), dtype=x.dtype, device=device)
    places = torch.empty((slots,), dtype=torch.int32, device=device)
    _launched(_up, (programs, 2 * n // up_shape[0]), (codes, of_x, experts, gate_up, of_gate_up, rows, places, n, k, codes.stride(0),
              of_x.stride(1) if scaled else 0, *_strides(scales[0]), slots, first, groups), up_shape, constants, early)
    if alone:
        y = torch.empty((1, k), dtype=dtype, device=device)
        _launched(_down_one, (k * all // shape[0],), (rows, experts, weights, down, of_down, y, k, n, *_strides(scales[1]), first, groups,
                  total, 8), shape, {"TOP": top, "TOPS": all, "TOKENS": TOGETHER, "SCALED": scaled, "TYPE": TYPES[x.dtype], "OUT": TYPES[dtype]},
                  early)
        return y
    y = torch.empty((slots, k), dtype=x.dtype, device=device)
    _launched(_down, (programs, k // shape[0]), (rows, experts, down, of_down, y, k, n, *_strides(scales[1]), slots, first, groups), shape,
              constants, early)
    return combine.combine(y, places.view(weights.shape), weights, None, dtype, experts, total)
