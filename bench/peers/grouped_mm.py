#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""grouped_mm.py [--json FILE] [--only TEXT] [--variants]: experts in one call, beside PyTorch and beside loops.

For each case, the median microseconds per call (timing.py) of these arms:

  grouped   detgemm.torch.grouped_gemm, or grouped_accumulate_ for gradients
  plans     a product for each group, in a loop; the host knows the sizes
  torch     torch.nn.functional.grouped_mm (torch._grouped_mm before 2.10)
  cublas    torch.mm for each group
  deep      DeepGEMM's product of groups in one array, where the module can be imported (deep.py says where its
            rows are);    deep/masked   with room for as many rows in each group, where groups have at most 128
            each also with /pdl, programmatic dependent launch

with --variants also every tile of the grouped kernels by its name, and whether `grouped` has the bits of
`plans`: a case in which it has not ends the program with status 1.
"""
import sys

import torch

import deep
import detgemm.torch as dt
from report import begun, differing, microseconds, options, save
from timing import sentence, times

VARIANTS = ("64x8-depth4", "64x16-depth4", "64x32-depth4", "64x64", "128x32", "128x64", "128x128", "128x192", "128x256",
            "256x128")


def torch_grouped(a, b, offs):
    function = getattr(torch.nn.functional, "grouped_mm", None) or torch._grouped_mm
    return function(a, b, offs=offs)


def ends_of(sizes):
    return torch.tensor(sizes, device="cuda").cumsum(0).to(torch.int32)


def sizes_of(groups, rows, ragged, generator):
    if not ragged:
        return [rows] * groups
    low, high = (int(rows * 0.7), int(rows * 1.3)) if rows > 64 else (0, 2 * rows)
    return torch.randint(low, high + 1, (groups,), generator=generator).tolist()


def pieces(sizes):
    begin = 0
    for group, size in enumerate(sizes):
        yield group, slice(begin, begin + size)
        begin += size


def deep_arms(name, run):
    return {arm.replace("deep", name): deep.called(arm, run) for arm in deep.arms()}


def forward(sizes, n, k, variants):
    """D[r] = A[r] W[g]^T, bf16: the forward pass of experts whose weights are n x k each."""
    contract, rows = "hopper/bf16/chain->bf16", sum(sizes)
    a = torch.randn(rows, k, device="cuda").bfloat16()
    w = torch.randn(len(sizes), n, k, device="cuda").bfloat16()
    offs = ends_of(sizes)
    d, wanted, rival, other = (torch.zeros(rows, n, device="cuda", dtype=torch.bfloat16) for _ in range(4))

    def grouped(out, variant=None):
        return lambda: dt.grouped_gemm(a, w.transpose(1, 2), offs, contract, out=out, variant=variant)
    groups = [(a[s], w[g].t(), s) for g, s in pieces(sizes) if s.stop > s.start]
    arms = {"grouped": grouped(d),
            "plans": lambda: [dt.gemm(x, y, contract, out=wanted[s]) for x, y, s in groups],
            "torch": lambda: torch_grouped(a, w.transpose(1, 2), offs),
            "cublas": lambda: [torch.mm(x, y, out=rival[s]) for x, y, s in groups]}
    checks = {}
    if not deep.MISSING:
        forms = {"deep": deep.contiguous_bf16}
        if max(sizes) <= deep.SEGMENT:
            forms["deep/masked"] = deep.masked_bf16
        for name, make in forms.items():
            product, counted = make(a, w, sizes)
            arms.update(deep_arms(name, product))
            checks[name] = counted
    arms.update({name: grouped(other, name) for name in VARIANTS if variants})
    return arms, d, wanted, 2 * rows * n * k, checks


def gradient(sizes, n, k, variants):
    """dW[g] = dW[g] + A[s]^T B[s] in fp32, n x k each, over the rows of each expert. Each arm goes on with what it has."""
    contract, rows, groups = "hopper/bf16/chain->fp32", sum(sizes), len(sizes)
    a = torch.randn(rows, n, device="cuda").bfloat16()
    b = torch.randn(rows, k, device="cuda").bfloat16()
    offs = ends_of(sizes)
    start = torch.randn(groups, n, k, device="cuda")
    d, wanted, rival = start.clone(), start.clone(), start.clone()
    parts = [(a[s].t(), b[s], g) for g, s in pieces(sizes)]
    arms = {"grouped": lambda: dt.grouped_accumulate_(d, a.t(), b, offs, contract),
            "plans": lambda: [dt.gemm(x, y, contract, c=wanted[g], continue_from_c=True, out=wanted[g]) for x, y, g in parts],
            "torch": lambda: rival.add_(torch_grouped(a.t(), b, offs)),
            "cublas": lambda: [rival[g].add_(torch.mm(x, y)) for x, y, g in parts]}
    checks = {}
    if not deep.MISSING:
        total = start.clone()
        arms.update(deep_arms("deep", deep.gradient_bf16(a, b, total, sizes)))
        checks["deep"] = lambda: total
    for name in VARIANTS if variants else ():
        other = torch.empty_like(start)
        arms[name] = lambda name=name, other=other: dt.grouped_gemm(a.t(), b, offs, contract, out=other, variant=name)
    return arms, d, wanted, 2 * rows * n * k, checks


def outputs_that_differ(arms, d, wanted, checks):
    """How many outputs of `plans`, and of the rivals that have checks, are not those of `grouped`, each after one run."""
    found = {}
    arms["grouped"]()
    for name, result in {"plans": lambda: wanted, **checks}.items():
        try:
            arms[name]()
            found[name] = differing(result(), d)
        except Exception as error:
            print(f"  {name}: {sentence(error)}")
    return found


def cases():
    """(name, make, groups, rows per group, ragged, n, k)."""
    for groups, rows in ((4, 8192), (8, 4096)):
        for n, k in ((6144, 7168), (7168, 3072), (4096, 4096), (4096, 2048)):
            yield f"experts {groups} x {rows}", forward, groups, rows, True, n, k
    for rows in (1, 4, 16, 64):
        for name, groups, n, k in (("Qwen3-30B-A3B", 128, 1536, 2048), ("Qwen3-30B-A3B", 128, 2048, 768),
                                   ("Mixtral", 8, 14336, 4096), ("DeepSeek", 32, 4096, 7168)):
            yield f"decode {name} {groups} x {rows}", forward, groups, rows, True, n, k
    yield "gradient 8 x 4096", gradient, 8, 4096, True, 2048, 4096


def main():
    given = options(__doc__).parse_args()
    torch.manual_seed(1)
    generator = torch.Generator().manual_seed(1)
    report = begun(deep_gemm=deep.version(), rows=[])
    print(f"DeepGEMM: {deep.version()}")
    for name, make, groups, per_group, ragged, n, k in cases():
        sizes = sizes_of(groups, per_group, ragged, generator)
        if given.only not in name:
            continue
        arms, d, wanted, flops, checks = make(sizes, n, k, given.variants)
        differ = outputs_that_differ(arms, d, wanted, checks)
        took = times({arm: [run] for arm, run in arms.items()})
        rival = min((us for arm, us in took.items() if arm in ("torch", "cublas") or arm.startswith("deep")),
                    default=float("nan"))
        print(f"{name} n {n} k {k}: {'OTHER BITS' if differ.get('plans') != 0 else 'same bits'}, "
              f"{flops / took['grouped'] * 1e-6:.0f} TFLOP/s, rival/grouped {rival / took['grouped']:.3f}; {microseconds(took)}"
              + "".join(f"; {count} of {d.numel()} differ from {who}" for who, count in differ.items()), flush=True)
        report["rows"].append({"case": name, "sizes": sizes, "n": n, "k": k, "us": took, "differ": differ})
        del arms, d, wanted, checks
        dt.clear_plans()
        torch.cuda.empty_cache()
    save(report, given.json)
    if not report["rows"]:
        sys.exit(f"no case has {given.only!r} in its name")
    sys.exit("a grouped product has other bits than its plans" if any(r["differ"].get("plans") != 0 for r in report["rows"]) else 0)


if __name__ == "__main__":
    main()
