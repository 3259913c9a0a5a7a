#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""claims.py ROOT: counts the documents' figures again from the committed results, and refuses other ones.

Row 0 and speed in README.md are counted from the benchmarks' result files, the targets in docs/limits.md and the speed in
docs/contracts.md from docs/bench/targets.md, the comparisons in docs/vllm.md from their record. Tables and plot of
docs/snap-accuracy.md are made again from the study's result files. Prints what it counted.
"""
import gzip
import json
import lzma
import math
import pathlib
import re
import sys

import documents

RESULTS = "bench/results/2026-11-22-cuda-nvidia-h200.json"
TRITON_RESULTS = "bench/results/2026-11-21-h200-bench-triton.json"
VLLM_RESULTS = ("tests/results/2026-11-28-h200-vllm-rows.json", "tests/results/2026-11-28-h200-vllm-wide.json",
                "tests/results/2026-11-28-h200-vllm-counts.json", "tests/results/2026-11-28-h200-vllm-runner1.json")
PROPERTIES = "core/conformance/properties.cpp"
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
OURS = "detgemm"
TRITON = "Triton, persistent kernel in a fixed order"
# README's columns of speed: the least and the largest M.
RANGES = ((1, 64), (128, 512), (1024, math.inf))


def document(root, name=RESULTS):
    """A result file, compressed or not."""
    for suffix, opener in (("", open), (".gz", gzip.open), (".xz", lzma.open)):
        file = root / (name + suffix)
        if file.exists():
            with opener(file, "rt", encoding="utf-8") as stream:
                return json.load(stream)
    sys.exit(f"{name}: there is no such file, plain, .gz or .xz")


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
    groups = {OURS: tuple(ours), **LIBRARIES, TRITON: ("triton",)}
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


def speed_of(results, arm_name, vendors):
    """Geometric means per range of M: the fastest vendor's time over the arm's, for layers of models with cold operands.

    As in the page's table "At a glance": a case counts where all of the vendors' arms were timed.
    """
    ratios = [[] for _ in RANGES]
    for result in results:
        us = {arm["arm"]: arm["us"] for arm in result["arms"]}
        layer = result["kind"] == "forward" and result["model"] not in ("skinny", "odd", "square")
        cold = result["cache"] == "cold" and result["mode"] != "settled"
        if layer and cold and arm_name in us and all(vendor in us for vendor in vendors):
            for place, (least, most) in enumerate(RANGES):
                if least <= result["m"] <= most:
                    ratios[place].append(min(us[vendor] for vendor in vendors) / us[arm_name])
    return [f"{math.exp(sum(map(math.log, them)) / len(them)):.2f}" if them else "no case" for them in ratios]


def speeds(results, triton):
    """README's name of a library: its cells of speed."""
    vendors = ("cublaslt", "cublaslt0")
    arms = {OURS: "chain", **{name: arms[0] for name, arms in LIBRARIES.items()}}
    return {**{name: speed_of(results, arm, vendors) for name, arm in arms.items()},
            TRITON: speed_of(triton, "triton", ("torch",))}


def targets(text):
    """Range: (found, target, verdict) as the generated table over the table of cases has them."""
    _, table = documents.section(text, "Targets over the table of cases")
    return {row[0]: (row[3], row[1], row[5]) for _, row in documents.rows(table)
            if len(row) == 6 and row[0] not in ("range", "---")}


def first_cells(text):
    """First cell: the other cells, of every row of every table."""
    return {row[0].strip("*"): [cell.strip("*") for cell in row[1:]] for _, row in documents.rows(text)}


def check(readme, results, triton):
    """What README says otherwise, a sentence each."""
    table = first_cells(readme)
    for name, (yes, asked) in kept([*results, *triton]).items():
        said = table.get(name, ["nothing"])
        if said[0] != f"{yes} of {asked}" or asked == 0:
            yield f"{name}: README says {said[0]}, the results have {yes} of {asked}"
    for name, cells in speeds(results, triton).items():
        said = table.get(name, ["nothing"])
        if said[1:] != cells or "no case" in cells:
            yield f"{name}: README says that its speed is {said[1:]}, the results have {cells}"
    asked, changed = moved(results, "cublaslt0")
    sentence = f"{len(asked) - len(changed)} of {len(asked)} shapes"
    if sentence not in " ".join(readme.split()):
        yield f"README does not say that cuBLASLt without workspace kept row 0 on {sentence}"


