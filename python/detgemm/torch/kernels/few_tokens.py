# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""A layer of experts for few tokens, where weights are all that takes time. Rows are sorted by expert first (kernels/placing.py).

    up     program (expert, columns)   gate and up of one expert by its rows, 16 at a time, then silu(gate) * up; of e4m3 its rows
                                       are quantised in a launch of their own
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
from detgemm.torch.kernels.placing import place
from detgemm.torch.kernels.routed import quantize

MOST_TOKENS, MOST_SLOTS = 64, 512
TOGETHER = 16  # tokens of a tile
LEAF = 128
KINDS = ("bf16", torch.bfloat16), ("fp16", torch.float16)
# By whether numbers are e4m3 and whether there is one token, of up and of down: rows of a tile of weights, k per stage, warps, stages.
TILES = {(False, True): ((32, 128, 2, 6), (64, 128, 4, 4)), (False, False): ((64, 128, 4, 3), (64, 128, 4, 3)),
         (True, True): ((64, 128, 4, 8), (64, 128, 4, 6)), (True, False): ((64, 128, 4, 5), (64, 128, 4, 4))}


@triton.jit
def _rows(offs, groups, BY_ROW: tl.constexpr, GROUPS: tl.constexpr):
    """The expert of this program among those here, its first row and the end of its rows. BY_ROW: programs are rows, and the first row
    of an expert has all of them; else they are experts."""
    expert = tl.program_id(0)
    if BY_ROW:
        each = tl.arange(0, GROUPS)
        ends = tl.load(offs + each, mask=each < groups, other=0x7fffffff)
        expert = tl.sum((ends <= tl.program_id(0)).to(tl.int32), axis=0)
    begin = tl.load(offs + expert - 1, mask=expert > 0, other=0)
    end = tl.load(offs + expert, mask=expert < groups, other=0)
    if BY_ROW:
        end = tl.where(begin == tl.program_id(0), end, begin)
    return expert.to(tl.int64), begin, end


@triton.jit
def _chain(of_row, there, of_rows, of_line, of_scale, k, pitch, scale_leaf, SCALED: tl.constexpr, ROWS: tl.constexpr, TOKENS: tl.constexpr,
           DEPTH: tl.constexpr):
    """A tile of weights by a tile of rows. Scales of a leaf are loaded while the leaf before it is multiplied."""
    acc = tl.zeros([ROWS, TOKENS], tl.float32)
    if SCALED:
        row_scale, line_scale = tl.load(of_rows, mask=there, other=0.0), tl.load(of_scale)
        for start in range(0, k, DEPTH):
            tile = tl.load(of_line + start)
            rows = tl.load(of_row + start, mask=there[None, :], other=0.0)
            next, more = start // DEPTH + 1, start + DEPTH < k
            next_row = tl.load(of_rows + next * pitch, mask=there & more, other=0.0)
            next_line = tl.load(of_scale + next * scale_leaf, mask=more, other=0.0)
            acc = tl.fma(row_scale[None, :] * line_scale[:, None], tl.dot(tile, rows), acc)
            row_scale, line_scale = next_row, next_line
    else:
        for start in range(0, k, DEPTH):
            tile = tl.load(of_line + start)
            acc = tl.dot(tile, tl.load(of_row + start, mask=there[None, :], other=0.0), acc)
    return acc


