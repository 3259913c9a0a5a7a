#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""torch_calls.py --json FILE: what one call through PyTorch costs the host, and its kernel in a graph.

Host time is that of a block of calls that the device's queue can hold, the best of several; blocks of the
arms alternate. Kernel time is that of graphs of calls on different weights, through the operator and through
the C interface.
"""
import statistics
import time

import torch

import detgemm
import detgemm.torch as dt
from report import begun, options, save
from timing import graph_of, medians

CONTRACT = "hopper/bf16/chain->bf16"


def host_times(arms, calls=200, blocks=15):
    """Microseconds per call: the median over blocks."""
    times = {name: [] for name in arms}
    for block in range(blocks + 3):
        for name, run in arms.items():
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(calls):
                run()
            took = (time.perf_counter() - start) / calls * 1e6
            if block >= 3:
                times[name].append(took)
    torch.cuda.synchronize()
    return {name: statistics.median(list_) for name, list_ in times.items()}


def main():
    given = options(__doc__, only=False, variants=False).parse_args()
    report = begun()

    a = torch.randn(1, 4096, device="cuda").bfloat16()
    b = torch.randn(4096, 4096, device="cuda").bfloat16()
    out = torch.empty(1, 4096, device="cuda", dtype=torch.bfloat16)
    small = torch.randn(256, 256, device="cuda").bfloat16()
    small_a, small_out = a[:, :256], out[:, :256]
    gemm_out, aten_out = torch.ops.detgemm.gemm.out, torch.ops.aten.mm.out

    def torch_out():
        torch.mm(a, b, out=out)

    with torch.no_grad():
        report["host_us"] = host_times({
            "torch.mm(out=), 1x4096x4096": torch_out,
            "torch.ops.aten.mm.out, 1x4096x4096": lambda: aten_out(a, b, out=out),
            "torch.ops.detgemm.gemm.out, 1x4096x4096": lambda: gemm_out(a, b, CONTRACT, out=out),
            "torch.mm(out=), 1x256x256": lambda: torch.mm(small_a, small, out=small_out),
            "torch.ops.aten.mm.out, 1x256x256": lambda: aten_out(small_a, small, out=small_out),
            "torch.ops.detgemm.gemm.out, 1x256x256": lambda: gemm_out(small_a, small, CONTRACT, out=small_out),
            "torch.mm, 1x256x256": lambda: torch.mm(small_a, small),
            "torch.ops.detgemm.gemm, 1x256x256": lambda: torch.ops.detgemm.gemm(small_a, small, CONTRACT),
        })
        with torch.inference_mode():
            report["host_us"]["torch.ops.detgemm.gemm, inference mode, 1x256x256"] = host_times(
                {"": lambda: torch.ops.detgemm.gemm(small_a, small, CONTRACT)})[""]
        with dt.aten({torch.bfloat16: CONTRACT}):
            report["host_us"]["torch.mm(out=) under the switch, 1x256x256"] = host_times(
                {"": lambda: torch.mm(small_a, small, out=small_out)})[""]

    weights = [torch.randn(4096, 4096, device="cuda").bfloat16() for _ in range(20)]

    def through_operator():
        for weight in weights:
            gemm_out(a, weight, CONTRACT, out=out)

    def through_c():
        stream = torch.cuda.current_stream().cuda_stream
        for weight in weights:
            detgemm.gemm(a, weight, CONTRACT, out=out, stream=stream)

    graphs = {"operator": graph_of([through_operator]), "C interface": graph_of([through_c])}
    took = medians({name: graph.replay for name, graph in graphs.items()}, blocks=9)
    report["graph_us"] = {name: us / len(weights) for name, us in took.items()}
    for part in ("host_us", "graph_us"):
        for name, value in report[part].items():
            print(f"{value:9.2f} us  {name}")
    ratio = report["graph_us"]["operator"] / report["graph_us"]["C interface"]
    print(f"in a graph, operator / C interface: {ratio:.3f}")
    save(report, given.json)


if __name__ == "__main__":
    main()
