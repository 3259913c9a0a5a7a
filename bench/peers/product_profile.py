#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""product_profile.py LIBRARY [--launches | --table CSV] [--json FILE] [--only TEXT]: what bounds a product, beside cuBLASLt.

LIBRARY is libdetgemm.so of a shared build. Without an option, each product of ours and of PyTorch runs by itself for
a second, and the clock and the power that the driver reports meanwhile are printed with its time: a kernel that is
slower at a lower clock is bound by power. The counters of single launches take two commands:

  ncu --profile-from-start off --clock-control none --csv --page raw --metrics LIST python3 product_profile.py LIB --launches > CSV
  python3 product_profile.py LIB --table CSV

METRICS below are the counters of the table; `python3 product_profile.py LIB --metrics` prints the LIST.
"""
import argparse
import csv
import json
import statistics
import threading
import time

import torch

import fp8

CASES = (  # contract, M, N, K: the rows of docs/bench/targets.md that miss their targets, some problems of each
    ("hopper/bf16/chain->bf16", 6, 4608, 36864), ("hopper/bf16/chain->bf16", 259, 2048, 8192),
    ("hopper/bf16/chain->bf16", 399, 28672, 4096), ("hopper/bf16/chain->bf16", 515, 1024, 4096),
    ("hopper/bf16/chain->bf16", 1209, 32768, 512), ("hopper/bf16/chain->bf16", 4096, 8192, 8192),
    ("hopper/bf16/tree:1024->bf16", 420, 4096, 8192), ("hopper/bf16/tree:1024->bf16", 4096, 8192, 8192),
    ("hopper/bf16/tree:512->bf16", 163, 5120, 25600), ("hopper/bf16/tree:512->bf16", 1200, 12288, 28672),
    ("hopper/bf16/fold:1024->bf16", 792, 8192, 29568), ("hopper/bf16/fold:256->bf16", 1481, 7168, 18432),
    ("hopper/bf16/fold:128->bf16", 1481, 7168, 18432), ("hopper/bf16/fold:128->bf16", 4096, 4096, 4096),
    ("hopper/bf16/chain->bf16", 398, 3840, 4095), ("hopper/bf16/chain->bf16", 50, 5375, 4095),
    ("ieee_fma/fp32/chain->fp32", 144, 5120, 5120), ("ieee_fma/fp32/chain->fp32", 710, 8192, 3584),
    ("ieee_fma/fp32/chain->fp32", 4096, 4096, 4096),
    ("scaled", 4096, 7168, 16384), ("fold", 4096, 7168, 16384), ("chain", 4096, 7168, 16384),
    ("scaled", 4096, 2112, 7168), ("fold", 4096, 2112, 7168), ("scaled", 4096, 24576, 1536), ("fold", 4096, 24576, 1536),
)
FP8_RIVALS = {"scaled": "block", "fold": "slow", "chain": "fast"}
METRICS = {  # counter: heading
    "gpu__time_duration.sum": "us", "sm__cycles_elapsed.max": "cycles",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed": "tensor, %",
    "smsp__issue_active.avg.pct_of_peak_sustained_elapsed": "issue slots, %",
    "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_elapsed": "FMA pipe, %",
    "l1tex__data_bank_reads.avg.pct_of_peak_sustained_elapsed": "shared reads, %",
    "l1tex__data_bank_writes.avg.pct_of_peak_sustained_elapsed": "shared writes, %",
    "lts__t_bytes.sum": "L2 bytes", "l1tex__m_xbar2l1tex_read_bytes.sum": "bytes into SMs",
    "dram__bytes_read.sum": "DRAM read", "dram__bytes_read.sum.pct_of_peak_sustained_elapsed": "DRAM, %",
}


def operands(contract, m, n, k, seed):
    """Two functions without arguments, ours and the rival's, and the name of our kernel."""
    if "/" not in contract:
        x = fp8.Data(m, n, k, seed)
        run, d, kernel = fp8.ours(LIBRARY, x, contract)
        return (lambda keep=(x, d): run()), fp8.rival(x, FP8_RIVALS[contract]), kernel
    dtype = torch.float32 if "fp32/" in contract else torch.bfloat16
    generator = torch.Generator(device="cuda").manual_seed(seed)

    def draw(*shape):
        return torch.randn(shape, generator=generator, device="cuda").to(dtype)
    a, w = draw(m, k), draw(n, k)
    d, e = torch.empty(m, n, device="cuda", dtype=dtype), torch.empty(m, n, device="cuda", dtype=dtype)
    run = LIBRARY.plan(contract, a, w, d, op_b=1)
    run()
    return (lambda keep=(a, w, d): run()), (lambda: torch.mm(a, w.t(), out=e)), ""


