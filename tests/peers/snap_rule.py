# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The rule of `snap` in PyTorch, written from the contract's text alone; operands to try it on; how leaves are joined.

    leaf of a row:   a_0 ... a_(n-1)                       n <= LEAF products of K
    grid:            2^t, t the least in -62 .. 51 with    sum of rint(a_k 2^-t)^2 <= 2^24
    snapped:         a'_k = rint(a_k 2^-t) 2^t             still a bf16 number; a zero is +0

Numbers are float64 here, which holds every bf16 number and every sum of squares exactly. All tensors of a call lie on
one device.
"""
import torch

LEAST, GREATEST, BUDGET = -62, 51, 2.0**24

# Mistakes on purpose: what each of them does to an operand. None of them may have the contract's bits.
FAULTS = {"not snapped": "the numbers as they are", "twice the leaf": "grids of leaves that are twice as long",
          "truncated": "truncation in place of rounding", "grid of the row": "one grid for all of K"}


def power(t):
    """2^t as float64, from its bits: t is a tensor of integers between -1022 and 1023."""
    return ((t + 1023) << 52).view(torch.float64)


def cut(x, leaf):
    """Rows x K as rows x leaves x LEAF, the last leaf padded with zeros, which change no grid and no sum."""
    rows, k = x.shape
    return torch.nn.functional.pad(x, (0, -k % leaf)).view(rows, -1, leaf)


def exponents(leaves, nearest):
    """t of every leaf, and GREATEST + 1 where none is coarse enough."""
    finite = torch.where(leaves.isfinite(), leaves, 0.0)
    top = finite.abs().amax(-1)
    # Below this one the largest number alone has a square above 2^24.
    t = torch.clamp((top.view(torch.int64) >> 52) - 1022 - 14, min=LEAST)
    while True:
        squares = nearest(finite * power(-t)[..., None]) ** 2
        coarser = (squares.sum(-1) > BUDGET) & (t <= GREATEST)
        if not coarser.any():
            return t
        t = t + coarser


def snap(x, leaf, fault=None):
    """Rows x K of bf16, snapped along K; with a fault, wrongly."""
    if fault == "not snapped":
        return x
    nearest = torch.trunc if fault == "truncated" else torch.round  # round: ties to even
    leaf = {"twice the leaf": 2 * leaf, "grid of the row": max(x.shape[1], 1)}.get(fault, leaf)
    leaves = cut(x.double(), leaf)
    t = exponents(leaves, nearest)
    on_grid = nearest(leaves * power(-t)[..., None]) * power(t)[..., None] + 0.0  # -0 + 0 is +0
    on_grid = torch.where(leaves.isfinite(), on_grid, leaves)
    on_grid = torch.where((t > GREATEST)[..., None], float("nan"), on_grid)
    return canonical(on_grid.flatten(1)[:, :x.shape[1]].to(torch.bfloat16))


def canonical(x):
    """Every NaN as the contract returns it: 7fff, or 7fffffff."""
    words, nan = (torch.int16, 0x7FFF) if x.dtype == torch.bfloat16 else (torch.int32, 0x7FFFFFFF)
    return x.view(words).masked_fill(x.isnan(), nan).view(x.dtype)


def shuffled(k, leaf, generator, device):
    """An order of K that leaves every product in its leaf."""
    begins = torch.arange(k, device=device) // leaf
    return (begins.double() + torch.rand(k, generator=generator, device=device, dtype=torch.float64)).argsort()


def fold(product, count):
    """((+0 + l_0) + l_1) + ...; product(i) is l_i in fp32."""
    total = 0.0
    for i in range(count):
        total = product(i) + total
    return total


def tree(product, count):
    """T(0, count), T(lo, hi) = T(lo, mid) + T(mid, hi) with mid = lo + floor((hi - lo) / 2)."""
    def part(low, high):
        middle = low + (high - low) // 2
        return product(low) + 0.0 if high - low == 1 else part(low, middle) + part(middle, high)
    return part(0, count)


# Operands: rows x K of bf16, from a generator of their device.

def _normal(rows, k, draw):
    return draw.normal(rows, k) * torch.exp2(draw.normal(rows, 1))


def _outliers(rows, k, draw):
    return _normal(rows, k, draw) * torch.where(draw.uniform(1, k) < 0.02, 60.0, 1.0) * torch.where(
        draw.uniform(1, k) < 0.002, 1000.0, 1.0)


def _wide(rows, k, draw):
    return draw.normal(rows, k) * torch.exp2(draw.integers(-30, 31, rows, k).float())


def _cancel(rows, k, draw):
    """Neighbours of both operands differ in their last bits: with a factor of -1 in every other column, which the sign of
    the first operand brings, almost all of a sum goes away."""
    x = _normal(rows, -(-k // 2), draw).to(torch.bfloat16).float().repeat_interleave(2, 1)[:, :k]
    return x * torch.where(draw.uniform(rows, k) < 0.06, 1.0078125, 1.0)


def _tiny(rows, k, draw):
    """Around the least grid, 2^-62, and down to bf16's subnormals."""
    return draw.normal(rows, k) * torch.exp2(draw.integers(-64, -44, rows, k).float()) * torch.where(
        draw.uniform(rows, k) < 0.1, 2.0**-80, 1.0)


def _huge(rows, k, draw):
    """Around the greatest grid, beyond which a leaf is NaN."""
    return draw.normal(rows, k) * torch.exp2(draw.integers(40, 62, rows, 1).float())


def _specials(rows, k, draw):
    """Some rows have an Inf, some a NaN, some both, some zeros of both signs."""
    x, where, row = _normal(rows, k, draw), draw.uniform(rows, k), draw.uniform(rows, 1)
    x = torch.where((row < 0.2) & (where < 2 / k), torch.copysign(torch.tensor(float("inf"), device=x.device), x), x)
    x = torch.where((row > 0.9) & (where < 1 / k), float("nan"), x)
    return torch.where(where > 0.8, x * 0.0, x)


def _bits(rows, k, draw):
    """Random patterns of bf16 numbers below 2^45, of any size."""
    sign, rest = draw.integers(0, 2, rows, k), draw.integers(0, (127 + 45) << 7, rows, k)
    return ((sign << 31) | (rest << 16)).to(torch.int64).to(torch.int32).view(torch.float32)


KINDS = {"normal": _normal, "outliers": _outliers, "wide": _wide, "cancel": _cancel, "tiny": _tiny, "huge": _huge,
         "specials": _specials, "bits": _bits}


class Draw:
    def __init__(self, seed, device):
        self.generator, self.device = torch.Generator(device).manual_seed(seed), device

    def normal(self, *shape):
        return torch.randn(shape, generator=self.generator, device=self.device)

    def uniform(self, *shape):
        return torch.rand(shape, generator=self.generator, device=self.device)

    def integers(self, low, high, *shape):
        return torch.randint(low, high, shape, generator=self.generator, device=self.device)


def operands(kind, m, n, k, draw):
    """A as M x K and B as N x K."""
    a, b = KINDS[kind](m, k, draw), KINDS["normal" if kind == "outliers" else kind](n, k, draw)
    if kind == "cancel":
        a = a * torch.where(torch.arange(k, device=draw.device) % 2 == 0, 1.0, -1.0)
    if kind == "tiny":
        b = KINDS["wide"](n, k, draw)
    if kind == "huge":
        b = KINDS["normal"](n, k, draw)
    return a.to(torch.bfloat16).contiguous(), b.to(torch.bfloat16).contiguous()
