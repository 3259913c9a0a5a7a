# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The fp32 operations that CONTRACT.md uses: IEEE 754, to nearest even, subnormals kept.

Operands and results are 32-bit words. A NaN is any NaN; the page makes it canonical at the end.
"""

from formats import INF, NAN, decode, encode, infinity

QUIET = 0x7fffffff


def _add(x, y):
    """x + y of two decoded numbers."""
    if x == NAN or y == NAN:
        return QUIET
    if x[0] == INF or y[0] == INF:
        if x[0] == INF and y[0] == INF and x[1] != y[1]:
            return QUIET
        return infinity('fp32', x[1] if x[0] == INF else y[1])
    (xs, xm, xe, xf), (ys, ym, ye, yf) = x, y
    xe -= xf
    ye -= yf
    if xm == 0 and ym == 0:
        return encode('fp32', xs & ys, 0, 0)  # -0 only for -0 + -0
    low = min(xe, ye)
    total = ((-xm if xs else xm) << (xe - low)) + ((-ym if ys else ym) << (ye - low))
    if total == 0:
        return 0  # an exact difference is +0
    return encode('fp32', int(total < 0), abs(total), low)


def _mul(x, y):
    """The exact product of two decoded numbers, decoded."""
    if x == NAN or y == NAN:
        return NAN
    if x[0] == INF or y[0] == INF:
        zero = (x[0] != INF and x[1] == 0) or (y[0] != INF and y[1] == 0)
        if zero:
            return NAN
        sign = (x[1] if x[0] == INF else x[0]) ^ (y[1] if y[0] == INF else y[0])
        return (INF, sign)
    return (x[0] ^ y[0], x[1] * y[1], x[2] + y[2], x[3] + y[3])


def _round(x):
    if x == NAN:
        return QUIET
    if x[0] == INF:
        return infinity('fp32', x[1])
    return encode('fp32', x[0], x[1], x[2] - x[3])


def value(x):
    return decode('fp32', x)


def add(x, y):
    return _add(value(x), value(y))


def mul(x, y):
    return _round(_mul(value(x), value(y)))


def fma(x, y, z):
    return _add(_mul(value(x), value(y)), value(z))


def fma_of(x, y, z):
    """fma of two decoded factors and an fp32 word."""
    return _add(_mul(x, y), value(z))


def neg(x):
    return x ^ 0x80000000


def div(x, y):
    x, y = value(x), value(y)
    if x == NAN or y == NAN:
        return QUIET
    sign = (x[1] if x[0] == INF else x[0]) ^ (y[1] if y[0] == INF else y[0])
    if x[0] == INF:
        return QUIET if y[0] == INF else infinity('fp32', sign)
    if y[0] == INF:
        return encode('fp32', sign, 0, 0)
    if y[1] == 0:
        return QUIET if x[1] == 0 else infinity('fp32', sign)
    # 64 bits more than the quotient needs, and a last one that says whether anything is left.
    shift = 64 + y[1].bit_length()
    quotient, rest = divmod(x[1] << shift, y[1])
    quotient = (quotient << 1) | int(rest != 0)
    return encode('fp32', sign, quotient, x[2] - x[3] - y[2] + y[3] - shift - 1)


def is_nan(x):
    return (x & 0x7fffffff) > 0x7f800000


def constant(literal):
    """The fp32 word of a hexadecimal literal of the page, which must be exact."""
    number = float.fromhex(literal) if isinstance(literal, str) else float(literal)
    top, bottom = abs(number).as_integer_ratio()
    word = encode('fp32', int(number < 0), top, 1 - bottom.bit_length())
    sign, significand, exponent, fraction = value(word)
    back = significand * 2.0 ** (exponent - fraction)
    assert (-back if sign else back) == number, literal
    return word
