#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""accuracy.py OUT.json: the error of `snap` and of what stands beside it, against fp64.

For every kind of data (data.py), K and LEAF: 64 x 64 outputs of A.B^T of bf16 numbers, three draws. An error is
|got - exact| / |exact| in the Frobenius norm, the root mean square over the draws. `exact` is the product of the same bf16 numbers in
fp64. `snap` is computed by rule.py, and by the library too, whose bits must be the same; `hopper/bf16/chain` by the
library. fp8 is e4m3 with a scale per row of A and per column of B and an exact sum, which no hardware gives.
"""
import argparse
import datetime
import json
import os
import platform
import subprocess

import ml_dtypes
import numpy

import data
import rule

import detgemm

ROWS, DRAWS = 64, 3
KS = (1024, 4096, 16384, 65536)
LEAVES = (64, 128, 256, 512)
E4M3_MAX = 448.0


def library(a, b, contract):
    """A.B^T under a contract, computed by the reference."""
    return detgemm.gemm(a.astype(ml_dtypes.bfloat16), b.astype(ml_dtypes.bfloat16).T, contract)


def fp8(x):
    """Rows scaled so that the largest magnitude is e4m3's, rounded, and scaled back."""
    scale = numpy.abs(x).max(1, keepdims=True) / E4M3_MAX
    return (x / scale).astype(ml_dtypes.float8_e4m3fn).astype(numpy.float64) * scale


def error(got, exact):
    return float(numpy.linalg.norm(got.astype(numpy.float64) - exact) / numpy.linalg.norm(exact))


def arms(a, b, compare):
    """Name: error, for one pair of operands."""
    exact = a @ b.T
    found = {"output rounded to bf16": error(rule.to_bf16(exact), exact),
             "hopper/bf16/chain": error(library(a, b, "hopper/bf16/chain->fp32"), exact),
             "fp8 e4m3, scaled rows": error(fp8(a) @ fp8(b).T, exact)}
    for leaf in LEAVES:
        got = rule.fold(a, b, leaf)
        if compare:
            contract = f"snap/bf16/fold:{leaf}->fp32"
            if library(a, b, contract).tobytes() != got.tobytes():
                raise SystemExit(f"{contract}, K = {a.shape[1]}: the library has other bits than the rule")
        found[f"snap, LEAF {leaf}"] = error(got, exact)
        found[f"snap, LEAF {leaf}, output rounded to bf16"] = error(rule.to_bf16(got), exact)
    return found


def study(compare, ks):
    cells = []
    for kind in data.KINDS:
        for k in ks:
            draws = [arms(*data.draw(kind, ROWS, k, seed), compare) for seed in range(DRAWS)]
            for arm in draws[0]:
                mean = float(numpy.sqrt(numpy.mean([each[arm] ** 2 for each in draws])))
                cells.append({"data": kind, "k": k, "arm": arm, "error": float(f"{mean:.4g}")})
            print(f"{kind}, K = {k}: done", flush=True)
    return cells


def commit():
    try:
        done = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False,
                              cwd=os.path.dirname(os.path.abspath(__file__)))
    except OSError:  # there is no git
        return "unknown"
    return done.stdout.strip() or "unknown"


def facts():
    """On what and when something was computed."""
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8")
                  if line.startswith("model name")), platform.machine())
    return {"date": datetime.date.today().isoformat(), "commit": commit(), "machine": f"{model}, {os.cpu_count()} cores",
            "numpy": numpy.__version__, "detgemm": detgemm.version()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--without-library", action="store_true", help="do not compare snap with the library's bits")
    parser.add_argument("--k", type=int, nargs="+", default=KS)
    options = parser.parse_args()
    cells = study(not options.without_library, options.k)
    with open(options.out, "w", encoding="utf-8") as file:
        rows = ",\n".join("  " + json.dumps(cell) for cell in cells)
        head = json.dumps({**facts(), "compared_with_the_library": not options.without_library}, indent=1)[:-2]
        file.write(f'{head},\n "cells": [\n{rows}\n ]\n}}\n')


if __name__ == "__main__":
    main()
