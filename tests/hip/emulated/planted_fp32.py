#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""planted_fp32.py IDENTIFY CODE_DIR RUNTIME_DIR WORK: identify must notice an fp32 matrix instruction
that is not the chain that it should be. Each fault changes the text of the fp32 kernel in one place; the
kernel as it is must pass.
"""
import os
import pathlib
import re
import subprocess
import sys

import planted

KERNEL = "mfma_fp32_fp32_128x128_chain"
VERDICT = "ITS FP32 MATRIX INSTRUCTION DIFFERS"


def matrix_of_one_block(lines):
    """Indices of the instructions on the first block's sums, in order of k."""
    indices = [i for i, line in enumerate(lines) if line.strip().startswith("v_mfma")]
    target = lines[indices[0]].split()[1]
    return [i for i in indices if lines[i].split()[1] == target]


def operands(line):
    return re.match(r"(\s*v_mfma\S+ [^,]+, )([^,]+), ([^,]+)(, .*)", line).groups()


def twice(lines):
    """Multiplies two products twice."""
    at = matrix_of_one_block(lines)[0]
    again = lines[at].split()
    lines.insert(at + 1, "\t" + " ".join(again[:-1] + [again[1].rstrip(",")]))


def exchanged(lines):
    """Exchanges A and B, and with them rows and columns."""
    at = matrix_of_one_block(lines)[0]
    head, a, b, tail = operands(lines[at])
    lines[at] = head + b + ", " + a + tail


def left_out(lines):
    """Leaves two products out."""
    del lines[matrix_of_one_block(lines)[-1]]


def main():
    identify, code, runtime, work, probes = sys.argv[1], *map(pathlib.Path, sys.argv[2:6])
    wrong = []
    for fault in (None, twice, exchanged, left_out):
        environment = dict(os.environ, GCN_ARCH="gfx942", LD_LIBRARY_PATH=str(runtime),
                           GCN_CODE=f"{planted.plant(code, work, KERNEL, fault)}:{probes}")
        done = subprocess.run([identify], env=environment, stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.PIPE, check=False)
        name = fault.__name__ if fault else "as it is"
        print(f"{name}: exit {done.returncode}, {'differs' if VERDICT in done.stdout else 'equal'}")
        if (VERDICT in done.stdout) != bool(fault) or (done.returncode != 0) != bool(fault):
            wrong.append(name)
    print(f"wrong verdicts: {', '.join(wrong) or 'none'}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
