# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Random problems for agree.py: small, and with numbers where the rules of CONTRACT.md bite."""

import dataclasses
import random

from formats import TABLE, TF32_DROPPED
from steps import K_BLOCK

OUTPUTS = ('bf16', 'fp16', 'fp32')
KINDS = ('bits', 'near', 'near', 'wide', 'tiny', 'tiny', 'huge', 'cancel', 'cancel', 'specials')
ACTIVATIONS = ('none', 'none', 'relu', 'silu', 'gelu', 'gelu_tanh')
ONE = 0x3f800000
CHAINED = 180  # 20 pairs of arithmetic and input, 3 reductions, 3 outputs
SNAP = 6       # 2 reductions, 3 outputs
SNAP3 = 12     # the same for both inputs
CONTRACTS = CHAINED + SNAP + SNAP3
SCALED = 63     # 20 pairs of arithmetic and input, and snap, with 3 outputs
LINES = 120    # 20 pairs of arithmetic and input, chain and fold, 3 outputs
LARGE = (3, 27, 58)
NARROW = {12: (9, 1), 74: (1, 1), 96: (70, 1), 133: (1, 2)}


@dataclasses.dataclass
class Case:
    contract: str
    m: int
    n: int
    k: int
    alpha: int
    beta: int
    activation: str
    bias_type: str
    continued: bool
    a: list       # m lists of k words of the input format
    b: list       # k lists of n words
    c: list       # m lists of n words, or None
    bias: list    # n words, or None
    scale_a: tuple = None  # under scaled, or of whole lines: type, per, blocks x leaves
    scale_b: tuple = None

    def scales(self, line, leaf_count, side):
        """Those of a row of A ('a') or a column of B ('b'), as they are stored."""
        kind, per, blocks = self.scale_a if side == 'a' else self.scale_b
        return kind, blocks[line // per][:leaf_count]

    def line(self):
        output = self.contract.split('->')[1]
        fmt = self.contract.split('/')[1]
        return ' '.join([self.contract, str(self.m), str(self.n), str(self.k), f'{self.alpha:08x}',
                         f'{self.beta:08x}', self.activation, self.bias_type,
                         str(int(self.continued)), packed(self.a, fmt), packed(self.b, fmt),
                         packed(self.c, 'fp32' if self.continued else output),
                         packed(self.bias and [self.bias], self.bias_type),
                         self.packed_scales(self.scale_a), self.packed_scales(self.scale_b)])

    @staticmethod
    def packed_scales(scales):
        """TYPE:PER:BLOCKS:LEAVES:HEX, or - for none."""
        if scales is None:
            return '-'
        kind, per, blocks = scales
        size = {'fp32': 4, 'e8m0': 1}[kind]
        raw = b''.join(word.to_bytes(size, 'little') for row in blocks for word in row)
        return f'{kind}:{per}:{len(blocks)}:{len(blocks[0])}:{raw.hex()}'


def packed(rows, fmt):
    if not rows or not rows[0]:
        return '-'
    size = TABLE[fmt][0] // 8
    return b''.join(word.to_bytes(size, 'little') for row in rows for word in row).hex()


class Draw(random.Random):
    def one_in(self, count):
        return self.randrange(count) == 0

    def word(self, fmt):
        return self.getrandbits(TABLE[fmt][0])

    def fraction(self, width):
        """Sparse fractions make ties and exact cancellations."""
        return self.choice((0, (1 << width) - 1, 1 << self.randrange(width),
                            self.getrandbits(width), self.getrandbits(width),
                            self.getrandbits(width) & (7 << (width - 3) if width > 3 else 3)))

    def number(self, fmt, exponent):
        """A word with this exponent, or as near as the format has one."""
        bits, exponent_bits, fraction_bits, bias, least = TABLE[fmt]
        dropped = TF32_DROPPED if fmt == 'tf32' else 0
        highest = (1 << exponent_bits) - (1 if fmt == 'e4m3' else 2) - bias
        fraction = self.fraction(fraction_bits)
        if fmt == 'e4m3' and exponent >= highest and fraction == 7:
            fraction = 6  # 7 would be a NaN
        sign = self.getrandbits(1)
        if exponent < least:  # a subnormal, or zero
            field, fraction = 0, fraction >> min(least - exponent - 1, fraction_bits)
        else:
            field = min(exponent, highest) + bias
        word = (sign << (exponent_bits + fraction_bits)) | (field << fraction_bits) | fraction
        return (word << dropped) | self.getrandbits(dropped) if dropped else word

    def special(self, fmt):
        bits, exponent_bits, fraction_bits, _, _ = TABLE[fmt]
        dropped = TF32_DROPPED if fmt == 'tf32' else 0
        width = bits - dropped
        sign = self.getrandbits(1) << (width - 1)
        top = ((1 << exponent_bits) - 1) << fraction_bits
        magnitude = self.choice((0, 0, 1, top, top - 1, top | 1))
        return (sign | magnitude) << dropped | (self.getrandbits(dropped) if dropped else 0)


def operands(draw, kind, fmt, m, n, k):
    """A as m rows and B as n columns."""
    exponents = 1 << TABLE[fmt][1]
    target = {'tiny': draw.randrange(-160, -118), 'huge': draw.randrange(120, 130)}.get(
        kind, draw.randrange(-4, 4))
    spread = {'wide': exponents // 2, 'near': 4, 'cancel': 3}.get(kind, draw.choice((2, 6, 14)))
    skew = draw.randrange(-40, 41) if kind in ('tiny', 'huge') else 0
    left, right = target // 2 + skew, target - target // 2 - skew

    def element(centre):
        if kind == 'bits':
            return draw.word(fmt)
        if draw.one_in(12 if kind == 'specials' else 4000):
            return draw.special(fmt)
        if draw.one_in(10):
            return 0
        return draw.number(fmt, centre + draw.randrange(-spread, spread + 1))

    a = [[element(left) for _ in range(k)] for _ in range(m)]
    columns = [[element(right) for _ in range(k)] for _ in range(n)]
    if kind == 'cancel':  # a product is taken away again, or nearly, somewhere else in the sum
        sign = 1 << (TABLE[fmt][0] - 1)
        for _ in range(k // 2):
            i, j = draw.randrange(k), draw.randrange(k)
            for row in a:
                row[i] = row[j] ^ (sign if i != j else 0)
            for column in columns:
                column[i] = column[j] ^ (0 if draw.one_in(2) else draw.getrandbits(1) << 1)
    return a, columns, target


def accumulators(draw, kind, fmt, target):
    """A word of C or of the bias."""
    if kind == 'bits' and draw.one_in(2):
        return draw.word(fmt)
    if draw.one_in(60):
        return draw.special(fmt)
    if draw.one_in(12):
        return draw.getrandbits(1) << (TABLE[fmt][0] - 1)
    return draw.number(fmt, target + draw.randrange(-28, 28))


def scale(draw):
    """alpha or beta: finite, and often 1."""
    while True:
        word = draw.choice((ONE, ONE, ONE, ONE ^ (1 << 31), 0, 1 << 31, draw.getrandbits(32),
                            draw.number('fp32', draw.randrange(-3, 4))))
        if word & 0x7f800000 != 0x7f800000:
            return word


def case(seed, index):
    """Case `index` of a seed; contracts take turns, so that 198 in a row have each once."""
    draw = Draw(seed * 1000003 + index)
    turn = index % CONTRACTS
    if turn >= CHAINED:
        at = turn - CHAINED
        arithmetic, fmt = [('snap', 'bf16'), ('snap3', 'bf16'), ('snap3', 'fp32')][at // SNAP]
        block = 64
        reduction = ('fold', 'tree')[turn % 2]
        output = OUTPUTS[at % SNAP // 2]
    else:
        pairs = list(K_BLOCK)
        arithmetic, fmt = pairs[turn % len(pairs)]
        reduction = ('chain', 'fold', 'tree')[turn // len(pairs) % 3]
        output = OUTPUTS[turn // len(pairs) // 3 % 3]
        block = K_BLOCK[arithmetic, fmt]
    kind = draw.choice(KINDS)
    m, n = draw.choice(((1, 64), (2, 33), (3, 20), (7, 13), (5, 17), (12, 6), (1, 100)))
    longest = draw.choice((1, 2, 4, 6)) * block if block > 1 else draw.choice((8, 40))
    k = draw.choice((0, 1, block, block - 1)) if draw.one_in(8) else draw.randrange(1, longest + 1)
    if turn in LARGE:  # more than one tile of 64 x 64
        m, n, k = draw.randrange(65, 72), draw.randrange(65, 72), draw.randrange(1, 2 * block + 1)
    if turn in NARROW:
        m, n = NARROW[turn]
    if reduction != 'chain':
        leaf = block * draw.choice((1, 1, 2, 3)) if block > 1 else draw.choice((1, 3, 5, 8))
        if index % CONTRACTS not in LARGE and not draw.one_in(6):
            k = draw.randrange(1, 6 * leaf + 1)
        reduction = f'{reduction}:{leaf}'
    a, columns, target = operands(draw, kind, fmt, m, n, k)
    if draw.one_in(3):
        target = draw.randrange(-8, 8)  # where the activations bend
    b = [[columns[j][i] for j in range(n)] for i in range(k)]

    plain = draw.one_in(3)
    continued = not reduction.startswith('tree') and draw.one_in(3)
    alpha = ONE if plain else scale(draw)
    beta = draw.choice((0, 1 << 31)) if plain or continued or draw.one_in(2) else scale(draw)
    reads_c = continued or beta & 0x7fffffff != 0
    of_c = 'fp32' if continued else output
    c = [[accumulators(draw, kind, of_c, target) for _ in range(n)]
         for _ in range(m)] if reads_c else None
    bias_type = 'none' if plain or draw.one_in(2) else draw.choice(OUTPUTS)
    bias = None if bias_type == 'none' else [accumulators(draw, kind, bias_type, target)
                                             for _ in range(n)]
    activation = 'none' if plain else draw.choice(ACTIVATIONS)
    return Case(f'{arithmetic}/{fmt}/{reduction}->{output}', m, n, k, alpha, beta, activation,
                bias_type, continued, a, b, c, bias)


def scale_word(draw, kind, centre):
    """A scale as it is stored: around 2^centre, now and then anything."""
    if kind == 'e8m0':
        return draw.choice((0, 255, draw.getrandbits(8))) if draw.one_in(40) else min(
            max(127 + centre + draw.randrange(-6, 7), 0), 254)
    if draw.one_in(40):
        return draw.choice((draw.getrandbits(32), draw.special('fp32'), ONE, ONE ^ (1 << 31)))
    return draw.number('fp32', centre + draw.randrange(-6, 7))


def scaled_case(seed, index):
    """Case `index` of a seed under scaled; contracts take turns, so that 63 in a row have each once."""
    draw = Draw(seed * 1000003 + index + (1 << 40))
    turn = index % SCALED
    pairs = [*K_BLOCK, ('snap', 'bf16')]
    arithmetic, fmt = pairs[turn % len(pairs)]
    block = 64 if arithmetic == 'snap' else K_BLOCK[arithmetic, fmt]
    output = OUTPUTS[turn // len(pairs)]
    kind = draw.choice(KINDS)
    m, n = draw.choice(((1, 64), (2, 33), (3, 20), (7, 13), (5, 17), (12, 6), (1, 100), (130, 1),
                        (1, 131), (66, 2)))
    leaf = block * draw.choice((1, 1, 2, 3)) if block > 1 else draw.choice((1, 3, 5, 8))
    k = 0 if draw.one_in(30) else draw.randrange(1, (3 if m * n > 100 else 6) * leaf + 1)
    leaves = (k + leaf - 1) // leaf
    a, columns, target = operands(draw, kind, fmt, m, n, k)
    b = [[columns[j][i] for j in range(n)] for i in range(k)]
    continued = draw.one_in(3)
    # Scales that bring tiny products up or large ones down, and some that lead into overflow.
    centre = draw.choice((0, 0, -target // 2, 20, -20, 55, -55))

    def scales(lines):
        stored = draw.choice(('fp32', 'fp32', 'e8m0'))
        per = draw.choice((1, 1, 128))
        blocks = (lines + per - 1) // per
        return (stored, per, [[scale_word(draw, stored, centre) for _ in range(leaves)]
                              for _ in range(blocks)])

    c = [[accumulators(draw, kind, 'fp32', target + 2 * centre) for _ in range(n)]
         for _ in range(m)] if continued else None
    alpha = ONE if draw.one_in(2) else scale(draw)
    return Case(f'{arithmetic}/{fmt}/scaled:{leaf}->{output}', m, n, k, alpha, 0, 'none', 'none',
                continued, a, b, c, None, scales(m) if leaves else None,
                scales(n) if leaves else None)


def line_case(seed, index):
    """Case `index` of a seed with scales of whole lines; contracts take turns, so that 120 in a row have each once."""
    turn = index % LINES
    pairs, reductions = 20, 2
    # The case of the same contract without scales: chain and fold are the first two reductions.
    plain = case(seed, index // LINES * CONTRACTS + turn % (pairs * reductions)
                 + turn // (pairs * reductions) * 3 * pairs)
    draw = Draw(seed * 1000003 + index + (1 << 41))
    centre = draw.choice((0, 0, 20, -20, 70, -70))

    def word(stored):
        found = scale_word(draw, stored, centre)
        full = stored == 'fp32' and found & 0x7f800000 != 0x7f800000 and not draw.one_in(3)
        return found & 0xff800000 | draw.getrandbits(23) if full else found  # fractions that products round

    def scales(lines):
        stored = draw.choice(('fp32', 'fp32', 'fp32', 'e8m0'))
        per = draw.choice((1, 1, 128))
        return stored, per, [[word(stored)] for _ in range((lines + per - 1) // per)]

    return dataclasses.replace(plain, scale_a=scales(plain.m), scale_b=scales(plain.n))
