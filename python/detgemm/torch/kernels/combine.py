# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The weighted sum of a token's experts, one program per token and block of columns, and its gradients, one program per few slots.

    total = -0                                    slots ascending; with `start`, from there
    total = round(total + round(weight x))        a slot without a place adds nothing

    ((t0 + t1) + (t2 + t3)) + ((t4 + t5) + (t6 + t7))      with `eighths`, a total for each

Tested in Triton's interpreter, and on an H200 against the definitions.
"""
import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from detgemm.torch.kernels.arithmetic import AMD, rounded, tree, widened
from detgemm.torch.kernels.fused import _options, _programmatic
from detgemm.torch.kernels.launch import TYPES, launch, rows_per_program


@triton.jit
def _slot(x, places, weights, at, column, there, stride, TYPE: tl.constexpr):
    """The place of a slot, and its product."""
    place = tl.load(places + at).to(tl.int64)
    weight = widened(tl.load(weights + at))
    value = widened(tl.load(x + place * stride + column, mask=there & (place >= 0), other=0.0))
    return place, _in(value * weight, TYPE)


@triton.jit
def _in(x, TYPE: tl.constexpr):
    """Rounded to TYPE. A NaN stays what it is: the end of the sum has one form of it."""
    if TYPE == tl.float32:
        return x
    else:
        return widened(rounded(x, TYPE))


@triton.jit(do_not_specialize=["parts", "rounds"])
def _combine(x, places, weights, start, eighths, y, n, stride, parts, rounds, SLOTS: tl.constexpr, TYPE: tl.constexpr, OUT: tl.constexpr,
             START: tl.constexpr, EIGHTHS: tl.constexpr, EARLY: tl.constexpr, BLOCK: tl.constexpr):
    if EARLY:
        gdc_launch_dependents()
    token = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    there = column < n
    if EARLY:
        gdc_wait()
    if START:
        total = widened(tl.load(start + token * n + column, mask=there, other=0.0))
    else:
        total = tl.full([BLOCK], -2147483648, tl.int32).to(tl.float32, bitcast=True)  # -0; tl.full takes -0.0 for 0
    if EIGHTHS:
        products, eighth = (), ()
        for slot in tl.static_range(SLOTS):
            place, product = _slot(x, places, weights, token * SLOTS + slot, column, there, stride, TYPE)
            products = products + (product,)
            eighth = eighth + (tl.where(place >= 0, tl.load(eighths + token * SLOTS + slot) * 8 // parts, 8),)
        absent = total  # -0, which changes no sum
        one, two, four = total, total, total
        for which in range(rounds):  # 8, which the compiler does not know: unrolled, its code is read from memory for longer than it runs
            mine = absent
            for slot in tl.static_range(SLOTS):
                if AMD:
                    mine = _in(mine + tl.where(eighth[slot] == which, products[slot], absent), TYPE)
                elif eighth[slot] == which:  # a branch that all lanes take together leaves out seven additions of -0 of eight
                    mine = _in(mine + products[slot], TYPE)
            pair = _in(one + mine, TYPE)
            quad = _in(two + pair, TYPE)
            total = _in(four + quad, TYPE)
            one = tl.where(which % 2 == 0, mine, one)
            two = tl.where(which % 4 == 1, pair, two)
            four = tl.where(which == 3, quad, four)
    else:
        for slot in range(SLOTS):
            place, product = _slot(x, places, weights, token * SLOTS + slot, column, there, stride, TYPE)
            total = tl.where(place >= 0, _in(total + product, TYPE), total)
    tl.store(y + token * n + column, rounded(total, OUT), mask=there)


@triton.jit(do_not_specialize=["slots"])
def _combine_backward(dy, x, places, weights, dx, dweights, slots, n, stride, SLOTS: tl.constexpr, TYPE: tl.constexpr,
                      OF_X: tl.constexpr, OF_WEIGHTS: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr, LEVELS: tl.constexpr):
    slot = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    lane = tl.arange(0, WIDTH)
    place = tl.load(places + slot, mask=slot < slots, other=-1).to(tl.int64)
    weight = widened(tl.load(weights + slot, mask=slot < slots, other=0.0))
    token = slot // SLOTS
    lanes = tl.zeros([ROWS, WIDTH], tl.float32)
    for begin in range(0, n, WIDTH):
        column = (begin + lane)[None, :]
        there = (place >= 0)[:, None] & (column < n)
        gradient = widened(tl.load(dy + token[:, None] * n + column, mask=there, other=0.0))
        value = widened(tl.load(x + place[:, None] * stride + column, mask=there, other=0.0))
        product = widened(rounded(weight[:, None] * gradient, TYPE))
        tl.store(dx + place[:, None] * n + column, rounded(product, OF_X), mask=there)
        lanes = lanes + gradient * value
    total = rounded(tree(lanes, ROWS, WIDTH, LEVELS), OF_WEIGHTS)
    tl.store(dweights + slot, total, mask=place >= 0)


def combine(x, places, weights, start, dtype, eighths=None, parts=8):
    """As plain/combine.py; the last dimension of x is contiguous, and so are the others."""
    (tokens, slots), n = weights.shape, x.shape[1]
    y = torch.empty((tokens, n), dtype=dtype, device=x.device)
    if tokens:
        early = _programmatic(x.device)
        block = 1024 if eighths is None else 512
        launch(_combine, (tokens, triton.cdiv(n, block)), x, places, weights, y if start is None else start,
               places if eighths is None else eighths, y, n, x.stride(0), parts, 8, SLOTS=slots,
               TYPE=TYPES[torch.promote_types(x.dtype, weights.dtype)], OUT=TYPES[dtype], START=start is not None,
               EIGHTHS=eighths is not None, EARLY=early, BLOCK=block, num_warps=4, enable_fp_fusion=False, **_options(early))
    return y


def combine_backward(dy, x, places, weights):
    n, slots = x.shape[1], weights.numel()
    dx, dweights = torch.zeros_like(x, memory_format=torch.contiguous_format), torch.zeros_like(weights)
    if slots:
        shape = rows_per_program(slots, n)
        _combine_backward[(triton.cdiv(slots, shape["ROWS"]),)](
            dy, x, places, weights, dx, dweights, slots, n, x.stride(0), SLOTS=weights.shape[1],
            TYPE=TYPES[torch.promote_types(x.dtype, weights.dtype)], OF_X=TYPES[x.dtype], OF_WEIGHTS=TYPES[weights.dtype], **shape)
    return dx, dweights
