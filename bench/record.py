#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Runs detgemm_bench_cpu with interleaved repetitions and records medians as JSON.

    bench/record.py build/bench/detgemm_bench_cpu -o bench/results/cpu.json
"""

import argparse
import datetime
import json
import pathlib
import platform
import statistics
import subprocess
import sys


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"


def commit():
    root = pathlib.Path(__file__).resolve().parent.parent
    answer = subprocess.run(["git", "-C", root, "describe", "--always", "--dirty"],
                            capture_output=True, text=True)
    return answer.stdout.strip() or "unknown"


def measure(binary, repetitions, more):
    command = [binary, f"--benchmark_repetitions={repetitions}", "--benchmark_format=json",
               "--benchmark_enable_random_interleaving=true", "--benchmark_min_time=0.05", *more]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"record: {binary} ended with {run.returncode}: {run.stderr.strip()}")
    return command, json.loads(run.stdout)


def summarise(document):
    rates, labels = {}, {}
    for entry in document["benchmarks"]:
        if entry["run_type"] != "iteration" or entry.get("error_occurred"):
            continue
        name = entry["run_name"].replace("/process_time/real_time", "")
        rates.setdefault(name, []).append(entry["items_per_second"] / 1e9)
        labels[name] = entry.get("label", "")
    rows = {}
    for name, values in rates.items():
        values.sort()
        rows[name] = {"gproducts_per_s": round(statistics.median(values), 3),
                      "p10": round(values[len(values) // 10], 3),
                      "p90": round(values[len(values) * 9 // 10], 3),
                      "repetitions": len(values), "kernel": labels[name]}
    for name, row in rows.items():
        one = rows.get(name.replace("threads:2", "threads:1"))
        if "threads:2" in name and one:
            row["scaling"] = round(row["gproducts_per_s"] / one["gproducts_per_s"], 3)
        size, threads = name.split("/")[-2:]
        rival = rows.get(f"openblas/sgemm/NN/{size}/{threads}")
        if rival and name.startswith("ieee_fma"):
            row["share_of_openblas"] = round(row["gproducts_per_s"] / rival["gproducts_per_s"], 3)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary")
    parser.add_argument("-o", "--out")
    parser.add_argument("--repetitions", type=int, default=15)
    parser.epilog = "Further arguments, such as --benchmark_filter=hopper, go to the binary."
    options, more = parser.parse_known_args()
    command, document = measure(options.binary, options.repetitions, more)
    rows = summarise(document)
    if not rows:
        sys.exit("record: nothing was measured")
    result = {"schema": "detgemm-bench-cpu-1",
              "command": " ".join(["bench/record.py", pathlib.Path(command[0]).name, *command[1:]]),
              "date": datetime.date.today().isoformat(), "commit": commit(),
              "machine": {"processor": processor(), "cpus": document["context"]["num_cpus"],
                          "system": platform.platform()},
              "unit": "10^9 products (m*n*k) a second, medians",
              "results": rows}
    text = json.dumps(result, indent=1)
    if options.out:
        pathlib.Path(options.out).write_text(text + "\n")
    print(f"{'case':52} {'Gprod/s':>8} {'p10':>7} {'p90':>7}  scaling  of OpenBLAS")
    for name, row in rows.items():
        print(f"{name:52} {row['gproducts_per_s']:8.2f} {row['p10']:7.2f} {row['p90']:7.2f}  "
              f"{row.get('scaling', ''):>7}  {row.get('share_of_openblas', '')}")


if __name__ == "__main__":
    main()
