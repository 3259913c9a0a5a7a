# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Section 3.6 of CONTRACT.md: a leaf in two parts, and its three sums."""

import functools
from fractions import Fraction

import snap
from formats import INF, NAN, decode, encode

LARGEST = 0x7f7f


def real(fmt, word):
    """A finite word as a rational number."""
    x = decode(fmt, word)
    return (-1)**x[0] * x[1] * Fraction(2)**(x[2] - x[3])


def finite(fmt, word):
    x = decode(fmt, word)
    return x != NAN and x[0] != INF


def nearest(value):
    """bf16(x) of a rational number; no finite number becomes Inf."""
    sign, magnitude = int(value < 0), abs(value)
    if magnitude == 0:
        return 0
    bits = magnitude.denominator.bit_length() - 1  # a power of two
    assert magnitude.denominator == 1 << bits
    word = encode('bf16', sign, magnitude.numerator, -bits)
    return word if finite('bf16', word) else sign << 15 | LARGEST


def bf16(fmt, word):
    """bf16(x) of a word of the input type, NaN and Inf included."""
    if finite(fmt, word):
        return nearest(real(fmt, word))
    x = decode(fmt, word)
    return 0x7fff if x == NAN else 0x7f80 | x[1] << 15


def words(leaf):
    """Rule 2 of section 3.5 as bf16 words."""
    t, units = snap.snapped(leaf)
    made = []
    for x in units:
        if x == NAN:
            made.append(0x7fff)
        elif isinstance(x, tuple):
            made.append(0x7f80 | x[1] << 15)
        else:
            made.append(encode('bf16', int(x < 0), abs(x), t) if x else 0)
    return made


@functools.lru_cache(maxsize=4096)
def parts(fmt, leaf):
    """p, p without Inf and NaN, q, of the words of a leaf."""
    near = tuple(bf16(fmt, word) for word in leaf)
    first = words(near)
    rest = []
    for word, p in zip(leaf, first):
        if not finite('bf16', p):
            rest.append(0)
            continue
        difference = real(fmt, word) - real('bf16', p)
        # Exact in fp32: at most 24 bits.
        odd = abs(difference.numerator)
        assert odd == 0 or (odd >> ((odd & -odd).bit_length() - 1)).bit_length() <= 24
        rest.append(nearest(difference))
    bare = [p if finite('bf16', p) else 0 for p in first]
    second = words(tuple(rest))
    assert all(finite('bf16', q) for q in second), 'second parts always have a grid'
    assert snap.snapped(tuple(rest))[0] <= snap.snapped(near)[0], 'and no coarser one'
    return first, bare, second


def sums(fmt, a, b):
    """Rule 3: the fp32 words of s_0, s_1, s_2."""
    p, p_bare, q = parts(fmt, tuple(a))
    P, P_bare, Q = parts(fmt, tuple(b))
    return [snap.leaf_sum(p, P), snap.leaf_sum(p_bare, Q), snap.leaf_sum(q, P_bare)]
