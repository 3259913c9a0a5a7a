#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""pins.py GOLDEN_FOLDER VECTORS INSTRUCTIONS [--count]: what pins each constant of section 3 of CONTRACT.md.

Each constant is changed by one, up and down. Some captured output (GOLDEN_FOLDER, for hopper) or some
vector (VECTORS, for all contracts) must then come out with other bits; a change that nothing contradicts is an
error. INSTRUCTIONS has captured outputs of an instruction that no contract has, in folders of its name: all of
them must have the bits of the page, and pin it. --count goes on to the end and prints in how many outputs
the change shows.
"""

import argparse
import dataclasses
import pathlib
import sys

import steps
from formats import TABLE
from reduction import Contract, accumulator

SIDE = 64


class Golden:
    """The captured outputs of one input type, smallest products first."""

    def __init__(self, folder, fmt):
        self.outputs = []
        size = TABLE[fmt][0] // 8
        for path in sorted(pathlib.Path(folder).glob(f'{fmt}_*.bin'),
                           key=lambda p: ('tiny' not in p.name, p.stat().st_size)):
            k = int(path.stem.rpartition('_k')[2])
            raw = path.read_bytes()
            count = SIDE * k * size
            rows = [self.words(raw[at:at + count], size, k) for at in (0, count)]
            c, d = (self.words(raw[at:at + SIDE * SIDE * 4], 4, SIDE)
                    for at in (2 * count, 2 * count + SIDE * SIDE * 4))
            self.outputs.append((rows[0], rows[1], c, d))

    @staticmethod
    def words(raw, size, width):
        words = [int.from_bytes(raw[i:i + size], 'little') for i in range(0, len(raw), size)]
        return [words[i:i + width] for i in range(0, len(words), width)]

    def differences(self, contract, all_of_them):
        """Outputs that the page as it stands in `steps` does not give; stops at the first, or not."""
        found = 0
        for a, b, c, d in self.outputs:
            for i in range(SIDE):
                for j in range(SIDE):
                    if accumulator(contract, a[i], b[j], c[i][j]) != d[i][j]:
                        found += 1
                        if not all_of_them:
                            return found
        return found


def read_vectors(path):
    lines = {}
    for line in open(path, encoding='ascii'):
        unit, a, b, c, d = line.split()
        lines.setdefault(unit, []).append(
            ([int(x, 16) for x in a.split(',')], [int(x, 16) for x in b.split(',')], int(c, 16),
             int(d, 16)))
    for unit in lines:  # the directed ones stand at the end
        lines[unit].reverse()
    return lines


def vector_differences(contract, vectors, all_of_them):
    found = 0
    for a, b, c, d in vectors:
        if accumulator(contract, a, b, c) != d:
            found += 1
            if not all_of_them:
                break
    return found


def changes():
    """(what, arithmetic, input, apply): apply() changes one constant and returns what undoes it."""
    for (arithmetic, fmt), row in steps.TENSOR.items():
        for field in ('length', 'cut', 'kept', 'least'):
            for by in (-1, +1):
                if (field, by) == ('kept', +1) and row.kept == 24:
                    continue  # fp32 has no more
                if field == 'least' and fmt not in ('bf16', 'tf32'):
                    continue  # products of narrow formats are never so small

                def change(key=(arithmetic, fmt), row=row, field=field, by=by):
                    other = dataclasses.replace(row, **{field: getattr(row, field) + by})
                    steps.TENSOR[key] = other
                    if field == 'length':
                        steps.K_BLOCK[key] = other.length

                    def undo():
                        steps.TENSOR[key] = row
                        steps.K_BLOCK[key] = row.length
                    return undo
                yield f'{field} {getattr(row, field)} {by:+d}', arithmetic, fmt, change
    for field, value in steps.CDNA3.items():
        for by in (-1, +1):
            if (field, by) == ('dot', +1):
                # A finer grid is the same function: the dot product has bits below 2^(E-32) only where
                # Ep < E-8, so it is below 2^(E-4), t is E-1 or more, and step 5 floors to 2^(E-32).
                continue

            def change(field=field, value=value, by=by):
                steps.CDNA3[field] = value + by

                def undo():
                    steps.CDNA3[field] = value
                return undo
            yield f'{field} {value} {by:+d}', 'cdna3', 'bf16', change


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('golden')
    parser.add_argument('vectors')
    parser.add_argument('instructions')
    parser.add_argument('--count', action='store_true')
    options = parser.parse_args()
    vectors = read_vectors(options.vectors)
    golden = {('hopper', fmt): Golden(options.golden, fmt) for fmt in ('bf16', 'fp16', 'tf32', 'e4m3', 'e5m2')}
    steps.TENSOR.update(steps.INSTRUCTIONS)
    steps.K_BLOCK.update({key: row.length for key, row in steps.INSTRUCTIONS.items()})
    wrong = 0
    for name, fmt in steps.INSTRUCTIONS:
        of = golden[name, fmt] = Golden(pathlib.Path(options.instructions) / name, fmt)
        different = of.differences(Contract(f'{name}/{fmt}/chain->fp32'), True)
        wrong += different or not of.outputs
        print(f'{name}/{fmt}: {len(of.outputs) * SIDE * SIDE} captured outputs, {different} differ')
    if options.count:
        golden_count = sum(len(each.outputs) for each in golden.values()) * SIDE * SIDE
        print(f'{golden_count} captured outputs, {sum(map(len, vectors.values()))} vectors')
    loose = tried = 0
    for what, arithmetic, fmt, change in changes():
        tried += 1
        undo = change()
        contract = Contract(f'{arithmetic}/{fmt}/chain->fp32')
        captured = 'no hardware data'
        if (arithmetic, fmt) in golden:
            captured = golden[arithmetic, fmt].differences(contract, options.count)
        seen = captured
        if f'{arithmetic}/{fmt}' in vectors:
            seen = vector_differences(contract, vectors[f'{arithmetic}/{fmt}'], options.count)
        undo()
        if options.count:
            print(f'{arithmetic}/{fmt} {what}: captured {captured}, vectors {seen}')
        if not seen or captured == 0:
            loose += 1
            print(f'nothing pins it: {arithmetic}/{fmt} {what}, captured {captured}, vectors {seen}')
    print(f'{tried} changes of one constant, {loose} of them seen by nothing')
    sys.exit(1 if loose or wrong or not tried else 0)


if __name__ == '__main__':
    main()
