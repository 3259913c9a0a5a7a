#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""run.py COMMAND [--proxies FOLDER] [--built FOLDER] [--engine FILE] [--minutes 8] [--out FILE]: programs that
nobody here wrote, under `detgemm preload`.

COMMAND is the detgemm command of a build with a GPU's backend. The parts run in the order in which they could
prove the library wrong, each with a time limit, and FILE gets a line of JSON when a part ends, so what ran is
known whenever the machine goes. Programs of rows run under the preload, where no row may depend on its batch,
and then as they are, which is the control and must show at least one that does. Exit code 0: all of that
holds. 1: a row differs, a sample is wrong, a program fails or takes too long, the control shows nothing. 3:
nothing could run. 4: the time was over before the last part.
"""
import argparse
import json
import pathlib
import re
import statistics
import sys
import time

import built
from parts import NOTHING, Parts
from tables import table

HERE = pathlib.Path(__file__).parent


def verdicts(text):
    return dict(re.findall(r"^(\w+) (same|other)$", text, re.M))


def not_run(found, err):
    found["why"] = (err.strip().splitlines() or ["it says nothing"])[-1]


def rows(parts, words, preload, environment=None):
    """A program that prints whether a row depends on its batch: `words` are its own and its arguments."""
    def check(found):
        under_code, out, err = parts.run([*preload, *words], environment)
        if under_code == NOTHING:
            return not_run(found, err)
        under = verdicts(out)
        text, (calls, taken) = table(err)
        print(text, flush=True)
        found.update(preloaded=under, calls=calls, taken=taken, table=text)
        # The verdict under the preload stands before the control takes its time.
        wrong = [said for bad, said in (
            (under_code != 0, f"it fails under the preload: {err[-2000:]}"),
            ("other" in under.values(), "a row depends on its batch"),
            (not under, "there are no cases"),
            (taken == 0, f"of {calls} products none was taken")) if bad]
        if not wrong:
            code, out, err = parts.run(words)
            alone = verdicts(out)
            found.update(alone=alone)
            wrong += [said for bad, said in (
                (code != 0, f"the program fails by itself: {err[-2000:]}"),
                (set(alone) != set(under), "cases are missing"),
                ("other" not in alone.values(), "the control shows no difference")) if bad]
        for case in under:
            print(f"{case:32} preloaded: {under[case]:8} alone: {found.get('alone', {}).get(case, 'not run')}")
        if wrong:
            found["why"] = "; ".join(wrong)
        return not wrong
    return check


def gelu(parts, preload):
    """The form of NVIDIA's own epilogue must be the form that the preload answers with."""
    def check(found):
        for arm, before in (("alone", []), ("preloaded", preload)):
            code, out, err = parts.run([*before, sys.executable, HERE / "gelu_form.py"])
            if code == NOTHING:
                return not_run(found, err)
            found[arm] = out.strip()
        print(found)
        if found["alone"] == found["preloaded"] == "gelu tanh":
            return True
        found["why"] = "the forms differ"
        return False
    return check


def samples(parts, preload):
    def check(found):
        code, out, err = parts.run([*preload, sys.executable, HERE / "ops_torch.py"])
        if code == NOTHING:
            return not_run(found, err)
        found["table"] = table(err)[0]
        found["said"] = out[-3000:]
        print(found["said"], found["table"])
        return code == 0
    return check


def harness(parts, command, preload, engine):
    """The conformance harness through the preloaded cuBLAS; without the preload it must fail."""
    def check(found):
        words = [command, "conform", "--engine", engine, "--quick", "--contract", "hopper/bf16/chain->bf16"]
        code, out, err = parts.run([*preload, *words])
        found["said"] = (out + err)[-2000:]
        print(out[-1000:])
        if code != 0:
            return False
        found["control"] = parts.run(words)[0]
        return found["control"] == 1
    return check


def bench(parts, preload):
    """Five runs of each, in turns; ratios of medians of what there was time for."""
    def check(found):
        runs = {"alone": [], "preloaded": []}
        for _ in range(5):
            for arm, before in (("alone", []), ("preloaded", preload)):
                if parts.limit - time.monotonic() < 15 and runs["preloaded"]:
                    break
                code, out, err = parts.run([*before, sys.executable, HERE / "bench_torch.py"])
                if code == NOTHING:
                    return not_run(found, err)
                if code != 0:
                    found["why"] = err[-2000:]
                    return False
                runs[arm].append(json.loads(out.splitlines()[-1]))
                print(arm, runs[arm][-1], flush=True)
        found["runs"] = runs
        for key in (key for key in runs["alone"][0] if key.endswith(("_ms", "_us"))):
            alone, under = (statistics.median(each[key] for each in runs[arm]) for arm in runs)
            found[key] = {"alone": alone, "preloaded": under, "ratio": round(alone / under, 4)}
            print(f"{key:16} alone {alone:9.3f}  preloaded {under:9.3f}  ratio {alone / under:.3f}  "
                  f"difference {under - alone:+.3f}")
        return True
    return check


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("command", type=pathlib.Path)
    parser.add_argument("--proxies", type=pathlib.Path, help="a folder made by make_proxy.py, for JAX")
    parser.add_argument("--built", type=pathlib.Path, help="a folder made by build_programs.py: samples and ggml")
    parser.add_argument("--engine", type=pathlib.Path, help="libengine_cublas.so of the build")
    parser.add_argument("--minutes", type=float, default=8.0, help="for all parts together")
    parser.add_argument("--out", type=pathlib.Path, help="a file for lines of JSON")
    asked = parser.parse_args()
    command = asked.command.resolve()
    preload = [command, "preload", "--"]
    torch = HERE / "rows_torch.py"
    parts = Parts(60 * asked.minutes, asked.out)
    parts.part("gelu", 30, gelu(parts, preload))
    parts.part("PyTorch rows", 90, rows(parts, [sys.executable, torch], preload))
    if asked.engine:
        parts.part("harness", 90, harness(parts, command, preload, asked.engine.resolve()))
    parts.part("bench", 120, bench(parts, preload))
    parts.part("PyTorch samples", 120, samples(parts, preload))
    parts.part("CuPy rows", 45, rows(parts, [sys.executable, HERE / "rows_cupy.py"], preload))
    if asked.proxies:
        # JAX loads NVIDIA's files by their paths and then asks for them by their names: the first of a name is found.
        both = ":".join(str(asked.proxies.resolve() / name) for name in ("libcublasLt.so.13", "libcublas.so.13"))
        parts.part("JAX rows", 60, rows(parts, [sys.executable, HERE / "rows_jax.py"], [], {"LD_PRELOAD": both}))
    if asked.built:
        programs = asked.built.resolve()
        ggml = programs / "ggml" / "bin"
        parts.part("cuBLAS samples", 180, built.samples(parts, preload, programs / "samples"))
        if ggml.is_dir():
            parts.part("ggml rows", 45, rows(parts, [ggml / "rows_ggml"], preload))
            parts.part("ggml tests", 180, built.ggml_tests(parts, preload, ggml / "test-backend-ops"))
    parts.part("compiled PyTorch rows", 120, rows(parts, [sys.executable, torch, "--compiled"], preload))
    for name, outcome in parts.outcomes.items():
        print(f"{name:24} {outcome}")
    return parts.exit_code()


if __name__ == "__main__":
    sys.exit(main())
