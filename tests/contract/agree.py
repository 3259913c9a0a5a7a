#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""agree.py PROGRAM [--outputs N] [--seed S] [--snap | --scaled | --lines]: compares this folder's reading of CONTRACT.md with the product.

PROGRAM is the one that compute.cpp makes. Cases are drawn until N outputs were compared and every contract
was met; each output is compared with every variant of the reference, bit for bit. Exit 1 on the first difference.
"""

import argparse
import collections
import subprocess
import sys
import time

import cases
import epilogue
from formats import TABLE
from reduction import Contract, accumulator, scale


def scales_of(case, row, column, leaves):
    """A pair of fp32 words for each leaf of an output, or nothing."""
    if case.scale_a is None:
        return ()
    left, a = case.scales(row, leaves, 'a')
    right, b = case.scales(column, leaves, 'b')
    return [(scale(left, x), scale(right, y)) for x, y in zip(a, b)]


def expected(case):
    """D as this folder reads the page: m lists of n words."""
    contract = Contract(case.contract)
    columns = [[row[j] for row in case.b] for j in range(case.n)]
    of_lines = case.scale_a is not None and contract.kind != 'scaled'
    bias = case.bias and [epilogue.to_fp32(case.bias_type, word) for word in case.bias]
    rows = []
    for i in range(case.m):
        row = []
        for j in range(case.n):
            start = case.c[i][j] if case.continued else 0
            scales = scales_of(case, i, j, 1 if of_lines else contract.leaves(case.k))
            acc = accumulator(contract, case.a[i], columns[j], start, () if of_lines else scales)
            c = None
            if case.c is not None and not case.continued:
                c = epilogue.to_fp32(contract.output, case.c[i][j])
            row.append(epilogue.finish(acc, contract.output, case.alpha, case.beta, c,
                                       bias[j] if bias else None, case.activation,
                                       scales[0] if of_lines else None))
        rows.append(row)
    return contract, rows


def unpacked(text, fmt, n):
    size = TABLE[fmt][0] // 8
    raw = bytes.fromhex(text)
    words = [int.from_bytes(raw[i:i + size], 'little') for i in range(0, len(raw), size)]
    return [words[i:i + n] for i in range(0, len(words), n)]


class Program:
    """The product, case after case."""

    def __init__(self, path):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, bufsize=1)

    def answer(self, case):
        """The contract's digest and {variant: D}."""
        self.process.stdin.write(case.line() + '\n')
        self.process.stdin.flush()
        line = self.process.stdout.readline().split()
        if not line or line[0] == '!':
            sys.exit(f'refused: {case.contract}: {" ".join(line)}')
        output = case.contract.split('->')[1]
        return line[0], {name: unpacked(text, output, case.n)
                         for name, _, text in (item.partition('=') for item in line[1:])}

    def close(self):
        self.process.stdin.close()
        return self.process.wait(60)


def difference(case, program):
    """A sentence about the first difference, or None; the outputs; the variants."""
    contract, wanted = expected(case)
    digest, answers = program.answer(case)
    if int(digest, 16) != contract.digest():
        return f'digest {digest}, the page says {contract.digest():016x}', wanted, answers
    for variant, got in answers.items():
        for i in range(case.m):
            for j in range(case.n):
                if got[i][j] != wanted[i][j]:
                    return (f'{variant}: D[{i},{j}] is {got[i][j]:x}, the page says {wanted[i][j]:x}',
                            wanted, answers)
    return (None if answers else 'no variant', wanted, answers)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('program')
    parser.add_argument('--outputs', type=int, default=20000)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--snap', action='store_true', help='the contracts of snap and snap3 alone')
    parser.add_argument('--scaled', action='store_true', help='the contracts of scaled alone')
    parser.add_argument('--lines', action='store_true', help='chain and fold with scales of whole lines alone')
    options = parser.parse_args()
    program = Program(options.program)
    met, activations, variants = collections.Counter(), collections.Counter(), collections.Counter()
    outputs = nans = index = cases_run = 0
    from_time = time.time()
    contracts = cases.SNAP + cases.SNAP3 if options.snap else cases.CONTRACTS
    draw = cases.case
    if options.scaled:
        contracts, draw = cases.SCALED, cases.scaled_case
    if options.lines:
        contracts, draw = cases.LINES, cases.line_case
    in_a_row = contracts if options.scaled or options.lines else cases.CONTRACTS
    while outputs < options.outputs or index < in_a_row:
        if options.snap and index % cases.CONTRACTS < cases.CHAINED:
            index += 1
            continue
        case = draw(options.seed, index)
        said, wanted, answers = difference(case, program)
        if said:
            print(f'case {index} of seed {options.seed}: {case.contract} {case.m} x {case.n} x '
                  f'{case.k} alpha {case.alpha:08x} beta {case.beta:08x} {case.activation} bias '
                  f'{case.bias_type}{" continue" if case.continued else ""}: {said}')
            print(case.line())
            sys.exit(1)
        count = case.m * case.n
        outputs += count
        met[case.contract.split(':')[0].split('->')[0] + '->' + case.contract.split('->')[1]] += count
        activations[case.activation] += count
        quiet = {'bf16': 0x7fff, 'fp16': 0x7fff, 'fp32': 0x7fffffff}[case.contract.split('->')[1]]
        nans += sum(word == quiet for row in wanted for word in row)
        for variant in answers:
            variants[variant] += count
        index += 1
        cases_run += 1
    if program.close() != 0:
        sys.exit('the program failed at its end')
    if len(met) < contracts:
        sys.exit(f'only {len(met)} of {contracts} contracts were met')
    print(f'{cases_run} cases, {outputs} outputs ({nans} NaN) under {len(met)} contracts, '
          f'{sum(variants.values())} comparisons, 0 differences, {time.time() - from_time:.0f} s')
    print('variants:', ', '.join(f'{name} {count}' for name, count in sorted(variants.items())))
    print('activations:', ', '.join(f'{name} {count}' for name, count in sorted(activations.items())))


if __name__ == '__main__':
    main()
