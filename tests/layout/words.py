#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""words.py ROOT: what a user reads is in plain words: documents, public headers, and sentences in code.

The words to avoid are those of the table "Plain words" in CONTRIBUTING.md. Code between backticks is not read.
"""
import ast
import pathlib
import re
import sys

import documents
import tree

CONTRIBUTING = pathlib.PurePosixPath("CONTRIBUTING.md")
TABLE = "Plain words"
HEADERS = "core/include"
# Whose string literals reach a user as a Status, an exception, a report or a help text.
SPEAKING = ("core", "backends", "cuda", "hip", "cluster", "dropin", "python")

TOKEN = re.compile(r'R"(?P<mark>\w*)\((?P<raw>.*?)\)(?P=mark)"'
                   r'|"(?P<plain>(?:\\.|[^"\\\n])*)"'
                   r"|'(?:\\.|[^'\\\n])+'"
                   r"|//(?P<line>[^\n]*)|/\*(?P<block>.*?)\*/", re.S)


def table(root):
    """Regular expression: the plain words for it, from the page's table."""
    text = (root / CONTRIBUTING).read_text(encoding="utf-8")
    found = {}
    for _, row in documents.rows(documents.section(text, TABLE)[1]):
        for word in re.findall(r"`([^`]+)`", row[0]) if len(row) == 2 else ():
            found[re.compile(rf"\b{re.escape(word)}\b", re.I)] = row[1]
    return found


def prose(text):
    """(line, text) of a page without code, its own table of words, and addresses of links."""
    first, own = documents.section(text, TABLE)
    lines = range(first, first + own.count("\n") + 1) if first else ()
    for number, line in enumerate(documents.without_code(text).splitlines(), 1):
        if number not in lines and not line.startswith("    "):
            yield number, documents.LINK.sub("]", re.sub(r"`[^`]*`", "", line))


def cxx(text):
    """(line, text, whether it is a comment) of the literals and comments of C and C++."""
    for match in TOKEN.finditer(text):
        number = text.count("\n", 0, match.start()) + 1
        for group, comment in (("raw", False), ("plain", False), ("line", True), ("block", True)):
            for offset, line in enumerate((match.group(group) or "").split("\n")):
                yield number + offset, re.sub(r"`[^`]*`", "", line), comment


def python(text):
    """(line, text) of the literals of Python, docstrings among them."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for offset, line in enumerate(node.value.split("\n")):
                yield node.lineno + offset, re.sub(r"`[^`]*`", "", line)


def read(path, text):
    """(line, text) of all that a user reads in a file."""
    if path.suffix == ".md" and documents.is_page(path):
        yield from prose(text)
    elif path.suffix == ".py" and path.parts[0] == "python":
        yield from python(text)
    elif tree.is_code(path) and path.parts[0] in SPEAKING:
        header = str(path).startswith(HEADERS + "/")
        for number, said, comment in cxx(text):
            if header or not comment and " " in said.strip():
                yield number, said


def check(root):
    """Every breach as (path, line, sentence), the number of files read, and the number of words to avoid."""
    root = pathlib.Path(root)
    words, found, count = table(root), [], 0
    for path in tree.files(root):
        if path.suffix not in tree.CODE | {".md", ".py"} and not tree.is_code(path):
            continue
        lines = list(read(path, (root / path).read_text(encoding="utf-8")))
        count += bool(lines)
        for number, said in lines:
            for word, plain in words.items():
                if word.search(said):
                    found.append((path, number, f'"{word.search(said).group()}" ({plain}): {said.strip()}'))
    return found, count, len(words)


def main():
    found, count, words = check(sys.argv[1])
    for path, line, sentence in found:
        print(f"{path}:{line}: {sentence}")
    print(f"{count} files, {words} words to avoid, {len(found)} breaches")
    return 1 if found or count < 100 or words < 10 else 0


if __name__ == "__main__":
    sys.exit(main())
