#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""compiler_test.py SOURCE CMAKE CLANG WORK: what cmake/DetgemmHip.cmake says of compilers. Stand-ins
hand everything to CLANG but name themselves otherwise, do not know a chip, or cannot link.
"""
import pathlib
import shutil
import subprocess
import sys

STAND_IN = """#!/bin/sh
case "$*" in
  --version) echo "{version}"; exit 0 ;;
  {refuse}) echo "error: {why}" >&2; exit 1 ;;
esac
exec {clang} "$@"
"""
SCRIPT = """cmake_minimum_required(VERSION 3.25)
set(PROJECT_BINARY_DIR {work})
set(DETGEMM_ENABLE_HIP {enable})
{compilers}
include({source}/cmake/DetgemmHip.cmake)
message("chips: ${{detgemm_hip_chips}}")
message("found: ${{detgemm_found}}")
message("lists headers: ${{detgemm_hip_lists_headers_gfx942}}")
"""


class Machine:
    """Runs the module with one compiler, or with two."""

    def __init__(self, source, cmake, clang, work):
        self.source, self.cmake, self.clang, self.work = source, cmake, clang, work

    def compiler(self, name, version, refuse="nothing", why=""):
        path = self.work / name
        path.write_text(STAND_IN.format(version=version, refuse=refuse, why=why, clang=self.clang),
                        encoding="utf-8")
        path.chmod(0o755)
        return path

    def configure(self, compiler, newer="", enable="AUTO"):
        return self.run(f'set(DETGEMM_HIP_COMPILER {compiler})\nset(DETGEMM_HIP_NEWER_COMPILER "{newer}")', enable)

    def search(self, **environment):
        """Names no compiler: the module looks for one."""
        return self.run("", "AUTO", {"PATH": str(self.work / "nothing"), **environment})

    def run(self, compilers, enable, environment=None):
        script = self.work / "configure.cmake"
        script.write_text(SCRIPT.format(work=self.work, enable=enable, compilers=compilers, source=self.source),
                          encoding="utf-8")
        done = subprocess.run([self.cmake, "-P", str(script)], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False, env=environment)
        print(f"-- {compilers} {environment}, exit {done.returncode}\n{done.stdout}")
        return done.returncode, " ".join(done.stdout.split())


def main():
    source, cmake, clang, work = sys.argv[1:5]
    work = pathlib.Path(work)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    machine = Machine(source, cmake, clang, work)
    failed = []

    def expect(what, condition):
        if not condition:
            failed.append(what)

    code, said = machine.configure(clang)
    expect("the tested compiler is taken without a word", code == 0 and "do not carry over" not in said
           and "kernels for gfx90a, gfx942" in said and "lists headers: ON" in said)

    amd = machine.compiler("amdclang++", "AMD clang version 19.0.0git (https://github.com/RadeonOpenCompute)")
    code, said = machine.configure(amd)
    expect("another one is taken and named", code == 0 and "chips: gfx90a;gfx942" in said
           and "do not carry over to the gfx942 code of AMD clang 19.0.0" in said)

    old = machine.compiler("old", "clang version 19.1.7", "*offload-arch=gfx12*", "invalid target ID")
    code, said = machine.configure(old)
    expect("chips that it does not know are left out", code == 0 and "gfx1102;gfx1200" not in said
           and "gfx1200, gfx1201, which no compiler found here makes" in said)
    code, said = machine.configure(old, amd)
    expect("and made by a newer one", code == 0 and "gfx1102;gfx1200;gfx1201" in said
           and "by clang 19.1.7 and AMD clang 19.0.0" in said and "do not carry over" not in said)

    bare = machine.compiler("no_lld", "clang version 19.1.7", "*--target=amdgcn*", "no ld.lld")
    code, said = machine.configure(bare)
    expect("a compiler without lld", code == 0 and "without kernels" in said and "no ld.lld" in said
           and "lld is needed too" in said)
    code, said = machine.configure(bare, enable="ON")
    expect("is an error where HIP was asked for", code != 0 and "DETGEMM_ENABLE_HIP is ON and" in said)
    code, said = machine.configure(machine.compiler("gcc", "g++ (GCC) 13.2.0"))
    expect("no clang", code == 0 and "is no clang" in said)

    (work / "rocm/llvm/bin").mkdir(parents=True)
    shutil.copy(amd, work / "rocm/llvm/bin/amdclang++")
    code, said = machine.search(ROCM_PATH=str(work / "rocm"))
    expect("ROCm's compiler is found below ROCM_PATH", code == 0 and "AMD clang 19.0.0" in said
           and "chips: gfx90a;gfx942" in said)
    code, said = machine.search(ROCM_PATH=str(work / "nothing"))
    expect("and nothing is, where there is none", code == 0 and "AMD clang" not in said and "without kernels" in said)
    print(f"wrong: {', '.join(failed) or 'nothing'}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
