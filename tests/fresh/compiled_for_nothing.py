#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""compiled_for_nothing.py FIRST FOLDER: objects of a build folder that its second user had no use for, one per line.

FIRST is a copy of ninja's log from before another script configured and built FOLDER. An object of FIRST is wasted where
the folder's log has a later time of writing for it, or where the folder's rules make no such object any more.
"""
import pathlib
import sys


def written(log):
    """When each object was written last. A line of ninja's log has start, end, time of writing, output and hash."""
    lines = (line.split("\t") for line in log.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    return {fields[3]: fields[2] for fields in lines if fields[3].endswith((".o", ".gch"))}


def wasted(first, folder):
    before = written(first)
    if not before:
        sys.exit(f"compiled_for_nothing.py: {first} names no object")
    after = written(folder / ".ninja_log")
    made = {line.split(":")[0].removeprefix("build ").split(" ")[0]
            for line in (folder / "build.ninja").read_text(encoding="utf-8").splitlines() if line.startswith("build ")}
    return sorted(name for name, time in before.items() if name not in made or after.get(name, time) != time)


if __name__ == "__main__":
    for each in wasted(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])):
        print(each)
