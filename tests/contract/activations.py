# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Sections 5.1 to 5.4 of CONTRACT.md. Arguments and results are fp32 words."""

import fp32
from fp32 import add, constant, decode, div, encode, fma, mul, neg

ONE = constant(1)


def is_negative(x):
    return x >> 31 == 1


def least(x, bound):
    """min(|x|, bound); the words of positive numbers order as the numbers do."""
    return min(x & 0x7fffffff, constant(bound))


def power(n):
    return encode('fp32', 0, 1, n)


def nearest_integer(h, factor):
    """Step 1 of E: the integer nearest to the exact product, ties to even."""
    sign, significand, exponent, fraction = fp32._mul(decode('fp32', h), decode('fp32', factor))
    unit = exponent - fraction
    if unit >= 0:
        whole = significand << unit
    else:
        whole = significand >> -unit
        rest = significand - (whole << -unit)
        half = 1 << (-unit - 1)
        if rest > half or (rest == half and whole & 1):
            whole += 1
    return -whole if sign else whole


def horner(first, rest, x):
    p = constant(first)
    for c in rest:
        p = fma(p, x, constant(c))
    return p


E_FIRST = '0x1.6a4154p-10'
E_REST = ['0x1.1239c8p-7', '0x1.5558bcp-5', '0x1.555492p-3', '0x1.fffffcp-2']


def exponential(h, l):  # noqa: E741 - the names of CONTRACT.md
    """E of section 5.2: y, s1 and s2."""
    whole = nearest_integer(h, constant('0x1.715476p+0'))                          # 1
    n = encode('fp32', int(whole < 0), abs(whole), 0)
    hi = fma(n, constant('-0x1.62e4p-1'), h)                                       # 2
    lo = fma(n, constant('-0x1.7f7d1cp-20'), l)
    r = add(hi, lo)                                                                # 3
    rest = add(add(hi, neg(r)), lo)
    p = horner(E_FIRST, E_REST, r)                                                 # 4
    y = add(r, fma(mul(r, r), p, rest))                                            # 5
    return y, power(whole // 2), power(whole - whole // 2)                         # 6


def logistic(x, a, h, l):  # noqa: E741
    """S of section 5.2."""
    y, s1, s2 = exponential(h, l)
    d = add(ONE, mul(mul(add(ONE, y), s1), s2))
    if is_negative(x):
        return mul(div(mul(fma(neg(a), y, neg(a)), s1), d), s2)
    return div(x, d)


def relu(x):
    number = decode('fp32', x)
    positive = not is_negative(x) and (number[0] == 'inf' or number[1] != 0)
    return x if positive else 0


def silu(x):
    a = least(x, 112)
    return logistic(x, a, neg(a), 0)


GELU_FIRST = '-0x1.007b52p-13'
GELU_REST = ['0x1.9be5c8p-13', '0x1.9b4b3ep-10', '-0x1.ce2908p-9', '-0x1.ed5570p-8',
             '0x1.eedbc2p-5', '-0x1.7dffa8p-3', '0x1.8c6d84p-2', '-0x1.373e3ap-1',
             '0x1.82b4bcp-1']


def gelu(x):
    """Section 5.3."""
    a = least(x, 14.5)                                                             # 1
    q = mul(a, a)
    qe = fma(a, a, neg(q))
    d = add(a, constant(4))                                                        # 2
    de = add(a, neg(add(d, constant(-4))))
    r = div(ONE, d)
    f = fma(neg(r), de, fma(neg(r), d, ONE))
    t = fma(constant(-8), mul(r, f), fma(constant(-8), r, ONE))                    # 3
    y, s1, s2 = exponential(mul(constant(-0.5), q), fma(constant(-0.5), qe, f))    # 4
    p = horner(GELU_FIRST, GELU_REST, t)                                           # 5
    g = mul(mul(p, r), mul(a, s1))                                                 # 6
    z = mul(fma(g, y, g), s2)
    return neg(z) if is_negative(x) else add(x, neg(z))                            # 7


def gelu_tanh(x):
    """Section 5.4."""
    a = least(x, 11)                                                               # 1
    q = mul(a, a)
    qe = fma(a, a, neg(q))
    w = fma(constant('0x1.2444f2p-4'), q, constant('0x1.98845p+0'))                # 2
    e = fma(constant('0x1.2444f2p-4'), q, neg(add(w, constant('-0x1.98845p+0'))))  # 3
    e = fma(constant('0x1.2444f2p-4'), qe, e)                                      # 4
    e = fma(constant('0x1.49b16ap-29'), q, e)
    e = add(e, constant('0x1.9ea1b2p-23'))
    v = mul(a, w)                                                                  # 5
    ve = fma(a, e, fma(a, w, neg(v)))
    return logistic(x, a, neg(v), neg(ve))                                         # 6


def canonical(function):
    """Section 5.1: act(NaN) is the canonical NaN."""
    return lambda x: fp32.QUIET if fp32.is_nan(x) else function(x)


ACTIVATIONS = {f.__name__: canonical(f) for f in (relu, silu, gelu, gelu_tanh)}
