#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Times the Triton peer, and torch.matmul beside it, on the cases of detgemm bench; the same JSON.

    bench/peers/triton_matmul.py --quick --json triton.json

bench/report puts the file on the page of the device that it names, beside ours.
"""
import argparse
import datetime
import json
import math
import pathlib
import statistics
import subprocess
import sys
import time

import torch
import triton

import cases
import triton_kernel
from timing import graph_of

POOL = {"a": 512 << 20, "b": 3 << 30, "d": 512 << 20}  # bytes; more where two copies need it


class Pools:
    """Memory that calls step through, so that weights are never warm."""

    def __init__(self):
        self.pools = {}

    def take(self, name, call, rows, cols, most):
        count = -(-rows * cols // 128) * 128
        want = max(POOL[name] // 2, 2 * count)
        pool = self.pools.get(name)
        if pool is None or pool.numel() < want:
            self.pools.pop(name, None)
            del pool
            pool = self.pools[name] = torch.empty(want, dtype=torch.bfloat16, device="cuda")
            pool.normal_()
        at = call % max(1, min(most, pool.numel() // count)) * count
        return pool[at:at + rows * cols].view(rows, cols)

    def call(self, kind, tokens, n, k, number):
        warm = kind == "forward" and tokens <= 512  # as in bench/common/buffers.cpp
        a, b = cases.operands(kind, tokens, n, k,
                              lambda r, c: self.take("a", number, r, c, 2 if warm else 1 << 20),
                              lambda r, c: self.take("b", number, r, c, 1 << 20))
        return a, b, self.take("d", number, a.shape[0], b.shape[1], 4 if warm else 1 << 20)


def calls_of(enqueue, count):
    return [lambda call=call: enqueue(call) for call in range(count)]


def sample(graph, calls, idle_s):
    """Microseconds per call of one launch."""
    time.sleep(idle_s)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda._sleep(400_000)  # the host's lead, about 200 us
    begin.record()
    graph.replay()
    end.record()
    end.synchronize()
    return 1e3 * begin.elapsed_time(end) / calls


def settled(graphs, calls, us, repetitions, soak_s, block_ms):
    """Blocks of continuous load in turn; the last two thirds of a block count."""
    def load(name, ms):
        times = max(1, round(ms * 1e3 / (us[name] * calls)))
        for _ in range(times):
            graphs[name].replay()
        return times * calls
    for name in graphs:
        load(name, soak_s * 1e3 / len(graphs))
    blocks = []
    for repetition in range(repetitions):
        for name in list(graphs)[::1 if repetition % 2 == 0 else -1]:
            load(name, block_ms / 3)
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            counted = load(name, block_ms * 2 / 3)
            end.record()
            blocks.append((name, begin, end, counted))
    torch.cuda.synchronize()
    return {name: [1e3 * b.elapsed_time(e) / c for x, b, e, c in blocks if x == name]
            for name in graphs}


def best_triton(pools, point):
    """The fastest kernel and configuration on this point: (us, text, enqueue), or None."""
    found = []
    a, b, d = pools.call(*point, 0)
    kernels = [("pointers", triton_kernel.matmul)]
    if triton_kernel.takes_tma(a, b):
        kernels.insert(0, ("TMA", triton_kernel.matmul_tma))
    for label, kernel in kernels:
        for config in triton_kernel.configs(a.shape[0]):
            def enqueue(call, kernel=kernel, config=config):
                x, y, z = pools.call(*point, call)
                kernel(x, y, config, z)
            try:
                enqueue(0)
                torch.cuda.synchronize()
                graph = graph_of(calls_of(enqueue, 4))
            except Exception as error:  # a configuration that does not fit the machine
                print(f"  {label} {config}: {str(error).splitlines()[0][:100]}", file=sys.stderr)
                continue
            sample(graph, 4, 0)
            found.append((min(sample(graph, 4, 0) for _ in range(3)), f"{label} {config}", enqueue))
    return min(found, key=lambda x: x[0], default=None)


def keeps_row(pools, point, enqueue, alone):
    """Whether row 0 has the same bits in this batch and alone; None where M is 1 or the reduction."""
    kind, m, n, k = point
    if kind == "dB" or m == 1:
        return None
    enqueue(0)
    batch = pools.call(kind, m, n, k, 0)[2][0].clone()
    alone(0)
    single = pools.call(kind, 1, n, k, 0)[2][0]
    return bool(torch.equal(batch.view(torch.int16), single.view(torch.int16)))


def vendor_of(pools, point):
    def vendor(call):
        a, b, d = pools.call(*point, call)
        torch.matmul(a, b, out=d)
    return vendor


def samples_of(graphs, calls, us, mode, m, quick):
    if mode == "settled":
        return settled(graphs, calls, us, 2 if quick else 6, 0.4 if quick else 1.0,
                       60 if quick else 100)
    idle = 0.06 if mode == "burst" else 0.001 if m <= 64 else 0.01
    count = (3 if quick else 5) if mode == "burst" else (5 if quick else 11)
    samples = {name: [] for name in graphs}
    for repetition in range(count):
        for name in list(graphs)[::1 if repetition % 2 == 0 else -1]:
            samples[name].append(sample(graphs[name], calls, idle))
    return samples


def measure(pools, mode, point, quick):
    """The arms of a result of schema 2."""
    kind, m, n, k = point
    arms = {}
    best = best_triton(pools, point)
    if best:
        arms["triton"] = (best[1], best[2])
    arms["torch"] = ("torch.matmul", vendor_of(pools, point))
    arms["torch"][1](0)
    torch.cuda.synchronize()
    graph = graph_of(calls_of(arms["torch"][1], 4))
    rough = max(1.0, min([sample(graph, 4, 0) for _ in range(3)] + ([best[0]] if best else [])))
    least = 20 if mode == "stream" else 2
    calls = min(256, max(least, math.ceil((3000 if mode == "settled" else 1000) / rough)))
    graphs = {name: graph_of(calls_of(enqueue, calls)) for name, (_, enqueue) in arms.items()}
    us = {name: sample(graph, calls, 0) for name, graph in graphs.items()}
    samples = samples_of(graphs, calls, us, mode, m, quick)
    single = (kind, 1, n, k)
    alone = {"torch": lambda: vendor_of(pools, single), "triton": lambda: best_triton(pools, single)[2]}
    rows = []
    for name, values in samples.items():
        values.sort()
        median = statistics.median(values)
        p10, p90 = values[len(values) // 10], values[-1 - len(values) // 10]
        kept = None
        if kind != "dB" and m != 1:
            kept = keeps_row(pools, point, arms[name][1], alone[name]())
        rows.append({"arm": name, "role": "baseline", "what": arms[name][0], "calls": calls,
                     "us": round(median, 4), "p10": round(p10, 4), "p90": round(p90, 4),
                     "samples": len(values), "noise": round((p90 - p10) / median, 5),
                     "batch_invariant": kept, "bits": None})
    return rows


def commit():
    root = pathlib.Path(__file__).resolve().parent
    run = subprocess.run(["git", "-C", root, "describe", "--always", "--dirty"],
                         capture_output=True, text=True, check=False)
    return run.stdout.strip() or "unknown"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", default="", help="some of " + ",".join(cases.SUITES))
    parser.add_argument("--m", default="", help="tokens, in place of each suite's own")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop when they are spent")
    parser.add_argument("--json")
    options = parser.parse_args()
    start = time.monotonic()
    properties = torch.cuda.get_device_properties(0)
    document = {"schema": 2, "tool": "triton_matmul.py", "version": "unknown",
                "command": " ".join(["bench/peers/triton_matmul.py", *sys.argv[1:]]),
                "date": datetime.date.today().isoformat(), "commit": commit(), "backend": "cuda",
                "quick": options.quick, "unit": "microseconds per call; medians",
                "machine": {"device": properties.name,
                            "processors": str(properties.multi_processor_count),
                            "toolkit": "CUDA " + str(torch.version.cuda)},
                "baselines": [{"name": "triton", "present": True, "what": "Triton " + triton.__version__},
                              {"name": "torch", "present": True, "what": "torch " + torch.__version__}],
                "ceilings": {}, "overheads": {}, "falls": [], "not_measured": 0, "failed": 0,
                "results": []}
    pools = Pools()
    suites = options.suite.split(",") if options.suite else None
    tokens = [int(m) for m in options.m.split(",")] if options.m else None
    print(f"{'case':48} | {'triton':>9} {'torch':>9} us | triton's kernel")
    for result in cases.points(suites, options.quick, tokens):
        if time.monotonic() - start > options.seconds:
            document["not_measured"] += 1
            continue
        point = tuple(result[key] for key in ("kind", "m", "n", "k"))
        result["arms"] = measure(pools, result["mode"], point, options.quick)
        result.update(comparisons=[], notes=[], repro=document["command"])
        document["results"].append(result)
        us = {arm["arm"]: arm["us"] for arm in result["arms"]}
        what = next((a["what"] for a in result["arms"] if a["arm"] == "triton"), "none ran")
        print(f"{result['case']:48} | {us.get('triton', math.nan):9.2f} {us['torch']:9.2f}    | {what}",
              flush=True)
    if document["not_measured"]:
        print(f"budget spent: {document['not_measured']} cases not measured")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
