#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""grouped_fp8.py LIBRARY [--json FILE] [--only TEXT] [--variants] [--seconds S]: experts of e4m3 in one call, beside PyTorch.

LIBRARY is libdetgemm.so of a shared build with DETGEMM_CUDA_FP8. The cases are those of DeepGEMM's tests: segments of rows
one behind the other (`contiguous`), and groups of 4096 rows of which some count (`masked`). For each, the median
microseconds per call over alternated blocks of CUDA graphs that rotate through more than 192 MB of operands:

  scaled   GroupedPlan, hopper/e4m3/scaled:128, scales of 1 x 128 and 128 x 128;    scaled/plans   a Plan for each group
  fold     the same, hopper/e4m3/fold:128, a scale per row and column;              chain   hopper/e4m3/chain, the same
  deep     deep_gemm.m_grouped_fp8_gemm_nt_contiguous or _masked with the scales of `scaled`, where the module can be
           imported (deep.py says where its rows lie);    deep/pdl   with programmatic dependent launch
  block    cuBLASLt for each group: torch.nn.functional.scaled_mm with the scales of `scaled`
  slow     torch.nn.functional.scaled_grouped_mm with a scale per row and column, use_fast_accum off;    fast   and on
           (of contiguous segments alone);    slow/each and fast/each   scaled_mm for each group

