#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""claims.py ROOT: counts the documents' figures again from the committed results, and refuses other ones.

Who keeps row 0 comes from the benchmark's result file, speed in README.md and docs/contracts.md from
docs/bench/targets.md. Tables and plot of docs/snap-accuracy.md are made again from the study's result files. Prints what it
counted.
"""
import gzip
import json
import lzma
import pathlib
import re
import sys

import documents

RESULTS = "bench/results/2026-11-22-cuda-nvidia-h200.json"
SNAP = ("bench/results/2026-11-22-snap-accuracy.json", "bench/results/2026-11-22-snap-model.json",
        "bench/results/2026-11-23-snap-masked-model.json")
SNAP3 = "bench/results/2026-11-22-snap-accuracy3.json"
SNAP_PAGES = ("docs/snap-accuracy.md", "docs/images/snap-accuracy.svg")
TARGETS = "docs/bench/targets.md"
# README's name of a library: its arms in the result file.
LIBRARIES = {
    "cuBLASLt, its own first choice": ("cublaslt",),
    "cuBLASLt, the fastest of up to ten from its list": ("cublaslt-best",),
    "cuBLASLt without workspace": ("cublaslt0",),
}
OURS = "detgemm: chain, fold, tree and ieee_fma"


def document(root):
    """The result file, compressed or not."""
    for suffix, opener in (("", open), (".gz", gzip.open), (".xz", lzma.open)):
        file = root / (RESULTS + suffix)
        if file.exists():
            with opener(file, "rt", encoding="utf-8") as stream:
                return json.load(stream)
    sys.exit(f"{RESULTS}: there is no such file, plain, .gz or .xz")


def kept(results):
    """Name: (comparisons in which row 0 had the bits that it has alone, all comparisons)."""
    counts = {}
    for result in results:
        for arm in result["arms"]:
            if arm.get("batch_invariant") is None:
                continue
            yes, asked = counts.get(arm["arm"], (0, 0))
            counts[arm["arm"]] = yes + bool(arm["batch_invariant"]), asked + 1
    ours = {arm["arm"] for result in results for arm in result["arms"] if arm.get("contract")}
    groups = {OURS: tuple(ours), **LIBRARIES}
    return {name: tuple(sum(counts.get(arm, (0, 0))[i] for arm in arms) for i in (0, 1))
            for name, arms in groups.items()}


def moved(results, arm_name):
    """Shapes (direction, N, K, type) on which an arm was asked, and those where row 0 moved."""
    asked, changed = set(), set()
    for result in results:
        for arm in result["arms"]:
            if arm["arm"] == arm_name and arm.get("batch_invariant") is not None:
                shape = result["kind"], result["n"], result["k"], result["dtype"]
                asked.add(shape)
                if not arm["batch_invariant"]:
                    changed.add(shape)
    return asked, changed


def without_workspace(results):
    """cuBLASLt's time without workspace over its first choice, where few outputs have a long K."""
    times = [{arm["arm"]: arm["us"] for arm in result["arms"]} for result in results
             if result["model"] == "skinny"]
    ratios = [us["cublaslt0"] / us["cublaslt"] for us in times]
    return f"{min(ratios):.1f} to {max(ratios):.1f} times" if ratios else "no case"


def targets(text):
    """Range: (found, target, verdict) as the generated table over the table of cases has them."""
    _, table = documents.section(text, "Targets over the table of cases")
    return {row[0]: (row[3], row[1], row[5]) for _, row in documents.rows(table)
            if len(row) == 6 and row[0] not in ("range", "---")}


def check(readme, results, speed):
    """What README says otherwise, a sentence each."""
    table = {row[0].strip("*"): [cell.strip("*") for cell in row[1:]]
             for _, row in documents.rows(readme)}
    for name, (yes, asked) in kept(results).items():
        said = table.get(name, ["nothing"])[0]
        if said != f"{yes} of {asked}" or asked == 0:
            yield f"{name}: README says {said}, {RESULTS} has {yes} of {asked}"
    asked, changed = moved(results, "cublaslt0")
    sentence = f"{len(asked) - len(changed)} of {len(asked)} shapes"
    if sentence not in " ".join(readme.split()):
        yield f"README does not say that cuBLASLt without workspace kept row 0 on {sentence}"
    if without_workspace(results) not in " ".join(readme.split()):
        yield f"README does not say that this costs {without_workspace(results)} as long"
    missed = sum(verdict == "missed" for *_, verdict in speed.values())
    if f"{missed} of our {len(speed)} targets are missed" not in " ".join(readme.split()):
        yield f"README does not say that {missed} of our {len(speed)} targets are missed"
    for name, (found, target, _) in speed.items():
        said = table.get(name, ["nothing"])
        if said[:2] != [found, target]:
            yield f"{name}: README says {' | '.join(said)}, {TARGETS} has {found} | {target}"
    if not speed:
        yield f"{TARGETS} has no row"


def foreign(contracts, speed):
    """Figures of the speed table of contracts.md that the generated table does not have."""
    found = {figure for figure, *_ in speed.values()}
    _, text = documents.section(contracts, "Speed")
    figures = [cell for _, row in documents.rows(text) for cell in row
               if re.fullmatch(r"[\d.]+ / [\d.]+", cell)]
    for figure in figures:
        if figure not in found:
            yield f"docs/contracts.md says {figure}, which {TARGETS} does not"
    if not figures:
        yield "docs/contracts.md has no figure of speed"


def snap_accuracy(root, page, image):
    """Tables of docs/snap-accuracy.md, and its plot, that the study's results do not give."""
    sys.path.insert(0, str(root / "bench/snap"))
    import plot  # the tree that is checked has it
    document, *studies = (plot.read(root / path) for path in SNAP)
    for table in plot.tables(document, studies):
        if "\n".join(table) not in page:
            yield f"docs/snap-accuracy.md does not have the table that begins {table[0]}, as {' and '.join(SNAP)} give it"
    for inputs in ("bf16", "fp32"):
        if "\n".join(plot.snap3_table(plot.read(root / SNAP3), inputs)) not in page:
            yield f"docs/snap-accuracy.md does not have the table of snap3 with {inputs} operands, as {SNAP3} gives it"
    if image != plot.drawing(document):
        yield "docs/images/snap-accuracy.svg is not what bench/snap/plot.py draws"


def main():
    root = pathlib.Path(sys.argv[1])
    results = document(root)["results"]
    speed = targets((root / TARGETS).read_text(encoding="utf-8"))
    wrong = list(check((root / "README.md").read_text(encoding="utf-8"), results, speed))
    wrong += snap_accuracy(root, *((root / path).read_text(encoding="utf-8") for path in SNAP_PAGES))
    wrong += foreign((root / "docs/contracts.md").read_text(encoding="utf-8"), speed)
    for name, (yes, asked) in kept(results).items():
        print(f"{name}: row 0 kept in {yes} of {asked}")
    asked, changed = moved(results, "cublaslt0")
    print(f"cuBLASLt without workspace: {len(asked) - len(changed)} of {len(asked)} shapes; it moved on "
          + ", ".join(f"{kind} {n} x {k} {dtype}" for kind, n, k, dtype in sorted(changed)))
    print("\n".join(wrong + [f"{len(speed)} targets, {len(wrong)} claims wrong"]))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
