# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Section 8 of CONTRACT.md: the sum of exponentials, its results and its gradient. Numbers are fp32 words.

Rounded operations are those of fp32.py. The tree is built from its root down, by position.
"""

import functools

from fp32 import add, constant, div, fma, is_nan, mul, neg
from formats import decode, encode, infinity

SPECIAL, ABSENT = 2**20, -2**20
ONE, ZERO, MINUS_ZERO = 0x3f800000, 0, 0x80000000
PLUS_INF, MINUS_INF, QUIET = 0x7f800000, 0xff800000, 0x7fffffff
ABSENT_NODE = (ABSENT, ZERO, MINUS_ZERO)
LOG2E = '0x1.715476p+0'
E_FIRST, E_REST = '0x1.6a4154p-10', ['0x1.1239c8p-7', '0x1.5558bcp-5', '0x1.555492p-3', '0x1.fffffcp-2']
L_FIRST = '0x1.646558p-4'
L_REST = ['-0x1.243bc6p-3', '0x1.317752p-3', '-0x1.53815cp-3', '0x1.98d796p-3', '-0x1.000384p-2', '0x1.5556dap-2']
HIGH, LOW = '0x1.62e4p-1', '0x1.7f7d1cp-20'


def rational(word):
    """A finite word as significand * 2^exponent, signed."""
    sign, significand, exponent, fraction = decode('fp32', word)
    return -significand if sign else significand, exponent - fraction


def exceeds(word, bound):
    """|x| > bound, an integer."""
    significand, exponent = rational(word)
    return abs(significand) * 2**max(exponent, 0) > bound * 2**max(-exponent, 0)


def is_absent(x):
    return x == MINUS_INF or (not is_nan(x) and x >> 31 == 1 and exceeds(x, 65536))


def nearest(x, factor):
    """The integer nearest to x times the constant, ties to even."""
    (a, i), (b, j) = rational(x), rational(constant(factor))
    product, exponent = a * b, i + j
    if exponent >= 0:
        return product << exponent
    whole, rest = divmod(abs(product), 1 << -exponent)
    half = 1 << (-exponent - 1)
    whole += rest > half or (rest == half and whole & 1)
    return -whole if product < 0 else whole


def integer(n):
    return encode('fp32', int(n < 0), abs(n), 0)


@functools.lru_cache(maxsize=65536)
def exponential(x):
    """n and f of an ordinary x."""
    n = nearest(x, LOG2E)                                                      # 1
    r = fma(integer(n), constant('-' + LOW), fma(integer(n), constant('-' + HIGH), x))  # 2
    p = constant(E_FIRST)                                                      # 3
    for c in E_REST:
        p = fma(p, r, constant(c))
    return n, add(ONE, fma(mul(r, r), p, r))                                   # 4


def column(x):
    """(n, f, g) of any x."""
    if is_nan(x):
        return SPECIAL, QUIET, QUIET
    if is_absent(x):
        return ABSENT_NODE
    if x == PLUS_INF or exceeds(x, 65536):
        return SPECIAL, PLUS_INF, QUIET
    n, f = exponential(x)
    return n, f, mul(f, x)


def canonical(word):
    return QUIET if is_nan(word) else word


def scaled(y, d):
    return canonical(mul(y, encode('fp32', 0, 1, d) if d >= -126 else ZERO))


def in_pairs(terms, bits=(0, 3, 1, 2)):
    """Sixteen terms added in pairs that differ in one bit of their column after the other."""
    left = dict(enumerate(terms))
    for bit in bits:
        left = {v: add(left[v], left[v | 1 << bit]) for v in left if not v >> bit & 1}
    return canonical(left[0])


def leaf(columns):
    k = max(n for n, _, _ in columns)
    return (k, in_pairs([scaled(f, n - k) for n, f, _ in columns]),
            in_pairs([scaled(g, n - k) for n, _, g in columns]))


def join(left, right):
    k = max(left[0], right[0])
    return (k, *(canonical(add(scaled(left[i], left[0] - k), scaled(right[i], right[0] - k))) for i in (1, 2)))


def node(leaves, level, index):
    """Node (level, index) over a list of leaves."""
    if index << level >= len(leaves):
        return ABSENT_NODE
    if level == 0:
        return leaves[index]
    return join(node(leaves, level - 1, 2 * index), node(leaves, level - 1, 2 * index + 1))


def leaves_of(x):
    """Of columns from the first of a leaf on."""
    columns = [column(word) for word in x]
    columns += [ABSENT_NODE] * (-len(columns) % 16)
    return [leaf(columns[i:i + 16]) for i in range(0, len(columns), 16)]


def root(x):
    leaves = leaves_of(x)
    level = 0
    while 1 << level < len(leaves):
        level += 1
    return node(leaves, level, 0)


def nodes(x, begin, end):
    """The maximal nodes of columns begin .. end - 1 of a row, ascending."""
    found, at, last = [], begin // 16, -(-end // 16)
    leaves = [ABSENT_NODE] * at + leaves_of(x[begin:end])
    while at < last:
        level = 0
        while at % (2 << level) == 0 and at + (2 << level) <= last:
            level += 1
        found.append(node(leaves, level, at >> level))
        at += 1 << level
    return found


def logarithm(q, m):
    """LN(q, m)."""
    field, fraction = q >> 23, q & 0x7fffff
    halved = fraction > 0x3fb504f3 & 0x7fffff
    h = add((126 if halved else 127) << 23 | fraction, neg(ONE))
    big = integer(field - 127 + int(halved) + m)
    c = constant(L_FIRST)                                                      # 1
    for b in L_REST:
        c = add(mul(c, h), constant(b))
    w = mul(h, h)                                                              # 2
    y = add(add(mul(mul(h, w), c), neg(mul(w, constant('0x1p-1')))), h)
    return add(add(mul(big, constant(LOW)), y), mul(big, constant(HIGH)))      # 3


def results(x, target):
    """{name: word} of one row of x; target < 0 is ignored, None: there is none."""
    k, s, a = top = root(x)
    found = {'k': k, 's': s, 'a': a, 'r': ZERO, 'lse': QUIET, 'h': QUIET, 'logp': QUIET}
    ordinary = k not in (SPECIAL, ABSENT)
    if ordinary:
        found['r'] = div(ONE, s)
        found['lse'] = logarithm(s, k)
        found['h'] = add(found['lse'], neg(div(a, s)))
    elif not is_nan(s):
        found['lse'] = PLUS_INF if k == SPECIAL else MINUS_INF
    if target is None or target < 0:
        found['logp'] = found['x_t'] = ZERO
        return found
    found['x_t'] = x_t = canonical(x[target])
    if ordinary and x_t == MINUS_INF:
        found['logp'] = MINUS_INF
    elif ordinary and is_absent(x_t):
        found['logp'] = add(x_t, neg(found['lse']))
    elif ordinary:
        n, f = exponential(x_t)
        found['logp'] = add(ZERO, neg(logarithm(div(top[1], f), k - n)))
    return found


def power_of_two(q, d):
    """q * 2^d exactly, +0 below 2^-126."""
    significand, exponent = rational(q)
    if significand.bit_length() - 1 + exponent + d < -126:
        return ZERO
    return encode('fp32', 0, significand, exponent + d)


def gradient(x, target, row, a, b=None, c=None, s=ONE, alpha=ONE):
    """The bf16 words of G; row is what results() gave, b and c are None where they are not given."""
    found = []
    for v, word in enumerate(x):
        if is_absent(word) or (target is not None and target < 0):
            found.append(0)
            continue
        if row['k'] == SPECIAL:
            found.append(0x7fff)
            continue
        n, f = exponential(word)
        p = power_of_two(mul(f, row['r']), n - row['k'])                       # 1
        y = mul(a, add(ONE if v == target else ZERO, neg(p)))                  # 2
        if c is not None:
            y = add(y, mul(c, p))                                              # 3
        if b is not None:
            y = add(y, neg(mul(b, mul(p, add(add(word, neg(row['lse'])), row['h'])))))  # 4
        y = mul(mul(y, s), alpha)                                              # 5
        number = decode('fp32', y)
        if number == 'nan':
            found.append(0x7fff)
        elif number[0] == 'inf':
            found.append(infinity('bf16', number[1]))
        else:
            bits = encode('bf16', number[0], number[1], number[2] - number[3])
            found.append(bits if bits & 0x7fff else 0)
    return found


def digest(logits_digest):
    line = (f'detgemm-logprob version=1 logits={logits_digest:016x} block=16 bits=0312 tree=aligned exp=1 log=1')
    value = 0xcbf29ce484222325
    for byte in line.encode('ascii'):
        value = ((value ^ byte) * 0x100000001b3) % 2**64
    return value
