#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""agree_log_prob.py PROGRAM [--columns N] [--seed S] [--golden FILE [--write]] [--fault NAME]

Compares log_prob.py, which is section 8 of CONTRACT.md, with the product, bit for bit. PROGRAM is the one that
compute_log_prob.cpp makes. Rows are drawn until N columns were compared; with --golden the rows of a file are
compared with the file, and with this folder and PROGRAM where they are given. --fault plants a fault in this
folder's reading: the comparison must then end with 1. Exit 1 on the first difference.
"""

import argparse
import math
import pathlib
import random
import subprocess
import sys
import time

import epilogue
import log_prob
from fp32 import mul

ONE = 0x3f800000
HEADER = '''# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
#
# Rows of logits under logsum16 (core/contract/CONTRACT.md, section 8), written by the reference and compared with the
# page by tests/contract/agree_log_prob.py. Each line, words in hexadecimal but for V, TARGET, BEGIN, END and k:
# TYPE V SCALE TARGET A B C BEGIN END Z = K S A LSE LOGP H XT R G NODES
# A, B, C: upstream gradients of logp, H and lse, - for none. Z: a word per logit; those from V on are padding.
# G: a bf16 word per logit. NODES: k:s:a of the maximal nodes of columns BEGIN .. END - 1.
'''
SPECIALS = [0x7fc00000, 0xffc12345, 0x7f800000, 0xff800000, 0x47800000, 0xc7800000, 0x47800001, 0xc7800001, 0x7f7fffff,
            0xff7fffff, 0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x00800000, 0x42b17218, 0xc2aeac50, 0xc2cff1b5]
KINDS = ('normal', 'normal', 'wide', 'bits', 'tiny', 'ties', 'peak', 'far', 'masked', 'infinite', 'nan', 'gone', 'steps', 'cancel')


def word_of(number):
    """The fp32 word nearest to a Python float."""
    top, bottom = abs(number).as_integer_ratio()
    return log_prob.encode('fp32', int(number < 0), top, 1 - bottom.bit_length())


class Draw(random.Random):
    def logits(self, kind, count):
        sigma = self.choice((0.5, 3.0, 10.0, 40.0))
        normal = [word_of(self.gauss(0, sigma)) for _ in range(count)]
        if kind == 'wide':
            return [word_of(self.uniform(-1, 1) * 2.0**self.randint(-30, 17)) for _ in range(count)]
        if kind == 'bits':
            return [self.choice(SPECIALS) if self.random() < 0.1 else self.getrandbits(32) & ~(self.random() < 0.9) * 0x40000000
                    for _ in range(count)]
        if kind == 'tiny':
            return [self.getrandbits(25) | self.getrandbits(1) << 31 for _ in range(count)]
        if kind == 'ties':
            few = normal[:2] or [0]
            return [self.choice(few) for _ in range(count)]
        if kind == 'peak' and count:
            normal[self.randrange(count)] = word_of(self.uniform(20, 200))
        if kind == 'far':
            return [word_of(self.choice((-70000.0, -65536.0, -60000.0, -1e30, 65536.0, -87.3, -126 * 0.6931)) + self.random())
                    for _ in range(count)]
        if kind == 'masked':
            return [0xff800000 if self.random() < 0.6 else word for word in normal]
        if kind == 'infinite' and count:
            normal[self.randrange(count)] = self.choice((0x7f800000, 0x47800001))
        if kind == 'nan' and count:
            normal[self.randrange(count)] = self.choice((0x7f800001, 0xffffffff))
        if kind == 'gone':
            return [self.choice((0xff800000, 0xc7800001, 0xff7fffff)) for _ in range(count)]
        if kind == 'steps':  # terms whose exponents are near the 2^-126 below which they count as zero
            top = self.uniform(-3, 3)
            return [word_of(top - self.choice((0, 0, 85, 86, 87, 87.2, 87.3, 87.4, 88)) - self.random() / 8) for _ in range(count)]
        if kind == 'cancel':  # x e^x of both signs
            return [word_of(self.choice((1, -1)) * self.choice((0.0, 1e-3, 1e-30, 0.5, 1.0))) for _ in range(count)]
        return normal

    def upstream(self, often):
        if self.random() > often:
            return None
        return self.choice((0, ONE, 0xbf800000, word_of(self.gauss(0, 1)), word_of(self.gauss(0, 1e-3)), word_of(1e30)))

    def row(self, index, columns):
        kind = KINDS[index % len(KINDS)]
        v = self.choice(columns)
        padding = self.choice((0, 0, 0, 1, 5, 16))
        fmt = self.choice(('bf16', 'fp32'))
        z = self.logits(kind, v) + [self.getrandbits(32) for _ in range(padding)]
        if fmt == 'bf16':
            z = [word >> 16 for word in z]
        scale = self.choice((ONE, ONE, ONE, word_of(1 / 0.7), word_of(0.01), word_of(100.0)))
        target = self.choice((-100, -1, 0, v - 1)) if self.random() < 0.2 else self.randrange(v) if v else -1
        begin = 16 * self.randrange(v // 16 + 1)
        end = self.choice((v, max(begin, v // 16 * 16), begin + 16 * self.randrange((v - begin) // 16 + 1)))
        return (fmt, v, scale, min(target, v - 1) if target >= 0 else target, self.upstream(0.9), self.upstream(0.4),
                self.upstream(0.4), begin, end, z)


def line_of(row):
    fmt, v, scale, target, a, b, c, begin, end, z = row
    digits = 8 if fmt == 'fp32' else 4
    given = ['-' if word is None else f'{word:08x}' for word in (a, b, c)]
    return ' '.join([fmt, str(v), f'{scale:08x}', str(target), *given, str(begin), str(end),
                     ''.join(f'{word:0{digits}x}' for word in z) or '-'])


def row_of(line):
    fmt, v, scale, target, a, b, c, begin, end, z = line.split()
    digits = 8 if fmt == 'fp32' else 4
    a, b, c = (None if word == '-' else int(word, 16) for word in (a, b, c))
    z = [] if z == '-' else [int(z[i:i + digits], 16) for i in range(0, len(z), digits)]
    return fmt, int(v), int(scale, 16), int(target), a, b, c, int(begin), int(end), z


scaled_logit = mul


def expected(row):
    """The answer's line, as this folder reads the page."""
    fmt, v, scale, target, a, b, c, begin, end, z = row
    x = [scaled_logit(epilogue.to_fp32(fmt, word), scale) for word in z[:v]]
    found = log_prob.results(x, target)
    g = log_prob.gradient(x, target, found, 0 if a is None else a, b, c, scale) + [0] * (len(z) - v)
    words = [str(found['k'])] + [f'{found[name]:08x}' for name in ('s', 'a', 'lse', 'logp', 'h', 'x_t', 'r')]
    nodes = ','.join(f'{k}:{s:08x}:{n:08x}' for k, s, n in log_prob.nodes(x, begin, end))
    return ' '.join([*words, ''.join(f'{word:04x}' for word in g) or '-', nodes or '-'])


