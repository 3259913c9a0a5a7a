#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Random problems for every row of "Targets over random problems: projections", as a table of cases.

    python3 bench/draws.py --seed 41 > cases.json
    detgemm bench --backend cuda --cases cases.json --no-batch --json drawn.json

N and K are those of a layer of the table's published models, drawn at random; M is uniform in the
logarithm. So that each row has enough cases, M is drawn range by range, as many cases in each as its
share of the logarithm asks for. Problems of more than WORK FLOP are drawn again: one call would take as
long as a hundred others. The problems of a range are shared by all contracts and epilogues asked of it,
so that the vendor is timed once. Rows come in turn: where a time limit ends the run, all have lost alike.
"""
import argparse
import json
import pathlib
import random
import sys

TABLE = pathlib.Path(__file__).resolve().parent / "cases" / "cases.json"
WORK = {"bf16": 8e12, "fp32": 1e12}  # FLOP of one call: 12 ms and 20 ms on an H200
LEAST = 12  # cases of a row
ARMS = {name: {"contract": f"{{native}}/{{dtype}}/{reduction}->{{out}}"} for name, reduction in
        (("fold256", "fold:256"), ("fold128", "fold:128"), ("tree512", "tree:512"))}


class Drawer:
    """Draws from a seed; every draw is a layer and an M that none before it in the same set was."""

    def __init__(self, seed, table):
        self.random = random.Random(f"detgemm {seed}")
        self.shapes = {f"{model}/{layer}": shape for model in table["sets"]["published"]
                       for layer, shape in table["models"][model].items()}

    def tokens(self, low, high):
        return min(high, int(low * ((high + 1) / low) ** self.random.random()))

    def problems(self, count, low, high, dtype="bf16", fits=lambda n, k: True):
        layers = sorted(layer for layer, shape in self.shapes.items() if fits(*shape))
        found = []
        while len(found) < count:
            layer, m = self.random.choice(layers), self.tokens(low, high)
            n, k = self.shapes[layer]
            if 2.0 * m * n * k <= WORK[dtype] and (layer, m) not in found:
                found.append((layer, m))
        return found

    def some(self, problems, count):
        return self.random.sample(problems, count)


def case(layer, m, arms, **more):
    """A suite of one case. Its name says that averages over the table leave it out."""
    return {"name": "drawn", "layers": [layer], "tokens": [m], "arms": arms, "best": False, **more}


def odd_layer(drawer, layer):
    """N, K or both one less than the projection's: rows of A and B, or of D, at odd addresses."""
    n, k = drawer.shapes[layer]
    less_n, less_k = drawer.random.choice(((1, 0), (0, 1), (1, 1)))
    return n - less_n, k - less_k


def table_of(seed):
    table = json.loads(TABLE.read_text(encoding="utf-8"))
    draw = Drawer(seed, table)
    few = {"repetitions": 7}
    stream = {"repetitions": 5, "idle_ms": 5}
    burst = {"repetitions": 3}
    small = draw.problems(16, 1, 64)
    middle = draw.problems(10, 65, 255) + draw.problems(6, 256, 512)
    large = draw.problems(4, 513, 1023) + draw.problems(12, 1024, 8192)
    groups = [
        [case(*p, ["chain", "chain+stable", "tree"], **few) for p in small],
        [case(*p, ["chain", "tree", "fold"], **stream) for p in middle],
        [case(layer, m, ["chain", "tree", "fold"] + (["fold256", "fold128"] if m >= 1024 else []), **burst)
         for layer, m in large],
        [case(*p, ["chain"], mode="settled", repetitions=3) for p in draw.problems(LEAST, 513, 8192)],
        [case(*p, ["chain"], **stream)
         for p in draw.problems(14, 128, 512, fits=lambda n, k: n <= 2560)],
        [case(*p, ["tree512"], **stream)
         for p in draw.problems(LEAST, 65, 512, fits=lambda n, k: k > 29 * 512)],
        [case(*p, ["tree512"], **burst)
         for p in draw.problems(LEAST, 513, 8192, fits=lambda n, k: k > 29 * 512)],
        [case(*p, ["fold"], kinds=["dB"], accumulate=True, **burst)
         for p in draw.problems(LEAST, 513, 8192)],
    ]
    epilogues = ["bias", "beta", "bias+gelu_tanh"]
    for problems, how in ((small, few), (middle, stream), (large, burst)):
        groups.append([case(*p, ["chain"], epilogues=epilogues, **how)
                       for p in draw.some(problems, LEAST)])
    odd = {}
    for problems, how in ((draw.some(small, 6), few), (draw.some(middle[:10], 8), stream),
                          (middle[10:], stream), (draw.some(large, 8), burst)):
        groups.append([])
        for layer, m in problems:
            n, k = odd_layer(draw, layer)
            odd[f"{n}x{k}"] = [n, k]
            groups[-1].append(case(f"odd/{n}x{k}", m, ["chain"], **how))
    for low, high, how in ((1, 63, few), (64, 511, stream), (512, 8192, burst)):
        groups.append([case(*p, ["ieee_fma"], dtypes=["fp32"], **how)
                       for p in draw.problems(LEAST, low, high, "fp32")])
    # In turn: each group's cases spread evenly over the run.
    order = sorted(((i + 0.5) / len(group), at, i) for at, group in enumerate(groups)
                   for i in range(len(group)))
    return {"schema": 1, "models": {"odd": odd}, "arms": ARMS,
            "suites": [groups[at][i] for _, at, i in order]}


def main():
    parser = argparse.ArgumentParser(prog="bench/draws.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=7)
    json.dump(table_of(parser.parse_args().seed), sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
