#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""fp8.py [--json FILE] [--only TEXT] [--variants] [--skip PART]: products of e4m3, beside PyTorch and DeepGEMM.

The package has to be built with CUDA kernels of e4m3. Four parts:

  orders   which order of operations has the rival's bits, on one product with fp32 results
  bits     how many outputs differ from ours, and whether the rival's own rows change with M
  quantise microseconds and GB/s of the quantiser with 1 x 128 blocks, beside the same rule in PyTorch operators
  speed    the median microseconds per call (timing.py), rotating through operands of more than 192 MB

The arms of a case:

  scaled   hopper/e4m3/scaled:128, scales of 1 x 128 and 128 x 128
  fold     hopper/e4m3/fold:128, a scale per row and column;    chain   hopper/e4m3/chain, the same
  block    torch.nn.functional.scaled_mm with the scales of `scaled`
  slow     the same function with a scale per row and column, use_fast_accum off;    fast    and on
  deep     deep_gemm.fp8_gemm_nt with the scales of `scaled`, where the module can be imported (deep.py)
  deep/pdl the same, launched with programmatic dependent launch

The program ends with status 1 if rows of ours change with M, if the quantiser breaks its rule, or if nothing was compared.
"""
import sys

import torch
import torch.nn.functional as F

import deep
import detgemm.torch as dt
from report import begun, differing, microseconds, options, save
from timing import sentence, sets_for, times

LEAF = 128
SHAPES = ((2112, 7168), (24576, 1536), (32768, 512), (7168, 16384), (4096, 7168), (7168, 2048))
ROWS = (64, 100, 128, 4096)
VARIANTS = ("64x16", "64x32", "64x64", "64x128", "128x64", "128x96", "128x112", "128x128", "128x192",
            "128x128-pair-x", "128x128-pair-y", "128x192-pair-x", "128x192-pair-y", "256x128", "256x128-pair-y",
            "256x128-pair-x")
REDUCTIONS = {"scaled": "scaled:128", "fold": "fold:128", "chain": "chain"}
RIVAL_OF = {"scaled": ("block", *deep.arms()), "fold": ("slow",), "chain": ("fast",)}


class Data:
    """One problem: a (m x k) and w (n x k) of e4m3, scales of blocks as cuBLASLt lays them out, and scales of lines."""

    def __init__(self, m, n, k, seed=1):
        generator = torch.Generator(device="cuda").manual_seed(seed)

        def draw(*shape):
            return torch.randn(shape, generator=generator, device="cuda")
        leaves = -(-k // LEAF)
        self.a = (draw(m, k) * 64).clamp(-448, 448).to(torch.float8_e4m3fn)
        self.w = (draw(n, k) * 64).clamp(-448, 448).to(torch.float8_e4m3fn)
        self.scale_a = draw(leaves, m).exp().mul(2 ** -7).t()                        # m x leaves, m first
        self.scale_w = draw(-(-n // LEAF), -(-leaves // 4) * 4).exp().mul(2 ** -7)   # blocks x leaves and up to 3 more
        self.leaves = leaves
        self.row, self.column = draw(m, 1).exp().mul(2 ** -7), draw(1, n).exp().mul(2 ** -7)

    def rows(self, m):
        """The problem of the first m rows, in memory of its own."""
        some = object.__new__(Data)
        some.__dict__.update(self.__dict__, a=self.a[:m].clone(), row=self.row[:m].clone(),
                             scale_a=self.scale_a.t()[:, :m].clone().t())
        return some

    def blocks(self):
        return self.scale_a, self.scale_w[:, :self.leaves]

    @property
    def shape(self):
        return self.a.shape[0], self.w.shape[0], self.a.shape[1]


def ours(x, arm, output=torch.bfloat16, variant=None):
    """One of our arms, as a function that returns its result."""
    d = torch.zeros(*x.shape[:2], device="cuda", dtype=output)
    contract = f"hopper/e4m3/{REDUCTIONS.get(arm, arm)}->{'bf16' if output == torch.bfloat16 else 'fp32'}"
    scale_a, scale_w = x.blocks() if arm == "scaled" else (x.row, x.column.t())
    return lambda: dt.scaled_gemm(x.a, scale_a, x.w.t(), scale_w.t(), contract, out=d, variant=variant)


def rival(x, arm, output=torch.bfloat16):
    """A function that computes a rival's result."""
    if arm in deep.ARMS:
        scale_a, scale_w = x.blocks()
        return deep.called(arm, deep.dense_fp8(x.a, scale_a, x.w, scale_w))
    recipe, types = F.ScalingType, (x.a, x.w.t())
    if arm == "block":
        scale_w = x.scale_w.t()  # leaves x blocks, leaves first
        return lambda: F.scaled_mm(*types, x.scale_a, recipe.BlockWise1x128, scale_w, recipe.BlockWise128x128,
                                   output_dtype=output)
    return lambda: F.scaled_mm(*types, x.row, recipe.RowWise, x.column, recipe.RowWise, output_dtype=output,
                               use_fast_accum=arm == "fast")


