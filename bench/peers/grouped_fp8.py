#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""grouped_fp8.py [--json FILE] [--only TEXT] [--variants] [--seconds S]: experts of e4m3 in one call, beside PyTorch.

The package has to be built with CUDA kernels of e4m3. The cases are those of DeepGEMM's tests: segments of rows in one
array (`contiguous`), and groups of 4096 rows of which some count (`masked`). For each, the median microseconds per call
(timing.py) of these arms:

  scaled   one call, hopper/e4m3/scaled:128, scales of 1 x 128 and 128 x 128;       scaled/plans   a product for each group
  fold     the same, hopper/e4m3/fold:128, a scale per row and column;              chain   hopper/e4m3/chain, the same
  deep     deep_gemm.m_grouped_fp8_gemm_nt_contiguous or _masked with the scales of `scaled`, where the module can be
           imported (deep.py says where its rows are);    deep/pdl   with programmatic dependent launch
  block    cuBLASLt for each group: torch.nn.functional.scaled_mm with the scales of `scaled`
  slow     torch.nn.functional.scaled_grouped_mm with a scale per row and column, use_fast_accum off;    fast   and on
           (of contiguous segments alone);    slow/each and fast/each   scaled_mm for each group

Each of ours is compared with a product per group, bit by bit: a difference ends the program with status 1. How many outputs of
`slow`, `fast` and `deep` differ from ours is printed. With --variants every tile of the grouped kernels is timed by its name too.
After --seconds no further case begins.
"""
import sys
import time

import torch
import torch.nn.functional as F

import deep
import detgemm.torch as dt
from fp8 import LEAF, REDUCTIONS
from grouped_mm import pieces
from report import begun, differing, microseconds, options, save
from timing import sentence, sets_for, times

CAPACITY = 4096
SHAPES = ((6144, 7168), (7168, 3072), (4096, 4096), (4096, 2048))
RIVALS = {"scaled": ("block", *deep.arms()), "fold": ("slow", "slow/each"), "chain": ("fast", "fast/each")}
VARIANTS = ("64x16", "64x32", "64x64", "128x64", "128x128", "128x192")


def contract_of(arm):
    return f"hopper/e4m3/{REDUCTIONS[arm]}->bf16"


class Data:
    """Experts of n x k weights. Rows of all groups, or, if masked, CAPACITY rows of each; scales with the rows first in
    memory, as cuBLASLt takes them."""

    def __init__(self, sizes, n, k, masked, seed):
        generator = torch.Generator(device="cuda").manual_seed(seed)

        def draw(*shape):
            return torch.randn(shape, generator=generator, device="cuda")

        def numbers(count):
            return torch.cat([(draw(1 << 24) * 64).clamp(-448, 448).to(torch.float8_e4m3fn)
                              for _ in range(-(-count >> 24))])[:count]
        groups, leaves = len(sizes), -(-k // LEAF)
        self.sizes, self.n, self.k, self.masked = sizes, n, k, masked
        self.stacks, self.rows = (groups, CAPACITY) if masked else (1, sum(sizes))
        self.a = numbers(self.stacks * self.rows * k).view(self.stacks, self.rows, k)
        self.w = numbers(groups * n * k).view(groups, n, k)
        self.scale_a = draw(self.stacks, leaves, self.rows).exp().mul(2 ** -7).transpose(1, 2)
        self.scale_w = draw(groups, -(-n // LEAF), -(-leaves // 4) * 4).exp().mul(2 ** -7)
        self.row, self.column = draw(self.stacks, self.rows).exp().mul(2 ** -7), draw(groups, n).exp().mul(2 ** -7)
        self.leaves = leaves
        self.offs = torch.tensor(sizes, device="cuda", dtype=torch.int32)
        if not masked:
            self.offs = self.offs.cumsum(0).to(torch.int32)

    def places(self):
        """(group, stack, rows) of every group that has rows."""
        if self.masked:
            return [(g, g, slice(0, size)) for g, size in enumerate(self.sizes) if size]
        return [(g, 0, rows) for g, rows in pieces(self.sizes) if rows.stop > rows.start]

    def result(self):
        return torch.zeros(self.stacks, self.rows, self.n, device="cuda", dtype=torch.bfloat16)

    def scales(self, arm):
        """Of all rows and all weights, as the kernels take them."""
        if arm == "scaled":
            return self.scale_a, self.scale_w[:, :, :self.leaves]
        return self.row[:, :, None], self.column[:, :, None]

    def grouped(self, arm, d, variant=None):
        """A function that enqueues all groups."""
        (scale_a, scale_w), weights = self.scales(arm), self.w.transpose(1, 2)
        given = {"scale_b": scale_w.transpose(1, 2), "variant": variant}
        if self.masked:
            return lambda: dt.grouped_gemm(self.a, weights, None, contract_of(arm), counts=self.offs, scale_a=scale_a, out=d,
                                           **given)
        return lambda: dt.grouped_gemm(self.a[0], weights, self.offs, contract_of(arm), scale_a=scale_a[0], out=d[0], **given)

    def plans(self, arm, d):
        """A function that enqueues a product for each group."""
        scale_a, scale_w = self.scales(arm)
        return lambda: [dt.scaled_gemm(self.a[stack][rows], scale_a[stack][rows], self.w[g].t(), scale_w[g].t(),
                                       contract_of(arm), out=d[stack][rows]) for g, stack, rows in self.places()]

    def deep(self):
        """DeepGEMM's product: what enqueues it, and what gives its rows that count."""
        scale_w = self.scale_w[:, :, :self.leaves]
        if self.masked:
            return deep.masked_fp8(self.a, self.scale_a, self.w, scale_w, self.sizes, self.offs)
        return deep.contiguous_fp8(self.a[0], self.scale_a[0], self.w, scale_w, self.sizes)

    def rival(self, arm):
        if arm in deep.ARMS:
            return deep.called(arm, self.deep()[0])
        recipe, fast = F.ScalingType, arm.startswith("fast")
        if arm in ("slow", "fast"):
            if self.masked:
                raise RuntimeError("it takes no counts of rows")
            a, w = self.a[0], self.w.transpose(1, 2)
            if hasattr(F, "scaled_grouped_mm"):
                return lambda: F.scaled_grouped_mm(a, w, self.row[0], recipe.RowWise, self.column, recipe.RowWise,
                                                   offs=self.offs, output_dtype=torch.bfloat16, use_fast_accum=fast)
            return lambda: torch._scaled_grouped_mm(a, w, self.row[0], self.column, offs=self.offs,
                                                    out_dtype=torch.bfloat16, use_fast_accum=fast)
        calls = []
        for g, stack, rows in self.places():
            pair = self.a[stack][rows], self.w[g].t()
            if arm == "block":
                scale_a, scale_w = self.scale_a[stack][rows].t().contiguous().t(), self.scale_w[g].t()
                calls.append((*pair, scale_a, recipe.BlockWise1x128, scale_w, recipe.BlockWise128x128))
            else:
                calls.append((*pair, self.row[stack][rows][:, None].contiguous(), recipe.RowWise, self.column[g][None],
                              recipe.RowWise))
        return lambda: [F.scaled_mm(*call, output_dtype=torch.bfloat16, use_fast_accum=fast) for call in calls]


