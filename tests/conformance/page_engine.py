#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""page_engine.py COMMAND COMPILER SOURCE: the engine of docs/conformance.md compiles and passes with the counts that the page
shows, and with K in two sums where M is above 8 it fails as the page shows."""
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

LOOP = "sum = fmaf(of_a[m * a_m + k * a_k], of_b[k * b_k + n * b_n], sum);"
SPLIT = LOOP.replace("sum = ", "float* at = d.rows > 8 && k % 2 ? &odd : &sum;\n        *at = ").replace(", sum)", ", *at)")


def conform(command, compiler, include, program, folder, page):
    """Exit code and output of the page's two commands for an engine."""
    (folder / "mine.c").write_text(program, encoding="utf-8")
    build = re.search(r"^ {4}cc (.*)$", page, re.M).group(1).replace("core/include", str(include))
    subprocess.run([compiler, "-Wall", "-Wextra", "-Werror", *shlex.split(build)], cwd=folder, check=True)
    words = shlex.split(re.search(r"^ {4}detgemm (conform --engine .*)$", page, re.M).group(1))
    done = subprocess.run([command, *words], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, timeout=250, check=False)
    return done.returncode, done.stdout


def main():
    command, compiler, source = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    page = (source / "docs/conformance.md").read_text(encoding="utf-8")
    program = re.search(r"```c\n(.*?)```", page, re.S).group(1)
    counts = " ".join(re.search(r"`(\d+ of \d+ cells passed, 0 failed, [^`]*)`", page).group(1).split())
    named = re.search(r"as split-K kernels do,\s+(.*?) fail,", page, re.S).group(1)
    shown = re.search(r"```text\n(failed: batch.*?)```", page, re.S).group(1)
    assert program.count(LOOP) == 1 and program.count("float sum = 0;") == 1, "the engine has another loop than this test changes"
    planted = program.replace(LOOP, SPLIT).replace("float sum = 0;", "float sum = 0, odd = 0;").replace("if (sum != sum)", "sum += odd;\n      if (sum != sum)")
    with tempfile.TemporaryDirectory() as name:
        folder, include = pathlib.Path(name), source / "core/include"
        code, said = conform(command, compiler, include, program, folder, page)
        assert code == 0 and f"PASSED: {counts}" in said, said
        code, said = conform(command, compiler, include, planted, folder, page)
        failed = set(re.findall(r"^  (\w+) +1 failed ", said, re.M))
        assert code == 1 and failed == set(re.findall(r"`(\w+)`", named)), (code, failed, said)
        for line in shown.splitlines():
            assert line in said, f"not printed: {line}\n{said}"
    print(f"{counts}; with the fault {len(failed)} properties fail")


if __name__ == "__main__":
    main()
