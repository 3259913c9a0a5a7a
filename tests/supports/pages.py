#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""pages.py PROGRAM ROOT [--fix]: the documents say of a backend what it answers when it is asked.

PROGRAM is detgemm_supports of some build; the backends of that build are checked:

* docs/backends.md has the table of every backend of the build between its markers,
  `<!-- generated: supports NAME -->` and `<!-- end of generated -->`. --fix writes it.
* A table of any document whose first two titles are "backend" and "computes" has in the row of the backend
  what it computes, and nothing else. --fix writes these cells too.
* The backend's own description names what it computes, and nothing else.
* So does the comment of its function in the public headers, and the reductions.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

TABLES = pathlib.PurePosixPath("docs/backends.md")
# Every backend of the project; one that a build lacks is checked where it is built.
BACKENDS = ("reference", "reference-device", "cuda", "hip")
END = "<!-- end of generated -->"
# One arithmetic and its inputs, in a description or a cell.
CONTRACTS = re.compile(r"\b(?:ieee_fma|hopper|ampere|blackwell|cdna\d|snap3?)(?:/(?:\{[\w,]+\}|\w+))?")
EVERY = "every contract"
REDUCTIONS = ("chain", "fold", "tree", "scaled")


def asked(program):
    """{name: {"description", "computes", "table"}} of the backends of this build, with no device in sight."""
    hidden = dict.fromkeys(("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"), "-1")
    said = subprocess.run([program], env={**os.environ, **hidden}, stdout=subprocess.PIPE, text=True, check=True)
    return parsed(said.stdout)


def parsed(text):
    found = {}
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        if word == "backend":
            found[rest] = answers = {"table": ""}
        elif word in ("description", "computes"):
            answers[word] = rest
        else:
            answers["table"] += line + "\n"
    return found


def in_code(computes):
    """`hopper/{bf16,fp16}`, `ieee_fma/fp32` as a cell of a table has it."""
    return EVERY if computes == EVERY else ", ".join(f"`{part}`" for part in CONTRACTS.findall(computes))


def rows(text):
    """(match of the second cell, name) of each row of a table of backends."""
    titles = []
    position = 0
    for line in text.splitlines(keepends=True):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
        if not cells:
            titles = []
        elif not titles:
            titles = cells
        elif titles[:2] == ["backend", "computes"] and cells[0].strip("`") in BACKENDS:
            start = position + line.index("|", 1) + 1
            yield start, position + line.index("|", line.index("|", 1) + 1), cells[0].strip("`")
        position += len(line)


def with_table(text, name, table):
    """The page with the table between its markers, or None where it has no such markers."""
    first = f"<!-- generated: supports {name} -->\n"
    start, end = text.find(first), text.find(END, max(text.find(first), 0))
    if start < 0 or end < 0:
        return None
    return text[:start + len(first)] + "\n" + table + "\n" + text[end:]


def with_cells(text, backends):
    for start, end, name in reversed(list(rows(text))):
        if name in backends:
            text = text[:start] + f" {in_code(backends[name]['computes'])} " + text[end:]
    return text


def descriptions(backends):
    for name, answers in backends.items():
        named = sorted(set(CONTRACTS.findall(answers["description"])))
        right = [] if answers["computes"] == EVERY else sorted(CONTRACTS.findall(answers["computes"]))
        if named != right or (not right and EVERY not in answers["description"]):
            yield f"{name}: its description says {named or answers['description']}, and it computes {answers['computes']}"


def reductions(table):
    """Those for which a row of the table says yes."""
    lines = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in table.splitlines()]
    return {title for title in REDUCTIONS for line in lines[2:]
            if title in lines[0] and line[lines[0].index(title)] == "yes"}


def comments(root, backends):
    """The comment in front of NAME_backend() in the header of that backend."""
    for name, answers in backends.items():
        file = root / "core/include/detgemm" / f"{name}.hpp"
        if not file.exists():
            continue  # reference-device is described with the reference
        above, function, _ = file.read_text(encoding="utf-8").partition(f"DETGEMM_API const Backend& {name}_backend()")
        if not function:
            yield f"{file.name}: declares no {name}_backend()"
            continue
        comment = " ".join(above.split("\n\n")[-1].replace("///", " ").split())
        named = {word for word in CONTRACTS.findall(comment) if "/" in word}
        right = set() if answers["computes"] == EVERY else set(CONTRACTS.findall(answers["computes"]))
        if named != right or (not right and EVERY not in comment):
            yield f"{file.name}: says that it computes {sorted(named)}, and it computes {answers['computes']}"
        said = {word for word in REDUCTIONS if re.search(rf"\b{word}\b", comment)}
        if said != reductions(answers["table"]):
            yield f"{file.name}: names {sorted(said)}, and there are {sorted(reductions(answers['table']))}"


def pages(root, backends):
    """(path, text as it is, text as it must be) of each page, and sentences about what it lacks."""
    seen = set()
    for path in sorted([*root.glob("*.md"), *root.glob("docs/*.md"), *root.glob("python/**/*.md")]):
        text = path.read_text(encoding="utf-8")
        right = with_cells(text, backends)
        seen |= {name for _, _, name in rows(text)}
        lacks = []
        if path.relative_to(root) == pathlib.Path(TABLES):
            for name, answers in backends.items():
                # The page says that this one computes what the reference computes.
                new = with_table(right, name.removesuffix("-device"), answers["table"])
                if new is None:
                    lacks.append(f"{TABLES}: has no markers for {name}")
                else:
                    right = new
        yield path, text, right, lacks
    missing = [name for name in backends if name not in seen]
    if missing:
        yield root / TABLES, "", "", [f"no table of backends has a row for {', '.join(missing)}"]


def check(root, backends, fix=False):
    """Sentences about what the documents say otherwise."""
    said = [*descriptions(backends), *comments(root, backends)]
    said += [f"{name}: is not a backend that pages.py knows" for name in backends if name not in BACKENDS]
    for path, text, right, lacks in pages(root, backends):
        said += lacks
        if right == text:
            continue
        if fix:
            path.write_text(right, encoding="utf-8")
            continue
        old, new = text.splitlines(), right.splitlines()
        number, pair = next(((i + 1, pair) for i, pair in enumerate(zip(old, new)) if pair[0] != pair[1]),
                            (min(len(old), len(new)) + 1, ("", "")))
        said.append(f"{path.relative_to(root)}:{number}: says    {pair[0]}\n"
                    f"    and the backend says {pair[1]}\n    (pages.py --fix writes it)")
    return said


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--fix", action="store_true")
    arguments = parser.parse_args()
    backends = asked(arguments.program)
    said = check(arguments.root.resolve(), backends, arguments.fix)
    print("\n".join(said))
    print(f"asked {', '.join(backends) or 'nothing'}: {len(said)} statements are false")
    sys.exit(1 if said or not backends else 0)


if __name__ == "__main__":
    main()
