# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Section 3 of CONTRACT.md: one fused step. a and b are words of the input format, acc of fp32."""

import dataclasses

import fp32
from formats import INF, NAN, decode, encode, infinity


@dataclasses.dataclass(frozen=True)
class Tensor:
    """A row of the table of section 3.2."""
    length: int  # L
    cut: int     # F
    kept: int    # kept bits
    least: int   # least E


# Section 3.2.
HOPPER_16 = Tensor(16, 25, 24, -133)
HOPPER_TF32 = Tensor(8, 25, 24, -133)
HOPPER_8 = Tensor(32, 13, 14, -133)
BLACKWELL_8 = Tensor(32, 25, 24, -133)
HOPPER_K8 = Tensor(8, 25, 24, -133)
HOPPER_K4 = Tensor(4, 25, 24, -133)
AMPERE_16 = Tensor(8, 24, 24, -132)
AMPERE_TF32 = Tensor(4, 24, 24, -132)
TENSOR = {
    ('hopper', 'bf16'): HOPPER_16, ('hopper', 'fp16'): HOPPER_16,
    ('hopper', 'tf32'): HOPPER_TF32,
    ('hopper', 'e4m3'): HOPPER_8, ('hopper', 'e5m2'): HOPPER_8,
    ('blackwell', 'bf16'): HOPPER_16, ('blackwell', 'fp16'): HOPPER_16,
    ('blackwell', 'tf32'): HOPPER_TF32,
    ('blackwell', 'e4m3'): BLACKWELL_8, ('blackwell', 'e5m2'): BLACKWELL_8,
    ('ampere', 'bf16'): AMPERE_16, ('ampere', 'fp16'): AMPERE_16,
    ('ampere', 'tf32'): AMPERE_TF32,
}
# No contract: mma.sync of compute capability 9.0.
INSTRUCTIONS = {('m16n8k8', 'bf16'): HOPPER_K8, ('m16n8k8', 'fp16'): HOPPER_K8, ('m16n8k4', 'tf32'): HOPPER_K4}
# The constants of section 3.3: the products' grid below Ep, the dot product's and the
# accumulator's below E, and the sum's below its leading bit.
CDNA3 = {'products': 24, 'dot': 32, 'accumulator': 24, 'sum': 31, 'least_t': -126, 'limit': 128}

# L of every arithmetic and input, sections 3.1 to 3.4.
K_BLOCK = {**{('ieee_fma', t): 1 for t in ('bf16', 'fp16', 'fp32')},
           **{key: row.length for key, row in TENSOR.items()},
           **{('cdna3', t): 8 for t in ('bf16', 'fp16')},
           **{('cdna2', t): 4 for t in ('bf16', 'fp16')}}


def to_zero(significand, exponent, grid):
    """significand * 2^exponent cut to a multiple of 2^grid, in those units."""
    shift = exponent - grid
    return significand << shift if shift >= 0 else significand >> -shift


def to_floor(number, exponent, grid):
    """The same for a signed number, toward minus infinity (Python's shift does that)."""
    return to_zero(number, exponent, grid)


def specials(pairs, acc, product_is_inf=lambda product: False):
    """Rule 6 of 3.2: NAN, (INF, sign), or None where every term is finite."""
    signs = set()
    for a, b in pairs:
        product = fp32._mul(a, b)
        if product == NAN:
            return NAN
        if product[0] == INF:
            signs.add(product[1])
        elif product_is_inf(product):
            signs.add(product[0])
    if acc == NAN:
        return NAN
    if acc[0] == INF:
        signs.add(acc[1])
    if len(signs) == 2:
        return NAN
    return (INF, signs.pop()) if signs else None


def word_of(special):
    return fp32.QUIET if special == NAN else infinity('fp32', special[1])


