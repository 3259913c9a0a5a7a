# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Sections 1 and 4 of CONTRACT.md: the contract's name and digest, and how steps make a sum."""

import fp32
import snap
import snap3
import steps


class Contract:
    """ARITHMETIC/INPUT/REDUCTION->OUTPUT, spelled out."""

    def __init__(self, text):
        left, self.output = text.split('->')
        self.arithmetic, self.input, reduction = left.split('/')
        self.kind, _, leaf = reduction.partition(':')
        self.leaf = int(leaf or 0)
        self.k_block = (64 if self.arithmetic in ('snap', 'snap3') else
                        steps.K_BLOCK[self.arithmetic, self.input])
        self.text = text

    def leaves(self, k):
        return -(-k // self.leaf) if self.leaf else min(k, 1)

    def digest(self):
        line = (f'detgemm-contract version=1 arithmetic={self.arithmetic} input={self.input} '
                f'k_block={self.k_block} k_order=ascending reduction={self.kind} '
                f'leaf_k={self.leaf} rounding=nearest_even output={self.output}')
        value = 0xcbf29ce484222325
        for byte in line.encode('ascii'):
            value = ((value ^ byte) * 0x100000001b3) % 2**64
        return value


def chain(contract, a, b, start):
    """chain(k0, k1, start) over the products given."""
    if contract.arithmetic == 'snap':  # a leaf, from +0: section 3.5, rule 4
        return snap.leaf_sum(a, b)
    length = contract.k_block
    acc = start
    for k in range(0, len(a), length):
        left, right = a[k:k + length], b[k:k + length]
        short = length - len(left)
        acc = steps.step(contract.arithmetic, contract.input, left + [0] * short,
                         right + [0] * short, acc)
    return acc


def sums(contract, a, b):
    """The leaves of the reduction that one leaf of K becomes: section 3.6, rule 4."""
    if contract.arithmetic == 'snap3':
        return snap3.sums(contract.input, a, b)
    return [chain(contract, a, b, 0)]


def scale(kind, word):
    """A scale as it is stored, as an fp32 word."""
    if kind == 'fp32':
        return word
    if word == 255:
        return fp32.QUIET
    return word << 23 if word else 1 << 22  # 2^(word - 127), of which 2^-127 is subnormal


def accumulator(contract, a, b, start=0, scales=()):
    """acc[m,n] of a row of A and a column of B; start is +0, or C for continue.

    scales has a pair for each leaf, that of the row and that of the column, as fp32 words.
    """
    if contract.kind == 'chain':
        acc = chain(contract, a, b, start)
    else:
        leaves = [leaf for k in range(0, len(a), contract.leaf)
                  for leaf in sums(contract, a[k:k + contract.leaf], b[k:k + contract.leaf])]
        if contract.kind == 'fold':
            acc = start
            for leaf in leaves:
                acc = fp32.add(acc, leaf)
        elif contract.kind == 'scaled':
            acc = start
            for leaf, (left, right) in zip(leaves, scales):
                acc = fp32.fma(fp32.mul(left, right), leaf, acc)
        else:
            acc = tree(leaves, 0, len(leaves)) if leaves else 0
    return fp32.QUIET if fp32.is_nan(acc) else acc


def tree(leaves, low, high):
    if high - low == 1:
        return leaves[low]
    middle = low + (high - low) // 2
    return fp32.add(tree(leaves, low, middle), tree(leaves, middle, high))
