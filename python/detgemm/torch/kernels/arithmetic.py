# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""exp, log, the tree and rounding of docs/python-orders.md, for Triton kernels."""
import os

import torch
import triton
import triton.language as tl

from detgemm.torch import order

LOG2E, ROUNDER = tl.constexpr(order.LOG2E), tl.constexpr(order.ROUNDER)
LN2_HIGH, LN2_LOW = tl.constexpr(order.LN2_HIGH), tl.constexpr(order.LN2_LOW)
SMALLEST, HALF_ROOT = tl.constexpr(order.SMALLEST), tl.constexpr(order.HALF_ROOT)
E0, E1, E2, E3, E4 = (tl.constexpr(c) for c in order.EXP)
Q0, Q1, Q2, Q3, Q4, Q5, Q6 = (tl.constexpr(c) for c in order.LOG)
INFINITY = tl.constexpr(float("inf"))
AMD = tl.constexpr(torch.version.hip is not None)
INTERPRETED = tl.constexpr(os.environ.get("TRITON_INTERPRET") == "1")


@triton.jit
def exp(d):
    clamped = tl.where(d < SMALLEST, SMALLEST, d)
    shifted = clamped * LOG2E + ROUNDER
    n = shifted - ROUNDER
    r = (clamped - n * LN2_HIGH) - n * LN2_LOW
    p = (((E4 * r + E3) * r + E2) * r + E1) * r + E0
    y = ((r * r) * p + r) + 1.0
    power = ((shifted.to(tl.int32, bitcast=True) - 0x4b400000 + 127) << 23).to(tl.float32, bitcast=True)
    return tl.where(d < SMALLEST, 0.0, y * power)


@triton.jit
def log_scaled(s, power):
    """Natural logarithm of s 2^power, power in int32."""
    bits = s.to(tl.int32, bitcast=True)
    fraction = bits & 0x7fffff
    above = (fraction | 0x3f800000) > HALF_ROOT
    n = (((bits >> 23) - 127) + above.to(tl.int32) + power).to(tl.float32)
    f = tl.where(above, fraction | 0x3f000000, fraction | 0x3f800000).to(tl.float32, bitcast=True) - 1.0
    q = (((((Q6 * f + Q5) * f + Q4) * f + Q3) * f + Q2) * f + Q1) * f + Q0
    square = f * f
    small = ((f * square) * q - square * 0.5) + f
    return tl.where(s < INFINITY, (n * LN2_LOW + small) + n * LN2_HIGH, s)


@triton.jit
def log(s):
    return log_scaled(s, 0)


@triton.jit
def tree(x, ROWS: tl.constexpr, WIDTH: tl.constexpr, LEVELS: tl.constexpr):
    """ROWS x WIDTH to ROWS, by halves; a sum of two terms has one order."""
    for level in tl.static_range(LEVELS):
        x = tl.sum(tl.reshape(x, [ROWS, 2, WIDTH >> (level + 1)]), axis=1)
    return tl.reshape(x, [ROWS])


@triton.jit
def rounded(x, TYPE: tl.constexpr):
    """To nearest even, NaN canonical. bf16 in integers, since Triton's interpreter truncates it."""
    bits = x.to(tl.int32, bitcast=True)
    if TYPE == tl.float32:
        return tl.where(x != x, 0x7fffffff, bits).to(TYPE, bitcast=True)
    elif TYPE == tl.bfloat16:
        nearest = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16
        return tl.where(x != x, 0x7fff, nearest).to(tl.int16).to(TYPE, bitcast=True)
    else:
        if AMD:  # keeps a product apart from its conversion: v_fma_mixlo_f16, one instruction for both, adds +0 to it and loses -0
            x = tl.where(x != x, float("nan"), x)
        half = x.to(TYPE).to(tl.int16, bitcast=True)
        return tl.where(x != x, 0x7fff, half.to(tl.int32)).to(tl.int16).to(TYPE, bitcast=True)


@triton.jit
def narrowed(x, TYPE: tl.constexpr):
    """As rounded, bf16 by the GPU's own conversion: the same bits, NaN too, by a fifth of the instructions."""
    if INTERPRETED or TYPE != tl.bfloat16:
        return rounded(x, TYPE)
    else:
        return x.to(tl.bfloat16)


@triton.jit
def square_root(x):
    """Rounded to nearest, of a normal number, Inf or NaN. What Triton compiles for AMD GPUs is so where the square of the root misses x by
    a normal number: above 2^-100. Smaller ones are scaled by a power of four, exactly."""
    if AMD:
        small = x < 2.0 ** -64
        root = tl.math.sqrt_rn(tl.where(small, x * 2.0 ** 64, x))
        return tl.where(small, root * 2.0 ** -32, root)
    else:
        return tl.math.sqrt_rn(x)


@triton.jit
def widened(x):
    """To fp32, exactly. bf16 in integers, since Triton's interpreter misreads its subnormals."""
    if x.dtype == tl.bfloat16:
        return (x.to(tl.int16, bitcast=True).to(tl.int32) << 16).to(tl.float32, bitcast=True)
    else:
        return x.to(tl.float32)