def tensor(row, pairs, acc):
    """Section 3.2."""
    special = specials(pairs, acc)
    if special is not None:
        return word_of(special)
    # 1: exact products; (sign, significand, E, exponent of the significand's unit)
    terms = []
    for (sa, ma, ea, fa), (sb, mb, eb, fb) in pairs:
        if ma and mb:
            terms.append((sa ^ sb, ma * mb, ea + eb, ea + eb - fa - fb))
    sign, significand, exponent, fraction = acc
    if significand:
        terms.append((sign, significand, exponent, exponent - fraction))
    # 2: E; 3: every term cut to a multiple of 2^(E-F); 4: the exact sum
    largest = max([row.least] + [term[2] for term in terms])
    grid = largest - row.cut
    total = 0
    for sign, significand, _, unit in terms:
        cut = to_zero(significand, unit, grid)
        total += -cut if sign else cut
    # 5
    if total == 0:
        return 0
    magnitude = abs(total)
    leading = magnitude.bit_length() - 1 + grid
    last = max(leading - row.kept + 1, -149)
    magnitude = to_zero(magnitude, grid, last)
    if magnitude == 0:
        return 0
    if magnitude.bit_length() - 1 + last >= 128:
        return infinity('fp32', int(total < 0))
    return encode('fp32', int(total < 0), magnitude, last)


def cdna3(pairs, acc):
    """Section 3.3."""
    # 1
    limit = CDNA3['limit']
    special = specials(pairs, acc, lambda product: product[1] != 0 and
                       product[1].bit_length() - 1 + product[2] - product[3] >= limit)
    if special is not None:
        return word_of(special)
    # 2
    terms = [(sa ^ sb, ma * mb, ea + eb, ea + eb - fa - fb)
             for (sa, ma, ea, fa), (sb, mb, eb, fb) in pairs if ma and mb]
    dot = 0
    dot_grid = 0
    largest = None
    if terms:
        largest = max(term[2] for term in terms)
        dot_grid = largest - CDNA3['products']
        for sign, significand, _, unit in terms:
            cut = to_zero(significand, unit, dot_grid)
            dot += -cut if sign else cut
    # 3: a zero and a subnormal have the least exponent of fp32, -126
    sign, significand, acc_exponent, fraction = acc
    exponent = acc_exponent if largest is None else max(largest, acc_exponent)
    # 4
    low = exponent - CDNA3['dot']
    high = exponent - CDNA3['accumulator']
    dot = to_floor(dot, dot_grid, low)
    signed = -significand if sign else significand
    start = to_floor(signed, acc_exponent - fraction, high)
    total = dot + (start << (high - low))
    # 5, 6
    if total == 0:
        return 0
    leading = max(abs(total).bit_length() - 1 + low, CDNA3['least_t'])
    grid = leading - CDNA3['sum']
    if grid > low:
        total = to_floor(total, low, grid)
    else:
        grid = low
    result = encode('fp32', int(total < 0), abs(total), grid)
    return 0 if result == 0x80000000 else result


def flushed(word):
    """Section 3.4: a result below 2^-126 is a zero of its sign."""
    return word & 0x80000000 if word & 0x7f800000 == 0 else word


def cdna2(pairs, acc):
    """Section 3.4."""
    def operand(number):
        if number in (NAN,) or number[0] == INF:
            return number
        sign, significand, exponent, fraction = number
        return number if significand >> fraction else (0, 0, exponent, fraction)

    products = [flushed(fp32._round(fp32._mul(operand(a), operand(b)))) for a, b in pairs]
    total = flushed(fp32.add(flushed(fp32.add(products[0], products[1])),
                             flushed(fp32.add(products[2], products[3]))))
    start = fp32._round(operand(acc))
    result = flushed(fp32.add(start, total))
    return 0 if result == 0x80000000 else result


def step(arithmetic, fmt, a, b, acc):
    """acc' = step(a[0..L-1], b[0..L-1], acc)."""
    pairs = [(decode(fmt, x), decode(fmt, y)) for x, y in zip(a, b)]
    if arithmetic == 'ieee_fma':  # section 3.1
        return fp32.fma_of(*pairs[0], acc)
    start = decode('fp32', acc)
    if arithmetic == 'cdna3':
        return cdna3(pairs, start)
    if arithmetic == 'cdna2':
        return cdna2(pairs, start)
    return tensor(TENSOR[arithmetic, fmt], pairs, start)
