#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""page.py PAGE COMPILER OPTION...: the page's blocks of C++ that include CUDA's headers compile without a warning. No device, and
nothing is linked. A block without its header of the CUDA component is the control: it must not compile.
"""
import pathlib
import re
import subprocess
import sys

HEADER = "#include <detgemm/cuda.hpp>"


def compiles(command, text):
    """Whether it does; what the compiler says is shown."""
    done = subprocess.run([*command, "-x", "c++", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-"], input=text, text=True,
                          stderr=subprocess.STDOUT, stdout=subprocess.PIPE, check=False)
    return done.returncode == 0, done.stdout


def main():
    page, *command = sys.argv[1:]
    blocks = re.findall(r"```cpp\n(.*?)```", pathlib.Path(page).read_text(encoding="utf-8"), re.S)
    blocks = [each for each in blocks if "<cuda_runtime.h>" in each]
    if not blocks or any(HEADER not in each for each in blocks):
        sys.exit(f"{page} has no block of C++ with CUDA, or one without {HEADER}")
    wrong = 0
    for block in blocks:
        good, said = compiles(command, block)
        print(said, end="")
        wrong += (not good) + compiles(command, block.replace(HEADER, ""))[0]
    print(f"{page}: {len(blocks)} blocks of C++ with CUDA, {wrong} faults")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
