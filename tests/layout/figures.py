#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""figures.py ROOT [--fix REASON]: every figure of README.md and docs/*.md is counted again, or listed with its evidence.

A figure is a number with a thousands separator, a decimal point or a power of ten, or "N of M", outside of code. It has evidence where a
record or a dated log (tests/results, bench/results, docs/bench, docs/log) that is linked in the same section has the same
number, to as many digits. Every other figure has a line in figures.txt: "PAGE: REASON: FIGURE FIGURE ..."; a line whose figure
left the page, or has a record now, is stale and fails. Versions of software are no figures. What claims.py counts from the
results, cell by cell, is listed as that. --fix drops stale lines and lists new figures under REASON.
"""
import argparse
import pathlib
import re
import sys

import documents

LISTED = "tests/layout/figures.txt"
FIGURE = re.compile(r"(?<![\w.,/:^-])(\d+(?:\.\d+)? [*\u00b7] 10\^\d+|\d{1,3}(?:,\d{3})+|\d+\.\d+|\d+ of \d+)(?![\w.]*\d)(?![\w/-])")
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
RECORD = re.compile(r"\]\(([^)\s#]*(?:results/|bench/|log/)[^)\s#]*\.md)")
SOFTWARE = ("CUDA|PyTorch|C?Python|GCC|Clang|CMake|Kokkos|glibc|vLLM|TRL|Triton|capability|Ubuntu|version|cuBLAS|DeepGEMM|transformers|Core|NumPy|"
            "OpenBLAS|oneDNN|NCCL|ROCm|pip|auditwheel|arXiv|Section|Version|TorchTitan|REUSE|after|in|and|from")
VERSION = re.compile(rf"\b(?:{SOFTWARE}) \d+\.\d+(?:\.\d+|\.x)?(?:(?:, | and | to | or )\d+\.\d+(?:\.\d+|\.x)?)*(?![\d ]*[%x*])|\d+\.\d+\.\w+")


def plain(text):
    """A section without code, targets of links and versions of software."""
    text = re.sub(r"`[^`]*`", "", documents.without_code(text))
    return VERSION.sub("", re.sub(r"\]\([^)]*\)", "]", text).replace("\n", " \n"))


def evidence(path, section):
    """All text of the records that a section links to."""
    files = {(path.parent / target).resolve() for target in RECORD.findall(section)}
    return " ".join(" ".join(file.read_text(encoding="utf-8").split()) for file in sorted(files) if file.exists())


def has(figure, text, numbers):
    """Whether a record has the figure, or a number that is the figure when it is rounded."""
    if " of " in figure:
        return re.search(rf"(?<!\d){figure}(?!\d)", text) is not None
    shown, power = re.fullmatch(r"([\d.,]+)(?: [*\u00b7] 10\^(\d+))?", figure).groups()
    if figure in numbers or not (power or "." in shown):
        return figure in numbers
    scale, half = 10.0 ** int(power or 0), 0.5 / 10 ** len(shown.partition(".")[2])
    return any(abs(float(number.replace(",", "")) / scale - float(shown)) <= half * (1 + 1e-6)
               for number in numbers if power or "." in number)


def without_record(path):
    """(the figures of a page that no linked record has, in their order; how many figures it has)."""
    found, count = {}, 0
    for section in re.split(r"(?m)^(?=#+ )", path.read_text(encoding="utf-8")):
        figures = FIGURE.findall(plain(section))
        text = evidence(path, section) if figures else ""
        numbers = set(NUMBER.findall(text))
        count += len(figures)
        found.update((figure, None) for figure in figures if not has(figure, text, numbers))
    return list(found), count


def pages(root):
    return [root / "README.md", *sorted((root / "docs").glob("*.md"))]


def read_list(text):
    """{page: {figure: reason}}."""
    listed = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            page, reason, figures = line.split(": ", 2)
            for figure in figures.split(" | "):
                listed.setdefault(page, {})[figure] = reason
    return listed


def write_list(listed):
    lines = []
    for page in sorted(listed):
        reasons = {}
        for figure, reason in listed[page].items():
            reasons.setdefault(reason, []).append(figure)
        lines += [f"{page}: {reason}: {' | '.join(figures)}" for reason, figures in reasons.items()]
    return "\n".join(lines) + "\n"


def check(root, listed):
    """(sentences, {page: figures without a record}, how many figures there are)."""
    wrong, left, total = [], {}, 0
    for path in pages(root):
        name = path.relative_to(root).as_posix()
        left[name], count = without_record(path)
        total += count
        mine = listed.get(name, {})
        wrong += [f"{name}: {figure} is in no record that its section links to, and {LISTED} does not list it"
                  for figure in left[name] if figure not in mine]
        wrong += [f"{LISTED}: {name} has no {figure} without a record any more" for figure in mine if figure not in left[name]]
    wrong += [f"{LISTED}: there is no page {name}" for name in listed if name not in left]
    return wrong, left, total


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--fix", metavar="REASON")
    options = parser.parse_args()
    file = options.root / LISTED
    text = file.read_text(encoding="utf-8")
    listed = read_list(text)
    wrong, left, total = check(options.root, listed)
    if options.fix:
        listed = {name: {figure: listed.get(name, {}).get(figure, options.fix) for figure in figures}
                  for name, figures in left.items() if figures}
        head = "".join(line + "\n" for line in text.splitlines() if line.startswith("#"))
        file.write_text(head + write_list(listed), encoding="utf-8")
        wrong, left, total = check(options.root, listed)
    print("\n".join([*wrong, f"{total} figures, {sum(map(len, left.values()))} of them listed with their evidence, {len(wrong)} wrong"]))
    sys.exit(1 if wrong or total < 100 else 0)


if __name__ == "__main__":
    main()
