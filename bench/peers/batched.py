#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""batched.py [--json FILE] [--only TEXT] [--variants] [--seed S]: batches of products in one call, beside torch.bmm.

The products are those around attention, hopper/bf16/chain->bf16: `qk` of queries and keys, `pv` of weights and values (whose
rows are keys, so B is K x N with N along memory), each with many queries (prefill) and with the query heads of one key head
(decode), and the projections `mla` of every head into and out of a latent space. `strided` ones are stored as a model has
them, token by token with all heads in a row. `drawn` ones are made from the seed.

For each, the median microseconds per call (timing.py) of these arms:

  batched   detgemm.torch.grouped_gemm of two operands of three dimensions
  torch     torch.bmm(out=)

with --variants also a loop of products, gather, and every tile of the grouped kernels by its name. All outputs of the first set
of arrays are compared with a product for each entry, bit by bit: a difference, or nothing to compare, ends the program with
status 1.
"""
import math
import random
import sys
import typing

import torch

import detgemm.torch as dt
from grouped_mm import VARIANTS as TILES
from report import begun, differing, microseconds, options, save
from timing import sets_for, times

CONTRACT = "hopper/bf16/chain->bf16"
VARIANTS = ("loop", "gather", *TILES)


def zeros(*shape):
    return torch.zeros(shape, device="cuda", dtype=torch.bfloat16)


class Case(typing.NamedTuple):
    name: str
    batch: int
    m: int
    n: int
    k: int
    b_rows: bool           # B is K x N with N along memory; else each column is, as keys are
    strided: bool = False  # A and D token by token, all products of the batch in a row

    def text(self):
        return f"{self.name}{' strided' if self.strided else ''} {self.batch} x {self.m} n {self.n} k {self.k}"

    def tensors(self, generator):
        def draw(*shape):
            return torch.randn(shape, generator=generator, device="cuda", dtype=torch.bfloat16)

        def lines(width, take):
            if self.strided:
                return take(self.m, self.batch, width).transpose(0, 1)
            return take(self.batch, self.m, width)
        b = draw(self.batch, self.k, self.n) if self.b_rows else draw(self.batch, self.n, self.k).transpose(1, 2)
        return lines(self.k, draw), b, lines(self.n, zeros), lines(self.n, zeros)

    def bytes(self):
        return 2 * self.batch * (self.m * self.k + self.k * self.n + self.m * self.n)


def cases(seed):
    """24 of them; of the drawn ones, two."""
    for batch, m, keys, width in ((64, 1024, 1024, 64), (32, 2048, 2048, 128), (8, 4096, 4096, 192), (24, 1000, 777, 128)):
        yield Case("qk prefill", batch, m, keys, width, False)
    for batch, m, keys, width in ((64, 1024, 1024, 64), (8, 4096, 4096, 128), (16, 777, 1000, 192), (24, 1000, 777, 128)):
        yield Case("pv prefill", batch, m, width, keys, True)
    for batch, m, keys, width in ((256, 4, 1000, 128), (64, 8, 4096, 128), (128, 1, 8192, 128), (16, 16, 16384, 64)):
        yield Case("qk decode", batch, m, keys, width, False)
        yield Case("pv decode", batch, m, width, keys, True)
    for m in (1, 100, 4096):
        yield Case("mla in", 128, m, 512, 128, True)
    for m in (1, 4096):
        yield Case("mla out", 128, m, 128, 512, True)
    yield Case("mla in", 128, 64, 512, 128, True, strided=True)
    draw = random.Random(seed)
    for name in ("drawn qk", "drawn pv"):
        batch, m, keys, width = draw.randint(8, 128), draw.randint(17, 1500), 8 * draw.randint(20, 250), 8 * draw.randint(5, 32)
        yield Case(name, batch, m, *((keys, width, False) if name == "drawn qk" else (width, keys, True)))


def measure(case, generator, variants):
    """(how many outputs differ from products of their own, microseconds by arm); of a few sets of arrays."""
    sets = [case.tensors(generator) for _ in range(sets_for(case.bytes()))]

    def batched(a, b, d, variant=None):
        return lambda: dt.grouped_gemm(a, b, None, CONTRACT, out=d, variant=variant)
    a, b, d, other = sets[0]
    batched(a, b, d)()
    for g in range(case.batch):
        dt.gemm(a[g], b[g], CONTRACT, out=other[g])
    differ = differing(d, other)
    arms = {"batched": [batched(a, b, d) for a, b, d, _ in sets],
            "torch": [lambda a=a, b=b, other=other: torch.bmm(a, b, out=other) for a, b, _, other in sets]}
    for name in VARIANTS if variants else ():
        arms[name] = [batched(a, b, other, name) for a, b, _, other in sets]
    return differ, times(arms)


def summary(rows):
    """Geometric mean and worst of torch's time over ours, of each kind of case and of all."""
    for kind in [*dict.fromkeys(row["name"] for row in rows), "all"]:
        ratios = [row["ratio"] for row in rows if kind in ("all", row["name"])]
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"{kind}: {len(ratios)} cases, torch/batched {mean:.3f} (geometric mean), worst {min(ratios):.3f}")


def main():
    parser = options(__doc__)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    generator = torch.Generator("cuda").manual_seed(given.seed)
    report = begun(seed=given.seed, rows=[])
    for case in cases(given.seed):
        if given.only not in case.text():
            continue
        differ, took = measure(case, generator, given.variants)
        dt.clear_plans()
        torch.cuda.empty_cache()
        ratio = took["torch"] / took["batched"]
        print(f"{case.text()}: {f'{differ} OUTPUTS DIFFER' if differ else 'same bits'}, "
              f"{2 * case.batch * case.m * case.n * case.k / took['batched'] * 1e-6:.0f} TFLOP/s, "
              f"{case.bytes() / took['batched'] * 1e-6:.2f} TB/s, torch/batched {ratio:.3f}; {microseconds(took)}", flush=True)
        report["rows"].append({"case": case.text(), **case._asdict(), "differ": differ, "ratio": ratio, "us": took})
    save(report, given.json)
    if not report["rows"]:
        sys.exit(f"no case has {given.only!r} in its name")
    summary(report["rows"])
    sys.exit("a batch has other bits than its products" if any(row["differ"] for row in report["rows"]) else 0)


if __name__ == "__main__":
    main()
