#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""accuracy3.py OUT.json [--k K ...]: the error of `snap3` and of what stands beside it, against fp64.

For some kinds of data (data.py) and each LEAF: 64 x 64 outputs of A.B^T, one draw, once of bf16 numbers and once of fp32 numbers.
An error is |got - exact| / |exact| in the Frobenius norm, and `exact` is the product of
the same numbers in fp64. `snap3` is computed by rule.py. `fp32, one chain` adds in fp32, k ascending, without a fused multiply-add, and
`one product` is `snap` of the numbers rounded to bf16.
"""
import argparse
import json

import numpy

import accuracy
import data
import rule

ROWS = 64
KS = (4096,)
LEAVES = (128, 256, 512)
KINDS = ("normal", "outlier channels", "1000x on weights of 1/1000", "lognormal")


def chain(a, b):
    total = numpy.zeros((a.shape[0], b.shape[0]), numpy.float32)
    for x, y in zip(a.T.astype(numpy.float32), b.T.astype(numpy.float32)):
        total += x[:, None] * y[None, :]
    return total


def arms(a, b):
    exact = a @ b.T
    found = {"fp32, one chain": accuracy.error(chain(a, b), exact),
             "one product, LEAF 128": accuracy.error(rule.fold(rule.to_bf16(a), rule.to_bf16(b), 128), exact)}
    for leaf in LEAVES:
        found[f"snap3, LEAF {leaf}"] = accuracy.error(rule.fold3(a, b, leaf), exact)
    return found


def fp32_draw(kind, k, seed):
    """The same data as data.draw, rounded to fp32 in place of bf16."""
    to_bf16, rule.to_bf16 = rule.to_bf16, lambda x: x.astype(numpy.float32).astype(numpy.float64)
    try:
        return data.draw(kind, ROWS, k, seed)
    finally:
        rule.to_bf16 = to_bf16


def study(ks):
    for inputs, draw in (("bf16", lambda kind, k, seed: data.draw(kind, ROWS, k, seed)), ("fp32", fp32_draw)):
        for kind in KINDS:
            for k in ks:
                for arm, error in arms(*draw(kind, k, 0)).items():
                    yield {"inputs": inputs, "data": kind, "k": k, "arm": arm, "error": float(f"{error:.4g}")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--k", type=int, nargs="+", default=KS)
    options = parser.parse_args()
    rows = ",\n".join("  " + json.dumps(cell) for cell in study(options.k))
    head = json.dumps({**accuracy.facts(), "compared_with_the_library": False}, indent=1)[:-2]
    with open(options.out, "w", encoding="utf-8") as file:
        file.write(f'{head},\n "cells": [\n{rows}\n ]\n}}\n')


if __name__ == "__main__":
    main()
