#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""engine_python.py COMMAND ENGINE PYTHON: PyTorch on the CPU as an engine, through examples/engine_python.

PyTorch promises no order of additions, so that a failed cell is a finding and no mistake of the engine. What
must hold: every cell runs to its end, PyTorch's own functions computed, and what they do promise passes.
DeepGEMM needs a GPU: deep_gemm_stand_in/ is in its place, with its rules about shapes and strides.
"""
import json
import os
import pathlib
import subprocess
import sys

STAND_IN = pathlib.Path(__file__).resolve().parent / "deep_gemm_stand_in"
DEEP_GEMM = {"DETGEMM_ENGINE_LIBRARY": "deep_gemm", "PYTHONPATH": os.pathsep.join(filter(None, [str(STAND_IN), os.environ.get("PYTHONPATH")]))}
# The contract, the properties, those that must pass, the functions that must have run, and what the environment has.
RUNS = (
    ("ieee_fma/bf16/chain->bf16", ("run_to_run", "padding", "layouts", "reference", "group_count", "group_padding"),
     ("run_to_run",), ("torch.matmul", "torch._grouped_mm", "torch.bmm", "torch.matmul of each group"), {}),
    ("hopper/e4m3/chain->bf16", ("run_to_run", "padding", "reference"), ("run_to_run",), ("torch._scaled_mm",), {}),
    ("hopper/e4m3/scaled:128->bf16", ("run_to_run", "padding", "scales_rows", "error_bound", "group_padding"),
     ("run_to_run", "padding", "scales_rows", "error_bound", "group_padding"),
     ("deep_gemm.fp8_gemm_nt", "deep_gemm.m_grouped_fp8_gemm_nt_masked", "deep_gemm.m_grouped_fp8_gemm_nt_contiguous"), DEEP_GEMM),
    ("hopper/bf16/chain->bf16", ("run_to_run", "group_padding"), ("run_to_run",),
     ("deep_gemm.bf16_gemm_nt", "deep_gemm.m_grouped_bf16_gemm_nt_masked", "deep_gemm.m_grouped_bf16_gemm_nt_contiguous"), DEEP_GEMM),
)


def conform(command, engine, contract, properties, environment):
    done = subprocess.run(
        [command, "conform", "--engine", engine, "--contract", contract, "--threads", "1", "--report", "json",
         *(word for name in properties for word in ("--property", name))],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=250, check=False, env={**os.environ, **environment})
    try:
        return done.returncode, json.loads(done.stdout)["reports"][0]
    except (ValueError, KeyError, IndexError):
        sys.exit(f"exit {done.returncode}: {done.stderr.decode(errors='replace')}")


def main():
    command, engine, python = sys.argv[1:4]
    asked = subprocess.run([python, "-c", "import torch; print(torch.__version__)"], stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, check=False)
    if asked.returncode != 0:
        print(f"skipped: {python} cannot import torch; PYTHONPATH may name a folder that has it")
        return
    print("PyTorch", asked.stdout.decode().strip())
    good = True
    for contract, properties, promised, functions, environment in RUNS:
        code, report = conform(command, engine, contract, properties, environment)
        cells = {cell["property"]: cell for cell in report["cells"]}
        kernels = {kernel for cell in report["cells"] for kernel in cell["kernels"]}
        for name, cell in cells.items():
            print(f"{contract} {name}: {cell['verdict']} {cell['reason']}")
        checks = {
            f"exit code {code}": code in (0, 1),
            f"cells {sorted(cells)}": sorted(cells) == sorted(properties) and not report.get("cut_short"),
            "a verdict is untested or unsupported": not {"untested", "unsupported"} & {
                cell["verdict"] for cell in cells.values()},
            f"what must pass, {promised}": all(cells.get(name, {}).get("verdict") == "passed" for name in promised),
            f"functions that ran, {sorted(kernels)}": kernels >= set(functions),
        }
        for what, holds in checks.items():
            if not holds:
                print("WRONG:", what)
            good = good and holds
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
