#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""model.py CODE_DIR [--min-share SHARE] [--mca LLVM_MCA]: how busy the matrix cores of an MI300X would be
in the main loop of every tile, counted in the compiled text. A model of published figures, not a
measurement: nothing here ran on AMD hardware, and clocks under load are not modelled.

    time ->    | phase      | phase      | phase      | phase      |     one stage of a phased tile
    SIMD       | multiply a | multiply a | multiply b | multiply b |     of one wave, then the other
               | move b     | move b     | move a     | move a     |     of the other wave

Exit status 1 where the share of clocks in which matrix instructions execute is below SHARE for a
phased tile, or where a main loop is not found.
"""
import argparse
import pathlib
import re
import subprocess
import sys

import assembly
from main_loop import TILES, main_loop, moves, totals

# Published figures of the MI300X (AMD CDNA 3 white paper and ISA guide).
MFMA_CLOCKS = 32            # per 32x32x8 on one SIMD
SIMDS = 4                   # per compute unit
LDS_BYTES = 128             # per clock and compute unit
L1_BYTES = 64               # per clock and compute unit
L2_BYTES = 2048 / 38        # per clock and compute unit: a die's 2048 are shared by 38
LINE = 128                  # bytes of a cache line
ISSUE_CLOCKS = 4            # per other instruction of a wave of 64
# Assumptions of this model.
LDS_LATENCY = 128           # clocks from a read's issue to its data
BARRIER_CLOCKS = 40         # lost at a barrier
STAGE, HALVES = 64, 2


def move_clocks(part, waves):
    """Clocks in which `waves` waves move data for one half, while nobody else does. What they load
    from global memory arrives later and is counted for the whole stage."""
    issued = part["valu"] + part["salu"] + part["waits"] + part["lds"] + part["loads"]
    return max(waves * part["lds_bytes"] / LDS_BYTES, issued * ISSUE_CLOCKS) + LDS_LATENCY


def shares(tile, loop, along_k, stage=STAGE, halves=HALVES):
    """Of the clocks of a stage, the shares in which matrix cores, shared memory, L1 and L2 are busy.
    `along_k`: how many of A and B lie along k."""
    parts = moves(loop, halves)
    c = totals(loop)
    waves = tile.workgroups * tile.waves
    multiply = c["mfma"] // halves * MFMA_CLOCKS
    if tile.phased:
        # Half of the waves, one per SIMD, multiply while the others move; then they change roles.
        alone = sum(2 * (max(multiply, move_clocks(part, tile.waves // 2)) + BARRIER_CLOCKS)
                    for part in parts)
    else:
        alone = sum(multiply + move_clocks(part, tile.waves) + BARRIER_CLOCKS for part in parts)
    # A stage shorter than a line asks for every line along k more than once.
    again = (along_k * max(1, LINE / (stage * 2)) + 2 - along_k) / 2
    busy = (waves / SIMDS * halves * multiply, waves * c["lds_bytes"] / LDS_BYTES,
            waves * c["load_bytes"] * again / L1_BYTES,
            tile.workgroups * (tile.m + tile.n) * stage * 2 * again / L2_BYTES)
    clocks = max(alone, *busy)
    return [part / clocks for part in busy]


def check(kernel, min_share, say=print):
    """Says one kernel's line; False where it is not as it should be."""
    name = kernel.name
    tile = TILES[re.match(r"mfma_bf16_([^_]+)_", name).group(1)]
    loop = main_loop(kernel, tile, STAGE)
    if not loop:
        say(f"{name}: no main loop was found")
        return False
    c = totals(loop)
    busy = shares(tile, loop, re.sub("mn", "", name[10:]).count("_k"))
    others = c["valu"] + c["salu"] + c["waits"]
    text = ", ".join(f"{what} {100 * share:5.1f} %"
                     for what, share in zip(("matrix", "LDS", "L1", "L2"), busy))
    say(f"{name:34} {c['mfma']:3} mfma {c['lds']:3} lds {c['loads']:3} loads {others:3} others; "
        f"busy: {text}")
    return not tile.phased or busy[0] >= min_share


def self_test(kernel, min_share):
    """What is planted in a good kernel and not found: instructions beside the multiplication, an
    MFMA less, a stage of which a part is not loaded."""
    last = max(i for i, line in enumerate(kernel.lines) if "v_mfma" in line)
    loads = [i for i, line in enumerate(kernel.lines) if re.match(r"global_load_dwordx4.*s\[", line)]
    missed = []

    def plant(what, lines):
        if check(assembly.Kernel(kernel.name, kernel.numbers, lines), min_share, lambda _: None):
            missed.append(what)

    plant("200 more instructions", kernel.lines[:last + 1] + ["v_mov_b32_e32 v0, v0"] * 200 +
          kernel.lines[last + 1:])
    plant("an mfma less", kernel.lines[:last] + kernel.lines[last + 1:])
    plant("loads less", [line for i, line in enumerate(kernel.lines) if i not in loads[::2]])
    return missed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("code", type=pathlib.Path)
    parser.add_argument("--min-share", type=float, default=0.87)
    parser.add_argument("--mca")
    arguments = parser.parse_args()
    kernels = assembly.kernels(arguments.code / "gfx942" / "mfma_bf16.s")
    names = [name for name in kernels
             if re.match(r"mfma_bf16_\d+x\d+_", name) and "any_any" not in name]
    wrong = [name for name in names if not check(kernels[name], arguments.min_share)]
    missed = self_test(kernels["mfma_bf16_256x128_chain_k_k"], arguments.min_share)
    print(f"{len(names)} kernels, predicted for a whole stage of {STAGE} k in lockstep; below "
          f"{arguments.min_share} or not found: {', '.join(wrong) or 'none'}; planted faults missed: {', '.join(missed) or 'none'}")
    if arguments.mca:
        name = "mfma_bf16_256x256_chain_k_k"
        loop = main_loop(kernels[name], TILES["256x256"], STAGE)
        code = "\n".join(line for line in loop if not line.startswith(("s_c", "s_branch")))
        said = subprocess.run([arguments.mca, "-mtriple=amdgcn-amd-amdhsa", "-mcpu=gfx942",
                               "-iterations=20"], input=code, stdout=subprocess.PIPE, text=True,
                              check=True).stdout
        print("\n".join(said.splitlines()[:8]))
    sys.exit(1 if wrong or missed or not names else 0)


if __name__ == "__main__":
    main()
