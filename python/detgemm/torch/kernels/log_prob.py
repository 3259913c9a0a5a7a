# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""logsum16 over stored logits, and the gradient of logits: plain/log_prob.py for Triton.

    _nodes     a program per row and 4096 columns: 256 leaves of 16, then the tree of their 8 levels
    _finish    a program per row: the tree over nodes, then what a row returns
    _gradient  a program per row and 1024 columns

Compared with the plain form in Triton's interpreter, and the gradient byte for byte on an H200 (docs/log/log-prob.md).
"""
import torch
import triton
import triton.language as tl

from detgemm.torch import order
from detgemm.torch.kernels.arithmetic import LN2_HIGH, LN2_LOW, LOG2E, ROUNDER, log_scaled, rounded
from detgemm.torch.kernels.launch import TYPES
from detgemm.torch.plain.log_prob import BLOCK, LEAF, LEVELS, Node

C0, C1, C2, C3, C4 = (tl.constexpr(c) for c in order.SUM_EXP)
LARGEST, SPECIAL = tl.constexpr(order.LARGEST), tl.constexpr(order.SPECIAL)
INFINITY = tl.constexpr(float("inf"))
# NaN is no global: Triton compares globals before each launch, and a NaN does not equal itself.
_WIDTH = 1024  # columns per program of _gradient


@triton.jit
def exponential(x):
    n = tl.fma(x, LOG2E, ROUNDER) - ROUNDER
    r = tl.fma(n, -LN2_LOW, tl.fma(n, -LN2_HIGH, x))
    p = tl.fma(tl.fma(tl.fma(tl.fma(tl.zeros_like(x) + C4, r, C3), r, C2), r, C1), r, C0)
    return tl.fma(r * r, p, r) + 1.0, n.to(tl.int32)


@triton.jit
def power(d):
    return tl.where(d < -126, 0, (tl.maximum(d, -126) + 127) << 23).to(tl.float32, bitcast=True)


@triton.jit
def pairs(x, OUTER: tl.constexpr, INNER: tl.constexpr):
    """Sums of the two halves of the middle dimension of OUTER x 2 x INNER; a sum of two terms has one order."""
    return tl.sum(tl.reshape(x, [OUTER, 2, INNER]), axis=1)


@triton.jit
def leaf_sum(terms, LEAVES: tl.constexpr):
    """LEAVES x 16 to LEAVES: pairs that differ in bit 0 of the column, then bit 3, bit 1, bit 2."""
    terms = pairs(terms, LEAVES * 8, 1)
    terms = pairs(terms, LEAVES, 4)
    terms = pairs(terms, LEAVES * 2, 1)
    return tl.reshape(pairs(terms, LEAVES, 1), [LEAVES])


@triton.jit
def level_up(k, s, a, SLOTS: tl.constexpr, ENTROPY: tl.constexpr):
    """SLOTS nodes to half of them."""
    two = tl.reshape(k, [SLOTS // 2, 2])
    top = tl.max(two, axis=1)
    factor = tl.reshape(power(two - top[:, None]), [SLOTS])
    s = tl.reshape(pairs(s * factor, SLOTS // 2, 1), [SLOTS // 2])
    if ENTROPY:
        a = tl.reshape(pairs(a * factor, SLOTS // 2, 1), [SLOTS // 2])
    else:
        a = s
    return top, s, a


@triton.jit
def _nodes(z, scale, ks, sums, weighted, row_stride, rows, n, SCALED: tl.constexpr, ENTROPY: tl.constexpr,
           LEAVES: tl.constexpr, LEVELS: tl.constexpr):
    row, block = tl.program_id(0).to(tl.int64), tl.program_id(1)
    at = block * (LEAVES * 16) + tl.arange(0, LEAVES)[:, None] * 16 + tl.arange(0, 16)[None, :]
    x = tl.load(z + row * row_stride + at, mask=at < n, other=-INFINITY).to(tl.float32)
    if SCALED:
        x = tl.where(at < n, x * tl.load(scale + row), x)
    absent, infinite = x < -LARGEST, x > LARGEST
    ordinary = (x >= -LARGEST) & (x <= LARGEST)
    safe = tl.where(ordinary, x, 0.0)
    f, e = exponential(safe)
    e = tl.where(ordinary, e, tl.where(absent, -SPECIAL, SPECIAL))
    f = tl.where(ordinary, f, tl.where(absent, 0.0, tl.where(infinite, INFINITY, float("nan"))))
    k = tl.max(e, axis=1)
    factor = power(e - k[:, None])
    s = leaf_sum(f * factor, LEAVES)
    a = s
    if ENTROPY:
        a = leaf_sum(tl.where(ordinary, f * safe, tl.where(absent, -0.0, float("nan"))) * factor, LEAVES)
    for level in tl.static_range(LEVELS):
        k, s, a = level_up(k, s, a, LEAVES >> level, ENTROPY)
    slot = block * (LEAVES >> LEVELS) + tl.arange(0, LEAVES >> LEVELS)
    there = slot * (16 << LEVELS) < n
    to = slot.to(tl.int64) * rows + row
    tl.store(ks + to, k, mask=there)
    tl.store(sums + to, s, mask=there)
    if ENTROPY:
        tl.store(weighted + to, a, mask=there)


@triton.jit
def _finish(ks, sums, weighted, xs, targets, out_k, out_r, out_lse, out_entropy, out_logp, out_x, rows, slots, ids, valid,
            ENTROPY: tl.constexpr, SLOTS: tl.constexpr, LEVELS: tl.constexpr, IDS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    slot = tl.arange(0, SLOTS)
    at = slot.to(tl.int64) * rows + row
    k = tl.load(ks + at, mask=slot < slots, other=-SPECIAL)
    s = tl.load(sums + at, mask=slot < slots, other=0.0)
    a = s
    if ENTROPY:
        a = tl.load(weighted + at, mask=slot < slots, other=-0.0)
    for level in tl.static_range(LEVELS):
        k, s, a = level_up(k, s, a, SLOTS >> level, ENTROPY)
    one = tl.arange(0, 1)
    special, empty = k == SPECIAL, k == -SPECIAL
    strange = special | empty
    total = tl.where(strange, 1.0, s)
    lse = log_scaled(total, k)
    lse = tl.where(special, tl.where(s == INFINITY, INFINITY, float("nan")), tl.where(empty, -INFINITY, lse))
    tl.store(out_k + row + one, k)
    tl.store(out_r + row + one, tl.where(strange, 0.0, tl.math.div_rn(tl.full([1], 1.0, tl.float32), total)))
    tl.store(out_lse + row + one, rounded(lse, tl.float32))
    if ENTROPY:
        tl.store(out_entropy + row + one, rounded(tl.where(strange, float("nan"), lse - tl.math.div_rn(a, total)), tl.float32))
    each = tl.arange(0, IDS)
    here = row * ids + each
    x = tl.load(xs + here, mask=each < ids, other=0.0)
    target = tl.load(targets + here, mask=each < ids, other=-1)
    ordinary = (x >= -LARGEST) & (x <= LARGEST)
    f, n = exponential(tl.where(ordinary, x, 0.0))
    logp = 0.0 - log_scaled(tl.math.div_rn(tl.zeros_like(f) + total, f), k - n)
    logp = tl.where(ordinary, logp, tl.where(x == -INFINITY, x, x - lse))
    logp = tl.where(strange | (target >= valid), float("nan"), logp)
    x = tl.where(target < 0, 0.0, tl.where(target >= valid, float("nan"), x))
    tl.store(out_logp + here, rounded(tl.where(target < 0, 0.0, logp), tl.float32), mask=each < ids)
    tl.store(out_x + here, rounded(x, tl.float32), mask=each < ids)


@triton.jit
def _gradient(z, scale, targets, first, da, db, dc, ks, rs, lses, entropies, out, row_stride, n, SCALED: tl.constexpr,
              OF_ENTROPY: tl.constexpr, OF_LSE: tl.constexpr, TYPE: tl.constexpr, WIDTH: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)
    x = tl.load(z + row * row_stride + at, mask=at < n, other=0.0).to(tl.float32)
    if SCALED:
        x = x * tl.load(scale + row)
    ordinary = (x >= -LARGEST) & (x <= LARGEST)
    f, e = exponential(tl.where(ordinary, x, 0.0))
    k, target = tl.load(ks + row), tl.load(targets + row)
    bits = (f * tl.load(rs + row)).to(tl.int32, bitcast=True)
    d = tl.minimum(tl.maximum(e - k, -512), 0)
    p = tl.where((bits >> 23) + d < 1, 0, bits + (d << 23)).to(tl.float32, bitcast=True)
    g = tl.load(da + row) * (tl.where(at + first == target, 1.0, 0.0) - p)
    if OF_LSE:
        g = g + tl.load(dc + row) * p
    if OF_ENTROPY:
        g = g - tl.load(db + row) * (p * ((x - tl.load(lses + row)) + tl.load(entropies + row)))
    if SCALED:
        g = g * tl.load(scale + row)
    g = tl.where(k == SPECIAL, float("nan"), g)
    g = tl.where((x < -LARGEST) | (target < 0), 0.0, g)
    # A zero, also one that rounding makes, is +0. In integers, since the interpreter has no bf16.
    if TYPE == tl.float32:
        g = tl.where(g == 0.0, 0.0, g)
    else:
        sign = rounded(g, TYPE).to(tl.int16, bitcast=True)
        g = tl.where((sign & 0x7fff) == 0, 0.0, g)
    tl.store(out + row * n + at, rounded(g, TYPE), mask=at < n)


def nodes(z, scale, entropy, levels=LEVELS):
    rows, n = z.shape
    z = z if z.stride(1) == 1 or n == 1 else z.contiguous()
    slots = triton.cdiv(n, LEAF << levels)
    k = torch.empty((slots, rows), dtype=torch.int32, device=z.device)
    s = torch.empty((slots, rows), dtype=torch.float32, device=z.device)
    a = torch.empty_like(s) if entropy else None
    if rows and n:
        _nodes[(rows, triton.cdiv(n, BLOCK))](
            z, scale, k, s, a, z.stride(0), rows, n, SCALED=scale is not None, ENTROPY=entropy, LEAVES=BLOCK // LEAF,
            LEVELS=levels, num_warps=8, enable_fp_fusion=False)
    return Node(k, s, a)


def finish(node, x, targets, valid):
    slots, rows = node.k.shape
    ids = targets.shape[1]
    k, r, lse = (torch.empty(rows, dtype=dtype, device=x.device) for dtype in (torch.int32, torch.float32, torch.float32))
    entropy = None if node.a is None else torch.empty_like(lse)
    logp, out = torch.empty_like(x), torch.empty_like(x)
    if rows:
        wide = triton.next_power_of_2(slots)
        _finish[(rows,)](*node, x, targets, k, r, lse, entropy, logp, out, rows, slots, ids, valid, ENTROPY=node.a is not None,
                         SLOTS=wide, LEVELS=wide.bit_length() - 1, IDS=triton.next_power_of_2(max(1, ids)),
                         num_warps=1 if ids <= 32 else 4, enable_fp_fusion=False)
    return k, r, lse, entropy, logp, out


def gradient(z, scale, target, first, a, b, c, k, r, lse, entropy, dtype):
    rows, n = z.shape
    z = z if z.stride(1) == 1 or n == 1 else z.contiguous()
    out = torch.empty(z.shape, dtype=dtype, device=z.device)
    if rows and n:
        _gradient[(rows, triton.cdiv(n, _WIDTH))](
            z, scale, target, first, a, b, c, k, r, lse, entropy, out, z.stride(0), n, SCALED=scale is not None,
            OF_ENTROPY=b is not None, OF_LSE=c is not None, TYPE=TYPES[dtype], WIDTH=_WIDTH, num_warps=4,
            enable_fp_fusion=False)
    return out