def fma(x, y, z):
    """x * y + z, rounded to fp32 by way of fp64: the product is exact, and two roundings are rarely other than one."""
    return (x.double() * y.double() + z.double()).float()


def sums(leaves, join):
    total = torch.zeros_like(leaves[0])
    for i, leaf in enumerate(leaves):
        total = join(i, leaf, total)
    return total


def of_bits(arm):
    """The rivals of an arm, each once however it is launched."""
    return [name for name in RIVAL_OF[arm] if "/" not in name]


def orders():
    """Candidates for the arithmetic of the rivals, and how many outputs of each are not the rival's."""
    x, found = Data(128, 512, 2048, seed=5), []
    m, n, k = x.shape

    def product(contract, a, w):
        return dt.gemm(a, w.t(), contract)

    def line_scales(acc):
        return {"column * (row * sum)": x.column * (x.row * acc), "row * (column * sum)": x.row * (x.column * acc),
                "(row * column) * sum": (x.row * x.column) * acc}
    candidates = {"slow": {}, "block": {}}
    for text in ("chain", "fold:32", "fold:64", "fold:128", "fold:256", "fold:512", "fold:1024"):
        acc = product(f"hopper/e4m3/{text}->fp32", x.a, x.w)
        candidates["slow"].update({f"{text}, {how}": d for how, d in line_scales(acc).items()})
    candidates["fast"] = candidates["slow"]
    leaves = [product("hopper/e4m3/chain->fp32", x.a[:, i:i + LEAF].contiguous(), x.w[:, i:i + LEAF].contiguous())
              for i in range(0, k, LEAF)]
    row, block = x.blocks()
    column = block.repeat_interleave(LEAF, 0)[:n].t()
    r, c = [row[:, i:i + 1] for i in range(len(leaves))], [column[i:i + 1] for i in range(len(leaves))]
    candidates["block"] = {
        "scaled:128 of the library": ours(x, "scaled", torch.float32)(),
        "fma(row * column, leaf, sum)": sums(leaves, lambda i, leaf, s: fma(r[i] * c[i], leaf, s)),
        "sum + (row * column) * leaf": sums(leaves, lambda i, leaf, s: s + (r[i] * c[i]) * leaf),
        "fma(column, row * leaf, sum)": sums(leaves, lambda i, leaf, s: fma(c[i], r[i] * leaf, s)),
        "fma(row, column * leaf, sum)": sums(leaves, lambda i, leaf, s: fma(r[i], c[i] * leaf, s)),
        "sum + column * (row * leaf)": sums(leaves, lambda i, leaf, s: s + c[i] * (r[i] * leaf)),
        "sum + row * (column * leaf)": sums(leaves, lambda i, leaf, s: s + r[i] * (c[i] * leaf)),
    }
    candidates.update({arm: candidates["block"] for arm in of_bits("scaled")})
    for arm, wanted in candidates.items():
        for output in (torch.float32, torch.bfloat16):
            try:
                d = rival(x, arm, output)()
            except Exception as error:  # a rival that does not give this type
                print(f"orders {arm} -> {output}: {sentence(error)}")
                continue
            if d.dtype != output:
                continue
            counts = sorted((differing(d, c.to(output)), how) for how, c in wanted.items())
            print(f"orders {arm} -> {output}, of {m * n} outputs: "
                  + "; ".join(f"{count} differ from {how}" for count, how in counts[:4]), flush=True)
            found.append({"arm": arm, "output": str(output), "outputs": m * n, "differ": counts})
    return found


def bits(only):
    """Ours against each rival, and rows of each at small M against those of 4096 rows."""
    found, results = [], {}
    for arm in RIVAL_OF:
        results[arm] = lambda x, arm=arm: ours(x, arm)()
        results.update({name: lambda x, name=name: rival(x, name)() for name in of_bits(arm)})
    for n, k in SHAPES:
        if only not in f"{n}x{k}":
            continue
        x, whole = Data(4096, n, k), {}
        for arm, compute in results.items():
            try:
                whole[arm] = compute(x)
                moved = {m: differing(compute(x.rows(m)), whole[arm][:m]) for m in (1, 16, 64, 100, 128, 1024)}
            except Exception as error:
                print(f"bits {n}x{k} {arm}: {sentence(error)}")
                continue
            print(f"bits {n}x{k} {arm}: outputs that differ from those in a batch of 4096, by M: {moved}", flush=True)
            found.append({"n": n, "k": k, "arm": arm, "moved": moved})
        for arm, name in ((one, name) for one in RIVAL_OF for name in of_bits(one)):
            if arm in whole and name in whole:
                count, outputs = differing(whole[arm], whole[name]), whole[name].numel()
                print(f"bits {n}x{k} {arm} against {name}: {count} of {outputs} differ", flush=True)
                found.append({"n": n, "k": k, "arm": arm, "rival": name, "outputs": outputs, "differ": count})
        del whole, x
    return found


