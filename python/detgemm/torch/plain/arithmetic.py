# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""exp, log, sums over lanes and rounding, as docs/python-orders.md writes them."""
import torch

from detgemm.torch import order

_INTEGER = {2: torch.int16, 4: torch.int32}


def exp(d):
    """e^d for fp32 d <= 0; +0 below order.SMALLEST, NaN for NaN."""
    clamped = torch.where(d < order.SMALLEST, torch.full_like(d, order.SMALLEST), d)
    shifted = clamped * order.LOG2E + order.ROUNDER
    n = shifted - order.ROUNDER
    r = (clamped - n * order.LN2_HIGH) - n * order.LN2_LOW
    p = torch.full_like(d, order.EXP[-1])
    for coefficient in order.EXP[-2::-1]:
        p = p * r + coefficient
    y = ((r * r) * p + r) + 1.0
    power = ((shifted.view(torch.int32) - 0x4b400000 + 127) << 23).view(torch.float32)
    return torch.where(d < order.SMALLEST, torch.zeros_like(d), y * power)


def log(s, power=0):
    """Natural logarithm of s 2^power for normal fp32 s > 0; +inf for +inf, NaN for NaN."""
    bits = s.view(torch.int32)
    above = (bits & 0x7fffff | 0x3f800000) > order.HALF_ROOT
    n = (((bits >> 23) - 127) + above.to(torch.int32) + power).to(torch.float32)
    m = torch.where(above, bits & 0x7fffff | 0x3f000000, bits & 0x7fffff | 0x3f800000)
    f = m.view(torch.float32) - 1.0
    q = torch.full_like(f, order.LOG[-1])
    for coefficient in order.LOG[-2::-1]:
        q = q * f + coefficient
    square = f * f
    small = ((f * square) * q - square * 0.5) + f
    result = (n * order.LN2_LOW + small) + n * order.LN2_HIGH
    return torch.where(s < float("inf"), result, s)


def fma(a, b, c):
    """a b + c of finite fp32 numbers, rounded once.

    In fp64 the product is exact. The sum is rounded to odd there: where it lost something and ends in 0, it takes the
    neighbour towards what it lost. So the rounding to fp32 sees that something was lost.
    """
    product, c = a.double() * b, c.double() if isinstance(c, torch.Tensor) else c
    total = product + c
    part = total - product
    lost = (product - (total - part)) + (c - part)
    bits = total.view(torch.int64)
    away = ((lost.view(torch.int64) ^ bits) >> 63) | 1  # without torch.where, which takes 20 times as long as a sum on a CPU
    return (bits + away * ((lost != 0) & (bits & 1 == 0))).view(torch.float64).float()


def sqrt(x):
    """Correctly rounded square root of positive fp32 x; torch.sqrt on a CPU may be one step off.

    Halfway points between floats have 25 bits, so their squares are exact in fp64.
    """
    s = torch.sqrt(x)
    wide, up = x.double(), torch.nextafter(s, torch.full_like(s, float("inf")))
    down = torch.nextafter(s, torch.zeros_like(s))
    above, below = (s.double() + up.double()) / 2, (s.double() + down.double()) / 2
    return torch.where(wide > above * above, up, torch.where(wide < below * below, down, s))


def tree(x):
    """Sum over the last dimension, a power of two, by halves: x[j] + x[j + n/2], and again."""
    while x.shape[-1] > 1:
        half = x.shape[-1] // 2
        x = x[..., :half] + x[..., half:]
    return x[..., 0]


def lane_sum(x):
    """Sum over the last dimension: lanes ascending from +0, then the tree over lanes."""
    rows = x.shape[:-1]
    lanes = torch.zeros((*rows, order.LANES), dtype=torch.float32, device=x.device)
    for start in range(0, x.shape[-1], order.LANES):
        part = x[..., start:start + order.LANES]
        lanes[..., :part.shape[-1]] = lanes[..., :part.shape[-1]] + part
    return tree(lanes)


def rounded(x, dtype):
    """x rounded to nearest even, with every NaN canonical."""
    y = x.to(dtype)
    integer = _INTEGER[y.element_size()]
    nan = torch.full((), order.NAN_BITS[y.element_size()], dtype=integer, device=y.device)
    return torch.where(y != y, nan, y.view(integer)).view(dtype)
