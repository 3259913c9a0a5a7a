#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""texts.py CODE_DIR CHIP...: each probe of identify (probe-CHIP.s) has one matrix instruction, the one that its name says,
and changes no mode of the chip before it. The probes of the Radeons are executed too, on whole numbers (wave32.py). Not run on
AMD hardware.
"""
import pathlib
import re
import sys

import wave32

MATRIX = re.compile(r"^\s+(v_(?:mfma|wmma|swmmac)_\w+)", re.M)
MODES = re.compile(r"^\s+(s_setreg\w*|s_round_mode|s_denorm_mode)", re.M)
MFMA = {"32x32x16_fp8": "v_mfma_f32_32x32x16_fp8_fp8", "16x16x32_fp8": "v_mfma_f32_16x16x32_fp8_fp8"}
BF16 = {f"{shape}": f"v_mfma_f32_{shape}_bf16" for shape in ("32x32x8", "16x16x16", "32x32x16", "16x16x32")}
WMMA = {"wmma_16x16x16": "v_wmma_f32_16x16x16_bf16"}
WMMA_FP8 = {"wmma_16x16x16_fp8": "v_wmma_f32_16x16x16_fp8_fp8"}
PROBES = {"gfx942": MFMA, "gfx950": {**MFMA, **BF16}, "gfx11": WMMA, "gfx12": {**WMMA, **WMMA_FP8}}


def of_chip(chip):
    return PROBES.get(chip) or PROBES[chip[:5]]


def wrong_of(text, probes):
    """What is wrong with a chip's text, as sentences."""
    wrong = []
    found = re.findall(r"^probe_(\w+):", text, re.M)
    if sorted(found) != sorted(probes):
        wrong.append(f"probes {sorted(found)}, expected {sorted(probes)}")
    for name in found:
        start = text.index(f"\nprobe_{name}:")
        body = text[start:text.index(".Lfunc_end", start)]
        instructions = MATRIX.findall(body)
        if instructions != [probes.get(name)]:
            wrong.append(f"{name} has {instructions}")
        if MODES.search(body):
            wrong.append(f"{name} has {MODES.search(body).group(1)}")
    return wrong


def body_of(text, name):
    start = text.index("\n", text.index(f"\nprobe_{name}:") + 1)
    lines = (line.split(";")[0].strip() for line in text[start:text.index(".Lfunc_end", start)].splitlines())
    return [line.replace("\t", " ") for line in lines if line and not line.startswith(".") and not line.endswith(":")]


def wrong_results(text, chip, name):
    """Sentences on a probe of a Radeon, and on the same text with operands exchanged, which must not pass."""
    lines, fp8 = body_of(text, name), name.endswith("fp8")
    given, expected = wave32.run(lines, chip.startswith("gfx12"), fp8)
    exchanged = [re.sub(r"(v_wmma\w+ [^,]+), ([^,]+\]), ([^,]+\]),", r"\1, \3, \2,", line) for line in lines]
    other, _ = wave32.run(exchanged, chip.startswith("gfx12"), fp8)
    wrong = [f"{name}: {sum(x != y for x, y in zip(given, expected))} results differ"] if given != expected else []
    return wrong + ([f"{name}: EXCHANGED OPERANDS PASSED"] if other == expected else [])


def main():
    code, chips = pathlib.Path(sys.argv[1]), sys.argv[2:]
    failed = not chips
    for chip in chips:
        text = (code / f"probe-{chip}.s").read_text(encoding="utf-8")
        wrong = wrong_of(text, of_chip(chip))
        if chip.startswith("gfx1"):
            wrong += [sentence for name in of_chip(chip) for sentence in wrong_results(text, chip, name)]
        # The same text with an instruction of another name must not pass.
        planted = MATRIX.sub(lambda m: m.group(0).replace("_f32_", "_f16_"), text)
        blind = planted == text or not wrong_of(planted, of_chip(chip))
        print(f"{chip}: {'; '.join(wrong) or 'each probe is its instruction'}{'; A PLANTED NAME PASSED' if blind else ''}")
        failed = failed or bool(wrong) or blind
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
