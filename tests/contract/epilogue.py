# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Section 5 of CONTRACT.md: from the accumulator to D."""

import fp32
from activations import ACTIVATIONS
from formats import CANONICAL_NAN, INF, decode, encode, infinity


def to_fp32(fmt, word):
    """The fp32 word of the same value; every bf16 and fp16 number is one."""
    number = decode(fmt, word)
    if number == 'nan':
        return fp32.QUIET
    if number[0] == INF:
        return infinity('fp32', number[1])
    sign, significand, exponent, fraction = number
    return encode('fp32', sign, significand, exponent - fraction)


def finish(acc, output, alpha, beta, c, bias, activation, line_scales=None):
    """D of one element. alpha and beta are fp32 words; c and bias fp32 words or None, line_scales a row's and a column's."""
    if line_scales is not None:                             # 0
        row, column = line_scales
        acc = fp32.mul(row, fp32.mul(column, acc))
    v = fp32.mul(alpha, acc)                                # 1
    if beta & 0x7fffffff != 0:                              # 2
        v = fp32.add(v, fp32.mul(beta, c))
    if bias is not None:                                    # 3
        v = fp32.add(v, bias)
    if activation != 'none':                                # 4
        v = ACTIVATIONS[activation](v)
    if fp32.is_nan(v):                                      # 5
        return CANONICAL_NAN[output]
    number = decode('fp32', v)                              # 6
    if number[0] == INF:
        return infinity(output, number[1])
    sign, significand, exponent, fraction = number
    return encode(output, sign, significand, exponent - fraction)