# Other readings, each of which some row must contradict.
def bit_order():
    log_prob.in_pairs.__defaults__ = ((0, 1, 2, 3),)


def halves_of_the_count():
    def root(x):
        leaves = log_prob.leaves_of(x) or [log_prob.ABSENT_NODE]

        def over(low, high):
            if high - low == 1:
                return leaves[low]
            middle = low + (high - low) // 2
            return log_prob.join(over(low, middle), over(middle, high))
        return over(0, len(leaves))
    log_prob.root = root


def difference_of_logits():
    plain = log_prob.results

    def results(x, target):
        found = plain(x, target)
        if target >= 0 and found['k'] not in (log_prob.SPECIAL, log_prob.ABSENT):
            found['logp'] = log_prob.add(found['x_t'], log_prob.neg(found['lse']))
        return found
    log_prob.results = results


def split_at_8():
    plain = log_prob.leaf

    def leaf(columns):
        return log_prob.join(plain(columns[:8] + [log_prob.ABSENT_NODE] * 8), plain(columns[8:] + [log_prob.ABSENT_NODE] * 8))
    log_prob.leaf = leaf


def subnormals_flushed():
    plain = log_prob.scaled

    def scaled(y, d):
        word = plain(y, d)
        return word if word & 0x7f800000 else word & 0x80000000
    log_prob.scaled = scaled


