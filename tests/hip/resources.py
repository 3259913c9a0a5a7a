#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""resources.py CODE_DIR: what every kernel of every chip must be, read from the very text that its
code object is assembled from: no spills, no scratch, no calls, no registers named at run time,
subnormals kept; matrix instructions where they belong, of the right kind and number; registers and
shared memory within budget, and within what the descriptor reserves; wide streams keep their ring of
stages in flight. Each fault is also planted in a good kernel, and must be found.
"""
import functools
import pathlib
import re
import sys

import assembly
import ring

# Multiplications per wave in a stage of each tile: 8 steps times its 32 x 32 blocks.
MFMAS = {"256x256": 64, "256x224": 56, "256x192": 48, "160x256": 40, "256x128": 32, "128x128": 32, "64x64": 8,
         "fp32": 32}
LDS = 65536
SPELLING = {"gfx90a": {"bf16": "bf16_1k", "fp16": "f16"}, "gfx942": {"bf16": "_bf16", "fp16": "_f16"}}
# Round to nearest even, keep subnormals, do not clamp fp16 to the largest finite number.
MODES = {"float_round_mode_32": 0, "float_round_mode_16_64": 0, "float_denorm_mode_32": 3, "float_denorm_mode_16_64": 3,
         "fp16_overflow": 0}
MODES_UNTIL_GFX11 = {"ieee_mode": 1, "dx10_clamp": 1}
DYNAMIC = r"v_movrel|s_movrel|s_set_gpr_idx"
CALLS = r"s_swappc|s_setpc|s_call"


def budget(name):
    """VGPRs per thread: two waves per SIMD with matrix instructions, which streams need for what they
    have in flight; otherwise four."""
    return 256 if name.startswith("mfma_") else 128


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
    yield from mode_faults(chip, kernel)
    yield from descriptor_faults(chip, kernel)
    yield from matrix_faults(chip, kernel)
    yield from ring.faults(kernel)


def mode_faults(chip, kernel):
    """Sentences about the floating-point mode that a kernel starts with, and whether it keeps it. The same that
    hip/check_modes.cmake asks when it is built, said again by other means."""
    wanted = dict(MODES, **({} if chip.startswith("gfx12") else MODES_UNTIL_GFX11))
    for name, value in wanted.items():
        if kernel.numbers.get("amdhsa_" + name) != value:
            yield f"{name} is {kernel.numbers.get('amdhsa_' + name)}: it must be {value}"
    if kernel.numbers.get("amdhsa_user_sgpr_kernarg_preload_length", 0) != 0:
        yield "has arguments in registers, which the interpreter never executed"
    if kernel.count("s_setreg|s_round_mode|s_denorm_mode"):
        yield "changes the floating-point mode"


def used(kernel):
    """The number of vector, accumulation and scalar registers up to the highest that the text names."""
    mask = functools.reduce(int.__or__, map(assembly.registers, kernel.instructions()))
    scalars = mask >> assembly.SCALARS & ((1 << 102) - 1)
    return (mask & ((1 << 256) - 1)).bit_length(), (mask >> 256 & ((1 << 256) - 1)).bit_length(), scalars.bit_length()


def descriptor_faults(chip, kernel):
    """Sentences about what a launch reserves by a kernel's descriptor and what its text needs. A register
    beyond them belongs to another wave; the loader believes the metadata, the chip the descriptor."""
    n = kernel.numbers
    vectors, accumulators, scalars = used(kernel)
    reserved = n["amdhsa_next_free_vgpr"]
    split = n.get("amdhsa_accum_offset", 256)
    if vectors > min(reserved, split):
        yield f"names v{vectors - 1}; the descriptor reserves {min(reserved, split)} vector registers"
    if accumulators and split + accumulators > reserved:
        yield f"names a{accumulators - 1}; the descriptor reserves {max(0, reserved - split)}"
    if scalars > n["amdhsa_next_free_sgpr"]:
        yield f"names s{scalars - 1}; the descriptor reserves {n['amdhsa_next_free_sgpr']} scalar registers"
    for ours, theirs in (("vgpr_count", "amdhsa_next_free_vgpr"), ("kernarg_segment_size", "amdhsa_kernarg_size"),
                         ("group_segment_fixed_size", "amdhsa_group_segment_fixed_size"),
                         ("private_segment_fixed_size", "amdhsa_private_segment_fixed_size")):
        if n[ours] != n[theirs]:
            yield f"{ours} is {n[ours]} in the metadata and {n[theirs]} in the descriptor"
    if n["arguments_end"] > n["amdhsa_kernarg_size"]:
        yield f"arguments end at byte {n['arguments_end']} of {n['amdhsa_kernarg_size']}"
    # All waves of a workgroup run at a time, on 4 SIMDs of 512 registers per lane, given out in eights.
    waves = -(-n["max_flat_workgroup_size"] // 256)
    if chip.startswith("gfx9") and waves * -(-reserved // 8) * 8 > 512:
        yield f"{waves} waves of a workgroup per SIMD with {reserved} registers each do not fit"


def matrix_faults(chip, kernel):
    """Sentences about a kernel's matrix instructions."""
    total = kernel.count("v_mfma|v_wmma|v_dot")
    if kernel.name.startswith("mfma_fp32_"):
        right = kernel.count(r"v_mfma_f32_32x32x2_?f32 ")
        if right != total or total != MFMAS["fp32"]:
            yield f"{right} of {total} matrix instructions are 32x32x2 of fp32; a stage has {MFMAS['fp32']}"
        return
    match = re.match(r"mfma_(bf16|fp16)_([^_]+)_", kernel.name)
    if not match:
        if total:
            yield "has matrix instructions, and is for ieee_fma"
        return
    kind, tile = match.groups()
    shape = "16x16x16" if tile.startswith("stream") else "32x32x8"
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

    def plant(what, change, name="mfma_bf16_128x128_chain_k_k"):
        good = kernels[name]
        bad = assembly.Kernel(good.name, dict(good.numbers), list(good.lines))
        change(bad)
        if next(faults(chip, bad), None) is None:
            missed.append(what)

    for name, value in (MODES | MODES_UNTIL_GFX11).items():
        plant(name, lambda bad, n=name, v=value: bad.numbers.update({"amdhsa_" + n: v ^ 1}))
        plant("no " + name, lambda bad, n=name: bad.numbers.pop("amdhsa_" + n))
    for number, value in (("vgpr_spill_count", 1), ("sgpr_spill_count", 1), ("vgpr_count", 257),
                          ("private_segment_fixed_size", 4), ("group_segment_fixed_size", 65540),
                          ("amdhsa_float_denorm_mode_32", 0), ("amdhsa_user_sgpr_kernarg_preload_length", 10),
                          ("amdhsa_next_free_vgpr", 40),
                          ("amdhsa_accum_offset", 40), ("amdhsa_next_free_sgpr", 16), ("amdhsa_kernarg_size", 8),
                          ("amdhsa_group_segment_fixed_size", 4096), ("max_flat_workgroup_size", 1024),
                          ("kernarg_segment_size", 16), ("arguments_end", 1024)):
        plant(number, lambda bad, n=number, v=value: bad.numbers.update({n: v}))
    for line in ("v_movrels_b32_e32 v0, v1", "s_swappc_b64 s[30:31], s[0:1]",
                 "scratch_load_dword v0, off, off", "v_mfma_f32_32x32x8_f16 v[0:15], v[0:1], v[0:1], 0",
                 "v_mov_b32_e32 v255, v0", "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 3", "s_round_mode 0x3",
                 "s_denorm_mode 0x0", "v_accvgpr_read_b32 v0, a0", "s_mov_b64 s[100:101], 0"):
        plant(line, lambda bad, text=line: bad.lines.append(text))
    mfma = next(line for line in kernels["mfma_bf16_128x128_chain_k_k"].lines if "v_mfma" in line)
    plant("a missing mfma", lambda bad: bad.lines.remove(mfma))
    stream = "mfma_bf16_stream96x128_chain_k_k"
    few = ring.required(stream)[2] - 1
    drained = [re.sub(r"vmcnt\((\d+)\)", lambda wait: f"vmcnt({min(int(wait[1]), few)})", line) for line in kernels[stream].lines]
    plant("turns that wait for one load more", lambda bad: bad.lines.__setitem__(slice(None), drained), stream)
    first = next(i for i, line in enumerate(kernels[stream].lines) if "v_mfma" in line)
    plant("a turn that multiplies less", lambda bad: bad.lines.pop(first), stream)
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
    sys.exit(1 if found or missed or count < 226 else 0)


if __name__ == "__main__":
    main()