def bits(x, name):
    """Ours against a product per group, and against the rivals that compute all groups; rows of no group keep their zeros."""
    found, failed = [], False
    for arm in REDUCTIONS:
        d, wanted = x.result(), x.result()
        x.grouped(arm, d)()
        x.plans(arm, wanted)()
        found.append({"arm": arm, "against": "plans", "outputs": sum(x.sizes) * x.n, "differ": differing(d, wanted)})
        failed |= found[-1]["differ"] > 0 or not bool(d.any())
        for rival in RIVALS[arm]:
            if rival not in ("slow", "fast", "deep") or x.masked and rival != "deep":
                continue
            try:
                if rival == "deep":
                    run, rows = x.deep()
                    run()
                    result, mine = rows(), deep.counted(d, x.sizes) if x.masked else d[0]
                else:
                    result, mine = x.rival(rival)(), d[0]
                found.append({"arm": arm, "against": rival, "outputs": mine.numel(), "differ": differing(mine, result)})
            except Exception as error:
                print(f"  {rival}: {sentence(error)}")
    print(f"bits {name}: " + "; ".join(f"{f['arm']} against {f['against']}: {f['differ']} of {f['outputs']} differ"
                                       for f in found), flush=True)
    return found, failed


def speed(sets, name, variants):
    arms = {}
    results = [x.result() for x in sets]  # of all arms: they run one at a time
    for arm, rivals in RIVALS.items():
        arms[arm] = [x.grouped(arm, d) for x, d in zip(sets, results)]
        for tile in VARIANTS if variants else ():
            arms[f"{arm}/{tile}"] = [x.grouped(arm, d, tile) for x, d in zip(sets, results)]
        if arm == "scaled":
            arms["scaled/plans"] = [x.plans(arm, d) for x, d in zip(sets, results)]
        for rival in rivals:
            try:
                arms[rival] = [x.rival(rival) for x in sets]
            except Exception as error:  # a rival that does not take the case
                print(f"  {rival}: {sentence(error)}")
    took = times(arms, blocks=5)
    ratios = {arm: min((took[r] for r in rivals if r in took), default=float("nan")) / took[arm]
              for arm, rivals in RIVALS.items() if arm in took}
    flops = 2 * sum(sets[0].sizes) * sets[0].n * sets[0].k
    print(f"speed {name}: rival/ours " + ", ".join(f"{a} {r:.3f}" for a, r in ratios.items())
          + f"; {flops / took['scaled'] * 1e-6:.0f} TFLOP/s of scaled; {microseconds(took)}", flush=True)
    return {"sets": len(sets), "us": took, "ratios": ratios}


