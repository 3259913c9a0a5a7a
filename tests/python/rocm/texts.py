# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""What the text of a row operation must be, whichever chip it is compiled for: the floating-point mode of every other kernel, no
scratch memory, no atomics, and of matrix instructions one shape in all, so that no tile has another order of k than another."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "hip"))
import assembly
import resources

# 16 rows and columns; of bf16 or fp16, with the k of the chip's own instruction.
MATRIX = {"gfx942": r"v_mfma_f32_16x16x16_b?f16$", "gfx90a": r"v_mfma_f32_16x16x16(bf16_1k|f16)$",
          "gfx950": r"v_mfma_f32_16x16x32_b?f16$"}
ATOMIC = r"\w*_atomic|ds_(add|sub|rsub|inc|dec|min|max|and|or|xor|mskor|wrxchg|cmpst|append|consume)_"


def faults(chip, kernel):
    """Sentences about one kernel of Triton's."""
    for sentence in resources.mode_faults(chip, kernel):
        if not sentence.startswith("has arguments in registers"):  # which the interpreter executes for these kernels
            yield sentence
    for name in ("private_segment_fixed_size", "vgpr_spill_count"):
        if kernel.numbers[name] != 0:
            yield f"{name} is {kernel.numbers[name]}"
    if kernel.numbers["group_segment_fixed_size"] > resources.LDS:
        yield f"{kernel.numbers['group_segment_fixed_size']} bytes of shared memory"
    if kernel.count(ATOMIC):
        yield "has atomics"
    if kernel.count(r"v_(fma|mad)_mix"):
        yield "has a product and its conversion in one instruction, which adds +0 to it: -0 is lost"
    if kernel.count(resources.CALLS + r"|scratch_"):
        yield "calls functions or uses scratch"
    names = {line.split()[0] for line in kernel.instructions() if re.match("v_mfma|v_smfma|v_wmma|v_dot", line)}
    for name in sorted(names):
        if not re.match(MATRIX[chip], name):
            yield f"has {name}: it must be {MATRIX[chip]}"


def kernels_of(text, path):
    """The kernels of one text, which is written to `path`."""
    path.write_text(text, encoding="utf-8")
    return list(assembly.kernels(path).values())
