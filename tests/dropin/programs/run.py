#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""run.py COMMAND [--proxies FOLDER] [--bench]: programs that nobody here wrote, under `detgemm preload`.

COMMAND is the detgemm command of a build with a GPU's backend. Each program runs twice: as it is, which
is the control and must show at least one row that depends on its batch, and under the preload, where no
row may. Exit code 0: all of that holds. 1: a row differs, a sample is wrong, a program fails, the
control shows nothing. 3: nothing could run.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
NOTHING = 3


def run(words, environment=None):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False,
                          env={**os.environ, **(environment or {})}, timeout=1800)
    return done.returncode, done.stdout, done.stderr


def verdicts(text):
    return dict(re.findall(r"^(\w+) (same|other)$", text, re.M))


def table(text):
    """The table on stderr, and how many of how many products were taken."""
    lines, counts = [], [0, 0]
    for line in text.splitlines():
        head = re.match(r"detgemm preload: process \d+ called for (\d+) products, (\d+)", line)
        if head:
            counts = [counts[0] + int(head.group(1)), counts[1] + int(head.group(2))]
        if head or re.match(r" +(\d+|calls)  ", line):
            lines.append(line)
    return "\n".join(lines), counts


def rows(name, script, preload, environment=None):
    """True, False, or None where it could not run."""
    print(f"== {name}")
    code, out, err = run([sys.executable, HERE / script])
    if code == NOTHING:
        print("not run:", err.strip().splitlines()[-1])
        return None
    alone = verdicts(out)
    under_code, out, err = run([*preload, sys.executable, HERE / script], environment)
    under = verdicts(out)
    text, (calls, taken) = table(err)
    print(text)
    for case in alone | under:
        print(f"{case:32} alone: {alone.get(case, 'missing'):8} preloaded: "
              f"{under.get(case, 'missing')}")
    good = True
    for wrong, said in ((code != 0, "the program fails by itself"),
                        (under_code != 0, f"it fails under the preload: {err[-2000:]}"),
                        (set(alone) != set(under) or not under, "cases are missing"),
                        ("other" in under.values(), "a row depends on its batch"),
                        ("other" not in alone.values(), "the control shows no difference"),
                        (taken == 0, f"of {calls} products none was taken")):
        if wrong:
            print("FAILED:", said)
            good = False
    return good


def samples(preload):
    print("== PyTorch's own samples")
    code, out, err = run([*preload, sys.executable, HERE / "ops_torch.py"])
    if code == NOTHING:
        print("not run:", err.strip().splitlines()[-1])
        return None
    print(out[-3000:], table(err)[0])
    return code == 0


def bench(preload):
    """Five runs of each, in turns; ratios of medians."""
    print("== bench")
    found = {"alone": [], "preloaded": []}
    for _ in range(5):
        for arm, before in (("alone", []), ("preloaded", preload)):
            code, out, err = run([*before, sys.executable, HERE / "bench_torch.py"])
            if code == NOTHING:
                print("not run:", err.strip().splitlines()[-1])
                return None
            if code != 0:
                print("FAILED:", err[-2000:])
                return False
            found[arm].append(json.loads(out.splitlines()[-1]))
    for key in (key for key in found["alone"][0] if key.endswith(("_ms", "_us"))):
        alone, under = (statistics.median(each[key] for each in found[arm]) for arm in found)
        print(f"{key:16} alone {alone:9.3f}  preloaded {under:9.3f}  ratio {alone / under:.3f}  "
              f"difference {under - alone:+.3f}")
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("command", type=pathlib.Path)
    parser.add_argument("--proxies", type=pathlib.Path, help="a folder made by make_proxy.py, for JAX")
    parser.add_argument("--bench", action="store_true")
    asked = parser.parse_args()
    preload = [asked.command.resolve(), "preload", "--"]
    outcomes = [rows("PyTorch", "rows_torch.py", preload), rows("CuPy", "rows_cupy.py", preload)]
    if asked.proxies:
        paths = f"{asked.proxies.resolve()}:{os.environ.get('LD_LIBRARY_PATH', '')}"
        outcomes.append(rows("JAX", "rows_jax.py", [], {"LD_LIBRARY_PATH": paths}))
    outcomes.append(samples(preload))
    if asked.bench:
        outcomes.append(bench(preload))
    ran = [outcome for outcome in outcomes if outcome is not None]
    return NOTHING if not ran else 0 if all(ran) else 1


if __name__ == "__main__":
    sys.exit(main())