def cases():
    """(name, masked, groups, rows expected per group, n, k)."""
    for groups, rows in ((4, 8192), (8, 4096)):
        for n, k in SHAPES:
            yield f"contiguous {groups} x {rows} n {n} k {k}", False, groups, rows, n, k
    for groups, rows in ((32, 192), (6, 1024), (32, 20), (6, 20)):
        for n, k in SHAPES:
            yield f"masked {groups} x {rows} n {n} k {k}", True, groups, rows, n, k


def main():
    parser = options(__doc__)
    parser.add_argument("--seconds", type=float, default=300.0, help="after which no case begins")
    given = parser.parse_args()
    start, generator = time.monotonic(), torch.Generator().manual_seed(1)
    report = begun(cuda=torch.version.cuda, deep_gemm=deep.version(), cases=[], left=[])
    print(f"DeepGEMM: {deep.version()}")
    failed = False
    for name, masked, groups, rows, n, k in cases():
        sizes = [int(rows * f) for f in (0.7 + 0.6 * torch.rand(groups, generator=generator)).tolist()]
        if given.only not in name:
            continue
        if time.monotonic() - start > given.seconds:
            report["left"].append(name)
            continue
        used = sum(sizes) * (k + 2 * n) + groups * n * k
        sets = [Data(sizes, n, k, masked, seed) for seed in range(sets_for(used, most=8))]
        same, wrong = bits(sets[0], name)
        failed |= wrong
        report["cases"].append({"case": name, "sizes": sizes, "n": n, "k": k, "bits": same, **speed(sets, name, given.variants)})
        del sets
        dt.clear_plans()
        torch.cuda.empty_cache()
    if report["left"]:
        print(f"not run, after {given.seconds:.0f} seconds: {report['left']}")
    save(report, given.json)
    if not report["cases"]:
        sys.exit(f"nothing was compared: no case has {given.only!r} in its name, or there was no time")
    sys.exit("a grouped product has other bits than its plans" if failed else 0)


if __name__ == "__main__":
    main()
