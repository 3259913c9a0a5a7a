#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""every_kernel.py SWEEP GROUPS_TEST CODE_DIR RUNTIME_DIR OUT: executes every compiled kernel of CODE_DIR on the emulated chips until
each has given --outputs outputs that are equal to the reference's, in many processes, each with problems of its own. A job that has a
result in OUT is not run again, so a run that was cut short by --seconds goes on where it stopped; results of other texts, or with other
options, are refused (OUT/key.json). With --plant a fault is planted in each kernel, one kernel at a time, and the same sweep must find
it. Writes OUT/summary.json. Emulated; not run on AMD hardware.

    every_kernel.py build/hip-gfx942/tests/hip/detgemm_hip_sweep build/hip-gfx942/tests/hip/emulated/detgemm_hip_groups \\
      build/hip-gfx942/hip/code build/hip-gfx942/tests/gcn/runtime every-kernel --processes 16 --seconds 3600

Exit status: 0 every kernel has its outputs and all are equal (every fault was found), 1 otherwise.
"""
import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import every_fault

ARITHMETIC = {"gfx942": "cdna3", "gfx90a": "cdna2"}


def kernels_of(code, chip):
    """The names of a chip's compiled kernels."""
    return sorted(name for text in (code / chip).glob("*.s")
                  for name in re.findall(r"^\s*\.amdhsa_kernel (\w+)", text.read_text(), re.M))


def digest_of(code, chip):
    """Of the texts that are executed, without the lines that name the folder of the build."""
    lines = [line for text in sorted((code / chip).glob("*.s")) for line in text.read_text().splitlines(keepends=True)
             if "__hip_cuid" not in line]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def keep_key(options):
    """Refuses an OUT whose results are of other texts or other options: they would count as those of this run. Chips may be added."""
    mark, chips = options.out / "key.json", options.chips.split(",")
    drawn = {name: getattr(options, name) for name in ("mfma", "outputs", "products", "seed")}
    texts = {chip: digest_of(options.code, chip) for chip in chips}
    for chip in chips:
        if not list((options.code / chip).glob("*.s")):
            sys.exit(f"{options.code / chip} has no texts (*.s): CODE_DIR must have a folder of them for each of --chips")
    if not mark.exists() and any(options.out.rglob("*.json")):
        sys.exit(f"{options.out} holds results without key.json, so of unknown texts: OUT must be empty or of an earlier run")
    known = json.loads(mark.read_text()) if mark.exists() else {"options": drawn, "texts": {}}
    differ = [f"--{name} is {drawn[name]} and was {was}" for name, was in known["options"].items() if drawn[name] != was]
    differ += [f"the texts of {chip} are others" for chip in chips if known["texts"].get(chip, texts[chip]) != texts[chip]]
    if differ:
        sys.exit(f"{options.out} holds results of another run: {', '.join(differ)}; OUT must be a folder of its own")
    mark.write_text(json.dumps({"options": drawn, "texts": {**known["texts"], **texts}}, indent=1))


class Runs:
    """How the programs are started."""

    def __init__(self, options):
        self.options, self.end = options, time.monotonic() + options.seconds

    def left(self):
        return self.end - time.monotonic()

    def call(self, command, chip, code=None, **more):
        environment = {**os.environ, "GCN_ARCH": chip, "GCN_CODE": str(code or self.options.code), "GCN_REPORT": "/dev/null",
                       "GCN_MFMA": self.options.mfma, "LD_LIBRARY_PATH": str(self.options.runtime), "OMP_NUM_THREADS": "1",
                       "OMP_PROC_BIND": "false", **{key: str(value) for key, value in more.items()}}
        return subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)

    def sweep(self, chip, unit, outputs, products, seconds, code=None, json_file=os.devnull):
        return self.call([self.options.sweep, "--each", "kernel", "--only", unit, "--outputs", str(outputs), "--products",
                          str(products), "--seed", str(self.options.seed), "--seconds", str(seconds),
                          "--json", str(json_file)], chip, code)

    def groups(self, chip, contract, seed, outputs, seconds, code=None):
        only = {"DETGEMM_GROUPS_CONTRACT": contract} if contract else {}
        return self.call([self.options.groups, "--gtest_filter=HipGroups.RandomProblems"], chip, code, DETGEMM_GROUPS_SEED=seed,
                         DETGEMM_GROUPS_OUTPUTS=outputs, DETGEMM_GROUPS_SECONDS=seconds, **only)


