#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""format.py ROOT [--fix]: C++ and C sources are as clang-format 14 leaves them (other versions
differ in detail). --fix makes them so.

Exit status 77: there is no clang-format 14 here.
"""
import pathlib
import re
import shutil
import subprocess
import sys

import tree


def formatter():
    for name in ("clang-format-14", "clang-format"):
        found = shutil.which(name)
        if found:
            version = subprocess.run([found, "--version"], stdout=subprocess.PIPE, text=True,
                                     check=True).stdout
            if re.search(r"version 14\.", version):
                return found
    print("skipped: clang-format 14 was not found")
    sys.exit(77)


def main():
    root = pathlib.Path(sys.argv[1])
    sources = [str(root / path) for path in tree.files(root) if path.suffix in tree.CODE]
    if "--fix" in sys.argv[2:]:
        sys.exit(subprocess.run([formatter(), "-i", "--style=file", *sources], check=False).returncode)
    command = [formatter(), "--dry-run", "-Werror", "--style=file"]
    wrong = subprocess.run([*command, *sources], check=False).returncode
    # Kernels are formatted as C++ too: a fault is planted under every suffix.
    missed = [suffix for suffix in sorted(tree.CODE)
              if subprocess.run([*command, f"--assume-filename=planted{suffix}"],
                                input="int  x ;\n", text=True, stderr=subprocess.DEVNULL,
                                check=False).returncode == 0]
    seen = {pathlib.PurePath(source).suffix for source in sources}
    print(f"{len(sources)} sources with the suffixes {', '.join(sorted(seen))}; planted faults "
          f"missed: {', '.join(missed) or 'none'}")
    sys.exit(0 if not wrong and not missed and sources else 1)


if __name__ == "__main__":
    main()
