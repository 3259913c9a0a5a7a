# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""smoke.py DETGEMM: a few seconds of `detgemm bench` on the host, its files and its page.

Exit status 77: this build has no backend on the host.
"""
import csv
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENVIRONMENT_SECONDS = 240


def run(*command):
    # Threads that wait must not take the processor from those that work where it is shared.
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False,
                          timeout=ENVIRONMENT_SECONDS,
                          env={**os.environ, "OMP_WAIT_POLICY": "passive"})
    if done.returncode == 3 and "no backend can run here" in done.stderr:
        print("skipped: " + done.stderr.strip())
        sys.exit(77)
    return done


def need(condition, said):
    if not condition:
        sys.exit(f"smoke: {said}")


def check_result(result):
    where = result["case"]
    names = [arm["arm"] for arm in result["arms"]]
    need("chain" in names, f"{where}: no chain among {names}; notes {result['notes']}")
    need("WRONG BITS" not in str(result["notes"]), f"{where}: {result['notes']}")
    for arm in result["arms"]:
        need(arm["us"] > 0 and arm["p10"] <= arm["us"] <= arm["p90"], f"{where}: {arm}")
        if arm["role"] == "detgemm":
            need(arm["batch_invariant"] in (True, None), f"{where}: detgemm changed row 0: {arm}")
            need(len(arm["digest"]) == 16, f"{where}: {arm}")
    asked = result["m"] > 1 and result["kind"] != "dB"
    need(any(arm["batch_invariant"] is True for arm in result["arms"]) or not asked,
         f"{where}: nobody was asked for the batch property")
    baselines = [name for name, arm in zip(names, result["arms"]) if arm["role"] == "baseline"]
    need(len(result["comparisons"]) == len(baselines) * (len(names) - len(baselines)),
         f"{where}: comparisons")


def check_own(detgemm, out):
    """Own sizes, every kernel forced, bits checked."""
    done = run(detgemm, "bench", "--backend", "cpu", "--n", "96", "--k", "80", "--m", "3,17",
               "--contract", "chain,tree", "--kind", "forward,dB", "--variants", "all", "--quick",
               "--check-bits", "--repetitions", 3, "--json", out / "own.json")
    need(done.returncode == 0, f"exit {done.returncode}: {done.stdout}{done.stderr}")
    need(" GFLOP/s" in done.stdout and "0.000 TFLOP/s" not in done.stdout, done.stdout)
    results = json.loads((out / "own.json").read_text())["results"]
    need(len(results) == 4, f"{len(results)} results of own sizes")
    for result in results:
        check_result(result)
        forced = [arm for arm in result["arms"] if arm.get("variant")]
        need("scalar" in [arm["variant"] for arm in forced] and len(forced) >= 4, f"{forced}")
        for arm in result["arms"]:
            need(arm["role"] == "baseline" or arm["bits"]["different"] == 0 < arm["bits"]["outputs"],
                 f"{result['case']}: {arm}")


def check_budget(detgemm, out):
    """What comes before the cases takes longer than this budget: the first case is measured all the same."""
    done = run(detgemm, "bench", "--backend", "cpu", "--n", 32, "--k", 32, "--m", "1,2,3", "--contract", "chain",
               "--quick", "--no-batch", "--repetitions", 3, "--seconds", 0.001, "--json", out / "budget.json")
    need(done.returncode == 0, f"exit {done.returncode}: {done.stdout}{done.stderr}")
    document = json.loads((out / "budget.json").read_text())
    need(len(document["results"]) == 1 and document["not_measured"] == 2, f"{done.stdout}")


def check_lists(detgemm):
    """Draws are the same with one seed; a list and an estimate look for no library."""
    def listed(*arguments):
        done = run(detgemm, "bench", "--backend", "cpu", "--list", *arguments)
        need(done.returncode == 0 and done.stdout, f"{arguments}: {done.stderr}")
        return done.stdout
    seven = listed("--draw", 20, "--seed", 7)
    need(seven == listed("--draw", 20, "--seed", 7), "one seed, two lists")
    need(seven != listed("--draw", 20, "--seed", 8), "two seeds, one list")
    for what in ("--list", "--dry"):
        done = subprocess.run([detgemm, "bench", "--backend", "cpu", "--quick", what],
                              capture_output=True, text=True, check=False, timeout=60,
                              env={**os.environ, "LD_DEBUG": "files"})
        need(done.returncode == 0, f"{what}: {done.stderr[-400:]}")
        for library in ("openblas", "dnnl"):
            need(f"lib{library}" not in done.stderr, f"{what} looks for {library}")


def main():
    detgemm = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder)
        done = run(detgemm, "bench", "--backend", "cpu", "--quick", "--suite",
                   "cpu-odd,cpu-sweep", "--m", "1,9", "--repetitions", 3, "--json", out / "r.json",
                   "--csv", out / "r.csv", "--markdown", out / "r.md", "--fact", "smoke=yes")
        need(done.returncode == 0, f"exit {done.returncode}: {done.stdout}{done.stderr}")
        need("s left" in done.stdout, f"no progress: {done.stdout}")
        document = json.loads((out / "r.json").read_text())
        need(document["schema"] == 2 and len(document["results"]) == 4,
             f"{len(document['results'])} results")
        need(document["machine"]["smoke"] == "yes", "the fact was not recorded")
        need(document["ceilings"]["copy_bytes_per_s"] > 0, "no ceiling of memory")
        need(document["ceilings"]["flops_per_s"]["fp32"] > 0, "no ceiling of arithmetic")
        need(document["overheads"]["host_us"], "no overheads")
        for result in document["results"]:
            check_result(result)
        arms = sum(len(result["arms"]) for result in document["results"])
        check_own(detgemm, out)
        check_budget(detgemm, out)
        check_lists(detgemm)
        need(len(list(csv.DictReader((out / "r.csv").open()))) == arms, "lines of the CSV")
        need((out / "r.md").read_text().count("\n| ") >= arms, "lines of the markdown")
        # The repro line measures one case, and only that.
        repro = document["results"][0]["repro"].split()
        listed = run(detgemm, *[word.strip("'") for word in repro[1:]], "--list")
        cases = {line.rsplit("/", 1)[0] for line in listed.stdout.split()}
        need(cases == {document["results"][0]["case"]}, f"{repro}: {listed.stdout}{listed.stderr}")
        page = run(sys.executable, ROOT / "bench" / "report", "page", out / "r.json", "-o",
                   out / "page")
        need(page.returncode == 0, page.stderr)
        need("<svg" in (out / "page" / "index.html").read_text(), "a page without a chart")
        same = run(sys.executable, ROOT / "bench" / "report", "compare", out / "r.json",
                   out / "r.json")
        need(same.returncode == 0 and ", 0 regressions" in same.stdout, same.stdout + same.stderr)
    for arguments, code in ((["--suite", "nonsense"], 2), (["--zap"], 2), (["--filter", "["], 2),
                            (["--m", "random:9:1:4"], 2), (["--n", "64", "--m", "1"], 2),
                            (["--backend", "cpu", "--variants", "zap"], 2),
                            (["--layers", "nobody/o", "--m", "1"], 2),
                            (["--n", "64", "--k", "64", "--m", "1", "--contract", "zap"], 2),
                            (["--backend", "cpu", "--filter", "matches nothing"], 3)):
        done = run(detgemm, "bench", *arguments)
        said = [x for x in done.stderr.splitlines() if not x.startswith("absent: ")]
        need(done.returncode == code and len(said) == 1 and said[0].startswith("detgemm bench: "),
             f"{arguments}: {done.returncode}: {done.stderr}")
    # No kernel of the host is chosen by time.
    for task, arguments, code, rule in (
            ("tune", ["--backend", "cpu", "--n", "64", "--k", "64", "--m", "8", "--out", os.devnull], 2, "nothing to tune"),
            ("tune", ["--backend", "cpu", "--n", "64", "--k", "64", "--m", "8"], 2, "--out is missing"),
            ("calibrate", ["--zap"], 2, "--zap"),
            ("bench", ["--backend", "cpu", "--n", "64", "--k", "64", "--m", "8", "--tuning", "/nowhere"], 2, 'path is "/nowhere"')):
        done = run(detgemm, task, *arguments)
        need(done.returncode == code and f"detgemm {task}: " in done.stderr and rule in done.stderr, f"{task}: {done.stderr}")
    with tempfile.TemporaryDirectory() as folder:
        alone = shutil.copy(detgemm, folder)
        for task in ("bench", "tune", "calibrate"):
            done = run(alone, task, "--quick")
            need(done.returncode == 3 and f"{task} is not in this build" in done.stderr and "-DDETGEMM_BUILD_BENCH=ON" in done.stderr,
                 f"without its program: {done.returncode}: {done.stderr}")
    print("smoke: passed")


if __name__ == "__main__":
    main()