def by_rule(x):
    """The quantiser's rule in PyTorch operators: q and scales."""
    wide = x.float().unflatten(1, (-1, LEAF))
    amax = wide.abs().amax(2).clamp(min=1e-4)
    scales = amax / torch.full_like(amax, 448)  # PyTorch multiplies by the inverse of a number
    return (wide * (torch.ones_like(scales) / scales)[:, :, None]).to(torch.float8_e4m3fn).flatten(1), scales


def quantise():
    found = []
    for m, k in ((64, 7168), (4096, 7168), (4096, 16384), (32768, 4096)):
        sets = [torch.randn(m, k, device="cuda", generator=torch.Generator("cuda").manual_seed(seed)).bfloat16()
                for seed in range(sets_for(3 * m * k, 2))]
        took = times({"ours": [lambda x=x: dt.quantize(x) for x in sets], "torch": [lambda x=x: by_rule(x) for x in sets]})
        (q, scales), (wanted, wanted_scales) = dt.quantize(sets[0]), by_rule(sets[0])
        wrong = int((q.view(torch.int8) != wanted.view(torch.int8)).sum()) + differing(scales, wanted_scales)
        gigabytes = m * k * (3 + 4 / LEAF) / took["ours"] * 1e-3
        print(f"quantise {m} x {k}: {wrong} numbers differ from the rule in PyTorch; {gigabytes:.0f} GB/s; {microseconds(took)}",
              flush=True)
        found.append({"m": m, "k": k, "wrong": wrong, "us": took, "gigabytes_per_second": gigabytes})
        del sets
        torch.cuda.empty_cache()
    return found


def speed(only, variants):
    found = []
    for n, k in SHAPES:
        for m in ROWS:
            name = f"{m} x {n}x{k}"
            if only not in name:
                continue
            sets = [Data(m, n, k, seed) for seed in range(sets_for(k * (m + n) + 2 * m * n, 2))]
            arms = {}
            for arm, rivals in RIVAL_OF.items():
                arms[arm] = [ours(x, arm) for x in sets]
                for tile in VARIANTS if variants and arm != "chain" else ():
                    arms[f"{arm}/{tile}"] = [ours(x, arm, variant=tile) for x in sets]
                for other in rivals:
                    try:
                        arms[other] = [rival(x, other) for x in sets]
                    except Exception as error:
                        print(f"  {other}: {sentence(error)}")
            took = times(arms)
            ratios = {arm: min((took[r] for r in rivals if r in took), default=float("nan")) / took[arm]
                      for arm, rivals in RIVAL_OF.items() if arm in took}
            print(f"speed {name}: rival/ours " + ", ".join(f"{a} {r:.3f}" for a, r in ratios.items())
                  + f"; {2e-6 * m * n * k / took['scaled']:.0f} TFLOP/s of scaled; {microseconds(took)}", flush=True)
            found.append({"m": m, "n": n, "k": k, "sets": len(sets), "us": took, "ratios": ratios})
            del sets, arms
            dt.clear_plans()
            torch.cuda.empty_cache()
    return found


def main():
    parser = options(__doc__)
    parser.add_argument("--skip", action="append", default=[], choices=("orders", "bits", "quantise", "speed"))
    given = parser.parse_args()
    report = begun(cuda=torch.version.cuda, deep_gemm=deep.version())
    print(report)
    parts = {"orders": orders, "bits": lambda: bits(given.only), "quantise": quantise,
             "speed": lambda: speed(given.only, given.variants)}
    report.update({name: run() for name, run in parts.items() if name not in given.skip})
    save(report, given.json)
    if not any(report.get(part) for part in parts):
        sys.exit(f"nothing was compared: no case has {given.only!r} in its name, or every part was skipped")
    failed = any(any(each["moved"].values()) for each in report.get("bits", ()) if each["arm"] in RIVAL_OF and "moved" in each)
    failed |= any(each["wrong"] for each in report.get("quantise", ()))
    sys.exit("rows of ours change with M, or the quantiser breaks its rule" if failed else 0)


if __name__ == "__main__":
    main()