@triton.jit(do_not_specialize=["groups", "pitch"])
def _up(x, of_x, offs, weights, of_weights, y, n, k, pitch, scale_expert, scale_row, scale_leaf, groups, GROUPS: tl.constexpr,
        TOKENS: tl.constexpr, BY_ROW: tl.constexpr, SCALED: tl.constexpr, TYPE: tl.constexpr, EARLY: tl.constexpr, ROWS: tl.constexpr,
        DEPTH: tl.constexpr):
    if EARLY:
        gdc_launch_dependents()
    part = tl.program_id(1)
    row, lane = tl.arange(0, ROWS), tl.arange(0, DEPTH)
    line = row // (ROWS // 2) * n + part * (ROWS // 2) + row % (ROWS // 2)  # of gate, then of up
    column = part * (ROWS // 2) + tl.arange(0, ROWS // 2)
    if EARLY:
        gdc_wait()
    expert, begin, end = _rows(offs, groups, BY_ROW, GROUPS)
    of_line = weights + expert * (2 * n * k) + line[:, None] * k + lane[None, :]
    of_scale = of_weights + expert * scale_expert + line // 128 * scale_row
    for first in range(begin, end, TOKENS):
        at = first + tl.arange(0, TOKENS)
        there = at < end
        acc = _chain(x + at[None, :] * k + lane[:, None], there, of_x + at, of_line, of_scale, k, pitch, scale_leaf, SCALED, ROWS, TOKENS, DEPTH)
        gate, up = tl.split(tl.permute(tl.reshape(acc, [2, ROWS // 2, TOKENS]), (1, 2, 0)))
        value = gated(widened(rounded(gate, TYPE)), widened(rounded(up, TYPE)), TYPE)
        tl.store(y + at[None, :] * n + column[:, None], value, mask=there[None, :])


@triton.jit(do_not_specialize=["groups", "pitch"])
def _down(x, of_x, offs, weights, of_weights, y, n, k, pitch, scale_expert, scale_row, scale_leaf, groups, GROUPS: tl.constexpr,
          TOKENS: tl.constexpr, BY_ROW: tl.constexpr, SCALED: tl.constexpr, TYPE: tl.constexpr, EARLY: tl.constexpr, ROWS: tl.constexpr,
          DEPTH: tl.constexpr):
    if EARLY:
        gdc_launch_dependents()
    line, lane = tl.program_id(1) * ROWS + tl.arange(0, ROWS), tl.arange(0, DEPTH)
    if EARLY:
        gdc_wait()
    expert, begin, end = _rows(offs, groups, BY_ROW, GROUPS)
    of_line = weights + expert * (n * k) + line[:, None] * k + lane[None, :]
    of_scale = of_weights + expert * scale_expert + line // 128 * scale_row
    for first in range(begin, end, TOKENS):
        at = first + tl.arange(0, TOKENS)
        there = at < end
        acc = _chain(x + at[None, :] * k + lane[:, None], there, of_x + at, of_line, of_scale, k, pitch, scale_leaf, SCALED, ROWS, TOKENS, DEPTH)
        tl.store(y + at[None, :] * n + line[:, None], rounded(acc, TYPE), mask=there[None, :])


@triton.jit
def _picked(x, mask):
    """The one number of each row that mask names, bit for bit; +0 where there is none."""
    return tl.sum(tl.where(mask, x.to(tl.int32, bitcast=True), 0), axis=1).to(tl.float32, bitcast=True)


@triton.jit(do_not_specialize=["pitch", "first", "total", "rounds"])
def _down_one(x, of_x, places, experts, factors, weights, of_weights, y, n, k, pitch, scale_expert, scale_row, scale_leaf, first, total,
              rounds, TOP: tl.constexpr, TOPS: tl.constexpr, TOKENS: tl.constexpr, SCALED: tl.constexpr, TYPE: tl.constexpr,
              OUT: tl.constexpr, EARLY: tl.constexpr, ROWS: tl.constexpr, DEPTH: tl.constexpr):
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
    place = tl.load(places + slot, mask=slot < TOP, other=-1)
    held = place >= 0
    expert = tl.where(held, number - first, 0).to(tl.int64)
    of_line = weights + expert[:, None] * (n * k) + line[:, None] * k + lane[None, :]
    of_row, there = x + token[None, :] * k + lane[:, None], (token < TOP)[None, :]
    own = place[:, None] == token[None, :]
    if SCALED:
        of_scale, of_rows = of_weights + expert * scale_expert + line // 128 * scale_row, of_x + place
        scale = tl.load(of_rows, mask=held, other=0.0) * tl.load(of_scale)
        value = tl.zeros([ROWS], tl.float32)
        for start in range(0, k, DEPTH):
            tile = tl.load(of_line + start, mask=held[:, None], other=0.0)
            rows = tl.load(of_row + start, mask=there, other=0.0)
            next, more = start // DEPTH + 1, held & (start + DEPTH < k)
            next_row, next_line = tl.load(of_rows + next * pitch, mask=more, other=0.0), tl.load(of_scale + next * scale_leaf, mask=more, other=0.0)
            value = tl.fma(scale, _picked(tl.dot(tile, rows), own), value)
            scale = next_row * next_line
    else:
        acc = tl.zeros([ROWS, TOKENS], tl.float32)
        for start in range(0, k, DEPTH):
            tile = tl.load(of_line + start, mask=held[:, None], other=0.0)
            acc = tl.dot(tile, tl.load(of_row + start, mask=there, other=0.0), acc)
        value = _picked(acc, own)
    product = widened(rounded(value, TYPE)) * tl.load(factors + slot, mask=slot < TOP, other=0.0)
    nothing = tl.full([COLUMNS], -2147483648, tl.int32).to(tl.float32, bitcast=True)  # -0, which changes no sum
    one, two, four, whole = nothing, nothing, nothing, nothing
    by_slot = tl.reshape(product, [TOPS, COLUMNS]).to(tl.int32, bitcast=True)
    each = tl.arange(0, TOPS)[:, None]
    products, eighths = (), ()
    for at in tl.static_range(TOP):
        products = products + (tl.sum(tl.where(each == at, by_slot, 0), axis=0).to(tl.float32, bitcast=True),)
        eighths = eighths + (tl.where(tl.load(places + at) >= 0, tl.load(experts + at) * 8 // total, 8),)
    for which in range(rounds):  # 8, as in `combine`
        mine = nothing
        for at in tl.static_range(TOP):
            mine = mine + tl.where(eighths[at] == which, products[at], nothing)
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


def _read(rows, of_rows):
    return rows, rows if of_rows is None else of_rows


def _pitch(of_rows):
    """From the scales of a leaf to those of the next one."""
    return 0 if of_rows is None else of_rows.stride(1)


def _launched(kernel, grid, arguments, shape, constants, early):
    tile, depth, warps, stages = shape
    launch(kernel, grid, *arguments, **constants, EARLY=early, ROWS=tile, DEPTH=depth, num_warps=warps, num_stages=stages,
           enable_fp_fusion=False, **({"launch_pdl": True} if early else {}))


def layer(x, weights, experts, gate_up, down, scales, first, total, dtype, early=True, routed=None):
    """The weighted sum of the experts' results. x: tokens x k, its last dimension contiguous; weights, experts: tokens x slots.

    scales  of gate_up and down, experts x blocks x leaves, or None twice
    routed  as `place` takes it
    """
    (tokens, k), slots, top, n, groups = x.shape, experts.numel(), experts.shape[1], gate_up.shape[1] // 2, len(gate_up)
    scaled, by_row = scales[0] is not None, slots < groups
    of_gate_up, of_down = scales if scaled else (gate_up, down)
    offs, places, rows, of_rows = place(x, experts, first, groups, LEAF if scaled else 0, routed)
    constants = {"GROUPS": power_of_2(groups), "TOKENS": TOGETHER, "BY_ROW": by_row, "SCALED": scaled, "TYPE": TYPES[x.dtype]}
    alone = tokens == 1 and top <= TOGETHER
    up_shape, shape = TILES[scaled, alone]
    y = torch.empty((slots, n), dtype=x.dtype, device=x.device)
    _launched(_up, (min(slots, groups), 2 * n // up_shape[0]), (*_read(rows, of_rows), offs, gate_up, of_gate_up, y, n, k, _pitch(of_rows),
              *_strides(scales[0]), groups), up_shape, constants, early)
    rows, of_rows = quantize(y, LEAF) if scaled else (y, None)
    if alone:
        y, all = torch.empty((1, k), dtype=dtype, device=x.device), power_of_2(slots)
        _launched(_down_one, (k * all // shape[0],), (*_read(rows, of_rows), places, experts, weights, down, of_down, y, k, n, _pitch(of_rows),
                  *_strides(scales[1]), first, total, 8), shape, {"TOP": top, "TOPS": all, "TOKENS": TOGETHER, "SCALED": scaled,
                  "TYPE": TYPES[x.dtype], "OUT": TYPES[dtype]}, early)
        return y
    y = torch.empty((slots, k), dtype=x.dtype, device=x.device)
    _launched(_down, (min(slots, groups), k // shape[0]), (*_read(rows, of_rows), offs, down, of_down, y, k, n, _pitch(of_rows),
              *_strides(scales[1]), groups), shape, constants, early)
    return combine.combine(y, places.view(weights.shape), weights, None, dtype, experts, total)
