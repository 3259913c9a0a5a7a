#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""fp8.py LIBRARY [--json FILE] [--only TEXT] [--variants] [--skip PART]: products of e4m3, beside PyTorch and DeepGEMM.

LIBRARY is libdetgemm.so of a shared build with DETGEMM_CUDA_FP8. Four parts:

  orders   which order of operations has the rival's bits, on one product with fp32 results
  bits     how many outputs differ from ours, and whether the rival's own rows change with M
  quantise microseconds and GB/s of the quantiser with 1 x 128 blocks, beside the same rule in PyTorch operators
  speed    the median microseconds per call, over alternated blocks of CUDA graphs that rotate through
           operands of more than 192 MB, so that none is in the L2 cache

The arms of a case:

  scaled   hopper/e4m3/scaled:128, scales of 1 x 128 and 128 x 128
  fold     hopper/e4m3/fold:128, a scale per row and column;    chain   hopper/e4m3/chain, the same
  block    torch.nn.functional.scaled_mm with the scales of `scaled`
  slow     the same function with a scale per row and column, use_fast_accum off;    fast    and on
  deep     deep_gemm.fp8_gemm_nt with the scales of `scaled`, where the module can be imported (deep.py)
  deep/pdl the same, launched with programmatic dependent launch

The program ends with status 1 if rows of ours change with M, if the quantiser breaks its rule, or if nothing was compared.
"""
import argparse
import ctypes
import json
import statistics
import sys

import torch
import torch.nn.functional as F

import deep
import grouped_mm
from grouped_mm import I32, I64, PTR, SIZE, struct

LEAF, L2_BYTES = 128, 192 << 20
SHAPES = ((2112, 7168), (24576, 1536), (32768, 512), (7168, 16384), (4096, 7168), (7168, 2048))
ROWS = (64, 100, 128, 4096)
VARIANTS = ("64x16", "64x32", "64x64", "64x128", "128x64", "128x96", "128x112", "128x128", "128x192",
            "128x128-pair-x", "128x128-pair-y", "128x192-pair-x", "128x192-pair-y", "256x128", "256x128-pair-y",
            "256x128-pair-x")
DTYPES = {torch.bfloat16: 0, torch.float32: 2, torch.float8_e4m3fn: 4}  # of detgemm_dtype_t
RIVAL_OF = {"scaled": ("block", *deep.arms()), "fold": ("slow",), "chain": ("fast",)}

BlockScales = struct("BlockScales", [("type", I32), ("data", PTR), ("per", I64), ("blocks", I64), ("leaves", I64),
                                     ("stride", I64), ("leaf_stride", I64)])
Operands = struct("Operands", [("reserved", ctypes.c_uint32), ("a", PTR), ("b", PTR), ("d", PTR), ("c", PTR),
                               ("bias", PTR), ("scale_a", PTR), ("scale_b", PTR)])
Spec = struct("Spec", [*grouped_mm.Spec._fields_[1:], ("line_scales", I32)])
QuantizeSpec = struct("QuantizeSpec", [("k", I32), ("leaf_k", I64), ("per", I64)])
ScalesOut = struct("ScalesOut", [("type", I32), ("data", PTR), ("blocks", I64), ("leaves", I64), ("stride", I64),
                                 ("leaf_stride", I64)])
grouped_mm.INITS.update({BlockScales: "block_scales", Operands: "operands", Spec: "gemm_spec",
                         QuantizeSpec: "quantize_spec", ScalesOut: "scales_out"})


class Library(grouped_mm.Library):
    """Products of e4m3 by plans of the cuda backend."""

    def matrix(self, tensor):
        return self.make(grouped_mm.Matrix, dtype=DTYPES[tensor.dtype], data=tensor.data_ptr(), rows=tensor.shape[0],
                         cols=tensor.shape[1], row_stride=tensor.stride(0), col_stride=tensor.stride(1))

    def scales(self, tensor, per):
        """Of blocks x leaves."""
        return self.make(BlockScales, data=tensor.data_ptr(), per=per, blocks=tensor.shape[0], leaves=tensor.shape[1],
                         stride=tensor.stride(0), leaf_stride=tensor.stride(1))

    def product(self, contract, a, w, d, scale_a=None, scale_w=None, variant=None):
        """d = a w^T of fixed arrays: a function that enqueues it, and the name of the kernel, after a first run."""
        parsed = self.make(grouped_mm.Contract)
        self.call("contract_parse", contract.encode(), ctypes.byref(parsed))
        lines = scale_a is not None and "/scaled:" not in contract
        spec = self.make(Spec, n=d.shape[1], k=a.shape[1], contract=ctypes.addressof(parsed), op_b=1, line_scales=int(lines))
        plan, size = PTR(), SIZE()
        options = self.make(grouped_mm.PlanOptions, variant=variant)
        self.call("plan_create", self.backend, ctypes.byref(spec), ctypes.byref(options), ctypes.byref(plan))
        operands = self.operands(a, w, d, None)
        keep = [parsed, spec, options, operands.keep, a, w, d, scale_a, scale_w]
        if scale_a is not None:
            held = self.scales(scale_a, 1), self.scales(scale_w, 1 if lines else LEAF)
            operands.scale_a, operands.scale_b = (ctypes.addressof(scale) for scale in held)
            keep.append(held)
        info = self.make(grouped_mm.RunInfo)

        def run(said=None, keep=keep):
            self.call("plan_run", plan, ctypes.byref(self.stream()), ctypes.byref(operands), None, size, said)
            return keep
        run(ctypes.byref(info))
        return run, info.kernel.decode()

    def quantize(self, x, q, scales):
        """A function that enqueues q, scales = x in blocks of 1 x 128."""
        spec, views = self.make(QuantizeSpec), [self.matrix(x), self.matrix(q)]
        out = self.make(ScalesOut, data=scales.data_ptr(), blocks=scales.shape[0], leaves=scales.shape[1],
                        stride=scales.stride(0), leaf_stride=scales.stride(1))

        def run(keep=(spec, views, out, x, q, scales)):
            self.call("quantize", self.backend, ctypes.byref(self.stream()), ctypes.byref(spec),
                      *map(ctypes.byref, views), ctypes.byref(out))
            return keep
        return run

    def operands(self, a, b, d, c):
        views = [self.matrix(t) for t in (a, b, d)]
        made = self.make(Operands, **dict(zip("abd", (ctypes.addressof(v) for v in views))))
        made.keep = views
        return made


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


def ours(library, x, arm, output=torch.bfloat16, variant=None):
    """One of our arms: (function, result, kernel)."""
    m, n, _ = x.shape
    d = torch.zeros(m, n, device="cuda", dtype=output)
    name = {"scaled": "scaled:128", "fold": "fold:128"}.get(arm, arm)
    contract = f"hopper/e4m3/{name}->{'bf16' if output == torch.bfloat16 else 'fp32'}"
    scales = x.blocks() if arm == "scaled" else (x.row, x.column.t())
    run, kernel = library.product(contract, x.a, x.w, d, *scales, variant=variant)
    return run, d, kernel


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


def differing(x, y):
    """Outputs with other bits, where not both are NaN."""
    integers = torch.int16 if x.dtype == torch.bfloat16 else torch.int32
    return int(((x.contiguous().view(integers) != y.contiguous().view(integers)) & ~(x.isnan() & y.isnan())).sum())


def sentence(error):
    return f"{type(error).__name__}: {(str(error).splitlines() or ['no message'])[0][:200]}"


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


def orders(library):
    """Candidates for the arithmetic of the rivals, and how many outputs of each are not the rival's."""
    x, found = Data(128, 512, 2048, seed=5), []
    m, n, k = x.shape

    def product(contract, a, w):
        d = torch.zeros(m, n, device="cuda")
        library.product(contract, a, w, d)
        return d

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
        "scaled:128 of the library": ours(library, x, "scaled", torch.float32)[1],
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