class Watch(threading.Thread):
    """Samples of the clock (MHz) and the power (W) every 10 ms."""

    def __init__(self, handle):
        super().__init__(daemon=True)
        self.handle, self.clocks, self.watts, self.on = handle, [], [], True
        self.start()

    def run(self):
        import pynvml
        while self.on:
            self.clocks.append(pynvml.nvmlDeviceGetClockInfo(self.handle, pynvml.NVML_CLOCK_SM))
            self.watts.append(pynvml.nvmlDeviceGetPowerUsage(self.handle) / 1000)
            time.sleep(0.01)

    def stop(self):
        self.on = False
        self.join()
        half = len(self.clocks) // 2  # of the second half
        return statistics.median(self.clocks[half:]), statistics.median(self.watts[half:])


def sustained(case, handle, seconds=1.0):
    """Microseconds, clock and power of each side, in graphs that rotate through more than L2 holds."""
    contract, m, n, k = case
    size = (m * k + n * k) * (1 if "/" not in contract else 4 if "fp32/" in contract else 2)
    sets = [operands(*case, seed) for seed in range(max(2, -(-(192 << 20) // size)))]
    row = {"contract": contract, "m": m, "n": n, "k": k}
    for side, name in enumerate(("ours", "rival")):
        graph, _ = fp8.graph_of([each[side] for each in sets])
        graph.replay()
        torch.cuda.synchronize()
        watch, took, begin = Watch(handle), [], time.monotonic()
        while time.monotonic() - begin < seconds:
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            for _ in range(4):
                graph.replay()
            end.record()
            end.synchronize()
            took.append(start.elapsed_time(end) * 1e3 / 4 / len(sets))
        clock, watts = watch.stop()
        row[name] = {"us": statistics.median(took[len(took) // 2:]), "mhz": clock, "watts": watts}
    print(f"{contract} {m} x {n} x {k}: " + ", ".join(
        f"{name} {row[name]['us']:.1f} us at {row[name]['mhz']:.0f} MHz and {row[name]['watts']:.0f} W"
        for name in ("ours", "rival")), flush=True)
    return row


def launches(cases):
    """One cold launch of each side under ncu, with an elementwise kernel before each as a mark."""
    sweep, mark = torch.empty(256 << 20, dtype=torch.uint8, device="cuda"), torch.zeros(1, device="cuda")
    for case in cases:
        both = operands(*case, 1)[:2]
        for run in both:
            run()
        for run in both:
            sweep.fill_(1)
            torch.cuda.synchronize()
            torch.cuda.cudart().cudaProfilerStart()
            mark.add_(1)
            run()
            torch.cuda.synchronize()
            torch.cuda.cudart().cudaProfilerStop()


def table(path, cases):
    """The counters of each launch: a list per case and side, since a rival may take two kernels."""
    with open(path) as file:
        lines = [line for line in file if line.startswith('"')]
    rows = list(csv.DictReader(lines))[1:]  # the first one has the units
    units, parts = next(csv.DictReader(lines)), []
    scale = {"nsecond": 1e-3, "ns": 1e-3, "msecond": 1e3, "ms": 1e3, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9}
    for row in rows:
        if "elementwise" in row["Kernel Name"]:
            parts.append([])
        else:
            values = {head: float(row[name].replace(",", "")) * scale.get(units[name], 1)
                      for name, head in METRICS.items() if row.get(name)}
            parts[-1].append({"kernel": row["Kernel Name"][:120], "grid": row.get("Grid Size"), **values})
    found = [{"contract": c[0], "m": c[1], "n": c[2], "k": c[3], side: part}
             for i, part in enumerate(parts) for side, c in [(("ours", "rival")[i % 2], cases[i // 2])]]
    for each in found:
        print(json.dumps(each))
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--launches", action="store_true")
    parser.add_argument("--metrics", action="store_true")
    parser.add_argument("--table")
    parser.add_argument("--json")
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    chosen = [case for case in CASES if asked.only in " ".join(map(str, case))]
    if asked.metrics:
        print(",".join(METRICS))
    elif asked.table:
        result = table(asked.table, chosen)
    else:
        torch.backends.cuda.matmul.allow_tf32 = False
        LIBRARY = fp8.Library(asked.library)
        if asked.launches:
            launches(chosen)
        else:
            import pynvml
            pynvml.nvmlInit()
            gpu = pynvml.nvmlDeviceGetHandleByIndex(0)
            result = [sustained(case, gpu) for case in chosen]
    if asked.json and not asked.launches and not asked.metrics:
        with open(asked.json, "w") as out:
            json.dump(result, out, indent=1)
