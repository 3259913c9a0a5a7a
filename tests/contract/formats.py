# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Section 2 of CONTRACT.md: what the bits of each format mean.

A number is NAN, (INF, sign), or (sign, significand, exponent, fraction bits f) with the value
(-1)^sign * significand * 2^(exponent - f), where the exponent of a zero or a subnormal is the least.
"""

NAN = 'nan'
INF = 'inf'

# Section 2: name: (bits, exponent bits, fraction bits, bias, least exponent)
TABLE = {
    'bf16': (16, 8, 7, 127, -126),
    'fp16': (16, 5, 10, 15, -14),
    'fp32': (32, 8, 23, 127, -126),
    'tf32': (32, 8, 10, 127, -126),  # an fp32 word; its low 13 bits are dropped first
    'e4m3': (8, 4, 3, 7, -6),
    'e5m2': (8, 5, 2, 15, -14),
}
TF32_DROPPED = 13
CANONICAL_NAN = {'fp32': 0x7fffffff, 'bf16': 0x7fff, 'fp16': 0x7fff}

_seen = {name: {} for name in TABLE}


def _decode(name, word):
    bits, exponent_bits, fraction_bits, bias, least = TABLE[name]
    if name == 'tf32':
        word >>= TF32_DROPPED
        bits -= TF32_DROPPED
    sign = word >> (bits - 1)
    field = (word >> fraction_bits) & ((1 << exponent_bits) - 1)
    fraction = word & ((1 << fraction_bits) - 1)
    if name == 'e4m3':  # no Inf; only the largest field with the largest fraction is NaN
        if field == 15 and fraction == 7:
            return NAN
    elif field == (1 << exponent_bits) - 1:
        return NAN if fraction else (INF, sign)
    if field == 0:
        return (sign, fraction, least, fraction_bits)
    return (sign, fraction | (1 << fraction_bits), field - bias, fraction_bits)


def decode(name, word):
    """The number that a word of the format is."""
    known = _seen[name]
    if word not in known:
        if len(known) > 200000:
            known.clear()
        known[word] = _decode(name, word)
    return known[word]


def encode(name, sign, significand, exponent):
    """The word nearest to (-1)^sign * significand * 2^exponent, ties to even; overflow is Inf.

    For bf16, fp16 and fp32. A zero keeps the sign that it is given.
    """
    bits, exponent_bits, fraction_bits, bias, least = TABLE[name]
    top = sign << (bits - 1)
    if significand == 0:
        return top
    leading = significand.bit_length() - 1 + exponent
    grid = max(leading, least) - fraction_bits  # the result is a multiple of 2^grid
    if exponent >= grid:
        kept = significand << (exponent - grid)
    else:
        shift = grid - exponent
        kept = significand >> shift
        rest = significand - (kept << shift)
        half = 1 << (shift - 1)
        if rest > half or (rest == half and kept & 1):
            kept += 1
    if kept >> (fraction_bits + 1):  # rounded up to the next power of two
        kept >>= 1
        grid += 1
    if kept >> fraction_bits == 0:
        return top | kept  # a subnormal or a zero
    field = grid + fraction_bits + bias
    if field >= (1 << exponent_bits) - 1:
        return top | (((1 << exponent_bits) - 1) << fraction_bits)
    return top | (field << fraction_bits) | (kept & ((1 << fraction_bits) - 1))


def infinity(name, sign):
    bits, exponent_bits, fraction_bits, _, _ = TABLE[name]
    return (sign << (bits - 1)) | (((1 << exponent_bits) - 1) << fraction_bits)
