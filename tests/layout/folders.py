#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""folders.py ROOT CMAKE: no test folder can be lost without a word.

A folder that the build names and that is not there must stop the configuration with a sentence that
names it, and every folder of tests/ that has a CMakeLists.txt must be named by the build.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

PROJECT = """cmake_minimum_required(VERSION 3.25)
project(planted LANGUAGES NONE)
include({module})
detgemm_add_folder(tests/present)
detgemm_add_folder({folder})
"""


def configure(root, cmake, folder):
    """Exit status and output of a small project that adds tests/present and then `folder`."""
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        for name in ("present", "another"):
            (work / "tests" / name).mkdir(parents=True)
            (work / "tests" / name / "CMakeLists.txt").write_text("")
        module = root / "cmake/DetgemmFolders.cmake"
        (work / "CMakeLists.txt").write_text(PROJECT.format(module=module.resolve(), folder=folder))
        done = subprocess.run([cmake, "-S", work, "-B", work / "build"], text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, " ".join(done.stdout.split())


def unnamed(listed, folders):
    """The folders that the build's list does not name."""
    names = re.search(r"foreach\(folder IN ITEMS ([\w\s/]+)\)", listed)
    return sorted(set(folders) - set(names.group(1).split() if names else []))


def main():
    root, cmake = pathlib.Path(sys.argv[1]), sys.argv[2]
    wrong = []
    status, said = configure(root, cmake, "tests/another")
    if status != 0:
        wrong.append(f"a folder that is there is refused: {said}")
    status, said = configure(root, cmake, "tests/mispelled")
    if status == 0 or 'folder is "tests/mispelled": there is no tests/mispelled/CMakeLists.txt' not in said:
        wrong.append(f"a folder that is not there gives exit status {status} and says: {said}")
    folders = [path.parent.name for path in root.glob("tests/*/CMakeLists.txt")]
    listed = (root / "CMakeLists.txt").read_text(encoding="utf-8")
    lost = unnamed(listed, folders)
    if lost:
        wrong.append(f"CMakeLists.txt does not name the test folders {', '.join(lost)}")
    if unnamed(listed, [*folders, "planted"]) != sorted([*lost, "planted"]):
        wrong.append("a planted test folder that the build does not name was not found")
    if len(folders) < 5:
        wrong.append(f"only {len(folders)} test folders were found")
    print("\n".join(wrong + [f"{len(folders)} test folders, {len(wrong)} breaches"]))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
