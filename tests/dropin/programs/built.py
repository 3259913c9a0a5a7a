# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Programs that have to be built first (build_programs.py): NVIDIA's samples of cuBLAS, and ggml's own tests."""
import re

from parts import Slow
from tables import table

SECONDS = 20  # of one run of a sample: some search all algorithms for minutes
OPERATIONS = "MUL_MAT,MUL_MAT_ID,OUT_PROD"


SAID = {True: "the same", False: "DIFFERENT", None: "compared, as it takes too long by itself"}


def compare(parts, preload, program):
    """What a sample says under the preload beside what it says without. Its matrices are small integers, so that
    every order of summation has the same bits. A sample that says something else in each run (a time) is
    compared by its exit code alone."""
    same = None  # too slow by itself
    try:
        alone, again = (parts.run([program], seconds=SECONDS) for _ in range(2))
        same = False
        code, out, err = parts.run([*preload, program], seconds=SECONDS)
    except Slow as slow:
        return {"compared": "nothing", "why": str(slow), "taken": 0, "calls": 0, "exit": [], "same": same}
    text, (calls, taken) = table(err)
    steady = alone[1] == again[1]
    said = {"exit": [alone[0], code], "calls": calls, "taken": taken, "compared": "output" if steady else "exit code",
            "table": text}
    said["same"] = alone[0] == code and (not steady or alone[1] == out)
    if not said["same"]:
        said["out"], said["err"] = out[-600:], err[-600:]
    return said


def samples(parts, preload, folder):
    def check(found):
        programs = sorted(path for path in folder.glob("*") if path.is_file()) if folder.is_dir() else []
        if not programs:
            found["why"] = f"{folder} has no samples"
            return None
        found["samples"] = {}
        for program in programs:
            said = compare(parts, preload, program)
            found["samples"][program.name] = said
            print(f"{program.name:40} exit {said['exit']}, {said['taken']} of {said['calls']} products taken, "
                  f"{said['compared']} {SAID[said['same']]}", flush=True)
        other = [name for name, said in found["samples"].items() if said["same"] is False]
        if other:
            found["why"] = f"differ under the preload: {', '.join(other)}"
        elif not sum(said["taken"] for said in found["samples"].values()):
            found["why"] = "no product of any sample was taken"
        elif not any(said["taken"] and said["compared"] == "output" and said["exit"] == [0, 0]
                     for said in found["samples"].values()):
            found["why"] = "no sample with a product that was taken ended well and could be compared"
        return "why" not in found
    return check


def ggml_tests(parts, preload, program):
    """test-backend-ops compares ggml's GPU with its CPU. As many tests must pass under the preload as without."""
    def check(found):
        if not program.is_file():
            found["why"] = f"{program} is not there"
            return None
        for arm, before in (("preloaded", preload), ("alone", [])):
            code, out, err = parts.run([*before, program, "test", "-o", OPERATIONS])
            passed = re.findall(r"(\d+)/(\d+) tests passed", out)
            failing = sorted(set(re.findall(r"^\s*(\w+\(.*\)): .*FAIL", out, re.M)))
            found[arm] = {"exit": code, "passed": [[int(x) for x in pair] for pair in passed], "failing": failing[:20]}
            if before:
                found["table"], (found["calls"], found["taken"]) = table(err)
                print(found["table"])
            print(arm, found[arm], flush=True)
        under, alone = found["preloaded"], found["alone"]
        wrong = [said for bad, said in (
            (not under["passed"] or under["passed"][0][1] == 0, "no test ran"),
            (under["passed"] != alone["passed"], "other tests pass than without the preload"),
            (under["exit"] != alone["exit"], "it ends with another exit code"),
            (not found["taken"], "no product was taken")) if bad]
        if wrong:
            found["why"] = "; ".join(wrong)
        return not wrong
    return check