def bits(library, only):
    """Ours against each rival, and rows of each at small M against those of 4096 rows."""
    found, failed = [], False
    results = {}
    for arm in RIVAL_OF:
        results[arm] = lambda x, arm=arm: ours(library, x, arm)[1]
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
            failed |= arm in RIVAL_OF and any(moved.values())
            print(f"bits {n}x{k} {arm}: outputs that differ from those in a batch of 4096, by M: {moved}", flush=True)
            found.append({"n": n, "k": k, "arm": arm, "moved": moved})
        for arm, name in ((one, name) for one in RIVAL_OF for name in of_bits(one)):
            if arm in whole and name in whole:
                count, outputs = differing(whole[arm], whole[name]), whole[name].numel()
                print(f"bits {n}x{k} {arm} against {name}: {count} of {outputs} differ", flush=True)
                found.append({"n": n, "k": k, "arm": arm, "rival": name, "outputs": outputs, "differ": count})
        del whole, x
    return found, failed


def graph_of(calls):
    """One graph of a call per set of operands."""
    for call in calls:
        call()
    torch.cuda.synchronize()
    graph, held = torch.cuda.CUDAGraph(), []
    with torch.cuda.graph(graph):
        held.extend(call() for call in calls)
    return graph, held


def times(arms, blocks=7):
    """Median microseconds per call of each arm's list of calls, in blocks of about 2 ms, alternated."""
    graphs, took, replays = {}, {}, {}
    for name, calls in arms.items():
        try:
            graphs[name] = graph_of(calls)
        except Exception as error:  # a rival that does not take the case
            print(f"  {name}: {sentence(error)}")
    for block in range(blocks + 1):
        for name, (graph, _) in graphs.items():
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            graph.replay()
            start.record()
            for _ in range(replays.get(name, 1)):
                graph.replay()
            end.record()
            end.synchronize()
            microseconds = start.elapsed_time(end) * 1e3 / replays.get(name, 1)
            if block == 0:
                replays[name] = max(1, int(2000 / microseconds))
            else:
                took.setdefault(name, []).append(microseconds / len(arms[name]))
    return {name: statistics.median(list_) for name, list_ in took.items()}


