#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""site_pages.py ROOT FOLDER: puts every document of ROOT into FOLDER, at its own path, for Sphinx.

Links between documents stay as they are. A file that a document links to is copied too; a link
to a folder becomes plain text, since a site has no folders. Sphinx reports links that lead nowhere.
"""
import pathlib
import re
import shutil
import sys

ROOT, FOLDER = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
sys.path.insert(0, str(ROOT / "tests/layout"))
import rules  # noqa: E402
import tree  # noqa: E402
from documents import FIXTURES  # noqa: E402

LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
# The menu of the site: a title, and its pages.
MENU = {
    "Using it": ("contracts", "backends", "building", "first-hour", "python", "vllm", "dropin", "scaled", "moe", "cluster", "python-orders",
                 "log-prob"),
    "The contract": ("../core/contract/CONTRACT", "three-vendors", "snap", "snap-accuracy", "numerics", "error-bound"),
    "Testing": ("conformance", "numbers", "fuzzing", "bench/index", "benchmarks", "bench/targets"),
    "Inside": ("architecture", "design", "sm90", "simt", "hip", "../CONTRIBUTING", "../CHANGELOG", "../SECURITY"),
}


def page(path):
    """The text of a document, and the other files that it links to."""
    files = []

    def link(match):
        name = match.group(2).partition("#")[0]
        if not name or re.match(r"[a-z]+:", name):
            return match.group()
        file = (ROOT / path.parent / name).resolve()
        if file.is_dir():
            return match.group(1)
        if file.is_file() and file.suffix != ".md":
            files.append(pathlib.PurePosixPath(file.relative_to(ROOT).as_posix()))
        return match.group()

    out, fenced = [], False
    for line in (ROOT / path).read_text(encoding="utf-8").splitlines():
        fenced ^= line.lstrip().startswith("```")
        out.append(line if fenced or line.startswith("    ") else LINK.sub(link, line))
    return "\n".join(out) + "\n", files


def menu():
    """What Sphinx needs to know of the order of pages; README.md is the first."""
    for title, names in MENU.items():
        pages = "\n".join(names[i].removeprefix("../") if names[i].startswith("../") else f"docs/{names[i]}" for i in range(len(names)))
        yield f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n{pages}\n```\n"
    yield "\n```{toctree}\n:hidden:\n:caption: Reference\n\nC++ and C <reference>\n```\n"


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    count = 0
    for path in tree.files(ROOT):
        if path.suffix == ".md" and not rules.within((*FIXTURES, ".github"), path):
            text, files = page(path)
            (FOLDER / path).parent.mkdir(parents=True, exist_ok=True)
            for file in files:
                (FOLDER / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / file, FOLDER / file)
            (FOLDER / path).write_text(text, encoding="utf-8")
            count += 1
    with open(FOLDER / "README.md", "a", encoding="utf-8") as file:
        file.writelines(menu())
    links = ", ".join(f'<a href="reference/{page}.html">{what}</a>' for what, page in (("types", "annotated"), ("files", "files")))
    (FOLDER / "reference.md").write_text(f"# C++ and C reference\n\nThe public headers: {links}.\n", encoding="utf-8")
    print(f"{count} documents")
    return 0 if count else 1


if __name__ == "__main__":
    sys.exit(main())
