# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Gradients of a decoder layer's row operations, each a kernel in place of those that autograd composes.

    add_rms_norm_backward   program t: row t; reads it once and keeps it in registers
    rotary_pair_backward    program (t, b): heads of q for b < QS, of k from there on; both halves of a head in one program

The roundings and the order of the additions are those of the separate operations (plain/gradients.py).
"""
import torch
import triton
import triton.language as tl

from detgemm.torch import order
from detgemm.torch.kernels.arithmetic import narrowed, rounded, square_root, tree
from detgemm.torch.kernels.launch import TYPES, cdiv, launch, power_of_2
from detgemm.torch.plain.norms import inverse

TOGETHER = 8     # heads per program


@triton.jit
def _loaded(x, mask):
    return tl.load(x, mask=mask, other=0.0).to(tl.float32)


@triton.jit
def _added(a, b, TYPE: tl.constexpr):
    return narrowed(a + b, TYPE).to(tl.float32)


@triton.jit
def _root(mean, eps):
    return rounded(tl.math.div_rn(1.0, square_root(mean + eps)), tl.float32)


@triton.jit
def _add_rms_norm_backward(first, second, third, dtotal, total, weight, dx, products, n, eps, inverse_n, TYPE: tl.constexpr,
                           PARTS: tl.constexpr, WIDTH: tl.constexpr, LEVELS: tl.constexpr, CHUNKS: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * n
    lane = tl.arange(0, WIDTH)
    x, g, w = (), (), ()
    for chunk in tl.static_range(CHUNKS):
        column = chunk * WIDTH + lane
        there = column < n
        part = _loaded(first + at + column, there)
        if PARTS > 1:
            part = _added(part, _loaded(second + at + column, there), TYPE)
        if PARTS > 2:
            part = _added(part, _loaded(third + at + column, there), TYPE)
        g = g + (part,)
        x = x + (_loaded(total + at + column, there),)
        w = w + (_loaded(weight + column, there),)
    lanes = tl.zeros([WIDTH], tl.float32)
    for chunk in tl.static_range(CHUNKS):
        lanes = lanes + x[chunk] * x[chunk]
    r = _root(tree(lanes[None, :], 1, WIDTH, LEVELS) * inverse_n, eps)
    lanes = tl.zeros([WIDTH], tl.float32)
    for chunk in tl.static_range(CHUNKS):
        lanes = lanes + (g[chunk] * w[chunk]) * (x[chunk] * r)
    q = tree(lanes[None, :], 1, WIDTH, LEVELS) * inverse_n
    for chunk in tl.static_range(CHUNKS):
        column = chunk * WIDTH + lane
        there = column < n
        normal = x[chunk] * r
        d = narrowed(r * (g[chunk] * w[chunk] - normal * q), TYPE).to(tl.float32)
        tl.store(dx + at + column, narrowed(d + _loaded(dtotal + at + column, there), TYPE), mask=there)
        tl.store(products + at + column, g[chunk] * narrowed(normal, TYPE).to(tl.float32), mask=there)


@triton.jit
def _product(a, b, TYPE: tl.constexpr):
    return narrowed(a * b, TYPE).to(tl.float32)


@triton.jit
def _turn_back(dy, x, weight, dx, products, row, block, heads, batch, place, dy_batch, dy_head, dy_place, eps, inverse_n,
               TYPE: tl.constexpr, HALF: tl.constexpr, LEVELS: tl.constexpr, HEADS: tl.constexpr, NORM: tl.constexpr):
    head = (block * HEADS + tl.arange(0, HEADS))[:, None]
    there = head < heads
    i = tl.arange(0, HALF)[None, :]
    cos = narrowed(tl.load(row + i).to(tl.float32), TYPE).to(tl.float32)
    sin = narrowed(tl.load(row + HALF + i).to(tl.float32), TYPE).to(tl.float32)
    source = dy + batch * dy_batch + place * dy_place + head * dy_head + i
    g1, g2 = _loaded(source, there), _loaded(source + HALF, there)
    # Autograd adds the two slices of a head first, each with zeros for the other: -0 becomes +0 there.
    d1 = narrowed((_product(g2, sin, TYPE) + 0.0) + _product(g1, cos, TYPE), TYPE)
    d2 = narrowed((0.0 - _product(g1, sin, TYPE)) + _product(g2, cos, TYPE), TYPE)
    at = (tl.program_id(0).to(tl.int64) * heads + head) * (2 * HALF) + i
    if NORM:
        d1, d2 = d1.to(tl.float32), d2.to(tl.float32)
        x1, x2 = _loaded(x + at, there), _loaded(x + at + HALF, there)
        w1, w2 = tl.load(weight + i).to(tl.float32), tl.load(weight + HALF + i).to(tl.float32)
        # The first level of the tree over a head's lanes adds its halves; a lane starts at +0.
        r = _root(tree(x1 * x1 + x2 * x2, HEADS, HALF, LEVELS) * inverse_n, eps)[:, None]
        n1, n2 = x1 * r, x2 * r
        lanes = (0.0 + (d1 * w1) * n1) + (0.0 + (d2 * w2) * n2)
        q = (tree(lanes, HEADS, HALF, LEVELS) * inverse_n)[:, None]
        tl.store(products + at, d1 * narrowed(n1, TYPE).to(tl.float32), mask=there)
        tl.store(products + at + HALF, d2 * narrowed(n2, TYPE).to(tl.float32), mask=there)
        d1 = narrowed(r * (d1 * w1 - n1 * q), TYPE)
        d2 = narrowed(r * (d2 * w2 - n2 * q), TYPE)
    tl.store(dx + at, d1, mask=there)
    tl.store(dx + at + HALF, d2, mask=there)


@triton.jit(do_not_specialize=["length", "q_heads", "k_heads", "q_blocks", "qb", "qh", "qt", "kb", "kh", "kt"])
def _rotary_pair_backward(dq, dk, q, k, positions, cache, q_weight, k_weight, dq_out, dk_out, q_products, k_products, length, q_heads,
                          k_heads, q_blocks, qb, qh, qt, kb, kh, kt, eps, inverse_n, TYPE: tl.constexpr, HALF: tl.constexpr,
                          LEVELS: tl.constexpr, HEADS: tl.constexpr, NORM: tl.constexpr):
    token, block = tl.program_id(0), tl.program_id(1)
    batch, place = (token // length).to(tl.int64), (token % length).to(tl.int64)
    row = cache + tl.load(positions + token).to(tl.int64) * (2 * HALF)
    if block < q_blocks:
        _turn_back(dq, q, q_weight, dq_out, q_products, row, block, q_heads, batch, place, qb, qh, qt, eps, inverse_n, TYPE, HALF, LEVELS,
                   HEADS, NORM)
    else:
        _turn_back(dk, k, k_weight, dk_out, k_products, row, block - q_blocks, k_heads, batch, place, kb, kh, kt, eps, inverse_n, TYPE,
                   HALF, LEVELS, HEADS, NORM)


def add_rms_norm_backward(parts, dtotal, total, weight, eps):
    """As plain/gradients.py; parts: one to three; all rows x n, contiguous, in one type."""
    rows, n = total.shape
    dx, products = torch.empty_like(total), torch.empty((rows, n), dtype=torch.float32, device=total.device)
    if rows:
        width = min(order.LANES, power_of_2(n))
        first, second, third = (*parts, parts[0], parts[0])[:3]
        launch(_add_rms_norm_backward, (rows,), first, second, third, dtotal, total, weight, dx, products, n, eps, inverse(n),
               TYPE=TYPES[total.dtype], PARTS=len(parts), WIDTH=width, LEVELS=width.bit_length() - 1, CHUNKS=cdiv(n, width),
               num_warps=max(1, min(8, cdiv(n, 512))), enable_fp_fusion=False)
    return dx, products


def rotary_pair_backward(dq, dk, q, k, positions, cache, q_weight, k_weight, eps):
    """dq, dk: batch x length x heads x d, the last dimension contiguous; q, k: tokens x heads x d, contiguous, d a power of two."""
    (tokens, q_heads, dim), k_heads, length = q.shape, k.shape[1], dq.shape[1]
    dq_out, dk_out = torch.empty_like(q), torch.empty_like(k)
    norm = q_weight is not None
    q_products, k_products = (torch.empty((x.shape[0] * x.shape[1] if norm else 0, dim), dtype=torch.float32, device=q.device)
                              for x in (q, k))
    if tokens:
        together = min(TOGETHER, power_of_2(max(1, min(q_heads, k_heads))))
        q_blocks = cdiv(q_heads, together)
        launch(_rotary_pair_backward, (tokens, q_blocks + cdiv(k_heads, together)), dq, dk, q, k, positions, cache,
               q_weight if norm else q, k_weight if norm else k, dq_out, dk_out, q_products if norm else dq_out,
               k_products if norm else dk_out, length, q_heads, k_heads, q_blocks, dq.stride(0), dq.stride(2), dq.stride(1),
               dk.stride(0), dk.stride(2), dk.stride(1), eps, inverse(dim), TYPE=TYPES[q.dtype], HALF=dim // 2,
               LEVELS=(dim // 2).bit_length() - 1, HEADS=together, NORM=norm, num_warps=4, enable_fp_fusion=False)
    return dq_out, dk_out, q_products, k_products
