#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""scaled.py PROGRAM [--write]: compares the digests of scaled.txt with what PROGRAM computes.

PROGRAM is the one that tests/contract/compute.cpp makes: it runs every variant of the reference. Each line of
scaled.txt is a product under `scaled`: CONTRACT M N K KIND SEED DIGEST. Operands and scales are drawn here, alike
on every machine (splitmix64); B and its scales are stored for 128 columns, those of A for one row, all in fp32.
KIND is `normal` (small numbers, scales around 1), `cancel` (the second half of K takes the first half away, but
for a few numbers) or `specials` (any bytes, NaN seldom, and scales that are now and then 0, Inf, NaN or subnormal).
The digest is FNV-1a of D, row by row.
"""
import argparse
import pathlib
import struct
import subprocess
import sys

FILE = pathlib.Path(__file__).with_name('scaled.txt')
MASK = 2**64 - 1
SPECIAL = (0, 0x80000000, 1, 0x7f800000, 0xff800000, 0x7fc00000)


class Random:
    """splitmix64."""

    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state + 0x9e3779b97f4a7c15) & MASK
        x = self.state
        x = ((x ^ (x >> 30)) * 0xbf58476d1ce4e5b9) & MASK
        x = ((x ^ (x >> 27)) * 0x94d049bb133111eb) & MASK
        return x ^ (x >> 31)


def number(random, kind):
    """A byte of e4m3: any, or with an exponent from 2^-3 to 2^4."""
    x = random.next()
    if kind == 'specials':  # a NaN would take all outputs of its line with it
        return x & 0xff if x & 0x7f != 0x7f or (x >> 50) % 64 == 0 else x & 0xfe
    return (x >> 8 & 0x80) | (4 + (x >> 16) % 8) << 3 | (x & 7)


def scale(random, kind):
    """A word of fp32, from 2^-6 to 2^7, of both signs for specials."""
    x = random.next()
    if kind == 'specials' and (x >> 40) % 11 == 0:
        return SPECIAL[(x >> 44) % len(SPECIAL)]
    sign = (x & 0x80000000) if kind == 'specials' else 0
    return sign | (121 + (x >> 32) % 13) << 23 | (x & 0x7fffff)


def line_of(contract, m, n, k, kind, seed):
    random = Random(seed)
    leaf = int(contract.split(':')[1].split('-')[0])
    leaves = -(-k // leaf)
    a = [[number(random, kind) for _ in range(k)] for _ in range(m)]
    b = [[number(random, kind) for _ in range(n)] for _ in range(k)]
    sa = [[scale(random, kind) for _ in range(leaves)] for _ in range(m)]
    sb = [[scale(random, kind) for _ in range(leaves)] for _ in range(-(-n // 128))]
    if kind == 'cancel':
        half = k // leaf // 2
        for i in range(half * leaf):
            if random.next() % 64:
                for row in a:
                    row[half * leaf + i] = row[i] ^ 0x80
                b[half * leaf + i] = list(b[i])
        for rows in (sa, sb):
            for row in rows:
                row[half:2 * half] = row[:half]

    def hexed(rows):
        return b''.join(bytes(row) for row in rows).hex()

    def scales(rows, per):
        raw = b''.join(struct.pack('<I', word) for row in rows for word in row)
        return f'fp32:{per}:{len(rows)}:{leaves}:{raw.hex()}'

    return ' '.join([contract, str(m), str(n), str(k), '3f800000', '00000000', 'none', 'none', '0', hexed(a),
                     hexed(b), '-', '-', scales(sa, 1), scales(sb, 128)])


def digest_of(data):
    value = 0xcbf29ce484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001b3) & MASK
    return f'{value:016x}'


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('program')
    parser.add_argument('--write', action='store_true', help='write the digests found into scaled.txt')
    options = parser.parse_args()
    lines, problems = FILE.read_text(encoding='utf-8').splitlines(), []
    for index, line in enumerate(lines):
        if not line.startswith('#') and line.strip():
            contract, m, n, k, kind, seed, digest = line.split()
            problems.append((index, [contract, int(m), int(n), int(k), kind, int(seed)], digest))
    said = subprocess.run([options.program], input='\n'.join(line_of(*p[1]) for p in problems) + '\n',
                          capture_output=True, text=True, check=True).stdout.splitlines()
    wrong = variants = 0
    for (index, problem, wanted), answer in zip(problems, said):
        found = {item.partition('=')[0]: digest_of(bytes.fromhex(item.partition('=')[2]))
                 for item in answer.split()[1:] if '=' in item}
        variants += len(found)
        shown = ' '.join(map(str, problem))
        if len(set(found.values())) != 1:
            wrong += 1
            print(f'{shown}: variants disagree, or a refusal: {answer[:100]} {found}')
        elif set(found.values()) != {wanted}:
            wrong += not options.write
            print(f'{shown}: {found}, and the file says {wanted}')
        lines[index] = f'{shown} {next(iter(found.values()), wanted)}'
    if options.write:
        FILE.write_text('\n'.join(lines) + '\n', encoding='utf-8')
    print(f'{len(said)} products under scaled by {variants} runs, {wrong} with another digest')
    sys.exit(1 if wrong or not problems or len(said) != len(problems) else 0)


if __name__ == '__main__':
    main()
