# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The numbers that the written orders of the row operations share (docs/python-orders.md).

They are part of the bits: the plain definitions and the kernels both read them from here.
"""

# A row is added up in this many lanes: lane j takes elements j, j + LANES, j + 2 LANES, ...
LANES = 1024

# Keys per block of attention, counted from the first key of the query's own sequence.
KEYS = 128

# exp: e^d = (1 + (r + r^2 p(r))) 2^n with n = d log2(e) rounded, r = d - n ln 2; ln 2 = HIGH + LOW
# and n * HIGH is exact. The coefficients are a relative minimax fit on |r| <= 0.3473, 2^-28.
LOG2E = float.fromhex("0x1.715476p+0")
ROUNDER = float.fromhex("0x1.8p+23")
LN2_HIGH = float.fromhex("0x1.62e4p-1")
LN2_LOW = float.fromhex("0x1.7f7d1cp-20")
EXP = [float.fromhex(text) for text in (
    "0x1.fffffcp-2", "0x1.555492p-3", "0x1.5558bcp-5", "0x1.1239c6p-7", "0x1.6a4154p-10")]
SMALLEST = -87.0  # below it exp returns +0, so that no result is subnormal

# log: log(2^n (1 + f)) = n LOW + ((f^3 q(f) - f^2 / 2) + f) + n HIGH, 1 + f in [0.7071, 1.4143).
# A relative minimax fit of f^3 q(f), 2^-24.9.
LOG = [float.fromhex(text) for text in (
    "0x1.5556dap-2", "-0x1.000384p-2", "0x1.98d796p-3", "-0x1.53815cp-3", "0x1.317752p-3",
    "-0x1.243bc6p-3", "0x1.646558p-4")]
HALF_ROOT = 0x3fb504f3  # the bits of sqrt(2)

# logsum16 (docs/log-prob.md): e^x = f 2^n with n kept as an integer, by fma. CONTRACT 5.2's coefficients, of which one is not
# EXP's.
SUM_EXP = [float.fromhex(text) for text in (
    "0x1.fffffcp-2", "0x1.555492p-3", "0x1.5558bcp-5", "0x1.1239c8p-7", "0x1.6a4154p-10")]
LARGEST = 65536.0  # beyond it e^x counts as infinite, below its negative a column counts as absent
SPECIAL = 1 << 20  # the exponent of a NaN or an infinite column; an absent one has its negative

# The canonical NaN of the contracts (core/contract/CONTRACT.md), by size of the type in bytes.
NAN_BITS = {2: 0x7fff, 4: 0x7fffffff}
