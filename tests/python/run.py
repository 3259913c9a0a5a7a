#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""run.py [--results FOLDER] [--torch RELEASE]: builds a wheel, installs it, and runs the tests on it.

Two fresh environments under build/wheel-tests: one without PyTorch, one with it. The wheel has no GPU kernels here; on a
machine with a GPU, run pytest on this folder with the package that is installed there. PyTorch comes from its index
of CPU wheels where that can be reached, else from PyPI. The last line says how many tests ran; none is a failure.
"""
import argparse
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import time
import urllib.request
import xml.etree.ElementTree as xml

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = ROOT / "build/wheel-tests"
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
# Triton 3.6 interprets kernels with conversions that NumPy 2.4 no longer makes.
TOOLS = ["pytest", "numpy<2.4", "ml-dtypes"]
# With fewer tests than this, something was not collected.
LEAST = {"plain": 220, "torch": 750}


def run(*command, **more):
    print("+", *map(str, command), flush=True)
    subprocess.run(list(map(str, command)), check=True, **more)


def environment(name):
    """The python of a fresh environment."""
    shutil.rmtree(WORK / name, ignore_errors=True)
    run(sys.executable, "-m", "venv", WORK / name)
    return WORK / name / "bin/python"


def install(python, *packages):
    run(python, "-m", "pip", "install", "--quiet", "--no-compile", "--no-cache-dir", *packages)


def build():
    """The wheel, which must hold no GPU kernels here: compiling them is what other tests do."""
    shutil.rmtree(WORK / "wheels", ignore_errors=True)
    # Several sources at a time, and by the compiler's name that CMake finds (Python's own may be another), as
    # scripts/test.sh compiles them, so that the compiler's cache has them.
    compilers = {name: os.environ.get(name) or shutil.which(default)
                 for name, default in (("CC", "cc"), ("CXX", "c++")) if os.environ.get(name) or shutil.which(default)}
    defines = ["DETGEMM_ENABLE_CUDA=OFF", "DETGEMM_ENABLE_HIP=OFF", "CMAKE_UNITY_BUILD=ON"]
    run(sys.executable, "-m", "pip", "wheel", ROOT, "--quiet", "--no-deps", "--wheel-dir", WORK / "wheels",
        *(f"--config-settings=cmake.define.{define}" for define in defines), env={**os.environ, **compilers, "CCACHE_BASEDIR": str(ROOT)})
    wheels = list((WORK / "wheels").glob("*.whl"))
    if len(wheels) != 1 or "-py3-none-" not in wheels[0].name:
        sys.exit(f"run.py: {wheels}: there must be one wheel for every Python")
    print(f"{wheels[0].name}: {wheels[0].stat().st_size / 2**20:.1f} MiB")
    return wheels[0]


def with_torch(release):
    python = environment("with-torch")  # no folder may be named torch where Python looks for modules
    wanted = f"torch=={release}"
    try:
        urllib.request.urlopen(CPU_INDEX + "/torch/", timeout=10).close()
        install(python, wanted, "--index-url", CPU_INDEX)
    except (OSError, subprocess.CalledProcessError):
        install(python, wanted)
    install(python, *TOOLS, "transformers==5.17.*", "triton==3.6.*")
    return python


def without_torch():
    python = environment("without-torch")
    install(python, *TOOLS)
    return python


def test(name, python, wheel, results):
    """Runs pytest; its report is rewritten in ctest's terms, which scripts/summary.py adds up."""
    install(python, "--no-deps", wheel)
    report = WORK / f"{name}.xml"
    report.unlink(missing_ok=True)
    clean = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "DETGEMM_LIBRARY")}
    done = subprocess.run([python, "-m", "pytest", "-q", "--durations=5", "-p", "no:cacheprovider", f"--junitxml={report}",
                           ROOT / "tests/python"], check=False, cwd=WORK, env={**clean, "TRITON_INTERPRET": "1"})
    tree = xml.parse(report)
    counts = {"run": 0, "notrun": 0, "fail": 0}
    for case in tree.getroot().iter("testcase"):
        bad = case.find("failure") is not None or case.find("error") is not None
        status = "fail" if bad else "notrun" if case.find("skipped") is not None else "run"
        case.set("status", status)
        case.set("name", f"python.{case.get('classname', '').rpartition('.')[2]}.{case.get('name')}")
        counts[status] += 1
    if results:
        tree.write(results / f"python-{name}.xml")
    print(f"{name}: {counts['run']} passed, {counts['fail']} failed, {counts['notrun']} skipped", flush=True)
    if counts["run"] < LEAST[name]:
        sys.exit(f"run.py: {name}: {counts['run']} tests ran; at least {LEAST[name]} must")
    return done.returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--torch", default="2.11.*")
    parser.add_argument("--keep", action="store_true", help="leave the environment with PyTorch, gigabytes, for other tests")
    options = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor() as pool:  # downloading and compiling at the same time
        pythons = [pool.submit(without_torch), pool.submit(with_torch, options.torch)]
        wheel = build()
        plain, torch = (each.result() for each in pythons)
    print(f"built and installed in {time.monotonic() - start:.0f} s", flush=True)
    codes = [test("plain", plain, wheel, options.results), test("torch", torch, wheel, options.results)]
    if not options.keep:
        shutil.rmtree(WORK / "with-torch")
    sys.exit(max(codes))


if __name__ == "__main__":
    main()
