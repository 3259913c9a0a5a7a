#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""report_test.py SOURCE BUILD WORK: scripts/hip_report.sh --quick, first on the emulated device with
stand-ins for amd-smi and rocprofv3, then on a build folder of stubs whose programs fail. Nothing here
says anything about AMD hardware or about AMD's tools: it shows that each part runs, that what is left
out has a reason, that a failing part stops no other, and that the archive is whole.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile

SMI = """#!/bin/sh
echo "gpu,clk,power"
echo "0,2100,550"
"""
# Runs the program, and refuses counters of a group that this chip "lacks".
PROFILER = """#!/bin/sh
counters= folder= name=
while [ "$1" != -- ]; do
  case $1 in
    --pmc) mode=counters ;;
    -d) folder=$2; mode=; shift ;;
    -o) name=$2; mode=; shift ;;
    --*) mode=; ;;
    *) if [ "$mode" = counters ]; then counters="$counters $1"; fi ;;
  esac
  shift
done
shift
case $counters in *TCC_EA_*) echo "no such counter" >&2; exit 1 ;; esac
"$@" || exit 1
echo "counters$counters" > "$folder/${name}_counter_collection.csv"
"""


def script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def tools(folder, names):
    """A PATH that has these programs of the system's and nothing else."""
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).symlink_to(shutil.which(name))
    return str(folder)


SYSTEM = ["basename", "bash", "sh", "cat", "date", "dirname", "env", "grep", "gzip", "head", "ls", "mkdir", "printf",
          "python3", "realpath", "sleep", "sort", "tail", "tar", "tee", "tr", "uname"]


class Check:
    """Counts what does not hold."""

    def __init__(self):
        self.failed = 0

    def that(self, condition, what):
        print(("ok     " if condition else "FAILED ") + what)
        self.failed += not condition


def run(source, build, report, path):
    done = subprocess.run(["bash", str(source / "scripts/hip_report.sh"), "--quick", str(build), str(report)],
                          env=dict(os.environ, PATH=path), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=250, check=False)
    print(done.stdout)
    with tarfile.open(f"{report}.tar.gz") as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    summary = {}
    for line in (report / "summary.txt").read_text(encoding="utf-8").splitlines():
        name, _, text = line.partition(" ")
        summary[name] = text.strip()
    return done.returncode, names, summary


def emulated(check, source, build, work):
    path = tools(work / "bin", SYSTEM)
    script(work / "bin/amd-smi", SMI)
    script(work / "bin/rocprofv3", PROFILER)
    code, names, summary = run(source, build, work / "report", path)
    check.that(code == 0, f"exit status is 0: {code}")
    for part in ("info", "identify", "rates", "conform", "sweep", "plant", "times", "amd-smi"):
        check.that(summary.get(part, "").startswith("exit 0"), f"{part}: {summary.get(part)}")
    check.that(summary["identify"].endswith("in every group."), "identify names its verdict")
    check.that(summary["rates"].endswith("every lane read what its pattern says"), "rates names its verdict")
    check.that(summary["plant"].endswith("every planted bit was found"), "plant names its verdict")
    check.that(summary["device"] == "gfx942, arithmetic cdna3", "the device: " + summary["device"])
    check.that("neither" not in summary["clocks"] and "amd-smi metric" in summary["clocks"], "clocks are read")
    clocks = (work / "report/clocks.csv").read_text(encoding="utf-8").splitlines()
    check.that(clocks and all(line.split(",")[0].isdigit() and "550" in line for line in clocks),
               f"{len(clocks)} readings of the clock, each with its second")
    check.that(summary["rocm-smi"].startswith("left out: rocm-smi is not on PATH"), "rocm-smi has a reason")
    check.that(summary["counters"].startswith("rocprofv3: 12 passes counted, 2 failed"), summary["counters"])
    csv = [name for name in names if name.endswith("lds_counter_collection.csv")]
    check.that(len(csv) == 2 and any("/snap/" in name for name in csv) and "SQ_LDS_BANK_CONFLICT" in (work / "report" / csv[0]).read_text(),
               f"counters are in the archive: {csv}")
    for name in ("machine.txt", "info.json", "identify.txt", "rates.txt", "conform.md", "sweep.txt", "sweep.json",
                 "times.txt", "clocks.csv"):
        check.that(name in names, f"{name} is in the archive")
    times = (work / "report/times.txt").read_text(encoding="utf-8")
    check.that(times.count("cdna3/bf16/") == 6 and times.count("snap/bf16/") == 3 and times.count("time ") == 12,
               "twelve times, of them three of snap")
    built = (build / "core/cli/detgemm_bench").exists()
    check.that(summary["bench"].startswith("exit 0" if built else "left out: detgemm_bench was not built"),
               "bench: " + summary["bench"])


def failing(check, source, work):
    """Programs that fail, no tool at all, no device."""
    build = work / "stubs"
    script(build / "core/cli/detgemm", "#!/bin/sh\necho no device >&2\nexit 3\n")
    script(build / "tests/hip/detgemm_hip_identify", "#!/bin/sh\necho THIS DEVICE DIFFERS\nexit 1\n")
    path = tools(work / "bare", SYSTEM)
    code, names, summary = run(source, build, work / "failed", path)
    check.that(code == 1, f"exit status is 1: {code}")
    check.that(summary["identify"].startswith("exit 1") and summary["identify"].endswith("DIFFERS"), "identify")
    check.that(summary["conform"].startswith("exit 3"), "conform ran after it")
    check.that("was not built" in summary["sweep"] and "was not built" in summary["plant"], "sweep has a reason")
    check.that(summary["clocks"].startswith("left out: neither amd-smi nor rocm-smi"), "clocks have a reason")
    check.that(summary["counters"].startswith("left out: neither rocprofv3 nor rocprof"), "counters have a reason")
    check.that({"summary.txt", "identify.txt"} <= names, "there is an archive")
    missing = subprocess.run(["bash", str(source / "scripts/hip_report.sh"), str(work / "nothing")],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    check.that(missing.returncode == 2 and "there is no core/cli/detgemm" in missing.stdout, missing.stdout.strip())


def main():
    source, build = map(pathlib.Path, sys.argv[1:3])
    work = pathlib.Path(sys.argv[3]) / "report"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    check = Check()
    failing(check, source, work)
    emulated(check, source, build, work)
    print(f"{check.failed} checks failed")
    sys.exit(1 if check.failed else 0)


if __name__ == "__main__":
    main()
