#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the step vectors that tests/unit compares the C++ steps with; --check compares instead.

    tests/models/make_vectors.py [--check] tests/models/vectors.txt

A line is `unit a.. b.. c d`, all raw bits in hexadecimal, a and b joined by commas. Random vectors come
first, then the directed ones of directed.py.
"""

import sys

import directed
import models

MASK = (1 << 64) - 1
PER_KIND = 12


class Random:
    """splitmix64, so that the vectors do not depend on a Python version."""

    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state + 0x9e3779b97f4a7c15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xbf58476d1ce4e5b9) & MASK
        z = ((z ^ (z >> 27)) * 0x94d049bb133111eb) & MASK
        return z ^ (z >> 31)

    def below(self, bound):
        return self.next() % bound


def element(random, fmt, kind):
    """A raw element; tf32 fills all 32 bits of its container."""
    total, exponent, mantissa, bias, _ = models.FMT[fmt]
    low = mantissa + (13 if fmt == 'tf32' else 0)
    if kind == 'bits':
        return random.next() & ((1 << total) - 1)
    top = (1 << exponent) - 2
    field = {'normal': bias - random.below(4),
             'wide': 1 + random.below(top),
             'middle': max(1, bias - 20 + random.below(40)) if exponent == 8 else 1 + random.below(top),
             'subnormal': random.below(2),
             'cancel': bias - random.below(2)}[kind]
    fraction = random.next() & ((1 << low) - 1)
    if kind == 'cancel':
        fraction &= 3 << (low - 2)
    return (random.below(2) << (exponent + low)) | (field << low) | fraction


def vector(random, unit, kind):
    fmt, length = models.UNITS[unit][1:3]
    steps = 1 + random.below(2)
    a = [element(random, fmt, kind) for _ in range(length * steps)]
    b = [element(random, fmt, kind) for _ in range(length * steps)]
    if kind == 'cancel':  # the second half takes most of the first half away
        half = len(a) // 2
        sign = 1 << (31 if fmt == 'tf32' else models.FMT[fmt][0] - 1)
        a[half:2 * half] = [x ^ sign for x in a[:half]]
        b[half:2 * half] = b[:half]
        b[0] = element(random, fmt, 'normal')
    c = 0 if random.below(4) == 0 else element(random, 'fp32', kind)
    return a, b, c


def identification(unit):
    """a = [-2^13, -.5, -.25, -.125], b = [2^10, 1, 1, 1], c = 2^23 tells the units apart."""
    fmt, length = models.UNITS[unit][1:3]
    _, exponent, mantissa, bias, _ = models.FMT[fmt]
    if exponent < 5 or fmt == 'e5m2':
        return None
    low = mantissa + (13 if fmt == 'tf32' else 0)
    power = lambda e, s=0: (s << (exponent + low)) | ((bias + e) << low)
    a = [power(13, 1), power(-1, 1), power(-2, 1), power(-3, 1)] + [0] * (length - 4)
    b = [power(10), power(0), power(0), power(0)] + [0] * (length - 4)
    return a, b, (127 + 23) << 23


def lines():
    kinds = ('bits', 'normal', 'wide', 'middle', 'subnormal', 'cancel')
    for index, unit in enumerate(models.UNITS):
        random = Random(2026 + index)
        cases = [vector(random, unit, kind) for kind in kinds for _ in range(PER_KIND)]
        if identification(unit):
            cases.append(identification(unit))
        for a, b, c in cases:
            joined = [','.join(f'{x:x}' for x in side) for side in (a, b)]
            yield f'{unit} {joined[0]} {joined[1]} {c:08x} {models.dot(unit, a, b, c):08x}'


    for unit, a, b, c, d, why in directed.vectors():
        made = models.dot(unit, a, b, c)
        if made != d:
            sys.exit(f'{unit}, {why}: by hand {d:08x}, the model says {made:08x}')
        joined = [','.join(f'{x:x}' for x in side) for side in (a, b)]
        yield f'{unit} {joined[0]} {joined[1]} {c:08x} {d:08x}'


def main():
    check = sys.argv[1:2] == ['--check']
    if len(sys.argv) != 2 + check:
        sys.exit(__doc__)
    path = sys.argv[-1]
    text = '\n'.join(lines()) + '\n'
    if not check:
        open(path, 'w', encoding='ascii').write(text)
    elif open(path, encoding='ascii').read() != text:
        sys.exit(f'{path} is not what tests/models/make_vectors.py makes')


if __name__ == '__main__':
    main()