def online_maximum():
    """The running maximum of ascending leaves, rescaled by an exponential of the difference."""
    def root(x):
        top, total = None, 0
        k, s, a = right = real(x)
        if k in (log_prob.SPECIAL, log_prob.ABSENT):
            return right
        for word in (w for w in x if not log_prob.is_absent(w)):
            if top is None:
                top, total = word, ONE
                continue
            rise = log_prob.add(word, log_prob.neg(top))
            n, f = log_prob.exponential(rise if rise >> 31 else log_prob.neg(rise))
            term = log_prob.scaled(f, n)
            if rise >> 31 or rise == 0:
                total = log_prob.add(total, term)
            else:
                total, top = log_prob.add(mul(total, term), ONE), word
        n, f = log_prob.exponential(top)
        whole = mul(total, f)
        return k, log_prob.power_of_two(whole, n - k), a
    real = log_prob.root
    log_prob.root = root


def overlapping_tile():
    """The last leaf is moved back to the row's end, and columns count twice."""
    plain = log_prob.leaves_of
    log_prob.leaves_of = lambda x: plain(x) if len(x) < 16 or len(x) % 16 == 0 else plain(x[:len(x) // 16 * 16] + x[-16:])


def logits_in_fp16():
    plain = log_prob.column

    def column(x):
        number = log_prob.decode('fp32', x)
        if number == 'nan' or number[0] == 'inf' or log_prob.exceeds(x, 65504):
            return plain(x)
        half = log_prob.encode('fp16', number[0], number[1], number[2] - number[3])
        return plain(epilogue.to_fp32('fp16', half))
    log_prob.column = column


def exponential_of_a_library():
    plain = log_prob.exponential

    def exponential(x):
        n, _ = plain(x)
        significand, exponent = log_prob.rational(x)
        return n, word_of(math.exp(significand * 2.0**exponent - n * math.log(2)))
    log_prob.exponential = exponential


def division_by_the_temperature():
    global scaled_logit
    scaled_logit = lambda z, s: log_prob.div(z, log_prob.div(ONE, s))


FAULTS = (overlapping_tile, logits_in_fp16, exponential_of_a_library, division_by_the_temperature, bit_order,
          halves_of_the_count, difference_of_logits, split_at_8, subnormals_flushed, online_maximum)


class Program:
    def __init__(self, path):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def answer(self, line):
        self.process.stdin.write(line + '\n')
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()


def compare(line, said, wanted):
    if said == wanted:
        return
    names = 'K S A LSE LOGP H XT R G NODES'.split()
    print(line)
    for name, got, want in zip(names, said.split(), wanted.split()):
        if got != want:
            print(f'{name} is {got}, the page says {want}')
    if said.startswith('!') or len(said.split()) != len(names):
        print(said)
    sys.exit(1)


def golden(options):
    file = pathlib.Path(options.golden)
    program = Program(options.program) if options.program else None
    if options.write:
        draw = Draw(16)
        rows = [draw.row(i, (1, 2, 15, 16, 17, 31, 33, 48, 64)) for i in range(280)]
        rows += [draw.row(14 * i, (129, 255, 256, 257)) for i in range(8)]
        rows += [('fp32', 0, ONE, -1, ONE, None, None, 0, 0, [ONE]), ('bf16', 1, ONE, 0, ONE, ONE, ONE, 0, 1, [0x8000])]
        file.write_text(HEADER + ''.join(f'{line_of(row)} = {program.answer(line_of(row))}\n' for row in rows))
    count = columns = 0
    for text in file.read_text().splitlines():
        if text.startswith('#') or not text:
            continue
        line, _, wanted = text.partition(' = ')
        compare(line, expected(row_of(line)), wanted)
        if program:
            compare(line, program.answer(line), wanted)
        count += 1
        columns += len(row_of(line)[-1])
    print(f'{count} rows of {file.name}, {columns} columns, 0 differences')
    sys.exit(0 if count else 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('program', nargs='?')
    parser.add_argument('--columns', type=int, default=20000)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--golden')
    parser.add_argument('--write', action='store_true')
    parser.add_argument('--fault', choices=[fault.__name__ for fault in FAULTS])
    options = parser.parse_args()
    for fault in FAULTS:
        if fault.__name__ == options.fault:
            fault()
    if options.golden:
        golden(options)
    if not options.program:
        parser.error('a program or --golden is needed')
    program, draw, start = Program(options.program), Draw(options.seed), time.time()
    index = columns = 0
    while columns < options.columns:
        row = draw.row(index, (0, 1, 3, 15, 16, 17, 32, 47, 64, 100, 255, 256, 257, 520))
        line = line_of(row)
        compare(line, program.answer(line), expected(row))
        index += 1
        columns += len(row[-1])
    print(f'{index} rows, {columns} columns, 0 differences, {time.time() - start:.0f} s')


if __name__ == '__main__':
    main()
