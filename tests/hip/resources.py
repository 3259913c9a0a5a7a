#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""resources.py CODE_DIR: what every kernel of every chip must be, read from the very text that its
code object is assembled from: no spills, no scratch, no calls, no registers named at run time,
subnormals kept; matrix instructions where they belong, of the right kind and number; registers and
shared memory within budget. `--self-test` plants each fault and must find it.
"""
import pathlib
import re
import sys

import assembly

# Multiplications per wave in a stage of each tile: 4 steps times its 32 x 32 blocks.
MFMAS = {"256x256": 32, "128x128": 16, "64x64": 4}
LDS = 65536
SPELLING = {"gfx90a": {"bf16": "bf16_1k", "fp16": "f16"}, "gfx942": {"bf16": "_bf16", "fp16": "_f16"}}
DYNAMIC = r"v_movrel|s_movrel|s_set_gpr_idx"
CALLS = r"s_swappc|s_setpc|s_call"


def budget(name):
    """VGPRs per thread: two waves per SIMD where elements are gathered and for tiles, otherwise four."""
    return 256 if re.match(r"mfma_.*(256x256|128x128|64x64|any)", name) else 128


def faults(chip, kernel):
    """Sentences about one kernel."""
    numbers = kernel.numbers
    for what in ("vgpr_spill_count", "sgpr_spill_count", "private_segment_fixed_size"):
        if numbers[what] != 0:
            yield f"{what} is {numbers[what]}"
    if numbers["group_segment_fixed_size"] > LDS:
        yield f"{numbers['group_segment_fixed_size']} bytes of shared memory"
    if numbers["vgpr_count"] > budget(kernel.name):
        yield f"{numbers['vgpr_count']} registers, budget {budget(kernel.name)}"
    if numbers.get("agpr_count", 0) != 0:
        yield "uses accumulation registers"
    for pattern, what in ((DYNAMIC, "names registers at run time"), (CALLS, "calls functions"),
                          (r"scratch_|buffer_(load|store)", "uses scratch")):
        if kernel.count(pattern):
            yield what
    if numbers["amdhsa_float_denorm_mode_32"] != 3 or numbers["amdhsa_float_denorm_mode_16_64"] != 3:
        yield "flushes subnormals"
    if numbers.get("amdhsa_float_round_mode_32", 0) != 0:
        yield "does not round to nearest"
    yield from matrix_faults(chip, kernel)


def matrix_faults(chip, kernel):
    """Sentences about a kernel's matrix instructions."""
    total = kernel.count("v_mfma|v_wmma|v_dot")
    match = re.match(r"mfma_(bf16|fp16)_([^_]+)_", kernel.name)
    if not match:
        if total:
            yield "has matrix instructions, and is for ieee_fma"
        return
    kind, tile = match.groups()
    shape = "16x16x16" if tile == "stream" else "32x32x8"
    right = kernel.count(f"v_mfma_f32_{shape}{SPELLING[chip][kind]} ")
    if right != total or right == 0:
        yield f"{right} of {total} matrix instructions are {shape} of {kind}"
    if tile in MFMAS and total != MFMAS[tile]:
        yield f"{total} matrix instructions; a stage has {MFMAS[tile]}"


def check(files):
    """All faults of the given (chip, name, kernels)."""
    found = []
    count = 0
    for chip, name, kernels in files:
        for kernel in kernels.values():
            count += 1
            found += [f"{chip}/{name} {kernel.name}: {what}" for what in faults(chip, kernel)]
    return count, found


def self_test(files):
    """Each fault, planted in a good kernel, is found."""
    chip, _, kernels = next(f for f in files if f[0] == "gfx942" and f[1] == "mfma_bf16.s")
    missed = []

    def plant(what, change):
        good = kernels["mfma_bf16_128x128_chain_k_k"]
        bad = assembly.Kernel(good.name, dict(good.numbers), list(good.lines))
        change(bad)
        if not list(faults(chip, bad)):
            missed.append(what)

    for number, value in (("vgpr_spill_count", 1), ("sgpr_spill_count", 1), ("vgpr_count", 257),
                          ("private_segment_fixed_size", 4), ("group_segment_fixed_size", 65540),
                          ("amdhsa_float_denorm_mode_32", 0)):
        plant(number, lambda bad, n=number, v=value: bad.numbers.update({n: v}))
    for line in ("v_movrels_b32_e32 v0, v1", "s_swappc_b64 s[30:31], s[0:1]",
                 "scratch_load_dword v0, off, off", "v_mfma_f32_32x32x8_f16 v[0:15], v[0:1], v[0:1], 0"):
        plant(line, lambda bad, text=line: bad.lines.append(text))
    mfma = next(line for line in kernels["mfma_bf16_128x128_chain_k_k"].lines if "v_mfma" in line)
    plant("a missing mfma", lambda bad: bad.lines.remove(mfma))
    return missed


def main():
    code = pathlib.Path(sys.argv[1])
    files = [(folder.name, path.name, assembly.kernels(path))
             for folder in sorted(code.iterdir()) if folder.is_dir()
             for path in sorted(folder.glob("*.s"))]
    count, found = check(files)
    missed = self_test(files)
    for line in found:
        print(line)
    print(f"{count} kernels in {len(files)} files, {len(found)} faults; planted faults missed: "
          f"{', '.join(missed) or 'none'}")
    sys.exit(1 if found or missed or count < 146 else 0)


if __name__ == "__main__":
    main()
