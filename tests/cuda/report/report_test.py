#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""report_test.py SOURCE WORK: scripts/cuda_report.sh --quick on build folders of stubs. It shows that each
part runs, that a part that fails stops no other and is seen, that what is left out has a reason, and that
the archive is whole. Nothing here says anything about a GPU.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile

PASSES = "#!/bin/sh\necho \"$(basename $0) $*\" >> \"$CALLS\"\necho passed\n"
FAILS = "#!/bin/sh\necho a bit differs\nexit 1\n"
PROGRAMS = ("core/cli/detgemm", "core/cli/detgemm_bench", "tests/cuda/detgemm_cuda_sweep",
            "tests/cuda/detgemm_cuda_device", "tests/cuda/detgemm_cuda_grouped", "tests/cuda/detgemm_cuda_grouped_sweep",
            "tests/soak/detgemm_soak")
# compute-sanitizer, which runs the program that follows its options; nvidia-smi; a Python without PyTorch.
SANITIZER = """#!/bin/sh
while [ "${1#--}" != "$1" ]; do case $1 in --tool | --error-exitcode | --print-limit) shift ;; esac; shift; done
"$@"
echo "ERROR SUMMARY: 0 errors"
"""
SMI = "#!/bin/sh\necho 'NVIDIA H200, 580.1, 1980 MHz'\n"
NO_TORCH = "#!/bin/sh\necho \"ModuleNotFoundError: No module named 'torch'\" >&2\nexit 1\n"


class Scene:
    """A build folder of stubs and a PATH, and what the script made of them."""

    def __init__(self, source, work):
        self.script, self.work = source / "scripts/cuda_report.sh", work
        self.failed = 0

    def prepare(self, name, programs, tools):
        folder = self.work / name
        for path, text in {**{f"build/{k}": v for k, v in programs.items()},
                           **{f"bin/{k}": v for k, v in tools.items()}}.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
            target.chmod(0o755)
        return folder

    def run(self, folder, *options):
        report = folder / "report"
        environment = dict(os.environ, PATH=f"{folder / 'bin'}:{os.environ['PATH']}", CALLS=str(folder / "calls"))
        done = subprocess.run(["bash", self.script, *options, folder / "build", report], env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
        print(done.stdout)
        lines = [line.partition(" ") for line in done.stdout.splitlines()]
        return done.returncode, {name: text.strip() for name, _, text in lines}, report

    def that(self, condition, what):
        print(("ok     " if condition else "FAILED ") + what)
        self.failed += not condition


def everything(scene):
    tools = {"compute-sanitizer": SANITIZER, "nvidia-smi": SMI, "python3": NO_TORCH}
    folder = scene.prepare("all", dict.fromkeys(PROGRAMS, PASSES), tools)
    code, said, report = scene.run(folder, "--quick")
    scene.that(code == 0, f"exit status is 0: {code}")
    for part in ("leaves", "odd", "chains", "fma", "snap", "groups", "fp8", "fp8_groups", "plant", "device", "grouped",
                 "conform", "sanitize", "soak", "drawn", "bench"):
        scene.that(said.get(part, "").startswith("exit 0"), f"{part}: {said.get(part)}")
    scene.that(said["gpu"].startswith("NVIDIA H200") and said["python"].startswith("left out: and with it models") and
               "No module named 'torch'" in said["python"], "python has a reason")
    with tarfile.open(f"{report}.tar.gz") as archive:
        names = {pathlib.PurePath(name).name for name in archive.getnames()}
    scene.that({"summary.txt", "machine.txt", "leaves.txt", "soak.txt", "sanitizers.md"} <= names, "the archive")
    calls = (folder / "calls").read_text(encoding="utf-8")
    for words in ("--arithmetic ieee_fma", "--arithmetic snap", "--reduction leaves", "--operands odd", "--arithmetic fp8", "conform --backend cuda --quick",
                  "detgemm_soak --backend cuda"):
        scene.that(words in calls, f"called with {words}")


def failing(scene):
    programs = dict.fromkeys(PROGRAMS, PASSES)
    programs["tests/cuda/detgemm_cuda_sweep"] = FAILS
    del programs["tests/soak/detgemm_soak"]
    folder = scene.prepare("failing", programs, {"nvidia-smi": SMI, "python3": NO_TORCH, "compute-sanitizer": SANITIZER})
    code, said, _ = scene.run(folder, "--quick", "--parts", "sweep,device,soak")
    scene.that(code == 1, f"exit status is 1: {code}")
    scene.that(said["leaves"].startswith("exit 1") and said["leaves"].endswith("a bit differs"), "leaves failed")
    scene.that(said["device"].startswith("exit 0"), "device ran after it")
    scene.that("was not built" in said["soak"], "soak has a reason")
    scene.that("bench" not in said and "conform" not in said, "parts that were not named did not run")
    code, said, _ = scene.run(folder, "--quick", "--parts", "soak")
    scene.that(code == 1 and "was not built" in said["soak"], "a part that was named and cannot run is a failure")
    code, said, _ = scene.run(folder, "--quick", "--parts", "device,soak")
    scene.that(code == 1, "also beside one that passes")
    code, _, _ = scene.run(folder, "--quick", "--parts", "device")
    scene.that(code == 0, "which passes by itself")


def refused(scene):
    for options, words in ((("--parts", "soak,speed"), '"speed" must be one of'), (("--fast",), '"--fast": it must be'),
                           ((), "there is no detgemm in")):
        folder = scene.prepare("refused", {}, {})
        code, _, _ = scene.run(folder, *options)
        done = subprocess.run(["bash", scene.script, *options, folder / "build"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        scene.that(code == 2 and words in done.stdout, done.stdout.strip())


def main():
    source, work = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    shutil.rmtree(work, ignore_errors=True)
    scene = Scene(source, work)
    everything(scene)
    failing(scene)
    refused(scene)
    print(f"{scene.failed} checks failed")
    sys.exit(1 if scene.failed else 0)


main()
