#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Plants one sentence at a time in a tree of plain words: what a user reads is found, the rest is not read."""
import pathlib
import sys
import tempfile

import words

CONTRIBUTING = """# Contributing

Words of the table may be named in the table: `comes`.

## Plain words

| avoid | write |
|---|---|
| `comes`, `came` | is, arrives |
| `as it lies`, `lies` | is, is at |

## More

The text is plain.
"""
CLEAN = {
    "CONTRIBUTING.md": CONTRIBUTING,
    "docs/page.md": "# Page\n\nThe outcomes are plain, `it comes` is code.\n\n    it comes as code\n\n```\nit comes\n```\n",
    "core/include/detgemm/a.hpp": "/// A plain comment.\nint a;\n",
    "core/api/a.cpp": '// it comes, in a comment of ours\nauto s = "a plain sentence"; auto key = "comes"; char c = \'"\';\n',
    "python/detgemm/a.py": '"""Plain."""\nname = "a plain sentence"  # it comes\n',
    "tests/unit/a.cpp": 'auto s = "it comes";\n',
    "docs/log/a.md": "It comes.\n",
}

# (file, what is replaced, by what)
FOUND = [
    ("CONTRIBUTING.md", "The text is plain.", "The text comes."),
    ("docs/page.md", "The outcomes are plain", "The outcome\nCame"),
    ("docs/page.md", "# Page", "# What comes"),
    ("core/include/detgemm/a.hpp", "A plain comment.", "It lies at a."),
    ("core/include/detgemm/a.hpp", "/// A plain comment.", "/* A\n * matrix as it lies. */"),
    ("core/api/a.cpp", "a plain sentence", "it comes"),
    ("core/api/a.cpp", '"a plain sentence"', 'R"(a text\nin which it comes\n)"'),
    ("core/api/a.cpp", '"a plain sentence"', '"a \\"quoted\\" word lies"'),
    ("python/detgemm/a.py", "a plain sentence", "it comes"),
    ("python/detgemm/a.py", "Plain.", "Plain.\n\nIt lies."),
]
# Nothing is found where no word is to be avoided.
EMPTY = ("CONTRIBUTING.md", "## Plain words", "## Plain")


def checked(planted):
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        for file, text in CLEAN.items():
            if planted and planted[0] == file:
                assert planted[1] in text, planted
                text = text.replace(planted[1], planted[2])
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (root / file).write_text(text)
        return words.check(root)


def main():
    wrong = [f"the plain tree: {path}:{line}: {said}" for path, line, said in checked(None)[0]]
    for planted in FOUND:
        found = [str(path) for path, *_ in checked(planted)[0]]
        if set(found) != {planted[0]}:
            wrong.append(f"{planted}: found {found}")
    if checked(None)[1:] != (5, 4) or checked(EMPTY)[2] != 0:
        wrong.append(f"{checked(None)[1:]} files and words, and {checked(EMPTY)[2]} without a table")
    print("\n".join(wrong + [f"{len(FOUND) + 1} faults planted, {len(wrong)} not found as meant"]))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
