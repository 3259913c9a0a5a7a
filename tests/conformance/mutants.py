#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""mutants.py COMMAND ENGINE: `detgemm conform --engine` catches every fault of engines/mutants.c.

Each mutant is a run of its own. It must fail with exit code 1, by the property that is there for
its fault; the engine without a fault must pass. Prints one line per mutant.
"""
import concurrent.futures
import json
import os
import subprocess
import sys

FP32 = "ieee_fma/fp32/chain->fp32"
BF16 = "ieee_fma/bf16/chain->bf16"

# Number: the fault, the property that must find it, the contract, and further options.
MUTANTS = {
    60: ("a transposed B with padded rows", "combinations", BF16),
    61: ("A by columns, padded", "combinations", BF16),
    62: ("D by columns, padded", "combinations", BF16),
    63: ("C with padded rows", "combinations", BF16),
    64: ("C by columns", "combinations", BF16),
    72: ("C at 32 modulo 64 bytes", "combinations", BF16),
    306: ("reads past a padded row of a transposed A", "combinations", BF16),
    606: ("reads past a padded row of C", "combinations", BF16),
    66: ("bias and a transposed A", "combinations", BF16),
    67: ("beta and a transposed B", "combinations", BF16),
    69: ("continue and alpha", "combinations", BF16),
    313: ("A at 128 modulo 256 bytes", "combinations", BF16),
    71: ("a bias not aligned to 16 bytes", "combinations", BF16),
    47: ("A and B at one address", "combinations", BF16),
    149: ("more than 65,536 outputs", "large", FP32),
    65: ("32,768 outputs and more", "large", FP32),
    12: ("K beyond 8,192", "large", FP32),
    22: ("products from 65,536 on", "large", FP32),
    24: ("in place, from row 64 on", "large", FP32),
    117: ("bias from column 1,000 on", "large", FP32),
    70: ("bias and more than 600 columns", "large", FP32),
    234: ("output (511, 511)", "large", FP32, "--full"),
    18: ("alpha = 0", "epilogue", BF16),
    19: ("relu(-0)", "epilogue", BF16),
    73: ("-0 of the epilogue", "epilogue", BF16),
    30: ("continue from -0", "specials", FP32),
    105: ("three calls at once", "concurrency", FP32),
    205: ("five calls at once", "concurrency", FP32),
    305: ("nine calls at once", "concurrency", FP32),
    1: ("M above 128", "batch", FP32),
    2: ("N above 100", "columns", FP32),
    7: ("an odd leading dimension", "strides", FP32),
    13: ("B at 32 modulo 64 bytes", "combinations", FP32),
    45: ("TT", "layouts", FP32),
    134: ("column 200", "columns", FP32, "--full"),
    307: ("a leading dimension of 4,096", "combinations", FP32),
    401: ("one row, whole vectors of B", "combinations", FP32, "--full"),
    402: ("relu of more than 256 columns", "combinations", FP32, "--full"),
    50: ("from call 20,001 on", "run_to_run", FP32, "--soak", "20000"),
}
# These pass where nothing is asked for beyond --quick: what finds them is the option.
ONLY_BY_OPTION = (50,)
SEEDS = (1, 2)


def conform(command, engine, mutant, arguments):
    """Exit code and report of one run."""
    done = subprocess.run(
        [command, "conform", "--engine", engine, "--threads", "1", "--report", "json", *arguments],
        env={**os.environ, "DETGEMM_MUTANT": str(mutant)},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=250,
        check=False)
    try:
        return done.returncode, json.loads(done.stdout)["reports"][0]
    except (ValueError, KeyError, IndexError):
        return done.returncode, {"cells": [], "error": done.stderr.decode(errors="replace")}


def try_mutant(command, engine, mutant):
    """A sentence about the mutant, and whether it was caught by the right property."""
    fault, property_name, contract, *more = MUTANTS[mutant]
    if mutant in ONLY_BY_OPTION:
        code, report = conform(command, engine, mutant,
                               ["--contract", contract, "--property", property_name])
        if code != 0:
            return f"{mutant:4} {fault}: found without {more[0]}: exit {code}", False
    for seed in SEEDS:
        code, report = conform(command, engine, mutant,
                               ["--contract", contract, "--property", property_name,
                                "--seed", str(seed), *more])
        verdicts = [cell["verdict"] for cell in report["cells"]]
        if code != 1 or verdicts != ["failed"]:
            return (f"{mutant:4} {fault}: MISSED by {property_name}, seed {seed}: exit {code}, "
                    f"{verdicts} {report.get('error', '')}"), False
    return f"{mutant:4} {fault}: caught by {property_name}", True


def main():
    command, engine = sys.argv[1:3]
    code, report = conform(command, engine, 0, ["--contract", FP32, "--contract", BF16])
    good = code == 0 and len(report["cells"]) >= 40
    bad = [f"{cell['property']} {cell['verdict']}: {cell['reason']}" for cell in report["cells"]
           if cell["verdict"] not in ("passed", "skipped")]
    print(f"   0 no fault: exit {code}, {len(report['cells'])} cells", *bad, sep="\n     ")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for sentence, caught in pool.map(lambda m: try_mutant(command, engine, m), MUTANTS):
            print(sentence)
            good = good and caught
    print(f"{len(MUTANTS)} mutants, {'all caught' if good else 'NOT all as they should be'}")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
