#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""one_access.py CUOBJDUMP OBJECT... [--without OBJECT]: whether words of mail are one access.

one_shot rests on 16 bytes that are stored and loaded in one piece (cuda/peers/mail.hpp). A compiler
that made two accesses of 8 bytes of one would be seen by no test on a single GPU, so the machine
code is read: in peers/join.cu.o every kernel of peers must store and load 128 bits at once, with the
scope of the system. --without names an object that has no such access, in which none may be found.
Exit code 77 where there is no cuobjdump, which reads machine code.
"""
import argparse
import re
import subprocess
import sys

STORE = re.compile(r"\bST(?:G)?\.E\.(?:[A-Z0-9]+\.)*128\.STRONG\.SYS")
LOAD = re.compile(r"\bLD(?:G)?\.E\.(?:[A-Z0-9]+\.)*128\.STRONG\.SYS")


def kernels_of(cuobjdump, name):
    """Pairs: a kernel and its machine code, once for each architecture."""
    done = subprocess.run([cuobjdump, "-sass", name], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{name}: {done.stderr.strip()}")
    parts = re.split(r"Function : (\S+)", done.stdout)
    return list(zip(parts[1::2], parts[2::2]))


def command_line(*options):
    """What the command line names: CUOBJDUMP, OBJECT... and options that must be given. Ends where there is no cuobjdump."""
    parser = argparse.ArgumentParser()
    parser.add_argument("cuobjdump")
    parser.add_argument("objects", nargs="+")
    for option in options:
        parser.add_argument(option, required=True)
    given = parser.parse_args()
    if given.cuobjdump.endswith("NOTFOUND"):
        print("skipped: there is no cuobjdump on this machine")
        sys.exit(77)
    return given


def main():
    given = command_line("--without")
    faults, kernels = [], 0
    for name in given.objects:
        if not re.search(r"peers/join\.cu\.o(bj)?$", name):
            continue
        for kernel, code in kernels_of(given.cuobjdump, name):
            if "peers_kernel" not in kernel:
                continue
            kernels += 1
            for what, pattern in (("store", STORE), ("load", LOAD)):
                if not pattern.search(code):
                    faults.append(f"{kernel}: no {what} of 16 bytes in one access")
    if kernels == 0:
        faults.append("no kernel of peers was among the objects")
    planted = kernels_of(given.cuobjdump, given.without)
    if not planted or any(STORE.search(code) or LOAD.search(code) for _, code in planted):
        faults.append("an object without such an access was not told apart")
    print("\n".join(faults + [f"{kernels} kernels of peers, {len(faults)} faults"]))
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
