#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""batched.py LIBRARY [--json FILE] [--only TEXT] [--variants] [--seed S]: batches of products in one call, beside torch.bmm.

LIBRARY is libdetgemm.so of a shared build. The products are those around attention, hopper/bf16/chain->bf16: `qk` of queries
and keys, `pv` of weights and values (whose rows are keys, so B is K x N with N along memory), each with many queries
(prefill) and with the query heads of one key head (decode), and the projections `mla` of every head into and out of a latent
space. `strided` ones lie as a model has them, token by token with all heads in a row. `drawn` ones come from the seed.

For each, the median microseconds per call over alternated blocks of CUDA graphs that rotate through more than 192 MB:

  batched   GroupedPlan of the cuda backend, kind `batched`
  torch     torch.bmm(out=)

with --variants also a loop of plans, gather, and every tile of the grouped kernels by its name. All outputs of the first set of
arrays are compared with a Plan for each product, bit by bit: a difference, or nothing to compare, ends the program with status 1.
"""
import argparse
import ctypes
import json
import math
import random
import sys
import typing

import torch

import grouped_mm
from fp8 import L2_BYTES, sentence, times
from grouped_mm import I64, PTR, SIZE

BATCHED = 0
CONTRACT = "hopper/bf16/chain->bf16"
VARIANTS = ("loop", "gather", *grouped_mm.VARIANTS)


class Library(grouped_mm.Library):
    def batched(self, a, b, d, variant=None):
        """d[g] = a[g] b[g] of fixed arrays: a function that enqueues it, and the name of the kernel, after a first run."""
        stored, op_b = as_stored(b)
        one = self.spec(CONTRACT, d.shape[2], a.shape[2], False, 0, op_b)
        spec = self.make(grouped_mm.GroupedSpec, kind=BATCHED, gemm=ctypes.addressof(one), groups=len(d))
        plan, size, options = PTR(), SIZE(), self.make(grouped_mm.PlanOptions, variant=variant)
        self.call("grouped_plan_create", self.backend, ctypes.byref(spec), ctypes.byref(options), ctypes.byref(plan))
        arrays = self.operands(a[0], stored[0], d[0], None)
        x = self.make(grouped_mm.GroupedOperands, arrays=ctypes.addressof(arrays), a_group=a.stride(0), b_group=b.stride(0),
                      d_group=d.stride(0))
        self.call("grouped_plan_workspace_size", plan, I64(d.shape[1]), I64(0), ctypes.byref(size))
        room, info = self.workspace(size.value), self.make(grouped_mm.RunInfo)
        keep = (one, spec, options, arrays, a, b, d)

        def run(said=None):
            self.call("grouped_plan_run", plan, ctypes.byref(self.stream()), ctypes.byref(x), PTR(room), size, said)
            return keep
        run(ctypes.byref(info))
        torch.cuda.synchronize()
        return run, info.kernel.decode()

    def by_plans(self, a, b, d):
        """The same by a Plan for each product."""
        stored, op_b = as_stored(b)
        for g in range(len(d)):
            self.plan(CONTRACT, a[g], stored[g], d[g], op_b=op_b)()
        torch.cuda.synchronize()


def as_stored(b):
    """Matrices whose rows lie along memory, and whether the product takes them transposed."""
    return (b, 0) if b.stride(2) == 1 else (b.transpose(1, 2), 1)


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


def measure(case, library, generator, variants):
    """(whether the bits are those of plans, microseconds by arm, the kernel); of a few sets of arrays."""
    sets = [case.tensors(generator) for _ in range(max(1, math.ceil(L2_BYTES / case.bytes())))]
    made = [library.batched(a, b, d) for a, b, d, _ in sets]
    a, b, d, other = sets[0]
    library.by_plans(a, b, other)
    same = torch.equal(d.view(torch.int16), other.view(torch.int16))
    arms = {"batched": [run for run, _ in made],
            "torch": [lambda a=a, b=b, other=other: torch.bmm(a, b, out=other) for a, b, _, other in sets]}
    for name in VARIANTS if variants else ():
        try:
            arms[name] = [library.batched(a, b, other, name.encode())[0] for a, b, _, other in sets]
        except RuntimeError as refusal:
            print(f"  {name}: {sentence(refusal)}")
    return same, times(arms), made[0][1]


def summary(rows):
    """Geometric mean and worst of torch's time over ours, of each kind of case and of all."""
    for kind in [*dict.fromkeys(row["name"] for row in rows), "all"]:
        ratios = [row["ratio"] for row in rows if kind in ("all", row["name"])]
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"{kind}: {len(ratios)} cases, torch/batched {mean:.3f} (geometric mean), worst {min(ratios):.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--json")
    parser.add_argument("--only", default="")
    parser.add_argument("--variants", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    generator = torch.Generator("cuda").manual_seed(given.seed)
    failed, rows = False, []
    for case in cases(given.seed):
        if given.only not in case.text():
            continue
        same, took, kernel = measure(case, Library(given.library), generator, given.variants)
        torch.cuda.empty_cache()
        failed |= not same
        ratio = took["torch"] / took["batched"]
        print(f"{case.text()}: {'same bits' if same else 'OTHER BITS'}, {kernel}, "
              f"{2 * case.batch * case.m * case.n * case.k / took['batched'] * 1e-6:.0f} TFLOP/s, "
              f"{case.bytes() / took['batched'] * 1e-6:.2f} TB/s, torch/batched {ratio:.3f}; us "
              + ", ".join(f"{arm} {us:.1f}" for arm, us in took.items()), flush=True)
        rows.append({"case": case.text(), **case._asdict(), "kernel": kernel, "same_bits": same, "ratio": ratio, "us": took})
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump({"torch": torch.__version__, "device": torch.cuda.get_device_name(), "seed": given.seed, "rows": rows}, file)
    if not rows:
        sys.exit(f"no case has {given.only!r} in its name")
    summary(rows)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
