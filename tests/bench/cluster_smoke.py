# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""cluster_smoke.py DETGEMM: the suite of clusters over threads of the host, and what it refuses.

Exit status 77: this build has no backend on the host.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile


def run(*command):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False,
                          timeout=120, env={**os.environ, "OMP_WAIT_POLICY": "passive"})


def need(condition, said):
    if not condition:
        sys.exit(f"cluster_smoke: {said}")


def check_result(result):
    arms = {arm["arm"]: arm for arm in result["arms"]}
    need(set(arms) == {"tree", "tree+rows"}, f"{result['case']}: arms {sorted(arms)}")
    for name, arm in arms.items():
        need(arm["us"] > 0 and arm["samples"] == 3, f"{name}: {arm}")
        # With fewer rows than ranks have room for, the first rank may have none of its own.
        need(arm["bits"]["different"] == 0 < arm["bits"]["outputs"], f"{name}: {arm['bits']}")
    need(result["notes"] == [], f"{result['notes']}")


def main():
    detgemm = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "r.json"
        done = run(detgemm, "bench", "--backend", "cpu", "--suite", "cluster", "--ranks", 3,
                   "--quick", "--repetitions", 3, "--json", out)
        if done.returncode != 0 and "no backend" in done.stderr:
            print("skipped: " + done.stderr.strip())
            sys.exit(77)
        need(done.returncode == 0, f"exit {done.returncode}: {done.stdout}{done.stderr}")
        document = json.loads(out.read_text())
        need(document["schema"] == 2 and len(document["results"]) == 2, "two results")
        need(document["machine"]["ranks"] == "3", f"{document['machine']}")
        rivals = {b["name"]: b for b in document["baselines"]}
        need(set(rivals) == {"cublaslt+allreduce", "cublaslt+allreduce-fp32",
                             "cublaslt+reducescatter"}, f"rivals {sorted(rivals)}")
        need(all(not b["present"] and b["what"] for b in rivals.values()), f"{rivals}")
        for result in document["results"]:
            check_result(result)
            need("--ranks 3" in result["repro"], result["repro"])
    listed = run(detgemm, "bench", "--backend", "cpu", "--suite", "cluster", "--list").stdout
    need("square/1024/forward/m16/bf16/p2/tree+rows" in listed.split(), listed)
    for arguments, code, said in (
            (["--suite", "cluster,decode"], 2, "measured alone"),
            (["--ranks", "2"], 2, "goes with --suite cluster"),
            (["--suite", "cluster", "--ranks", "17"], 2, "from 1 to 16"),
            (["--suite", "cluster", "--variants", "all"], 2, "takes no --variants"),
            (["--suite", "cluster", "--backend", "hip"], 3, "no ranks on hip"),
            (["--suite", "cluster", "--backend", "cpu", "--filter", "nothing"], 3, "no case")):
        done = run(detgemm, "bench", *arguments)
        need(done.returncode == code and said in done.stderr,
             f"{arguments}: {done.returncode}: {done.stderr}")
    print("cluster_smoke: passed")


if __name__ == "__main__":
    main()
