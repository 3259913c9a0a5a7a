#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""grouped_mm.py LIBRARY [--json FILE] [--only TEXT] [--variants]: experts in one call, beside PyTorch and beside loops.

LIBRARY is libdetgemm.so of a shared build. For each case, the median microseconds over alternated blocks of
CUDA graphs, so that no host time counts:

  grouped   GroupedPlan of the cuda backend
  plans     a Plan for each group, in a loop; the host knows the sizes
  torch     torch.nn.functional.grouped_mm (torch._grouped_mm before 2.10)
  cublas    torch.mm for each group
  deep      DeepGEMM's product of groups one behind the other, where the module can be imported (deep.py says where its
            rows lie);    deep/masked   with room for as many rows in each group, where groups have at most 128
            each also with /pdl, programmatic dependent launch

with --variants also every tile of the grouped kernels by its name, and whether `grouped` has the bits of
`plans`: a case in which it has not ends the program with status 1.
"""
import argparse
import ctypes
import json
import statistics
import sys

import torch

import deep

I32, I64, PTR, SIZE = ctypes.c_int32, ctypes.c_int64, ctypes.c_void_p, ctypes.c_size_t
BF16, FP32, DEVICE_CUDA = 0, 2, 1
M_GROUPED, K_GROUPED = 1, 3
VARIANTS = ("64x8-depth4", "64x16-depth4", "64x32-depth4", "64x64", "128x32", "128x64", "128x128", "128x192", "128x256",
            "256x128")


def struct(name, fields):
    """A struct of the C interface; each begins with its size."""
    return type(name, (ctypes.Structure,), {"_fields_": [("struct_size", ctypes.c_uint32), *fields]})


Matrix = struct("Matrix", [("dtype", I32), ("data", PTR), ("rows", I64), ("cols", I64),
                           ("row_stride", I64), ("col_stride", I64)])
Stream = struct("Stream", [("kind", I32), ("handle", PTR)])
Contract = struct("Contract", [("version", I32), ("arithmetic", I32), ("input", I32), ("k_block", I32),
                               ("k_order", I32), ("reduction", I32), ("rounding", I32), ("leaf_k", I64),
                               ("output", I32), ("reserved", ctypes.c_uint32)])
Spec = struct("Spec", [("op_a", I32), ("n", I64), ("k", I64), ("contract", PTR), ("op_b", I32),
                       ("activation", I32), ("alpha", ctypes.c_float), ("beta", ctypes.c_float), ("bias", I32),
                       ("continue_from_c", I32), ("a_snapped", I32), ("b_snapped", I32)])
Operands = struct("Operands", [("reserved", ctypes.c_uint32), ("a", PTR), ("b", PTR), ("d", PTR), ("c", PTR),
                               ("bias", PTR)])
GroupedSpec = struct("GroupedSpec", [("kind", I32), ("gemm", PTR), ("groups", I64)])
GroupedOperands = struct("GroupedOperands", [("offset_type", I32), ("arrays", PTR), ("offsets", PTR),
                                             ("offset_count", I64), ("a_group", I64), ("b_group", I64),
                                             ("d_group", I64), ("c_group", I64), ("bias_group", I64)])
PlanOptions = struct("PlanOptions", [("max_workers", I32), ("variant", ctypes.c_char_p), ("stable", I32),
                                     ("serial_launch", I32)])
RunInfo = struct("RunInfo", [("reserved", ctypes.c_uint32), ("kernel", ctypes.c_char * 248)])
INITS = {Contract: "contract", Spec: "gemm_spec", GroupedSpec: "grouped_spec", GroupedOperands: "grouped_operands",
         Operands: "operands", PlanOptions: "plan_options", Matrix: "matrix", Stream: "stream", RunInfo: "run_info"}


class Library:
    """The functions of the C interface, with errors as exceptions."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.lib.detgemm_last_error.restype = ctypes.c_char_p
        self.backend = PTR()
        self.call("backend_find", b"cuda", ctypes.byref(self.backend))
        self.workspaces = []

    def call(self, name, *arguments):
        if getattr(self.lib, "detgemm_" + name)(*arguments) != 0:
            raise RuntimeError(self.lib.detgemm_last_error().decode())

    def make(self, which, /, **fields):
        made = which()
        self.call(INITS[which] + "_init", ctypes.byref(made), SIZE(ctypes.sizeof(which)))
        for field, value in fields.items():
            setattr(made, field, value)
        return made

    def matrix(self, tensor):
        dtype = {torch.bfloat16: BF16, torch.float32: FP32}[tensor.dtype]
        return self.make(Matrix, dtype=dtype, data=tensor.data_ptr(), rows=tensor.shape[0], cols=tensor.shape[1],
                         row_stride=tensor.stride(0), col_stride=tensor.stride(1))

    def spec(self, contract, n, k, from_c, op_a, op_b):
        parsed = self.make(Contract)
        self.call("contract_parse", contract.encode(), ctypes.byref(parsed))
        spec = self.make(Spec, n=n, k=k, contract=ctypes.addressof(parsed), op_a=op_a, op_b=op_b,
                         continue_from_c=int(from_c))
        spec.keep = parsed
        return spec

    def stream(self):
        return self.make(Stream, kind=DEVICE_CUDA, handle=torch.cuda.current_stream().cuda_stream)

    def operands(self, a, b, d, c):
        views = [self.matrix(t) for t in (a, b, d)] + ([self.matrix(c)] if c is not None else [])
        made = self.make(Operands, **dict(zip("abdc", (ctypes.addressof(v) for v in views))))
        made.keep = views
        return made

    def workspace(self, size):
        self.workspaces.append(torch.empty(max(size, 1), dtype=torch.uint8, device="cuda"))
        return self.workspaces[-1].data_ptr() if size else None

    def plan(self, contract, a, b, d, c=None, op_a=0, op_b=0):
        """A function that runs one product; all of its arrays are fixed."""
        n, k = d.shape[1], a.shape[0] if op_a else a.shape[1]
        spec, plan, size = self.spec(contract, n, k, c is not None, op_a, op_b), PTR(), SIZE()
        self.call("plan_create", self.backend, ctypes.byref(spec), None, ctypes.byref(plan))
        operands = self.operands(a, b, d, c)
        self.call("plan_fast_workspace_size", plan, ctypes.byref(operands), ctypes.byref(size))
        room = self.workspace(size.value)
        return lambda: self.call("plan_run", plan, ctypes.byref(self.stream()), ctypes.byref(operands), PTR(room),
                                 size, None)

    def grouped(self, contract, kind, a, b, d, offs, c=None, op_a=0, op_b=0, variant=None,
                **distances):
        """The same for all groups, and the name of the kernel."""
        by_k = kind == K_GROUPED
        n, k = d.shape[1], 0 if by_k else a.shape[1]
        one, plan, size = self.spec(contract, n, k, c is not None, op_a, op_b), PTR(), SIZE()
        spec = self.make(GroupedSpec, kind=kind, gemm=ctypes.addressof(one), groups=len(offs))
        options = self.make(PlanOptions, variant=variant)
        self.call("grouped_plan_create", self.backend, ctypes.byref(spec), ctypes.byref(options), ctypes.byref(plan))
        arrays = self.operands(a, b, d, c)
        x = self.make(GroupedOperands, arrays=ctypes.addressof(arrays), offsets=offs.data_ptr(),
                      offset_count=len(offs), **distances)
        self.call("grouped_plan_workspace_size", plan, I64(d.shape[0]), I64(a.shape[0] if by_k else 0),
                  ctypes.byref(size))
        room, info = self.workspace(size.value), self.make(RunInfo)
        keep = (arrays, one, spec, a, b, d, c, offs)  # PyTorch gives memory back before a capture

        def run(said=None):
            self.call("grouped_plan_run", plan, ctypes.byref(self.stream()), ctypes.byref(x), PTR(room), size, said)
            return keep
        run(ctypes.byref(info))
        torch.cuda.synchronize()
        return run, info.kernel.decode()


