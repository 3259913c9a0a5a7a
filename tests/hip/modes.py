#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""modes.py CODE_DIR CMAKE SCRIPT WORK: the check that every build makes of its compiler's text
(hip/check_modes.cmake) passes the text of every chip as it is, and fails where one number of one descriptor is
another, is left out, or an instruction changes the mode.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

# A bit of each number that the descriptor of a gfx9 kernel has about floating point, and what it must say.
PLANTED = [("float_round_mode_32", 1), ("float_round_mode_32", 2), ("float_round_mode_16_64", 1),
           ("float_round_mode_16_64", 2), ("float_denorm_mode_32", 1), ("float_denorm_mode_32", 2),
           ("float_denorm_mode_16_64", 1), ("float_denorm_mode_16_64", 2), ("fp16_overflow", 1), ("ieee_mode", 0),
           ("dx10_clamp", 0), ("user_sgpr_kernarg_preload_length", 10)]
LEFT_OUT = ["float_round_mode_32", "float_round_mode_16_64", "float_denorm_mode_32", "float_denorm_mode_16_64",
            "fp16_overflow", "ieee_mode", "dx10_clamp"]
CHANGES = ["s_setreg_b32 hwreg(HW_REG_MODE), s0", "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 3", "s_round_mode 0x3",
           "s_denorm_mode 0x0"]


def check(cmake, script, text):
    done = subprocess.run([cmake, "-D", f"TEXT={text}", "-P", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    return done.returncode, " ".join(done.stdout.split())


def last(text, pattern, replacement):
    """The text with the last line of a pattern replaced: the last kernel's descriptor counts too."""
    found = list(re.finditer(pattern, text, re.M))[-1]
    return text[:found.start()] + replacement + text[found.end():]


def faults(text):
    """(name, text with the fault, what the sentence must say)"""
    for name, value in PLANTED:
        line = f"\t\t.amdhsa_{name} {value}"
        yield f"{name} {value}", last(text, rf"^\s*\.amdhsa_{name} \d+", line), f".amdhsa_{name} {value}: it must be"
    for name in LEFT_OUT:
        yield f"no {name}", last(text, rf"^\s*\.amdhsa_{name} \d+\n", ""), f"does not say .amdhsa_{name}"
    for line in CHANGES:
        yield line, text.replace("\ts_endpgm", f"\t{line}\n\ts_endpgm", 1), f"changes a mode: {line}"
    yield "no kernel", "\n", "it has no kernel"


def main():
    code, cmake, script, work = pathlib.Path(sys.argv[1]), *sys.argv[2:4], pathlib.Path(sys.argv[4])
    work.mkdir(parents=True, exist_ok=True)
    wrong = []
    texts = sorted(code.glob("*/*.s"))
    chips = {path.parent.name for path in texts}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, (status, said) in zip(texts, pool.map(lambda path: check(cmake, script, path), texts)):
            if status != 0:
                wrong.append(f"{path.parent.name}/{path.name}: {said}")
        planted = list(faults((code / "gfx942/snap.s").read_text(encoding="utf-8")))
        for i, (_, text, _) in enumerate(planted):
            (work / f"{i}.s").write_text(text, encoding="utf-8")
        results = pool.map(lambda i: check(cmake, script, work / f"{i}.s"), range(len(planted)))
        for (name, _, sentence), (status, said) in zip(planted, results):
            if status == 0 or sentence not in said:
                wrong.append(f"planted {name}: exit {status}, {said}")
    print("\n".join(wrong))
    print(f"{len(texts)} texts of {len(chips)} chips, {len(planted)} planted faults, {len(wrong)} wrong")
    sys.exit(1 if wrong or len(texts) < 12 else 0)


if __name__ == "__main__":
    main()
