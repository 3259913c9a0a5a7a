#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""mutate.py DETGEMM CODE_DIR RUNTIME_DIR WORK: removes single instructions, chosen at random, from the
text of real kernels, and counts how many of these mutants the checks notice: hazards.py without
executing them, the interpreter by refusing to go on, or the result by other bits. Instructions that
the problems below do not execute are not counted.

Some survivors change nothing (a carry that is always zero, a wait behind another); the others name
what the problems or checks do not cover. The tests run a small fixed sample and ask for a share of it.
"""
import argparse
import collections
import os
import pathlib
import random
import re
import shutil
import sys

import planted

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import assembly
import hazards

CHAIN, TREE = "cdna3/bf16/chain->fp32", "cdna3/bf16/tree:64->fp32"


def problem(contract, m, n, k, values):
    return ["--contract", contract, "--m", str(m), "--n", str(n), "--k", str(k), "--layout", "NT",
            "--dist", values]


EPILOGUE = ["--alpha", "-1.5", "--beta", "0.5", "--bias-type", "fp32", "--activation", "gelu"]
# Kernel, variant, and problems: whole tiles; tails in a matrix core that returns -0; an epilogue, and
# several tiles for each of few workgroups.
KERNELS = {
    "mfma_bf16_128x128_chain_k_k": ("128x128", [(problem(CHAIN, 128, 128, 96, "wide"), {}),
                                                (problem(CHAIN, 150, 130, 104, "cancel"), planted.ADVERSE),
                                                (problem(CHAIN, 300, 280, 72, "normal") + EPILOGUE,
                                                 {"GCN_UNITS": "2"})]),
    "mfma_bf16_128x128_leaves_k_k": ("128x128", [(problem(TREE, 200, 256, 264, "wide"), {}),
                                                 (problem(TREE, 128, 128, 200, "cancel"), planted.ADVERSE),
                                                 (problem(TREE, 300, 280, 200, "normal") + EPILOGUE,
                                                  {"GCN_UNITS": "2"})]),
}
# Stops whoever executes it: a register that nobody writes.
PROBE = "\tv_readfirstlane_b32 s0, a255"


def stubbed(text, kept):
    """A file's text in which every kernel but one ends at once, because parsing takes most of the time."""
    lines, skipping = [], False
    for line in text.split("\n"):
        skipping = skipping and not line.startswith((".Lfunc_end", "\t.section"))
        if not skipping:
            lines.append(line)
        name = re.match(r"(\w+):", line)
        if name and name[1] != kept and f"\t.type\t{name[1]},@function" in text:
            lines.append("\ts_endpgm")
            skipping = True
    return "\n".join(lines)


class Kernel:
    """A kernel's text in the file around it, and what its problems give."""

    def __init__(self, name, arguments):
        self.name, self.arguments = name, arguments
        self.variant, self.problems = KERNELS[name]
        self.source = next(f for f in (arguments.code / "gfx942").glob("*.s") if f"\n{name}:" in f.read_text())
        text = stubbed(self.source.read_text(), name)
        start = text.index(f"\n{name}:")
        end = text.index(".Lfunc_end", start)
        self.before, self.lines, self.after = text[:start], text[start:end].split("\n"), text[end:]
        self.others = {f.name: stubbed(f.read_text(), name) for f in (arguments.code / "gfx942").glob("*.s")
                       if f != self.source}
        self.environment = dict(os.environ, GCN_ARCH="gfx942", LD_LIBRARY_PATH=str(arguments.runtime))
        self.expected = [planted.digest([arguments.cli, "run", "--backend", "reference", *p], self.environment)
                         for p, _ in self.problems]

    def mutable(self):
        """Indices of lines that are instructions."""
        return [i for i, line in enumerate(self.lines) if re.match(r"\t[a-z]\w+", line)]

    def results(self, lines):
        """What each problem gives with other lines: a digest or a message."""
        folder = self.arguments.work / "mutant"
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "gfx942").mkdir(parents=True)
        shutil.copy(self.arguments.code / "gfx942.hsaco", folder)
        for file, text in self.others.items():
            (folder / "gfx942" / file).write_text(text)
        (folder / "gfx942" / self.source.name).write_text(self.before + "\n".join(lines) + self.after)
        for given, chip in self.problems:
            yield planted.digest(
                [self.arguments.cli, "run", "--backend", "hip", "--variant", self.variant, *given],
                dict(self.environment, GCN_CODE=str(folder), **chip))

    def is_executed(self, at):
        probed = [*self.lines[:at], PROBE, *self.lines[at + 1:]]
        return any("a255, which was never written" in result for result in self.results(probed))

    def verdict(self, at):
        """hazard, refused, bits or survived: what becomes of the kernel without line `at`."""
        lines = [*self.lines[:at], *self.lines[at + 1:]]
        if hazards.faults("gfx942", assembly.body(self.before + "\n".join(lines) + self.after, self.name)):
            return "hazard"
        for result, expected in zip(self.results(lines), self.expected):
            if result != expected:
                return "bits" if re.fullmatch(r"[0-9a-f]{16}", result) else "refused"
        return "survived"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cli")
    for name in ("code", "runtime", "work"):
        parser.add_argument(name, type=pathlib.Path)
    parser.add_argument("--count", type=int, default=30, help="mutants of each kernel")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--least", type=float, default=0, help="share of the mutants that has to be noticed")
    arguments = parser.parse_args()
    verdicts = collections.Counter()
    for name in KERNELS:
        kernel = Kernel(name, arguments)
        if list(kernel.results(kernel.lines)) != kernel.expected:
            sys.exit(f"{name} as it is gives other bits or none")
        chosen = random.Random(arguments.seed).sample(kernel.mutable(), len(kernel.mutable()))
        left = arguments.count
        for at in chosen:
            if left == 0:
                break
            if not kernel.is_executed(at):
                continue
            left -= 1
            verdict = kernel.verdict(at)
            verdicts[verdict] += 1
            if verdict == "survived":
                print(f"survived: {name} without{kernel.lines[at].expandtabs(1)}")
    noticed = sum(verdicts.values()) - verdicts["survived"]
    print(f"{noticed} of {sum(verdicts.values())} mutants noticed: {dict(verdicts)}")
    sys.exit(0 if noticed >= arguments.least * sum(verdicts.values()) > 0 or not arguments.least else 1)


if __name__ == "__main__":
    main()
