# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Section 3.5 of CONTRACT.md: the grid of a leaf, its numbers on the grid, and the sum of a leaf."""

import functools

from formats import INF, NAN, decode, encode, infinity

LEAST, MOST, LIMIT = -62, 51, 2**24
QUIET = 0x7fffffff


def nearest(significand, exponent):
    """RNE(significand * 2^exponent)."""
    if exponent >= 0:
        return significand << exponent
    below = significand & ((1 << -exponent) - 1)
    kept = significand >> -exponent
    half = 1 << (-exponent - 1)
    return kept + (below > half or (below == half and kept & 1))


def squares(numbers, t):
    """S(t): a sum over (significand, exponent of its last bit)."""
    return sum(nearest(significand, exponent - t)**2 for significand, exponent in numbers)


@functools.lru_cache(maxsize=4096)
def snapped(leaf):
    """Rules 1 and 2: the grid's exponent, and for each number NAN, (INF, sign) or whole units."""
    numbers = [decode('bf16', word) for word in leaf]
    finite = [(x[1], x[2] - x[3]) for x in numbers if x != NAN and x[0] != INF]
    low, high = LEAST, MOST + 1  # S never grows with t: the least t is found by halving
    while low < high:
        t = (low + high) // 2
        if squares(finite, t) <= LIMIT:
            high = t
        else:
            low = t + 1
    if low > MOST:
        return LEAST, (NAN,) * len(leaf)
    return low, tuple(x if x == NAN or x[0] == INF else
                      (-1)**x[0] * nearest(x[1], x[2] - x[3] - low) for x in numbers)


def special(x):
    return x == NAN or isinstance(x, tuple)


def leaf_sum(a, b):
    """Rule 3: the fp32 word of l, of the words of one leaf."""
    ta, left = snapped(tuple(a))
    tb, right = snapped(tuple(b))
    total, signs = 0, set()
    for x, y in zip(left, right):
        if NAN in (x, y):
            return QUIET
        if not special(x) and not special(y):
            total += x * y
            continue
        if 0 in (x, y):
            return QUIET
        signs.add(sum(z[1] if special(z) else int(z < 0) for z in (x, y)) % 2)
    if signs:
        return QUIET if len(signs) == 2 else infinity('fp32', signs.pop())
    assert abs(total) <= LIMIT, 'more than 24 bits'
    return encode('fp32', int(total < 0), abs(total), ta + tb)