def share(unit, units, outputs):
    """What a unit gives of a kernel's outputs: fold and tree, in one workgroup and in parts, share a kernel."""
    arithmetic, input_type, kind, variant = unit.split("/")[:4]
    if variant == "roots":  # five of six problems have more roots than a launch has arguments
        return 1.35 * outputs / sum(other.endswith("/roots") for other in units)
    if kind == "chain":
        return outputs
    if arithmetic.startswith("snap"):  # each operand is rounded along K or along the rows, or is promised to be rounded
        return 5 * outputs / sum(other.startswith(f"{arithmetic}/{input_type}/") for other in units)
    return outputs / (2 if arithmetic == "ieee_fma" else 4)


def jobs_of(runs, chip):
    """(name, what runs it) of everything that is to do on a chip."""
    options = runs.options
    listed = runs.call([options.sweep, "--each", "kernel", "--list", "yes"], chip)
    units = listed.stdout.split()
    if listed.returncode != 0 or not units:
        sys.exit(f"{chip}: {listed.stdout}{listed.stderr}")
    for unit in units:
        yield unit, lambda file, unit=unit: sweep_job(runs, chip, unit, share(unit, units, options.outputs), file)
    types = [f"{ARITHMETIC[chip]}/{kind}" for kind in ("bf16", "fp16")] if chip in ARITHMETIC else []
    for contract in types + ["ieee_fma/bf16", "ieee_fma/fp16", "ieee_fma/fp32"]:
        for kind in ("chain", "fold", "tree"):
            # A problem has one of the layouts that matrix kernels are compiled for, so each of these gives a tenth or more.
            for seed in range(1 if contract not in types else 10 if kind == "chain" else 6):
                name = f"groups/{contract}/{kind}/{seed}"
                yield name, lambda file, c=f"{contract}/{kind}", s=seed: groups_job(runs, chip, c, s, 2 * options.outputs, file)


def sweep_job(runs, chip, unit, outputs, file):
    part = file.with_suffix(".part")
    done = runs.sweep(chip, unit, outputs, runs.options.products, max(1, runs.left()), json_file=part)
    if done.returncode != 0:
        return f"{done.stdout[-1500:]}{done.stderr[-1500:]}"
    result = json.loads(part.read_text())
    part.unlink()
    enough = result["total"]["outputs"] >= outputs
    counts = {heading: {name: [one["runs"], one["outputs"], one["mismatches"] + one["bytes_outside"]] for name, one in values.items()}
              for heading, values in result["by"].items()}
    file.write_text(json.dumps({"enough": enough, "seconds": result["seconds"], "distinct": result["distinct_outputs"], **counts}))
    return None


def groups_job(runs, chip, contract, seed, outputs, file):
    begun = time.monotonic()
    done = runs.groups(chip, contract, runs.options.seed + seed, outputs, max(1, runs.left()))
    counts = {name: [0, int(count), 0] for name, count in re.findall(r"^compiled (\w+) (\d+)$", done.stdout, re.M)}
    total = re.search(r"^(\d+) outputs of \d+ problems, 0 differ$", done.stdout, re.M)
    if done.returncode != 0 or not total:
        return f"{done.stdout[-1500:]}{done.stderr[-1500:]}"
    file.write_text(json.dumps({"enough": int(total[1]) >= outputs, "seconds": time.monotonic() - begun,
                                "distinct": 0, "compiled": counts}))
    return None


