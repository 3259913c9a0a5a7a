#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""handed_back.py CUOBJDUMP OBJECT...: whether kernels of e4m3 use scales before they hand back the stage of these.

A bulk copy that refills a stage does not wait for loads that were only issued (cuda/sm90/fp8/scales.cuh, RowCopy): the
scales of a leaf have to be multiplied before the arrival that hands their stage back. The source says so in that order, and
a compiler may move the multiplication, so the machine code of fp8_one.cu.o and fp8_group_one.cu.o is read, in the order in
which it stands. Between a load and its use may be arrivals for earlier stages:

    tile                                      arrivals
    up to 64 columns, leaves in twos          2          the two leaves before
    128 columns, two blocks of rows           1          the leaf before, or this stage's while the next one's are read
    192 columns                               0

Exit code 77 where there is no cuobjdump.
"""
import pathlib
import re
import sys

from one_access import command_line, kernels_of

GEOMETRY = re.compile(r"8GeometryELi\d+ELi\d+ELi(\d+)E")
INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,5}\*/\s+(?:@!?U?P\d\s+)?([A-Z][^\s;]*)([^;]*);")
REGISTER = re.compile(r"\bR(\d+)\b")
BEHIND = 500  # instructions behind the last step of the tensor core: the last leaf's join

# Of 192 columns: the loads are used in time, and behind the arrival.
GOOD = """/*0010*/ LDS R204, [R201+0x36000] ; /*0020*/ QGMMA.64x192x32.F32.E4M3.E4M3 R24, gdesc[UR20], R24 ;
/*0030*/ FMUL R206, R204.reuse, R202 ; /*0040*/ @!P1 SYNCS.ARRIVE.TRANS64.A1T0 RZ, [R201+URZ+0x36ac8], RZ ;"""
BAD = """/*0010*/ LDS R204, [R201+0x36000] ; /*0020*/ QGMMA.64x192x32.F32.E4M3.E4M3 R24, gdesc[UR20], R24 ;
/*0030*/ @!P1 SYNCS.ARRIVE.TRANS64.A1T0 RZ, [R201+URZ+0x36ac8], RZ ; /*0040*/ FMUL R206, R204.reuse, R202 ;"""


def arrivals_allowed(columns):
    return 2 if columns <= 64 else 1 if columns <= 128 else 0


def waiting(code, allowed):
    """Loads from shared memory in the main loop, and the arrivals that they outlast beyond those that are allowed."""
    code = INSTRUCTION.findall(code)
    steps = [i for i, (name, _) in enumerate(code) if "GMMA" in name]
    pending, loads, late = {}, 0, set()  # register: [load, arrivals since]
    for i, (name, arguments) in enumerate(code[max(0, steps[0] - 120):steps[-1] + BEHIND] if steps else []):
        registers = [int(r) for r in REGISTER.findall(arguments)]
        if name.startswith("LDS"):
            loads += 1
            width = 4 if ".128" in name else 2 if ".64" in name else 1
            pending.update({registers[0] + r: [i, 0] for r in range(width)})
            continue
        writes = not name.startswith(("ST", "SYNCS", "RED", "BAR", "BRA"))
        for register in registers[1:] if writes else registers:
            pending.pop(register, None)
        if writes and registers:
            pending.pop(registers[0], None)
        if name.startswith("SYNCS.ARRIVE"):
            for load in pending.values():
                load[1] += 1
                if load[1] > allowed:
                    late.add(load[0])
    return loads, len(late)


def main():
    given = command_line()
    faults, kernels = [], 0
    for name in given.objects:
        if not re.fullmatch(r"fp8_(group_)?one\.cu\.o(bj)?", pathlib.Path(name).name):
            continue
        for kernel, code in kernels_of(given.cuobjdump, name):
            columns = int(GEOMETRY.search(kernel).group(1))
            loads, late = waiting(code, arrivals_allowed(columns))
            kernels += 1
            if loads == 0 or late > 0:
                faults.append(f"{kernel}: {late} of {loads} loads outlast the arrival that hands their stage back")
    if kernels == 0:
        faults.append("no object has a kernel of e4m3 whose scales arrive with stages")
    if waiting(GOOD, 0) != (1, 0) or waiting(BAD, 0) != (1, 1):
        faults.append("planted machine code was not told apart")
    print("\n".join(faults + [f"{kernels} kernels of e4m3, {len(faults)} faults"]))
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
