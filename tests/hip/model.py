#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""model.py CODE_DIR [--min-share SHARE] [--mca LLVM_MCA]: how busy the matrix cores of an MI300X would be
in the main loop of the 256 x 256 tile, counted in the compiled text. A model of published figures,
not a measurement: nothing here ran on AMD hardware, and clocks under load are not modelled.

Exit status 1 where the share of clocks in which matrix instructions execute is below SHARE.
"""
import argparse
import heapq
import math
import pathlib
import re
import subprocess
import sys

import assembly

# Published figures of the MI300X (AMD CDNA 3 white paper and ISA guide).
UNITS, XCDS, CLOCK = 304, 8, 2.1e9
MFMA_CLOCKS = 32            # per 32x32x8 on one SIMD
SIMDS = 4                   # per compute unit
LDS_BYTES = 128             # per clock and compute unit
L1_BYTES = 64               # per clock and compute unit
ISSUE_CLOCKS = 4            # per other instruction of a wave of 64
HBM_RATE = 5.3e12           # bytes per second
# Assumptions of this model.
LDS_LATENCY = 128           # clocks from a read's issue to its data
BARRIER_CLOCKS = 40         # lost where the two halves of a workgroup exchange their roles
TILE_CLOCKS = 6000          # outside a tile's main loop: the first loads and the epilogue
WAVES, STAGE = 8, 32
KERNEL = "mfma_bf16_256x256_chain_k_k"

SHAPES = [("8192 x 8192 x 8192", 8192, 8192, 8192), ("4096 x 4096 x 4096", 4096, 4096, 4096),
          ("16384 x 16384 x 16384", 16384, 16384, 16384), ("8192 x 28672 x 8192", 8192, 28672, 8192),
          ("8192 x 8192 x 28672", 8192, 8192, 28672), ("2048 x 8192 x 8192", 2048, 8192, 8192)]


def successors(blocks):
    """For every block, the labels to which it may branch or fall through."""
    order = [label for label, _ in blocks]
    targets_of = {}
    for i, (label, lines) in enumerate(blocks):
        targets = [m.group(1) for line in lines
                   if (m := re.match(r"s_(?:c?branch)\w*\s+(\.LBB\w+)", line))]
        ends = bool(lines) and re.match(r"s_branch|s_endpgm", lines[-1])
        if not ends and i + 1 < len(order):
            targets.append(order[i + 1])
        targets_of[label] = targets
    return targets_of


def main_loop(kernel):
    """The instructions of one full stage: the shortest way from the matrix instructions back to
    them that writes a stage and loads another in whole chunks."""
    blocks = kernel.blocks()
    lines = dict(blocks)
    targets_of = successors(blocks)
    start = next(label for label, code in blocks if any("v_mfma" in line for line in code))

    def marks(label):
        code = lines[label]
        slow = any("global_load_ushort" in line for line in code)
        return (sum("ds_write" in line for line in code),
                sum("global_load_dwordx4" in line for line in code), slow)

    queue = [(0, start, 0, 0, (start,))]
    seen = set()
    while queue:
        cost, label, wrote, loaded, path = heapq.heappop(queue)
        if (label, wrote, loaded) in seen:
            continue
        seen.add((label, wrote, loaded))
        for target in targets_of[label]:
            if target == start:
                if wrote and loaded >= 4:
                    return [line for block in path for line in lines[block]]
                continue
            writes, loads, slow = marks(target)
            if slow or target in path:
                continue
            heapq.heappush(queue, (cost + len(lines[target]), target, wrote + writes,
                                   loaded + loads, path + (target,)))
    sys.exit(f"{kernel.name}: no main loop was found")


def lds_bytes(line):
    """Bytes that a wave moves to or from shared memory."""
    match = re.match(r"ds_(?:read|write)(2?)(?:st64)?_b(\d+)", line)
    return 64 * int(match.group(2)) // 8 * (2 if match.group(1) else 1) if match else 0


def count(loop):
    """What one wave issues for one stage."""
    c = {"mfma": 0, "valu": 0, "salu": 0, "lds": 0, "lds_bytes": 0, "vmem": 0, "vmem_bytes": 0}
    for line in loop:
        if line.startswith("v_mfma"):
            c["mfma"] += 1
        elif line.startswith("ds_"):
            c["lds"] += 1
            c["lds_bytes"] += lds_bytes(line)
        elif line.startswith("global_load_dwordx4"):
            c["vmem"] += 1
            c["vmem_bytes"] += 64 * 16
        elif line.startswith("v_"):
            c["valu"] += 1
        elif line.startswith("s_"):
            c["salu"] += 1
    return c


def phases(c):
    """Clocks of one half step: four waves multiply while the other four move data."""
    multiply = c["mfma"] * MFMA_CLOCKS
    half = WAVES // 2
    others = c["valu"] + c["salu"] + c["lds"] + c["vmem"]
    move = max(half * c["lds_bytes"] / LDS_BYTES, half * c["vmem_bytes"] / L1_BYTES,
               others * ISSUE_CLOCKS) + LDS_LATENCY
    return multiply, move, max(multiply, move) + BARRIER_CLOCKS


def predicted(m, n, k, phase):
    """Seconds: whole rounds of tiles on the compute units, or bytes from memory."""
    tiles = math.ceil(m / 256) * math.ceil(n / 256)
    clocks = math.ceil(tiles / UNITS) * (math.ceil(k / STAGE) * 2 * phase + TILE_CLOCKS)
    return max(clocks / CLOCK, (m * k + n * k + m * n) * 2 / HBM_RATE)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("code", type=pathlib.Path)
    parser.add_argument("--min-share", type=float, default=0.9)
    parser.add_argument("--mca")
    arguments = parser.parse_args()
    kernel = assembly.kernels(arguments.code / "gfx942" / "mfma_bf16.s")[KERNEL]
    loop = main_loop(kernel)
    c = count(loop)
    multiply, move, phase = phases(c)
    share = multiply / phase
    print(f"{KERNEL}, one stage of {STAGE} k per wave: {c['mfma']} mfma, {c['valu']} valu, "
          f"{c['salu']} salu, {c['lds']} lds ({c['lds_bytes']} bytes), {c['vmem']} loads "
          f"({c['vmem_bytes']} bytes)")
    print(f"a half step: {multiply} clocks of matrix instructions, {move:.0f} of moving data next to "
          f"them, {phase:.0f} in all: {100 * share:.1f} % matrix (predicted)")
    for text, m, n, k in SHAPES:
        seconds = predicted(m, n, k, phase)
        print(f"| {text} | {seconds * 1e6:.0f} | {2 * m * n * k / seconds / 1e12:.0f} |")
    if arguments.mca:
        code = "\n".join(line for line in loop if not line.startswith(("s_c", "s_branch")))
        said = subprocess.run([arguments.mca, "-mtriple=amdgcn-amd-amdhsa", "-mcpu=gfx942",
                               "-iterations=20"], input=code, stdout=subprocess.PIPE, text=True,
                              check=True).stdout
        print("\n".join(said.splitlines()[:8]))
    sys.exit(0 if share >= arguments.min_share else 1)


if __name__ == "__main__":
    main()