def summary_of(options, chip):
    """What all jobs of a chip compared."""
    compiled, kernels = collections.defaultdict(lambda: [0, 0, 0]), collections.defaultdict(lambda: [0, 0, 0])
    seconds = distinct = 0
    digest = hashlib.sha256()
    for file in sorted((options.out / chip).glob("*.json")):
        one = json.loads(file.read_text())
        digest.update(file.name.encode() + json.dumps([one.get("compiled"), one.get("kernel")], sort_keys=True).encode())
        seconds, distinct = seconds + one["seconds"], distinct + one["distinct"]
        for heading, into in (("compiled", compiled), ("kernel", kernels)):
            for name, counts in one.get(heading, {}).items():
                into[name.split(", code of")[0]] = [a + b for a, b in zip(into[name.split(", code of")[0]], counts)]
    return {"texts": digest_of(options.code, chip), "counts": digest.hexdigest(), "processor_seconds": round(seconds), "distinct": distinct,
            "compiled": {name: compiled[name] for name in kernels_of(options.code, chip)}, "kernel": dict(sorted(kernels.items()))}


def every_kernel(runs):
    options, jobs = runs.options, []
    for chip in options.chips.split(","):
        (options.out / chip).mkdir(parents=True, exist_ok=True)
        for name, work in jobs_of(runs, chip):
            file = options.out / chip / (re.sub(r"[/,]", "_", name) + ".json")
            if re.search(options.only, name) and not (file.exists() and json.loads(file.read_text())["enough"]):
                jobs.append((hashlib.sha256(f"{chip}{name}".encode()).hexdigest(), f"{chip} {name}", file, work))
    failed = []

    def one(job):
        if runs.left() > 0:
            wrong = job[3](job[2])
            if wrong:
                failed.append(job[1])
                print(f"{job[1]}: {wrong}", flush=True)

    with concurrent.futures.ThreadPoolExecutor(options.processes) as pool:
        list(pool.map(one, sorted(jobs, key=lambda job: job[0])))
    summary = {chip: summary_of(options, chip) for chip in options.chips.split(",")}
    (options.out / "summary.json").write_text(json.dumps(summary, indent=1))
    short = 0
    for chip, found in summary.items():
        few = [f"{name} {counts[1]:,}" for name, counts in found["compiled"].items() if counts[1] < options.outputs]
        short += len(few)
        few = few[:5] + [f"{len(few) - 5} more"] * (len(few) > 5)
        wrong = sum(counts[2] for counts in found["compiled"].values())
        least = min(counts[1] for counts in found["compiled"].values())
        print(f"{chip}: {len(found['compiled'])} kernels, {sum(c[1] for c in found['compiled'].values()):,} outputs, at least {least:,} each, "
              f"{wrong} differ, {found['processor_seconds']} s of processors; fewer than {options.outputs:,.0f}: {', '.join(few) or 'none'}")
    print(f"failed: {', '.join(failed) or 'none'}")
    return not failed and not short


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("sweep", "groups", "code", "runtime", "out"):
        parser.add_argument(name, type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--chips", default="gfx942,gfx90a,gfx950")
    parser.add_argument("--outputs", type=float, default=2e6)
    parser.add_argument("--products", type=float, default=1e6, help="of the largest problem")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=1e6)
    parser.add_argument("--mfma", default="model", help="the arithmetic of matrix instructions (GCN_MFMA): adverse returns -0 and NaNs of its own")
    parser.add_argument("--only", default="", help="jobs, or kernels with --plant, in whose names this pattern is found")
    parser.add_argument("--plant", action="store_true")
    runs = Runs(parser.parse_args())
    runs.options.out.mkdir(parents=True, exist_ok=True)
    keep_key(runs.options)
    sys.exit(0 if (every_fault.every_fault(runs) if runs.options.plant else every_kernel(runs)) else 1)


if __name__ == "__main__":
    main()
