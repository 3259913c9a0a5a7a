#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Contracts of snap against other people's libraries, bit for bit, with k shuffled inside of leaves.

    tests/peers/snap_vendor.py --device cuda --outputs 1e9 --seconds 50 --json snap-vendor.json
    tests/peers/snap_vendor.py --device cpu --outputs 2e5 --seconds 10

    A, B --snap_rule.py--> snapped --shuffled inside of leaves--> one product per leaf by a library, in fp32
                                                                  --fold or tree, rounding--> the bits of ours

Ours is the package detgemm with PyTorch (PYTHONPATH, DETGEMM_LIBRARY): it gets the operands as they are, shuffled, and
snapped by itself before. On a GPU the libraries are cuBLASLt with another one of its algorithms for every leaf, and what
PyTorch calls for bf16, for fp32 on CUDA cores and for TF32; on a CPU OpenBLAS and PyTorch's own. All results of a
problem must have the same bits, NaN included, and products that were not snapped, or wrongly, must not: those are the
controls. The JSON has the form of a sweep's, for scripts/record.py. The last line is the verdict. Exit code 0: nothing
differed, every library and every LEAF had its share, and all controls showed.
"""
import argparse
import itertools
import json
import pathlib
import random
import sys
import time

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import blas
import snap_rule as rule

import detgemm.torch as dt

LEAVES = (64, 128, 192, 256, 512, 1024)
JOINS = {"fold": rule.fold, "tree": rule.tree}
OUTPUTS = {"fp32": torch.float32, "bf16": torch.bfloat16}
# Controls that shuffle: k across leaves; and inside of them, operands that were not snapped.
SHUFFLED = ("shuffled across leaves", "not snapped, shuffled or not")
GUARD = 64  # elements before and behind of D that nobody may write


def libraries(device):
    if device == "cpu":
        return {"OpenBLAS": blas.OpenBlas(), "PyTorch's BLAS": blas.Torch()}
    return {"cuBLASLt": blas.CublasLt(), **{f"PyTorch, {how}": blas.Torch(how) for how in ("bf16", "fp32", "tf32")}}


def ours(a, b, contract, tally, **promises):
    """Our product; counts what was written around D and whether operands were changed."""
    m, n, dtype = a.shape[0], b.shape[0], OUTPUTS[contract.rpartition(">")[2]]
    room = torch.full((m * n + 2 * GUARD,), -3.0, dtype=dtype, device=a.device)
    d = room[GUARD:GUARD + m * n].view(m, n)
    before = a.clone(), b.clone()
    dt.gemm(a, b.t(), contract, out=d, **promises)
    outside = torch.cat((room[:GUARD], room[GUARD + m * n:])) != -3.0
    tally.outside += int(outside.sum()) * d.element_size()
    tally.changed += sum(int(not same(x, y)) for x, y in zip(before, (a, b)))
    return d


def words(x):
    return x.contiguous().view(torch.int16 if x.element_size() == 2 else torch.int32)


def same(x, y):
    return torch.equal(words(x), words(y))


def by_library(library, a, b, contract, leaf, order):
    """The contract, from operands that are snapped, with a library's products of leaves."""
    join = JOINS["tree" if "/tree:" in contract else "fold"]
    a, b = a[:, order], b[:, order]

    def product(i):
        span = slice(i * leaf, (i + 1) * leaf)
        return library(a[:, span].contiguous(), b[:, span].contiguous())

    d = join(product, -(-a.shape[1] // leaf))
    return rule.canonical(d.to(OUTPUTS[contract.rpartition(">")[2]]))


class Tally:
    """Runs, compared outputs and differences, in all and along each axis."""

    def __init__(self):
        self.by, self.total = {}, self.empty()
        self.outside = self.changed = self.nan = self.problems = self.distinct = 0
        self.controls = {name: {"outputs": 0, "differ": 0} for name in (*rule.FAULTS, *SHUFFLED)}
        self.first, self.refused = None, {}

    @staticmethod
    def empty():
        return {"runs": 0, "outputs": 0, "mismatches": 0}

    def add(self, d, other, axes):
        differ = int((words(d) != words(other)).sum())
        for values in (self.total, *(self.by.setdefault(axis, {}).setdefault(str(value), self.empty())
                                     for axis, value in axes.items())):
            values["runs"] += 1
            values["outputs"] += d.numel()
            values["mismatches"] += differ
        if differ and self.first is None:
            at = (words(d) != words(other)).nonzero()[0].tolist()
            self.first = {**{axis: str(value) for axis, value in axes.items()}, "at": at, "ours": d[tuple(at)].item(),
                          "theirs": other[tuple(at)].item()}

    def control(self, name, d, other):
        self.controls[name]["outputs"] += d.numel()
        self.controls[name]["differ"] += int((words(d) != words(other)).sum())


def shape(draw, device):
    """M, N and K: powers of two, their neighbours, anything, few rows, and large ones for the count."""
    large = draw.random() < (0.1 if device == "cpu" else 0.35)
    if device == "cpu":
        return *((draw.randint(200, 500), draw.randint(200, 500)) if large else (draw.randint(1, 90), draw.randint(1, 90))
                 ), draw.randint(1, 1500)
    if large:
        return draw.choice((4096, 6144, 8192)), draw.choice((4096, 8192)), draw.choice((256, 384, 512, 768, 1000, 1024))
    one = [lambda: draw.randint(1, 64), lambda: draw.choice((64, 128, 256, 1024)) + draw.randint(-1, 1),
           lambda: draw.randint(1, 3000)]
    return draw.choice(one)(), draw.choice(one)() + 1, draw.randint(1, 3000)


def problem(index, options, found, tally, faults):
    draw = random.Random(f"{options.seed}/{index}")
    device, leaf = options.device, LEAVES[index % len(LEAVES)]
    kind = list(rule.KINDS)[(index // len(LEAVES)) % len(rule.KINDS)]
    m, n, k = shape(draw, device)
    contract = f"snap/bf16/{draw.choice(list(JOINS))}:{leaf}->{draw.choice(list(OUTPUTS))}"
    numbers = rule.Draw(draw.getrandbits(60), device)
    a, b = rule.operands(kind, m, n, k, numbers)
    axes = {"leaf": leaf, "data": kind, "contract": contract.replace(f":{leaf}", ""),
            "size": "large" if m * n >= 1 << 24 else "small"}

    d = ours(a, b, contract, tally)
    tally.problems, tally.distinct, tally.nan = tally.problems + 1, tally.distinct + m * n, tally.nan + int(d.isnan().sum())
    order = rule.shuffled(k, leaf, numbers.generator, device)
    moved = a[:, order].contiguous(), b[:, order].contiguous()
    tally.add(d, ours(*moved, contract, tally), axes | {"who": "ours, k shuffled"})
    sa, sb = rule.snap(a, leaf), rule.snap(b, leaf)
    for mine, theirs in ((dt.snap(a, leaf), sa), (dt.snap(b, leaf), sb)):
        tally.add(mine, theirs, {"leaf": leaf, "data": kind, "who": "the operands of the rule"})
    promised = [x[:, order].contiguous() for x in (sa, sb)]
    tally.add(d, ours(*promised, contract, tally, a_snapped=True, b_snapped=True),
              axes | {"who": "ours, snapped by the rule, k shuffled"})
    for name, library in found.items():
        order = rule.shuffled(k, leaf, numbers.generator, device)
        try:
            theirs = by_library(library, sa, sb, contract, leaf, order)
        except blas.NotOffered:
            tally.refused[name] = tally.refused.get(name, 0) + 1
            continue
        tally.add(d, theirs, axes | {"who": name})
    if faults and kind in ("normal", "outliers", "cancel") and k > leaf:
        library = draw.choice([library for library in found.values() if isinstance(library, blas.Torch)])
        for name in rule.FAULTS:
            wrong = rule.snap(a, leaf, name), rule.snap(b, leaf, name)
            tally.control(name, d, by_library(library, *wrong, contract, leaf, order))
        anywhere = rule.shuffled(k, k, numbers.generator, device)
        tally.control(SHUFFLED[0], d, by_library(library, sa, sb, contract, leaf, anywhere))
        still = torch.arange(k, device=device)
        tally.control(SHUFFLED[1], *(by_library(library, a, b, contract, leaf, which) for which in (still, order)))


def why_it_failed(options, found, tally):
    """What is wrong, in sentences; nothing: it passed."""
    said = []
    if tally.total["mismatches"] or tally.outside or tally.changed:
        said.append(f"{tally.total['mismatches']} outputs differ, {tally.outside} bytes outside of D were written, "
                    f"{tally.changed} operands were changed; the first: {tally.first}")
    if tally.distinct < options.outputs:
        said.append(f"{tally.distinct:,} outputs are fewer than the {int(options.outputs):,} that were asked for")
    for axis, names, least in (("who", found, 0.5), ("leaf", map(str, LEAVES), 0.05), ("data", rule.KINDS, 0.02)):
        for name in names:
            compared = tally.by.get(axis, {}).get(name, tally.empty())["outputs"]
            if compared < least * options.outputs:
                said.append(f"{axis} {name}: {compared:,} outputs are too few")
    for name, control in tally.controls.items():
        if control["differ"] * 1000 < control["outputs"] or control["differ"] == 0:
            said.append(f'the control "{name}" has the right bits: {control["differ"]} of {control["outputs"]} differ')
    return said


def run(options):
    found, tally, begin = libraries(options.device), Tally(), time.monotonic()
    with torch.inference_mode():
        for index in itertools.count():
            problem(index, options, found, tally, index % 2 == 0)
            if time.monotonic() - begin > options.seconds or (
                    tally.distinct >= options.outputs and index + 1 >= options.problems):
                break
    said = why_it_failed(options, found, tally)
    notes = list(dict.fromkeys(library.said() for library in found.values()))
    notes += [f"{name} offered nothing for {count} problems" for name, count in tally.refused.items()]
    device = torch.cuda.get_device_name() if options.device == "cuda" else "the host"
    document = {
        "subject": f"snap on {options.device}, against {', '.join(found)}", "device": device, "passed": not said,
        "oracle": "libraries of others, one product per leaf, k shuffled inside of leaves", "why": said,
        "runs_by": "ours and by the libraries", "seed": options.seed, "seconds": round(time.monotonic() - begin, 1),
        "libraries": notes, "problems": tally.problems, "distinct_outputs": tally.distinct,
        "total": tally.total | {"bytes_outside": tally.outside, "inputs_changed": tally.changed, "nan_outputs": tally.nan},
        "by": tally.by, "controls": tally.controls}
    return document


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cuda", "cpu"), required=True)
    parser.add_argument("--outputs", type=float, default=2e5, help="distinct outputs that must be compared")
    parser.add_argument("--problems", type=int, default=4 * len(LEAVES) * len(rule.KINDS), help="at least so many")
    parser.add_argument("--seconds", type=float, default=60, help="begin no problem after this long")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    document = run(options)
    if options.json:
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    for note in document["libraries"]:
        print(note)
    for name, values in document["by"]["who"].items():
        print(f"{name}: {values['outputs']:,} outputs in {values['runs']} runs, {values['mismatches']:,} differ")
    for name, values in document["controls"].items():
        print(f"control, {name}: {values['differ']:,} of {values['outputs']:,} outputs differ, as they must")
    for sentence in document["why"]:
        print(sentence)
    total = document["total"]
    print(f"{document['subject']}: {document['distinct_outputs']:,} outputs of {document['problems']} problems, compared "
          f"{total['outputs']:,} times, {total['mismatches']:,} differ, {document['seconds']} s: "
          f"{'passed' if document['passed'] else 'FAILED'}")
    return 0 if document["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())