Each of ours is compared with a Plan per group, bit by bit: a difference ends the program with status 1. How many outputs of
`slow`, `fast` and `deep` differ from ours is printed. With --variants every tile of the grouped kernels is timed by its name too.
After --seconds no further case begins.
"""
import argparse
import ctypes
import json
import sys
import time

import torch
import torch.nn.functional as F

import deep
import fp8
import grouped_mm
from fp8 import LEAF, L2_BYTES, Spec, differing, sentence
from grouped_mm import I64, PTR, SIZE, pieces, struct

M_GROUPED, M_MASKED = 1, 2
CAPACITY = 4096
SHAPES = ((6144, 7168), (7168, 3072), (4096, 4096), (4096, 2048))
CONTRACTS = {"scaled": "scaled:128", "fold": "fold:128", "chain": "chain"}
RIVALS = {"scaled": ("block", *deep.arms()), "fold": ("slow", "slow/each"), "chain": ("fast", "fast/each")}
VARIANTS = ("64x16", "64x32", "64x64", "128x64", "128x128", "128x192")

GroupedOperands = struct("GroupedOperands", [*grouped_mm.GroupedOperands._fields_[1:], ("scale_a_group", I64),
                                             ("scale_b_group", I64)])
grouped_mm.INITS[GroupedOperands] = "grouped_operands"


class Library(fp8.Library):
    def groups(self, contract, kind, offs, a, w, d, scale_a, scale_w, variant=None, **distances):
        """All groups of arrays of the first one: a function that enqueues them, and the name of the kernel."""
        parsed = self.make(grouped_mm.Contract)
        self.call("contract_parse", contract.encode(), ctypes.byref(parsed))
        lines = "/scaled:" not in contract
        one = self.make(Spec, n=d.shape[1], k=a.shape[1], contract=ctypes.addressof(parsed), op_b=1, line_scales=int(lines))
        spec = self.make(grouped_mm.GroupedSpec, kind=kind, gemm=ctypes.addressof(one), groups=len(offs))
        plan, size, options = PTR(), SIZE(), self.make(grouped_mm.PlanOptions, variant=variant)
        self.call("grouped_plan_create", self.backend, ctypes.byref(spec), ctypes.byref(options), ctypes.byref(plan))
        arrays = self.operands(a, w, d, None)
        held = self.scales(scale_a, 1), self.scales(scale_w, 1 if lines else LEAF)
        arrays.scale_a, arrays.scale_b = (ctypes.addressof(scale) for scale in held)
        x = self.make(GroupedOperands, arrays=ctypes.addressof(arrays), offsets=offs.data_ptr(), offset_count=len(offs),
                      **distances)
        self.call("grouped_plan_workspace_size", plan, I64(d.shape[0]), I64(0), ctypes.byref(size))
        room, info = self.workspace(size.value), self.make(grouped_mm.RunInfo)
        keep = (parsed, one, spec, options, arrays, held, offs, a, w, d, scale_a, scale_w)

        def run(said=None, keep=keep):
            self.call("grouped_plan_run", plan, ctypes.byref(self.stream()), ctypes.byref(x), PTR(room), size, said)
            return keep
        run(ctypes.byref(info))
        return run, info.kernel.decode()


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

    def grouped(self, library, arm, d, variant=None):
        lines = arm != "scaled"
        scale_a = self.row[0][:, None] if lines else self.scale_a[0]
        scale_w = self.column[0][:, None] if lines else self.scale_w[0][:, :self.leaves]
        distances = {"b_group": self.n * self.k, "scale_b_group": self.n if lines else self.scale_w[0].numel()}
        if self.masked:
            distances.update(a_group=self.rows * self.k, d_group=self.rows * self.n,
                             scale_a_group=self.rows * (1 if lines else self.leaves))
        return library.groups(f"hopper/e4m3/{CONTRACTS[arm]}->bf16", M_MASKED if self.masked else M_GROUPED, self.offs,
                              self.a[0], self.w[0], d[0], scale_a, scale_w, variant=variant, **distances)

    def plans(self, library, arm, d):
        """A function that enqueues a product for each group."""
        runs = []
        for g, stack, rows in self.places():
            scales = ((self.scale_a[stack][rows], self.scale_w[g][:, :self.leaves]) if arm == "scaled"
                      else (self.row[stack][rows][:, None], self.column[g][:, None]))
            runs.append(library.product(f"hopper/e4m3/{CONTRACTS[arm]}->bf16", self.a[stack][rows], self.w[g],
                                        d[stack][rows], *scales)[0])
        return lambda: [run() for run in runs]

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


def bits(library, x, name):
    """Ours against a plan per group, and against the rivals that compute all groups; rows behind a group keep their zeros."""
    found, failed = [], False
    for arm in CONTRACTS:
        d, wanted = x.result(), x.result()
        _, kernel = x.grouped(library, arm, d)
        x.plans(library, arm, wanted)()
        torch.cuda.synchronize()
        found.append({"arm": arm, "against": "plans", "kernel": kernel, "outputs": sum(x.sizes) * x.n,
                      "differ": differing(d, wanted)})
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


def speed(library, sets, name, variants):
    arms, kernels, held = {}, {}, []
    for arm, rivals in RIVALS.items():
        results = [x.result() for x in sets]
        held.append(results)
        made = [x.grouped(library, arm, d) for x, d in zip(sets, results)]
        arms[arm], kernels[arm] = [run for run, _ in made], made[0][1]
        for tile in VARIANTS if variants else ():
            try:
                arms[f"{arm}/{tile}"] = [x.grouped(library, arm, d, tile.encode())[0] for x, d in zip(sets, results)]
            except RuntimeError as refusal:
                print(f"  {arm}/{tile}: {refusal}")
        if arm == "scaled":
            arms["scaled/plans"] = [x.plans(library, arm, d) for x, d in zip(sets, results)]
        for rival in rivals:
            try:
                calls = [x.rival(rival) for x in sets]
                calls[0]()
                arms[rival] = calls
            except Exception as error:  # a rival that does not take the case
                print(f"  {rival}: {sentence(error)}")
    took = fp8.times(arms, blocks=5)
    ratios = {arm: min((took[r] for r in rivals if r in took), default=float("nan")) / took[arm]
              for arm, rivals in RIVALS.items() if arm in took}
    flops = 2 * sum(sets[0].sizes) * sets[0].n * sets[0].k
    print(f"speed {name}: rival/ours " + ", ".join(f"{a} {r:.3f}" for a, r in ratios.items())
          + f"; {flops / took['scaled'] * 1e-6:.0f} TFLOP/s of scaled; us "
          + ", ".join(f"{arm} {us:.1f}" for arm, us in took.items()) + f"; {kernels}", flush=True)
    return {"sets": len(sets), "kernels": kernels, "us": took, "ratios": ratios}


def cases():
    """(name, masked, groups, rows expected per group, n, k)."""
    for groups, rows in ((4, 8192), (8, 4096)):
        for n, k in SHAPES:
            yield f"contiguous {groups} x {rows} n {n} k {k}", False, groups, rows, n, k
    for groups, rows in ((32, 192), (6, 1024), (32, 20), (6, 20)):
        for n, k in SHAPES:
            yield f"masked {groups} x {rows} n {n} k {k}", True, groups, rows, n, k


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--json")
    parser.add_argument("--only", default="", help="cases with this text in their name")
    parser.add_argument("--variants", action="store_true", help="time every tile by its name too")
    parser.add_argument("--seconds", type=float, default=300.0, help="after which no case begins")
    given = parser.parse_args()
    start, generator = time.monotonic(), torch.Generator().manual_seed(1)
    report = {"torch": torch.__version__, "cuda": torch.version.cuda, "device": torch.cuda.get_device_name(),
              "deep_gemm": deep.version(), "cases": []}
    print(f"DeepGEMM: {deep.version()}")
    failed, left = False, []
    for name, masked, groups, rows, n, k in cases():
        sizes = [int(rows * f) for f in (0.7 + 0.6 * torch.rand(groups, generator=generator)).tolist()]
        if given.only not in name:
            continue
        if time.monotonic() - start > given.seconds:
            left.append(name)
            continue
        library = Library(given.library)
        used = sum(sizes) * (k + 2 * n) + groups * n * k
        sets = [Data(sizes, n, k, masked, seed) for seed in range(max(1, min(8, -(-L2_BYTES // used))))]
        same, wrong = bits(library, sets[0], name)
        failed |= wrong
        report["cases"].append({"case": name, "sizes": sizes, "n": n, "k": k, "bits": same,
                                **speed(library, sets, name, given.variants)})
        del sets, library
        torch.cuda.empty_cache()
    if left:
        print(f"not run, after {given.seconds:.0f} seconds: {left}")
    report["left"] = left
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump(report, file)
    if not report["cases"]:
        sys.exit(f"nothing was compared: no case has {given.only!r} in its name, or there was no time")
    sys.exit("a grouped product has other bits than its plans" if failed else 0)


if __name__ == "__main__":
    main()
