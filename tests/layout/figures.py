#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""figures.py ROOT [--fix REASON]: every figure of README.md and docs/*.md is counted again, or listed with its evidence.

A figure is a number with a thousands separator, a decimal point or a power of ten, or "N of M", outside of code. It has evidence
where a record or a dated log (tests/results, bench/results, docs/bench, docs/log) that is linked in the same section has the same
number, to as many digits, where a small JSON of such a record has it, or where it is the quotient of two numbers of its table's
row. Every other figure has a line in figures.txt: "PAGE: REASON: FIGURE | FIGURE ..."; a line whose figure left the page, or has
a record now, is stale and fails. A reason is counted again too: of "in PATH" or "in PATH and PATH" one of these files of the tree
must have the number, of "= EXPRESSION in PATH" the files must have every number of the expression, and it must give the figure. A
reason in words alone fails. Versions of software are no figures. What claims.py counts from the results, cell by cell, is listed as
that. --fix drops stale lines and lists new figures under REASON.
"""
import argparse
import functools
import lzma
import math
import pathlib
import re
import sys
import tarfile

import documents

LISTED = "tests/layout/figures.txt"
SMALL = 8192  # bytes of a record's JSON that is read, as it is stored
FIGURE = re.compile(r"(?<![\w.,/:^-])(\d+(?:\.\d+)? [*\u00b7] 10\^\d+|\d{1,3}(?:,\d{3})+|\d+\.\d+|\d+ of \d+)(?![\w.]*\d)(?![\w/-])")
NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
RECORD = re.compile(r"\]\(([^)\s#]*(?:results/|bench/|log/)[^)\s#]*\.md)")
SOFTWARE = ("CUDA|PyTorch|C?Python|JAX|MPI|GCC|Clang|CMake|Kokkos|glibc|vLLM|TRL|Triton|capability|Ubuntu|version|cuBLAS(?:Lt)?|DeepGEMM|transformers|Core|"
            "NumPy|OpenBLAS|oneDNN|NCCL|ROCm|pip|auditwheel|arXiv|[Ss]ection|Version|TorchTitan|REUSE|after|in|and|from")
VERSION = re.compile(rf"\b(?:{SOFTWARE}) \d+\.\d+(?:\.\d+|\.x)?(?:(?:, | and | to | or )\d+\.\d+(?:\.\d+|\.x)?)*(?![\d ]*[%x*])|\d+\.\d+\.\w+")


def plain(text):
    """A section without code, targets of links and versions of software."""
    text = re.sub(r"`[^`]*`", "", documents.without_code(text))
    return VERSION.sub("", re.sub(r"\]\([^)]*\)", "]", text).replace("\n", " \n"))


def linked(path, section):
    """The records that a section links to."""
    return sorted(file for file in {(path.parent / target).resolve() for target in RECORD.findall(section)} if file.exists())


def evidence(path, section):
    """All text of the records that a section links to."""
    return " ".join(" ".join(file.read_text(encoding="utf-8").split()) for file in linked(path, section))


@functools.lru_cache
def measured(file):
    """The numbers with a decimal point in the JSON of a record, if that is small: with many, anything would be found."""
    for suffix in (".json", ".json.xz"):
        data = file.with_suffix(suffix)
        if data.exists() and data.stat().st_size <= SMALL:
            raw = data.read_bytes()
            text = (lzma.decompress(raw) if suffix == ".json.xz" else raw).decode("utf-8")
            return [float(number) for number in re.findall(r"(?<![\w.])\d+\.\d+(?![\w.])", text)]
    return []


def has_measured(figure, files):
    """Whether the JSON of a record has a figure of three digits and more, with a decimal point."""
    if not re.fullmatch(r"\d+\.\d+", figure) or len(figure.lstrip("0.")) < 4:
        return False
    half = 0.5 / 10 ** len(figure.partition(".")[2]) * (1 + 1e-6)
    return any(abs(number - float(figure)) <= half for file in files for number in measured(file))


def has(figure, text, numbers):
    """Whether a record has the figure, or a number that is the figure when it is rounded."""
    if " of " in figure:
        return re.search(rf"(?<!\d){figure}(?!\d)", text) is not None
    shown, power = re.fullmatch(r"([\d.,]+)(?: [*\u00b7] 10\^(\d+))?", figure).groups()
    if power and re.search(rf"(?<![\d.,]){re.escape(figure)}(?!\d)", text):
        return True
    if figure in numbers or not (power or "." in shown):
        return figure in numbers
    scale, half = 10.0 ** int(power or 0), 0.5 / 10 ** len(shown.partition(".")[2])
    return any(abs(float(number.replace(",", "")) / scale - float(shown)) <= half * (1 + 1e-6)
               for number in numbers if power or "." in number)


def quotients(section):
    """Figures that divide two others of their row in a table, and are rounded to as many digits."""
    found = set()
    for line in section.splitlines():
        if not line.startswith("|"):
            continue
        numbers = [float(number.replace(",", "")) for number in NUMBER.findall(plain(line)) if "." in number or len(number) > 2]
        for figure in re.findall(r"(?<![\d.,])\d\.\d\d+(?![\d.])", plain(line)):
            half = 0.5 / 10 ** len(figure.partition(".")[2]) * (1 + 1e-6)
            # The two are measured to some digits themselves, so that a quotient may be off by as much.
            if any(b and abs(a / b - float(figure)) <= half + 0.002 for i, a in enumerate(numbers)
                   for j, b in enumerate(numbers) if i != j and float(figure) not in (a, b)):
                found.add(figure)
    return found


def without_record(path):
    """(the figures of a page that no linked record has, in their order; how many figures it has)."""
    found, count = {}, 0
    for section in re.split(r"(?m)^(?=#+ )", path.read_text(encoding="utf-8")):
        figures = FIGURE.findall(plain(section))
        text = evidence(path, section) if figures else ""
        numbers = set(NUMBER.findall(text))
        count += len(figures)
        divided, files = quotients(section) if text else set(), linked(path, section)
        found.update((figure, None) for figure in figures
                     if not has(figure, text, numbers) and figure not in divided and not has_measured(figure, files))
    return list(found), count


@functools.lru_cache
def source_text(path):
    """A file of the tree without separators of thousands: text, compressed JSON, or "ARCHIVE.tar.xz:MEMBER"."""
    name, _, member = str(path).partition(".tar.xz:")
    if member:
        with tarfile.open(name + ".tar.xz") as archive:
            raw = archive.extractfile(member).read()
        path = pathlib.Path(member)
    else:
        raw = path.read_bytes()
    raw = lzma.decompress(raw) if path.suffix == ".xz" else raw
    return re.sub(r"(?<=\d)[',_](?=\d)", "", raw.decode("utf-8"))


def sources(root, names):
    return [source_text(root / name) for name in names.split(" and ") if (root / name.partition(":")[0]).exists()]


def parts(figure):
    """(the number as text without separators, its power of ten or None)."""
    if " of " in figure:
        return figure, None
    shown, power = re.fullmatch(r"([\d.,]+)(?: [*\u00b7] 10\^(\d+))?", figure).groups()
    return shown.replace(",", ""), power


def in_files(root, reason, figure):
    """Whether a file that a reason names has the figure, in a source's or a page's way of writing it."""
    shown, power = parts(figure)
    wanted = {shown}
    if power:
        wanted |= {f"{shown}e{power}", figure, f"{float(shown) * 10 ** int(power):.0f}"}
    # An integer is whole; 13.0 may be that of 13.0.1.
    ends = {each: "" if "." in each else r"|\.\d" for each in wanted}
    return any(re.search(rf"(?<![\d.]){re.escape(each)}(?!\d{end})", text)
               for text in sources(root, reason.removeprefix("in ")) for each, end in ends.items())


def computed(root, reason, figure):
    """Whether an expression such as "= 336 + 767 in FILE and FILE" has numbers of these files alone (and powers of ten), and is the
    figure when it is rounded."""
    expression, _, names = reason.removeprefix("= ").partition(" in ")
    if not re.fullmatch(r"(?:[\d. +*/(),^-]|gmean|min|max)+", expression):
        return False
    texts = sources(root, names)
    for number in re.findall(r"(?<![\d.^])\d+(?:\.\d+)?", expression.replace("10^", "^")):
        if not any(re.search(rf"(?<![\d.]){re.escape(number)}(?!\d|\.\d)", text) for text in texts):
            return False
    value = eval(expression.replace("^", "**"), {"__builtins__": {}}, {  # digits, signs and three names alone
        "gmean": lambda *x: math.exp(sum(map(math.log, x)) / len(x)), "min": min, "max": max})
    shown, power = parts(figure)
    if " of " in shown:
        return shown == f"{value} of {value}"
    return abs(value / 10 ** int(power or 0) - float(shown)) <= 0.5 / 10 ** len(shown.partition(".")[2]) * (1 + 1e-6)


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
    wrong += [f"{name}: {figure} is not {reason}" for name, mine in listed.items() for figure, reason in mine.items()
              if reason.startswith("in ") and not in_files(root, reason, figure)
              or reason.startswith("= ") and not computed(root, reason, figure)]
    wrong += [f"{LISTED}: {name}: {figure} has words alone: {reason}" for name, mine in listed.items() for figure, reason in mine.items()
              if not reason.startswith(("in ", "= ", "counted again by claims.py"))]
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
    words = [reason for name, figures in left.items() for figure in figures
             for reason in [listed.get(name, {}).get(figure, "")] if not reason.startswith(("in ", "= ", "counted again by claims.py"))]
    print("\n".join([*wrong, f"{total} figures, {sum(map(len, left.values()))} of them listed with their evidence, {len(words)} of "
                     f"these in words alone, {len(wrong)} wrong"]))
    sys.exit(1 if wrong or total < 100 else 0)


if __name__ == "__main__":
    main()