def limits(page, results, speed):
    """What docs/limits.md says otherwise, a sentence each."""
    flat, table = " ".join(page.split()), first_cells(page)
    asked, changed = moved(results, "cublaslt0")
    for sentence in (f"{len(asked) - len(changed)} of {len(asked)} shapes", f"{without_workspace(results)} as long",
                     f"{sum(verdict == 'missed' for *_, verdict in speed.values())} of our {len(speed)} targets"):
        if sentence not in flat:
            yield f'docs/limits.md does not say "{sentence}"'
    for name, (found, target, _) in speed.items():
        said = table.get(name, ["nothing"])
        if said[:2] != [found, target]:
            yield f"{name}: docs/limits.md says {' | '.join(said)}, {TARGETS} has {found} | {target}"
    if not speed:
        yield f"{TARGETS} has no row"


def in_vllm(vllm):
    """Equal of all comparisons: of runs with every hook, and of stock vLLM."""
    whole = [run for run in vllm["runs"] if run["engine"] == "detgemm" and not run.get("without")]
    stock = [run for run in vllm["runs"] if run["engine"] == "stock"]
    return [f"{sum(run['equal'] for run in runs)} of {sum(run['compared'] for run in runs)}" for runs in (whole, stock)]


def counted(readme, vllm, properties):
    """README's other counts: equal comparisons of vLLM, and properties of the harness."""
    ours, stock = in_vllm(vllm)
    for sentence in (f"{ours} comparisons", f"vLLM in {stock}", f"{properties} properties"):
        if sentence not in " ".join(readme.split()):
            yield f'README does not say "{sentence}"'


def served(page, vllm):
    """What docs/vllm.md says otherwise of the runs that were not cut off."""
    whole = in_vllm(vllm)[0]
    if not re.search(rf"\b{whole}\b", page):
        yield f"docs/vllm.md does not say that {whole} comparisons are equal"
    complete = max(run["compared"] for run in vllm["runs"])
    said = set(re.findall(rf"\b\d+ of {complete}\b", page))
    real = {f"{run['equal']} of {run['compared']}" for run in vllm["runs"] if run["compared"] == complete}
    for figure in sorted(said ^ real):
        yield f'docs/vllm.md {"says" if figure in said else "does not say"} "{figure}"; the results have {", ".join(sorted(real))}'


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
    page = lambda name: (root / name).read_text(encoding="utf-8")
    results, triton = document(root)["results"], document(root, TRITON_RESULTS)["results"]
    speed = targets(page(TARGETS))
    readme = page("README.md")
    wrong = list(check(readme, results, triton)) + list(limits(page("docs/limits.md"), results, speed))
    wrong += counted(readme, {"runs": [run for name in VLLM_RESULTS for run in document(root, name)["runs"]]}, page(PROPERTIES).count('Property{"'))
    wrong += served(page("docs/vllm.md"), {"runs": [run for name in VLLM_RESULTS for run in document(root, name)["runs"]]})
    wrong += snap_accuracy(root, *map(page, SNAP_PAGES))
    wrong += foreign(page("docs/contracts.md"), speed)
    for name, (yes, asked) in kept([*results, *triton]).items():
        print(f"{name}: row 0 kept in {yes} of {asked}")
    asked, changed = moved(results, "cublaslt0")
    print(f"cuBLASLt without workspace: {len(asked) - len(changed)} of {len(asked)} shapes; it moved on "
          + ", ".join(f"{kind} {n} x {k} {dtype}" for kind, n, k, dtype in sorted(changed)))
    print("\n".join(wrong + [f"{len(speed)} targets, {len(wrong)} claims wrong"]))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
