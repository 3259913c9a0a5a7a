#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""setup_test.py SOURCE WORK: scripts/setup.sh where there is no dpkg, with a PATH of stubs: what it
says is missing, what it asks dnf or zypper for, and that it fails while something is missing.
"""
import os
import pathlib
import shutil
import subprocess
import sys

SYSTEM = ["bash", "cat", "chmod", "dirname", "env", "head", "id", "ln", "sed", "sort", "tail"]
STUBS = {
    "c++": '#!/bin/sh\ncase $1 in -dump*) echo 13.2.0 ;; esac\nexit 0\n',
    "cmake": '#!/bin/sh\necho "cmake version 3.28.1"\n',
    "ninja": "#!/bin/sh\nexit 0\n",
    "python3": "#!/bin/sh\nexit 0\n",
    "git": "#!/bin/sh\nexit 0\n",
}


def script(path, text):
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


class Machine:
    """A PATH of its own, with some tools."""

    def __init__(self, source, folder, stubs):
        self.source = source
        self.bin = folder
        folder.mkdir(parents=True)
        for name in SYSTEM:
            (folder / name).symlink_to(shutil.which(name))
        for name in stubs:
            script(folder / name, STUBS[name])

    def manager(self, name):
        """A package manager that notes its arguments and brings every tool."""
        hidden = self.bin.parent / (self.bin.name + "-offers")
        hidden.mkdir()
        for tool, text in STUBS.items():
            script(hidden / tool, text)
        script(self.bin / name, f'#!/bin/bash\necho "asked: {name} $*"\n'
               f'for f in {hidden}/*; do ln -sf "$f" {self.bin}/; done\n')

    def setup(self, *words):
        done = subprocess.run(["bash", str(self.source / "scripts/setup.sh"), *words],
                              env={"PATH": str(self.bin), "Kokkos_ROOT": "/somewhere", "HOME": "/nowhere",
                                   "ROCM_PATH": "/nowhere"},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        print(f"-- {self.bin.name}: exit {done.returncode}\n{done.stdout}")
        return done.returncode, done.stdout


def main():
    source, work = map(pathlib.Path, sys.argv[1:3])
    shutil.rmtree(work, ignore_errors=True)
    failed = []

    def expect(what, condition):
        if not condition:
            failed.append(what)

    code, said = Machine(source, work / "bare", []).setup()
    expect("a bare machine fails", code == 1)
    for tool in ("C++20 compiler", "CMake 3.25 or newer (found: none)", "Ninja", "with pip", "git"):
        expect(f"a bare machine lacks {tool}", tool in said)
    expect("a way without root", "pip install --user" in said and "Containerfile.rocm" in said)

    code, said = Machine(source, work / "whole", STUBS).setup()
    expect("a whole machine goes on to Kokkos", code == 0 and "Kokkos from Kokkos_ROOT" in said)

    code, said = Machine(source, work / "no_clang", STUBS).setup("--all")
    expect("--all wants a clang", code == 1 and "a clang with lld for the AMD kernels" in said)

    old = Machine(source, work / "old", STUBS)
    script(old.bin / "cmake", '#!/bin/sh\necho "cmake version 3.20.2"\n')
    code, said = old.setup()
    expect("an old CMake is named", code == 1 and "CMake 3.25 or newer (found: 3.20.2)" in said)
    expect("and nothing else", "Ninja" not in said.split("setup: on a cluster")[0])

    if os.getuid() == 0:
        for name, package in (("dnf", "gcc-c++"), ("zypper", "gcc13-c++")):
            machine = Machine(source, work / name, [])
            machine.manager(name)
            code, said = machine.setup("--yes")
            expect(f"{name} is asked", code == 0 and f"asked: {name}" in said and package in said)
    print(f"wrong: {', '.join(failed) or 'nothing'}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
