# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""logsum16 once more, one number at a time: fractions for what is fused, NumPy's fp32 for the rest. Written from section 8 of
core/contract/CONTRACT.md, without a line of the package."""
import fractions
import math

import numpy

F = numpy.float32
ABSENT, SPECIAL = -(1 << 20), 1 << 20
NAN = F(math.nan)


def nearest(exact):
    """A fraction as fp32, to nearest even; subnormals are kept."""
    if exact == 0:
        return F(0)
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent = max(-126, exponent - (size < fractions.Fraction(2) ** exponent))
    step = fractions.Fraction(2) ** (exponent - 23)
    return F(math.copysign(float(round(size / step) * step), exact))  # round() of a fraction goes to even


def fma(a, b, c):
    exact = fractions.Fraction(float(a)) * fractions.Fraction(float(b)) + fractions.Fraction(float(c))
    return nearest(exact) if exact else F(F(a) * F(b)) + F(c)


def hexadecimal(text):
    return float.fromhex(text)


def exponential(x):
    n = round(fractions.Fraction(float(x)) * fractions.Fraction(hexadecimal("0x1.715476p+0")))
    r = fma(n, hexadecimal("-0x1.7f7d1cp-20"), fma(n, hexadecimal("-0x1.62e4p-1"), x))
    p = F(hexadecimal("0x1.6a4154p-10"))
    for text in ("0x1.1239c8p-7", "0x1.5558bcp-5", "0x1.555492p-3", "0x1.fffffcp-2"):
        p = fma(p, r, hexadecimal(text))
    return F(1 + fma(F(r * r), p, r)), n


def scaled(y, d):
    return F(y * (F(2.0 ** d) if d >= -126 else F(0)))


def column(x):
    """(n, f, f x) of one column."""
    if numpy.isnan(x):
        return SPECIAL, NAN, NAN
    if x > 65536:
        return SPECIAL, F(math.inf), NAN
    if x < -65536:
        return ABSENT, F(0), F(-0.0)
    f, n = exponential(x)
    return n, f, F(f * x)


def add(left, right):
    k = max(left[0], right[0])
    return (k, *(F(scaled(left[i], left[0] - k) + scaled(right[i], right[0] - k)) for i in (1, 2)))


def leaf(columns, bits=(0, 3, 1, 2)):
    columns = [*columns, *[(ABSENT, F(0), F(-0.0))] * (16 - len(columns))]
    k = max(each[0] for each in columns)
    terms = {v: [scaled(each[i], each[0] - k) for i in (1, 2)] for v, each in enumerate(columns)}
    for bit in bits:
        terms = {v: [F(one + two) for one, two in zip(terms[v], terms[v | 1 << bit])] for v in terms if not v >> bit & 1}
    return (k, *terms[0])


def root(row, bits=(0, 3, 1, 2)):
    columns = [column(x) for x in row]
    nodes = [leaf(columns[start:start + 16], bits) for start in range(0, max(1, len(columns)), 16)]
    while len(nodes) > 1:
        nodes = [add(*nodes[i:i + 2]) if i + 1 < len(nodes) else nodes[i] for i in range(0, len(nodes), 2)]
    return nodes[0]


def logarithm(q, power):
    bits = int(q.view(numpy.int32))
    above = (bits & 0x7fffff | 0x3f800000) > 0x3fb504f3
    n = F((bits >> 23) - 127 + above + power)
    f = F(numpy.int32(bits & 0x7fffff | (0x3f000000 if above else 0x3f800000)).view(F) - F(1))
    q = F(hexadecimal("0x1.646558p-4"))
    for text in ("-0x1.243bc6p-3", "0x1.317752p-3", "-0x1.53815cp-3", "0x1.98d796p-3", "-0x1.000384p-2", "0x1.5556dap-2"):
        q = F(F(q * f) + F(hexadecimal(text)))
    square = F(f * f)
    small = F(F(F(F(f * square) * q) - F(square * F(0.5))) + f)
    return F(F(F(n * F(hexadecimal("0x1.7f7d1cp-20"))) + small) + F(n * F(hexadecimal("0x1.62e4p-1"))))


def results(row, target, bits=(0, 3, 1, 2)):
    """logp, lse, entropy, target_logit, K, R of one row of x."""
    k, s, a = root(row, bits)
    x = F(0) if target < 0 else F(row[target])
    ignored = F(0) if target < 0 else None
    if k == SPECIAL:
        lse = NAN if numpy.isnan(s) else F(math.inf)
        return ignored if ignored is not None else NAN, lse, NAN, x, k, F(0)
    if k == ABSENT:
        return ignored if ignored is not None else NAN, F(-math.inf), NAN, x, k, F(0)
    lse = logarithm(s, k)
    if ignored is not None:
        logp = ignored
    elif x < -65536:
        logp = x if x == -math.inf else F(x - lse)
    else:
        f, n = exponential(x)
        logp = F(F(0) - logarithm(F(s / f), k - n))
    return logp, lse, F(lse - F(a / s)), x, k, F(F(1) / s)


def gradient(row, target, scale, a, b, c, k, r, lse, entropy):
    """The row's gradient before it is rounded to the logits' type. b and c may be None."""
    found = []
    for v, x in enumerate(row):
        if x < -65536 or target < 0:
            found.append(F(0))
            continue
        if k == SPECIAL:
            found.append(NAN)
            continue
        f, n = exponential(x)
        q = F(f * r)
        field = (int(q.view(numpy.int32)) >> 23) + n - k
        p = F(0) if field < 1 else F(math.ldexp(float(q), n - k))
        g = F(a * F(F(v == target) - p))
        if c is not None:
            g = F(g + F(c * p))
        if b is not None:
            g = F(g - F(b * F(p * F(F(x - lse) + entropy))))
        found.append(F(F(g * scale) + F(0)))
    return numpy.array(found, F)
