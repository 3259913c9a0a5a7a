#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""planted_steps.py IDENTIFY RUNTIME_DIR CODE_DIR PROBE_DIR: identify, on an emulated chip that computes another
arithmetic than the contract's, must name it. On gfx942 by the library's own kernels; what no contract describes (its fp8,
and all of gfx950) by the probes of PROBE_DIR and for each of their instructions. Not run on AMD hardware.
"""
import os
import pathlib
import re
import subprocess
import sys

PLANTED = {
    "gfx942": ["model", "cdna3-one-floor", "hopper", "L 8, 2 stages, F 30, truncate, nearest"],
    "gfx950": ["cdna3", "cdna3-one-floor", "cdna2", "ieee_fma", "hopper", "cdna3-fp8",
               "L 4, 2 stages, F 28, nearest, toward zero, flushes"],
}
# The lines "winner": of the probes, and then of the library's kernels.
PROBES = {"gfx942": 2, "gfx950": 6}
KERNELS = {"gfx942": 1, "gfx950": 0}
WINNER = re.compile(r"winner: (.*) in all of \d+ steps")


def expected(chip, model):
    """Without a planted model a gfx942 computes the contract's step, and the published one of its fp8."""
    if model == "model":
        return ["cdna3-fp8"] * PROBES[chip] + ["cdna3"]
    return [model] * (PROBES[chip] + KERNELS[chip])


def main():
    identify, runtime, code, probes = sys.argv[1:5]
    wrong = []
    for chip, planted in PLANTED.items():
        if not pathlib.Path(probes, f"probe-{chip}.hsaco").exists():
            print(f"{chip}: no compiler of this build compiles it, and there are no probes")
            continue
        for model in planted:
            environment = dict(os.environ, GCN_ARCH=chip, GCN_MFMA=model, LD_LIBRARY_PATH=runtime,
                               GCN_CODE=f"{code}:{probes}")
            done = subprocess.run([identify], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True, check=False)
            winners = WINNER.findall(done.stdout)
            # A chip of its own arithmetic must also fail: the contract says another one.
            differs = chip == "gfx942" and model != "model"
            good = winners == expected(chip, model) and (done.returncode != 0) == differs
            print(f"{chip} {model}: exit {done.returncode}, winners {winners}")
            if not good:
                wrong.append(f"{chip} {model}")
                print(done.stdout[-3000:], done.stderr[-2000:])
    print(f"wrong names: {', '.join(wrong) or 'none'}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
