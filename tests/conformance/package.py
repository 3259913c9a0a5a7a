#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""package.py CMAKE BUILD GOOD_ENGINE BAD_ENGINE: the harness as an installed component.

Installs the build, builds package/ against it, and tests two engines with that program: one that is
as it should be, and one that has a fault.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys


def run(*command, exit_code=0, **environment):
    """The output of a command that must end with this exit code."""
    done = subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, env={**os.environ, **environment}, check=False)
    if done.returncode != exit_code:
        sys.exit(f"{' '.join(map(str, command))}\nexit code {done.returncode}, not {exit_code}\n"
                 f"{done.stdout}")
    return done.stdout


def main():
    cmake, build, good, bad = sys.argv[1:5]
    build = pathlib.Path(build)
    work = build / "tests/conformance/package"
    shutil.rmtree(work, ignore_errors=True)
    run(cmake, "--install", build, "--prefix", work / "prefix")
    cache = dict(re.findall(r"^([\w-]+):\w+=(.*)$", (build / "CMakeCache.txt").read_text(), re.M))
    names = ("CMAKE_CXX_COMPILER", "CMAKE_CXX_COMPILER_LAUNCHER", "CMAKE_CXX_FLAGS",
             "CMAKE_MAKE_PROGRAM")
    run(cmake, "-S", pathlib.Path(__file__).parent / "package", "-B", work / "build",
        "-G", cache["CMAKE_GENERATOR"], f"-DCMAKE_PREFIX_PATH={work / 'prefix'}",
        *[f"-D{name}={cache[name]}" for name in names if cache.get(name)])
    run(cmake, "--build", work / "build")
    for engine, exit_code, verdict in ((good, 0, "PASSED: "), (bad, 1, "FAILED: ")):
        said = run(work / "build/consumer", engine, exit_code=exit_code, DETGEMM_MUTANT="19")
        if verdict not in said:
            sys.exit(f"no \"{verdict}\" in:\n{said}")
        print(said.splitlines()[-1])
    # Whoever does not ask for the harness does not get it.
    config = (work / "prefix").glob("lib*/cmake/detgemm/detgemm-core-targets.cmake")
    if any("conformance" in path.read_text() for path in config):
        sys.exit("detgemm::core knows of the harness")


if __name__ == "__main__":
    main()
