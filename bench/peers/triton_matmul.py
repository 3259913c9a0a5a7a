#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Times the Triton peer, and torch.matmul beside it, on the points of bench/gpu; the same JSON.

    bench/peers/triton_matmul.py --quick --json triton.json
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
        warm = kind == "forward" and tokens <= 512  # as in bench/gpu/buffers.cu
        a, b = cases.operands(kind, tokens, n, k,
                              lambda r, c: self.take("a", number, r, c, 2 if warm else 1 << 20),
                              lambda r, c: self.take("b", number, r, c, 1 << 20))
        return a, b, self.take("d", number, a.shape[0], b.shape[1], 4 if warm else 1 << 20)


def graph_of(enqueue, calls):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for call in range(calls):
            enqueue(call)
    return graph


def sample(graph, calls, idle_s):
    """Microseconds a call of one launch."""
    time.sleep(idle_s)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda._sleep(120_000)  # the host's lead, about 60 us
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
    """The fastest of kernel and configuration on this point, as (text, enqueue); None if none runs."""
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
                graph = graph_of(enqueue, 4)
            except Exception as error:  # a configuration that does not fit the machine
                print(f"  {label} {config}: {str(error).splitlines()[0][:100]}", file=sys.stderr)
                continue
            sample(graph, 4, 0)
            found.append((min(sample(graph, 4, 0) for _ in range(3)), f"{label} {config}", enqueue))
    return min(found, key=lambda x: x[0], default=None)


def measure(pools, mode, point, quick):
    best = best_triton(pools, point)

    def vendor(call):
        a, b, d = pools.call(*point, call)
        torch.matmul(a, b, out=d)
    arms = {"torch": ("torch.matmul", vendor)}
    if best:
        arms = {"triton": (best[1], best[2]), **arms}
    vendor(0)
    torch.cuda.synchronize()
    graph = graph_of(vendor, 4)
    rough = max(1.0, min([sample(graph, 4, 0) for _ in range(3)] + ([best[0]] if best else [])))
    least = 20 if mode == "stream" else 2
    calls = min(256, max(least, math.ceil((3000 if mode == "settled" else 1000) / rough)))
    graphs = {name: graph_of(enqueue, calls) for name, (_, enqueue) in arms.items()}
    us = {name: sample(graph, calls, 0) for name, graph in graphs.items()}
    if mode == "settled":
        samples = settled(graphs, calls, us, 2 if quick else 6, 0.4 if quick else 1.0,
                          60 if quick else 100)
    else:
        idle = 0.06 if mode == "burst" else 0.001 if point[1] <= 64 else 0.01
        count = (3 if quick else 9) if mode == "burst" else (5 if quick else 15)
        samples = {name: [] for name in graphs}
        for repetition in range(count):
            for name in list(graphs)[::1 if repetition % 2 == 0 else -1]:
                samples[name].append(sample(graphs[name], calls, idle))
    rows = {}
    for name, values in samples.items():
        values.sort()
        rows[name] = {"us": round(statistics.median(values), 4),
                      "p10": round(values[len(values) // 10], 4),
                      "p90": round(values[-1 - len(values) // 10], 4),
                      "samples": len(values), "calls": calls, "what": arms[name][0]}
    return rows


def commit():
    root = pathlib.Path(__file__).resolve().parent
    run = subprocess.run(["git", "-C", root, "describe", "--always", "--dirty"],
                         capture_output=True, text=True)
    return run.stdout.strip() or "unknown"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--group", default=",".join(cases.GROUPS))
    parser.add_argument("--shape", default="", help="NxK,NxK,...")
    parser.add_argument("--m", default="", help="tokens, in place of each group's own")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop when they are spent")
    parser.add_argument("--json")
    options = parser.parse_args()
    start = time.monotonic()
    properties = torch.cuda.get_device_properties(0)
    document = {"schema": "detgemm-bench-gpu-1", "command": " ".join(["triton_matmul.py", *sys.argv[1:]]),
                "date": datetime.date.today().isoformat(), "commit": commit(),
                "machine": {"device": properties.name, "sms": properties.multi_processor_count,
                            "cuda": torch.version.cuda, "torch": torch.__version__,
                            "triton": triton.__version__},
                "unit": "microseconds a call; medians", "results": []}
    pools = Pools()
    left = 0
    print(f"{'group':8} {'M':>6} {'N':>6} {'K':>6} | {'triton':>9} {'torch':>9} | triton's kernel")
    for group in options.group.split(","):
        mode, kind, tokens, quick = cases.GROUPS[group]
        if options.m:
            tokens = quick = [int(m) for m in options.m.split(",")]
        for n, k in cases.parse_shapes(options.shape):
            for m in quick if options.quick else tokens:
                if time.monotonic() - start > options.seconds:
                    left += 1
                    continue
                rows = measure(pools, mode, (kind, m, n, k), options.quick)
                document["results"].append(
                    {"group": group, "mode": mode, "arms": rows, "notes": [],
                     "problem": {"kind": kind, "m": m, "n": n, "k": k, "type": "bf16"}})
                mine = rows.get("triton", {"us": float("nan"), "what": "none ran"})
                print(f"{group:8} {m:6} {n:6} {k:6} | {mine['us']:9.2f} {rows['torch']['us']:9.2f} | "
                      f"{mine['what']}", flush=True)
    if left:
        print(f"budget spent: {left} points not measured")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
