# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Directed vectors: each pins one constant or one rule of CONTRACT.md section 3 that random data misses.

vectors() gives (unit, a, b, c, d, why); d is worked out by hand from the page, and make_vectors.py
checks that the model agrees. Products are written as signed powers of two, so `fits` can say which
formats hold them.
"""

import models


def power(fmt, exponent, sign=0):
    """+-2^exponent as a word, or None where the format has none that is normal."""
    _, exponent_bits, mantissa, bias, kind = models.FMT[fmt]
    field = exponent + bias
    top = (1 << exponent_bits) - (1 if kind == 'fn' else 2)
    if not 1 <= field <= top:
        return None
    low = mantissa + (13 if fmt == 'tf32' else 0)
    return (sign << (exponent_bits + low)) | (field << low)


def factors(fmt, exponent):
    """Two exponents of normal numbers with this sum, or None."""
    left = exponent // 2
    pair = (left, exponent - left)
    return pair if all(power(fmt, e) is not None for e in pair) else None


def products(unit, terms):
    """Operands whose products are the terms, (sign, exponent) or None for a zero, padded to whole
    steps; None where the format does not hold them."""
    fmt, length = models.UNITS[unit][1:3]
    a, b = [], []
    for term in terms:
        pair = factors(fmt, term[1]) if term else (0, 0)
        if pair is None:
            return None
        a.append(power(fmt, pair[0], term[0]) if term else 0)
        b.append(power(fmt, pair[1]) if term else 0)
    pad = [0] * (-len(a) % length or (0 if a else length))
    return a + pad, b + pad


def step_ends(length, high, low):
    """A large product is taken away in the step's last place, a small one follows in the next step:
    were the step longer or shorter, the small one would be cut beside a large one."""
    return [(0, high)] + [None] * (length - 2) + [(1, high), (0, low)]


def fp32(exponent, fraction=0, sign=0):
    return (sign << 31) | ((exponent + 127) << 23) | fraction


def nvidia(unit):
    """Section 3.2: F, the kept bits and the least E of one row, each from both sides."""
    _, fmt, length, cut, least, kept = models.UNITS[unit]
    _, exponent_bits, _, bias, kind = models.FMT[fmt]
    # Narrow formats reach far enough down only from their largest product.
    high = 0 if exponent_bits == 8 else 2 * ((1 << exponent_bits) - (1 if kind == 'fn' else 2) - bias)
    ones = min(kept, cut) - 1
    one_less = fp32(high - 1, ((1 << ones) - 1) << (23 - ones))
    yield [(0, high), (1, high - cut)], 0, one_less, 'a term of 2^(E-F) counts'
    yield [(0, high), (1, high - cut - 1)], 0, fp32(high), 'a term below 2^(E-F) is cut'
    yield ([(0, high), (0, high - kept + 1)], 0, fp32(high, 1 << (24 - kept)),
           'the last of the kept bits is kept')
    yield ([(0, high), (0, high), (0, high - kept + 1)], 0, fp32(high + 1),
           'a bit behind the kept ones is cut')
    # A sum of fp32's least subnormal less a term at the grid, and less one below the grid.
    yield [(0, -149), (1, least - cut)], 0, 0, 'least E: 2^(E-F) counts'
    yield [(0, -149), (1, least - cut - 1)], 0, 1, 'least E: less than 2^(E-F) is cut'
    yield [(0, -152)] * length, 0, length // 8, 'a zero accumulator has no exponent'
    yield [(0, -152)] * length, 1, 1, 'a subnormal accumulator has the exponent -126'
    yield [(1, -151)], 0, 0, 'a negative sum cut to zero is +0'
    yield [(0, -149), (1, -150)], 0x80000001, 0, 'a negative sum cut to zero is +0'
    yield [], 0x80000000, 0, 'a zero result is +0'
    yield step_ends(length, high, high - cut - 1), 0, fp32(high - cut - 1), 'L'


def cdna3(unit):
    """Section 3.3: the four grids, the bound of t, and the products that are Inf."""
    yield [(0, 0), (0, -24)], 0, fp32(0), 'products: a tie at 2^-24 is even'
    yield [(0, 0), (0, -24), (0, -25)], 0, fp32(0), 'products: 2^(Ep-25) is cut'
    yield [(0, 0), (0, -23), (0, -24)], 0, fp32(0, 2), 'products: 2^(Ep-24) is kept'
    yield [(1, 0), (1, -24), (1, -25)], 0, fp32(0, 0, 1), 'products are cut toward zero'
    yield [(0, -24), (0, -31)], fp32(0), fp32(0, 1), 'sum: 2^(t-31) is kept'
    yield [(0, -24), (0, -32)], fp32(0), fp32(0), 'sum: 2^(t-32) is cut'
    yield [(1, -24), (1, -25), (0, -32)], fp32(0), fp32(-1, 0x7fffff), 'dot: 2^(E-32) is kept'
    yield [(1, -24), (1, -33)], fp32(0, 1), fp32(0), 'dot: floored toward minus infinity'
    yield [(0, 0)], fp32(-25, 0, 1), fp32(-1, 0x7fffff), 'accumulator: floored to 2^(E-24)'
    yield [(0, 0)], fp32(-23, 0x400000), fp32(0, 2), 'accumulator: 2^(E-24) is kept'
    yield [(0, 128), (1, 127)], 0, models.PINF, 'a product of 2^128 is Inf'
    yield [(1, 128), (0, 127)], 0, models.NINF, 'a product of -2^128 is -Inf'
    yield [(0, 128), (1, 128)], 0, models.NAN, 'Inf minus Inf'
    yield [(0, 127), (1, 126)], 0, fp32(126), 'a product of 2^127 is finite'
    yield [(1, -149)], 1, 0, 'a zero result is +0'
    yield [(0, -150), (0, -157)], 2, 3, 't is not below -126: 2^-157 is kept'
    yield [(0, -150), (0, -158)], 2, 2, 't is not below -126: 2^-158 is cut'
    yield step_ends(8, 0, -28), 0, fp32(-28), 'L'


def cdna2(unit):
    """Section 3.4: what is flushed, and the order of the sums."""
    least = -126
    yield [(1, least)], fp32(least, 1), 0, 'a subnormal sum is flushed'
    yield [(0, least)], fp32(least, 1, 1), 0, 'a negative subnormal sum is flushed to +0'
    yield [(0, least)], 0x007fffff, fp32(least), 'a subnormal accumulator is +0'
    yield [(0, least)], 0x807fffff, fp32(least), 'a negative subnormal accumulator is +0'
    yield [(0, -127), (0, -127)], 0, 0, 'a product below 2^-126 is flushed'
    yield [(0, least), (1, -125), (0, -124)], fp32(least), fp32(-124), 'p0 + p1 is not flushed here'
    yield [(0, 0), (0, -24), (0, -24)], 0, fp32(0), '(p0 + p1) + (p2 + p3), rounded each time'
    yield [(0, -24)], fp32(0), fp32(0), 'acc + s: a tie is even'
    yield [(0, -24), (0, -24)], fp32(0), fp32(0, 1), 'products are added before the accumulator'


def by_hand():
    """Vectors whose numbers are not powers of two, or are zeros with signs."""
    yield ('cdna3/bf16', [0x99ff, 0x1d00], [0x1a00, 0x1d80], 1, 0x1000,
           't is not below -126 for a subnormal sum')
    yield 'cdna2/bf16', [0xbf80] * 4, [0] * 4, 0x80000000, 0, 'four products -0 and -0: +0'
    yield 'cdna2/fp16', [0xbc00] * 4, [0] * 4, 0x80000000, 0, 'four products -0 and -0: +0'
    yield 'cdna2/fp16', [0x8001] * 4, [0x3c00] * 4, 0x80000000, 0, 'subnormal operands are +0'
    yield 'cdna2/fp16', [0x03ff], [0x7bff], 0x3f800000, 0x3f800000, 'subnormal operands are +0'
    yield 'hopper/tf32', [0x7f801fff], [0x3f800000], 0, models.PINF, 'a NaN of dropped bits is Inf'
    yield 'hopper/tf32', [0x3f801fff], [0x3f801fff], 0, 0x3f800000, '13 bits are dropped'
    for unit in ('hopper/bf16', 'ampere/bf16', 'cdna3/bf16', 'cdna2/bf16'):
        yield unit, [0x7f80], [0], 0x3f800000, models.NAN, 'Inf times zero'
        yield unit, [0], [0xff80], 0x3f800000, models.NAN, 'zero times -Inf'
        yield unit, [0x7f80, 0xff80], [0x3f80, 0x3f80], 0, models.NAN, 'Inf minus Inf'
        yield unit, [0x7f80], [0xbf80], 0x7f7fffff, models.NINF, '-Inf and a large accumulator'
        yield unit, [0x7f80], [0x3f80], models.NINF, models.NAN, 'Inf and the accumulator -Inf'
        yield unit, [0x7f7f, 0x7f7f], [0x7f7f, 0xff7f], models.PINF, \
            models.NAN if unit in ('cdna3/bf16', 'cdna2/bf16') else models.PINF, 'large products'


def vectors():
    for unit in models.UNITS:
        kind = {'nvidia': nvidia, 'cdna3': cdna3, 'cdna2': cdna2}[models.UNITS[unit][0]]
        for terms, c, d, why in kind(unit):
            operands = products(unit, terms)
            if operands:
                yield (unit, *operands, c, d, why)
    for unit, a, b, c, d, why in by_hand():
        pad = [0] * (models.UNITS[unit][2] - len(a))
        yield unit, a + pad, b + pad, c, d, why