def torch_grouped(a, b, offs):
    function = getattr(torch.nn.functional, "grouped_mm", None) or torch._grouped_mm
    return function(a, b, offs=offs)


def times(arms, blocks=7, replays=10):
    """Median microseconds per arm over alternated blocks of graph replays."""
    graphs, took = {}, {name: [] for name in arms}
    for name, run in arms.items():
        run()
        torch.cuda.synchronize()
        graphs[name] = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graphs[name]):
            run()
    for _ in range(blocks):
        for name, graph in graphs.items():
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            graph.replay()
            start.record()
            for _ in range(replays):
                graph.replay()
            end.record()
            end.synchronize()
            took[name].append(start.elapsed_time(end) * 1e3 / replays)
    return {name: statistics.median(list_) for name, list_ in took.items()}


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


def forced(make):
    """An arm for each tile of the grouped kernels that takes the problem: `make(variant)` runs it."""
    arms = {}
    for name in VARIANTS:
        try:
            arms[name] = make(name.encode())[0]
        except RuntimeError as refusal:
            print(f"  {name}: {refusal}")
    return arms


def deep_arms(name, run):
    return {arm.replace("deep", name): deep.called(arm, run) for arm in deep.arms()}


def forward(library, sizes, n, k, variants):
    """D[r] = A[r] W[g]^T, bf16: the forward pass of experts whose weights are n x k each."""
    contract, rows = "hopper/bf16/chain->bf16", sum(sizes)
    a = torch.randn(rows, k, device="cuda").bfloat16()
    w = torch.randn(len(sizes), n, k, device="cuda").bfloat16()
    offs = ends_of(sizes)
    d, wanted, rival = (torch.zeros(rows, n, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    def grouped(variant=None, into=d):
        return library.grouped(contract, M_GROUPED, a, w[0], into, offs, op_b=1, b_group=n * k, variant=variant)

    run, kernel = grouped()
    loop = [library.plan(contract, a[s], w[g], wanted[s], op_b=1) for g, s in pieces(sizes) if s.stop > s.start]
    single = [(a[s], w[g].t(), rival[s]) for g, s in pieces(sizes) if s.stop > s.start]
    arms = {"grouped": run, "plans": lambda: [each() for each in loop],
            "torch": lambda: torch_grouped(a, w.transpose(1, 2), offs),
            "cublas": lambda: [torch.mm(x, y, out=z) for x, y, z in single]}
    checks = {}
    if not deep.MISSING:
        forms = {"deep": deep.contiguous_bf16}
        if max(sizes) <= deep.SEGMENT:
            forms["deep/masked"] = deep.masked_bf16
        for name, make in forms.items():
            product, counted = make(a, w, sizes)
            arms.update(deep_arms(name, product))
            checks[name] = counted
    if variants:
        other = torch.zeros_like(d)
        arms.update(forced(lambda variant: grouped(variant, other)))
    return arms, kernel, d, wanted, 2 * rows * n * k, checks


def gradient(library, sizes, n, k, variants):
    """dW[g] = dW[g] + A[s]^T B[s] in fp32, n x k each, over the rows of each expert."""
    contract, rows, groups = "hopper/bf16/chain->fp32", sum(sizes), len(sizes)
    a = torch.randn(rows, n, device="cuda").bfloat16()
    b = torch.randn(rows, k, device="cuda").bfloat16()
    offs = ends_of(sizes)
    d, wanted, rival = (torch.zeros(groups, n, k, device="cuda") for _ in range(3))
    c = torch.randn(groups, n, k, device="cuda")
    def grouped(variant=None, into=d):
        return library.grouped(contract, K_GROUPED, a, b, into[0], offs, c=c[0], op_a=1, variant=variant,
                               d_group=n * k, c_group=n * k)

    run, kernel = grouped()
    loop = [library.plan(contract, a[s], b[s], wanted[g], c=c[g], op_a=1) for g, s in pieces(sizes)]
    held = a, b, c  # their addresses are in the plans' arguments
    arms = {"grouped": run, "plans": lambda held=held: [each() for each in loop],
            "torch": lambda: rival.add_(torch_grouped(a.t(), b, offs)),
            "cublas": lambda: [rival[g].add_(torch.mm(a[s].t(), b[s])) for g, s in pieces(sizes)]}
    checks = {}
    if not deep.MISSING:
        total = c.clone()
        arms.update(deep_arms("deep", deep.gradient_bf16(a, b, total, sizes)))
        checks["deep"] = lambda: total
    if variants:
        other = torch.zeros_like(d)
        arms.update(forced(lambda variant: grouped(variant, other)))
    return arms, kernel, d, wanted, 2 * rows * n * k, checks


def differing(d, arms, checks):
    """How many outputs of the rivals that have `checks` are not d's, each after a first run."""
    found, integers = {}, torch.int16 if d.dtype == torch.bfloat16 else torch.int32
    for name, result in checks.items():
        try:
            arms[name]()
            found[name] = int((result().view(integers) != d.view(integers)).sum())
        except Exception as error:
            print(f"  {name}: {str(error).splitlines()[0]}")
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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--json")
    parser.add_argument("--only", default="")
    parser.add_argument("--variants", action="store_true")
    given = parser.parse_args()
    torch.manual_seed(1)
    generator = torch.Generator().manual_seed(1)
    failed, rows = False, []
    print(f"DeepGEMM: {deep.version()}")
    for name, make, groups, per_group, ragged, n, k in cases():
        sizes = sizes_of(groups, per_group, ragged, generator)
        if given.only not in name:
            continue
        library = Library(given.library)
        arms, kernel, d, wanted, flops, checks = make(library, sizes, n, k, given.variants)
        arms["plans"]()
        torch.cuda.synchronize()
        same = torch.equal(d.view(torch.int16 if d.dtype == torch.bfloat16 else torch.int32),
                           wanted.view(torch.int16 if d.dtype == torch.bfloat16 else torch.int32))
        failed |= not same
        differ = differing(d, arms, checks)
        took = {}
        for arm in list(arms):
            try:
                took.update(times({arm: arms[arm]}, blocks=1, replays=1))
            except Exception as error:  # a rival that does not take the case
                print(f"  {arm}: {str(error).splitlines()[0]}")
                del arms[arm]
        took = times(arms)
        rival = min((us for arm, us in took.items() if arm in ("torch", "cublas") or arm.startswith("deep")),
                    default=float("nan"))
        print(f"{name} n {n} k {k}: {'same bits' if same else 'OTHER BITS'}, {kernel}, "
              f"{flops / took['grouped'] * 1e-6:.0f} TFLOP/s, rival/grouped {rival / took['grouped']:.3f}; us "
              + ", ".join(f"{arm} {us:.1f}" for arm, us in took.items())
              + "".join(f"; {count} of {d.numel()} differ from {name}" for name, count in differ.items()), flush=True)
        rows.append({"case": name, "sizes": sizes, "n": n, "k": k, "kernel": kernel, "same_bits": same, "us": took,
                     "differ": differ})
        del arms, d, wanted, checks
        torch.cuda.empty_cache()
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump({"torch": torch.__version__, "device": torch.cuda.get_device_name(),
                       "deep_gemm": deep.version(), "rows": rows}, file)
    if not rows:
        sys.exit(f"no case has {given.only!r} in its name")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