def by_rule(x):
    """The quantiser's rule in PyTorch operators: q and scales."""
    wide = x.float().unflatten(1, (-1, LEAF))
    amax = wide.abs().amax(2).clamp(min=1e-4)
    scales = amax / torch.full_like(amax, 448)  # PyTorch multiplies by the inverse of a number
    return (wide * (torch.ones_like(scales) / scales)[:, :, None]).to(torch.float8_e4m3fn).flatten(1), scales


def quantise(library):
    found, failed = [], False
    for m, k in ((64, 7168), (4096, 7168), (4096, 16384), (32768, 4096)):
        sets = []
        for seed in range(max(2, -(-L2_BYTES // (3 * m * k)))):
            x = torch.randn(m, k, device="cuda", generator=torch.Generator("cuda").manual_seed(seed)).bfloat16()
            sets.append((x, torch.empty(m, k, device="cuda", dtype=torch.float8_e4m3fn), torch.empty(m, k // LEAF, device="cuda")))
        arms = {"ours": [library.quantize(*each) for each in sets], "torch": [lambda x=each[0]: by_rule(x) for each in sets]}
        took = times(arms)
        wanted, scales = by_rule(sets[0][0])
        wrong = int((sets[0][1].view(torch.int8) != wanted.view(torch.int8)).sum()) + differing(sets[0][2], scales)
        failed |= wrong > 0
        gigabytes = m * k * (3 + 4 / LEAF) / took["ours"] * 1e-3
        print(f"quantise {m} x {k}: {wrong} numbers differ from the rule in PyTorch; {gigabytes:.0f} GB/s; us "
              + ", ".join(f"{arm} {us:.1f}" for arm, us in took.items()), flush=True)
        found.append({"m": m, "k": k, "wrong": wrong, "us": took, "gigabytes_per_second": gigabytes})
        del sets, arms
        torch.cuda.empty_cache()
    return found, failed


def speed(library, only, variants):
    found = []
    for n, k in SHAPES:
        for m in ROWS:
            name = f"{m} x {n}x{k}"
            if only not in name:
                continue
            sets = [Data(m, n, k, seed) for seed in range(max(2, -(-L2_BYTES // (k * (m + n) + 2 * m * n))))]
            kernels, arms = {}, {}
            for arm, rivals in RIVAL_OF.items():
                made = [ours(library, x, arm) for x in sets]
                kernels[arm], arms[arm] = made[0][2], [run for run, _, _ in made]
                for tile in VARIANTS if variants and arm != "chain" else ():
                    arms[f"{arm}/{tile}"] = [ours(library, x, arm, variant=tile.encode())[0] for x in sets]
                for other in rivals:
                    try:
                        arms[other] = [rival(x, other) for x in sets]
                    except Exception as error:
                        print(f"  {other}: {sentence(error)}")
            took = times(arms)
            ratios = {arm: min((took[r] for r in rivals if r in took), default=float("nan")) / took[arm]
                      for arm, rivals in RIVAL_OF.items() if arm in took}
            print(f"speed {name}: rival/ours " + ", ".join(f"{a} {r:.3f}" for a, r in ratios.items())
                  + f"; {2e-6 * m * n * k / took['scaled']:.0f} TFLOP/s of scaled; us "
                  + ", ".join(f"{arm} {us:.1f}" for arm, us in took.items()) + f"; {kernels}", flush=True)
            found.append({"m": m, "n": n, "k": k, "sets": len(sets), "kernels": kernels, "us": took, "ratios": ratios})
            del sets, arms
            torch.cuda.empty_cache()
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--json")
    parser.add_argument("--only", default="", help="cases with this text in their name, such as 2112x7168")
    parser.add_argument("--variants", action="store_true", help="time every tile by its name too")
    parser.add_argument("--skip", action="append", default=[], choices=("orders", "bits", "quantise", "speed"))
    given = parser.parse_args()
    library, failed = Library(given.library), False
    report = {"torch": torch.__version__, "cuda": torch.version.cuda, "device": torch.cuda.get_device_name(),
              "deep_gemm": deep.version()}
    print(report)
    if "orders" not in given.skip:
        report["orders"] = orders(library)
    if "bits" not in given.skip:
        report["bits"], failed = bits(library, given.only)
    if "quantise" not in given.skip:
        report["quantise"], wrong = quantise(library)
        failed |= wrong
    if "speed" not in given.skip:
        report["speed"] = speed(library, given.only, given.variants)
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump(report, file)
    if not any(report.get(part) for part in ("orders", "bits", "quantise", "speed")):
        sys.exit(f"nothing was compared: no case has {given.only!r} in its name, or every part was skipped")
    sys.exit("rows of ours change with M, or the quantiser breaks its rule" if failed else 0)


if __name__ == "__main__":
    main()
