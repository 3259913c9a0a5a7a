#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""run.py BUILD [--results FOLDER] [--rows CHIP]: the operators of PyTorch on the emulated MI300X, of a build folder of the preset
hip-gfx942. Run it by a Python that has PyTorch 2.10 or newer, pytest and NumPy; it takes half a minute. A run of fewer tests than there are is
a failure. --rows: the row operations alone, on an emulated gfx90a or gfx950. Not run on AMD hardware.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import xml.etree.ElementTree as xml

HERE = pathlib.Path(__file__).resolve().parent
LEAST, LEAST_ROWS = 64, 14


def environment(build, chip):
    """What the tests read, for a build folder and a chip."""
    lib = build / "tests/python/rocm/lib"
    runtime = build / "tests/gcn/runtime/libamdhip64.so.7"
    for file in (lib / "libdetgemm.so", lib / "libtorch_hip.so", runtime):
        if not file.exists():
            sys.exit(f"run.py: {file} does not exist: build the target tests_python_rocm")
    triton = build / "tests/python/rocm/triton"  # what Triton compiled, of this run alone
    shutil.rmtree(triton, ignore_errors=True)
    triton.mkdir()
    kept = {key: value for key, value in os.environ.items()
            if not key.startswith(("DETGEMM_", "GCN_", "ROCM_")) and key != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPATH": str(HERE.parents[2] / "python"), "DETGEMM_LIBRARY": str(lib / "libdetgemm.so"),
            "DETGEMM_ROCM_STUB": str(lib / "libtorch_hip.so"), "DETGEMM_ROCM_RUNTIME": str(runtime),
            "GCN_ARCH": chip, "GCN_MFMA": "cdna3" if chip == "gfx950" else "model", "GCN_CODE": f"{build / 'hip/code'}:{triton}", "GCN_REPORT": "/dev/null",
            "DETGEMM_ROCM_TRITON": str(triton), "TRITON_CACHE_DIR": str(triton / "cache"),
            "OMP_PROC_BIND": "false", "OMP_NUM_THREADS": "1",
            # Each of their processes would compile PyTorch's sources again.
            "PYTHONPYCACHEPREFIX": os.environ.get("PYTHONPYCACHEPREFIX") or str(build / "tests/python/rocm/bytecode")}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--rows", choices=["gfx90a", "gfx950"])
    options = parser.parse_args()
    report = (options.results or options.build).resolve() / "python-rocm.xml"
    report.unlink(missing_ok=True)
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "--durations=5", "-p", "no:cacheprovider",
                           f"--junitxml={report}", HERE / "test_rows.py" if options.rows else HERE],
                          env=environment(options.build.resolve(), options.rows or "gfx942"), cwd=HERE, check=False)
    if not report.exists():
        sys.exit("run.py: pytest wrote no report")
    tree, counts = xml.parse(report), {"run": 0, "notrun": 0, "fail": 0}
    for case in tree.getroot().iter("testcase"):
        bad = case.find("failure") is not None or case.find("error") is not None
        status = "fail" if bad else "notrun" if case.find("skipped") is not None else "run"
        case.set("status", status)
        case.set("name", f"python.rocm.{case.get('name')}")
        counts[status] += 1
    tree.write(report)
    print(f"rocm: {counts['run']} passed, {counts['fail']} failed, {counts['notrun']} skipped")
    least = LEAST_ROWS if options.rows else LEAST
    if counts["run"] < least:
        sys.exit(f"run.py: {counts['run']} tests ran; at least {least} must")
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
