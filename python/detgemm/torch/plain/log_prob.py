# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""logsum16: the sum of e^x over a vocabulary in one written order, as docs/log-prob.md writes it.

    column   e^x = f 2^n                                 n is an integer, 0.70 < f < 1.42
    leaf     16 columns    pairs that differ in bit 0 of the column's number, then bit 3, bit 1, bit 2
    node     (k, s, a)     the sum of e^x is s 2^k, the sum of x e^x is a 2^k
    tree     node i of a level joins the nodes 2i and 2i + 1 of the level below: by position, whatever there is

Nodes are tensors of slots x T. An absent column has the least k, s = +0 and a = -0, the neutral number of an
addition, so that nothing here looks for it.
"""
from typing import NamedTuple

import torch

from detgemm.torch import order
from detgemm.torch.plain.arithmetic import fma, log, rounded

LEAF = 16
BLOCK = 4096  # columns whose node is made in one step; a launch's shape, which moves no bit
LEVELS = (BLOCK // LEAF).bit_length() - 1
_ELEMENTS = 1 << 15  # of logits at a time, so that temporaries stay in the cache


class Node(NamedTuple):
    k: torch.Tensor  # int32
    s: torch.Tensor  # fp32
    a: torch.Tensor | None  # fp32; None where there is no entropy

    def each(self, change):
        return Node(*(None if part is None else change(part) for part in self))


def exponential(x):
    """f in fp32 and n in int32 with e^x = f 2^n, for |x| <= 65536."""
    wide = x.double()
    n = torch.round(wide * order.LOG2E)  # the product is exact, and ties go to even
    # Both products and sums are exact in fp64 here: n has 17 bits, and what is left of x ends at 2^-42.
    r = (wide - n * order.LN2_HIGH).float()
    r = (r.double() - n * order.LN2_LOW).float()
    p = torch.full_like(r, order.SUM_EXP[-1])
    for coefficient in order.SUM_EXP[-2::-1]:
        p = fma(p, r, coefficient)
    return fma(r * r, p, r) + 1.0, n.to(torch.int32)


def power(d):
    """2^d of int32 d <= 0, as fp32; +0 below 2^-126."""
    return ((d.clamp(min=-127) + 127) << 23).view(torch.float32)


def scaled(z, scale):
    """x = z s in fp32, one rounding. z: T x columns; scale: T or None."""
    return z.float() if scale is None else z.float() * scale[:, None]


def columns(x, entropy):
    """Every element of x as a node of its own."""
    ordinary = x.abs() <= order.LARGEST
    if x.device.type == "cpu" and bool(ordinary.all()):  # what follows takes as long as the exponential
        f, n = exponential(x)
        return Node(n, f, f * x if entropy else None)
    absent, infinite, nan = x < -order.LARGEST, x > order.LARGEST, x != x
    f, n = exponential(torch.where(ordinary, x, 0.0))
    n = torch.where(ordinary, n, torch.where(absent, -order.SPECIAL, order.SPECIAL))
    f = torch.where(absent, 0.0, torch.where(infinite, x.new_full((), float("inf")), torch.where(nan, x, f)))
    if not entropy:
        return Node(n.to(torch.int32), f, None)
    nothing = torch.where(absent, x.new_full((), -0.0), x.new_full((), float("nan")))
    return Node(n.to(torch.int32), f, torch.where(ordinary, f * x, nothing))


def join(left, right):
    """One node of two."""
    k = torch.maximum(left.k, right.k)
    first, second = power(left.k - k), power(right.k - k)
    a = None if left.a is None else left.a * first + right.a * second
    return Node(k, left.s * first + right.s * second, a)


def absent_like(node, slots):
    shape = (slots, *node.k.shape[1:])
    return Node(node.k.new_full(shape, -order.SPECIAL), node.s.new_zeros(shape),
                None if node.a is None else node.a.new_full(shape, -0.0))


def concatenated(nodes):
    return Node(*(None if parts[0] is None else torch.cat(parts) for parts in zip(*nodes)))


def up(node):
    """The next level; a slot without a neighbour passes unchanged, as beside an absent one."""
    if node.k.shape[0] % 2:
        node = concatenated((node, absent_like(node, 1)))
    return join(node.each(lambda part: part[0::2]), node.each(lambda part: part[1::2]))


def _leaf_sum(terms):
    """... x 16 to ..., in the order of bits 0, 3, 1, 2 of the last index."""
    terms = terms.unflatten(-1, (2, 2, 2, 2))
    for axis in (-1, -3, -1, -1):
        left, right = terms.unbind(axis)
        terms = left + right
    return terms


def _leaves(x, entropy):
    missing = -x.shape[1] % LEAF
    node = columns(torch.nn.functional.pad(x, (0, missing), value=float("-inf")), entropy)
    node = node.each(lambda part: part.unflatten(1, (-1, LEAF)))
    k = node.k.amax(-1)
    factor = power(node.k - k[..., None])
    a = None if node.a is None else _leaf_sum(node.a * factor)
    return Node(k, _leaf_sum(node.s * factor), a).each(torch.t)


def nodes(z, scale, entropy, levels=LEVELS):
    """Nodes of z's columns, `levels` above the leaves: slots x T. z: T x columns, whose first one begins such a node."""
    step = max(1, _ELEMENTS // max(1, z.shape[1]))
    parts = []
    for start in range(0, max(1, z.shape[0]), step):
        node = _leaves(scaled(z[start:start + step], None if scale is None else scale[start:start + step]), entropy)
        for _ in range(levels):
            node = up(node)
        parts.append(node)
    return Node(*(None if planes[0] is None else torch.cat(planes, 1) for planes in zip(*parts)))


def root(node):
    """The only node of slots x T, whose first slot is the first of its level: T. Without a slot it is absent."""
    node = node if node.k.shape[0] else absent_like(node, 1)
    while node.k.shape[0] > 1:
        node = up(node)
    return node.each(lambda part: part[0])


def finish(node, x, targets, valid):
    """What a row returns, from nodes of slots x T that begin at column 0, and its targets' x, T x ids.

    Returns K, R = 1/S, lse, entropy or None: T each; log-probabilities and x: T x ids.
    """
    k, s, a = root(node)
    special, empty = k == order.SPECIAL, k == -order.SPECIAL
    strange = special | empty
    nan, one, infinity = (s.new_full((), value) for value in (float("nan"), 1.0, float("inf")))
    sum_ = torch.where(strange, one, s)
    lse = log(sum_, k)
    lse = torch.where(special, torch.where(s == infinity, infinity, nan), torch.where(empty, -infinity, lse))
    entropy = None if a is None else rounded(torch.where(strange, nan, lse - a / sum_), torch.float32)
    inverse = torch.where(strange, 0.0, one / sum_)
    ordinary = x.abs() <= order.LARGEST
    f, n = exponential(torch.where(ordinary, x, 0.0))
    logp = 0.0 - log(sum_[:, None] / f, k[:, None] - n)
    logp = torch.where(ordinary, logp, torch.where(x == -infinity, x, x - lse[:, None]))
    logp = torch.where(strange[:, None] | (targets >= valid), nan, logp)
    logp = torch.where(targets < 0, 0.0, logp)
    x = torch.where(targets < 0, 0.0, torch.where(targets >= valid, nan, x))
    return k, inverse, rounded(lse, torch.float32), entropy, rounded(logp, torch.float32), rounded(x, torch.float32)


def _gradient(x, target, a, b, c, k, r, lse, entropy, scale, first, dtype):
    ordinary = x.abs() <= order.LARGEST
    f, n = exponential(torch.where(ordinary, x, 0.0))
    q = f * r
    d = (n - k).clamp(-512, 0)
    bits = q.view(torch.int32)
    p = torch.where((bits >> 23) + d < 1, 0, bits + (d << 23)).view(torch.float32)
    delta = torch.arange(first, first + x.shape[1], device=x.device) == target
    g = a * (delta.float() - p)
    if c is not None:
        g = g + c * p
    if b is not None:
        g = g - b * (p * ((x - lse) + entropy))
    g = g if scale is None else g * scale
    g = torch.where(k == order.SPECIAL, x.new_full((), float("nan")), g)
    g = rounded(torch.where((x < -order.LARGEST) | (target < 0), 0.0, g), dtype)
    return torch.where(g == 0, torch.zeros((), dtype=dtype, device=x.device), g)


def gradient(z, scale, target, first, a, b, c, k, r, lse, entropy, dtype):
    """The gradient of z, T x columns from column `first`, in `dtype`; all else is T. b and c may be None."""
    out = torch.empty(z.shape, dtype=dtype, device=z.device)
    step = max(1, _ELEMENTS // max(1, z.shape[1]))
    for start in range(0, z.shape[0], step):
        rows = slice(start, start + step)
        factor = None if scale is None else scale[rows]
        parts = (None if part is None else part[rows, None] for part in (target, a, b, c, k, r, lse, entropy, scale))
        out[rows] = _gradient(scaled(z[rows], factor), *parts, first, dtype)
    return out
