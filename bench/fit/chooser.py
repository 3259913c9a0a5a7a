#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""chooser.py RESULT.json ... [--steps N] [--seed S]: fits the constants of the model of time in
cuda/sm90/host/choose.cpp to measured times of every geometry, by random search, and prints them with
what the model's choice then costs against the best geometry measured. Needs numpy.

RESULT.json or RESULT.json.xz: schema 2, from `detgemm bench --variants all` (docs/benchmarks.md has
the command). Read are the arms of role detgemm whose kernel was forced under a chain on bf16 or fp16.
"""
import argparse
import json
import lzma
import math
import re
import sys

import numpy as np

SMS = 132
# Start: the constants in use. Names as in choose.cpp.
START = dict(
    kStreamRate=14.8, kReuseRate=19.3, kResident=25.6, kCacheStart=1.72, kMemoryRate=4.16,
    kMemoryStart=3.11, kSharp=5.77, kClock=1.712, kFloorOne=17.9, kFloorTwo=28.1, kTileClocks=260,
    kBoxClocks=341, kStart=0.73, kPower=914, kPowerPerEdge=5.16, kPairFill=1.051, kPairStart=0.31,
    kFillBytes=74.4, kPairSteps=0.014, kSwapped=0.037, kThree=0.05, kWideStream=0.0086)
ADDED = {"kCacheStart", "kMemoryStart", "kStart", "kPairStart"}  # microseconds, may be 0
# The pairs that are compiled; the others were measured once, lost, and are not offered.
PAIRS = {"64x64-pair-y", "64x96-pair-y", "64x128-pair-y", "64x160-pair-y", "128x48-pair-x",
         "128x96-one-group-pair-x"}
SHARES = {"kPairSteps", "kSwapped", "kThree", "kWideStream"}


def ceil_div(a, b):
    return -(-a // b)


def forced_times(document):
    """(M, N, K) of D = A * B and {kernel: microseconds} of every case that has forced kernels."""
    if document.get("schema") != 2:
        sys.exit(f"schema is {document.get('schema')}: it must be 2")
    for result in document["results"]:
        us = {arm["variant"]: arm["us"] for arm in result["arms"]
              if arm["role"] == "detgemm" and arm["variant"] and "/chain->" in arm["contract"]}
        if us and result["dtype"] in ("bf16", "fp16"):
            yield (*result["gemm"], us)


def features(problem):
    """One row per measured geometry of a problem."""
    m, cols, k, times = problem
    for name, us in times.items():
        geometry, _, swapped = name.partition("/")
        match = re.match(r"(\d+)x(\d+)(?:-load(\d+))?(?:-depth\d+)?(?:-pair-([xy]))?$",
                         geometry.replace("-one-group", ""))
        if not match or (match[4] and geometry not in PAIRS):
            continue
        x, n = int(match[1]), int(match[2])
        load, pair = int(match[3] or x), match[4]
        rows = (cols, m) if swapped else (m, cols)
        one_group = x == 64 or "-one-group" in geometry
        groups = 1 if one_group else 3 if x == 192 else 2
        blocks = x // 64 // groups
        tiles_x = ceil_div(rows[0], x * (2 if pair == "y" else 1))
        tiles_y = ceil_div(rows[1], n * (2 if pair == "x" else 1))
        slab = next(s for s in (64, 32, 16, 8) if n % s == 0)
        yield us, (*rows, k, x, n, min(load, rows[0]), groups, blocks, bool(pair),
                   tiles_x, tiles_y, slab, bool(swapped))


def model(columns, c):
    """Microseconds of every row; predicted_time of choose.cpp."""
    xr, yr, k, x, n, load, groups, blocks, pair, tx, ty, slab, swapped = columns
    together = lambda *t: sum(v**c["kSharp"] for v in t)**(1 / c["kSharp"])
    waves = np.maximum(1, np.ceil(tx * ty / np.where(pair > 0, SMS // 2, SMS)))
    steps = np.ceil(k / 64) * 4
    tensor = np.maximum(groups * blocks * n / 2, np.where(groups > 1, c["kFloorTwo"], c["kFloorOne"]))
    fill = (load + n) * 32 / c["kFillBytes"] * np.where(pair > 0, c["kPairFill"], 1)
    tile = (steps * together(tensor, fill) * (1 + c["kPairSteps"] * pair) + c["kTileClocks"] +
            c["kBoxClocks"] * blocks * n / slab)
    work = waves * tile / (c["kClock"] * 1e3) + c["kStart"] + c["kPairStart"] * pair
    memory = (xr + yr) * k * 2e-6 / c["kMemoryRate"] + xr * yr * 2 / 4e6 + c["kMemoryStart"]
    flops = 2 * tx * ty * np.where(pair > 0, 2, 1) * x * n * k
    power = flops / (c["kPower"] * 1e6) * (1 + c["kPowerPerEdge"] * (1 / x + 1 / n))

    def cache(rows, readers):
        megabytes = rows * k * 2e-6
        streamed = 1 / (1 + np.exp((c["kResident"] - megabytes) / 3))
        return megabytes * readers * (streamed / c["kStreamRate"] + (1 - streamed) / c["kReuseRate"])

    wide = c["kWideStream"] * np.maximum(0, n - 112) / 128 * (xr <= 64)
    time = together(work, memory, power, cache(xr, ty) + cache(yr, tx) + c["kCacheStart"])
    return time * (1 + c["kSwapped"] * swapped) * (1 + c["kThree"] * (groups == 3)) * (1 + wide)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", nargs="+")
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    results = []
    for path in options.results:
        opened = lzma.open if path.endswith(".xz") else open
        with opened(path, "rt", encoding="utf-8") as file:
            results += [p for p in forced_times(json.load(file)) if any(features(p))]
    rows = [(i, us, f) for i, r in enumerate(results) for us, f in features(r)]
    if not rows:
        sys.exit("no case has a forced kernel: measure with --variants all")
    problem = np.array([row[0] for row in rows])
    measured = np.array([row[1] for row in rows])
    columns = np.array([row[2] for row in rows], float).T
    best = np.full(len(results), np.inf)
    np.minimum.at(best, problem, measured)

    def losses(constants):
        time = model(columns, constants)
        order = np.lexsort((time, problem))
        first = np.concatenate(([True], np.diff(problem[order]) != 0))
        loss = np.log(measured[order[first]] / best)
        near = measured < 1.6 * best[problem]
        error = np.abs(np.log(time / measured))[near].mean()
        return loss.mean() + 0.5 * np.maximum(0, loss - 0.03).mean() + 0.03 * error, loss

    random = np.random.default_rng(options.seed)
    constants, (score, loss) = dict(START), losses(START)
    for _ in range(options.steps):
        trial = dict(constants)
        for name in random.choice(list(trial), random.integers(1, 4), replace=False):
            if name in ADDED:
                trial[name] = max(0, trial[name] + random.normal(0, 0.3))
            elif name in SHARES:
                trial[name] = max(0, trial[name] + random.normal(0, 0.02))
            else:
                trial[name] *= math.exp(random.normal(0, 0.1))
        new_score, new_loss = losses(trial)
        if new_score < score:
            constants, score, loss = trial, new_score, new_loss
    print(f"{len(results)} problems, {len(rows)} times: the choice costs {math.exp(loss.mean()) - 1:.2%}"
          f" on average, {math.exp(loss.max()) - 1:.1%} at worst")
    for name, value in constants.items():
        print(f"{name} = {value:.4g}")


if __name__ == "__main__":
    main()
