#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""wrap.py FILE...: wraps the paragraphs and list items of markdown that have a line of more than 100 characters.

Tables, code, headings, HTML and everything that is short enough keep their lines.
"""
import pathlib
import re
import sys

WIDTH = 100
ITEM = re.compile(r"( *)([-*+]|\d+[.)]) +(?=\S)")
KEPT = re.compile(r"\s*(\||#|<|>|\[[^\]]+\]: |---+\s*$|===+\s*$)")
# What would begin a list, a heading, a quotation or a table if a line began with it.
NO_START = re.compile(r"([-*+]|\d+[.)]|#+|>.*|\|.*|=+|-+)$")


def words(text):
    """The text's words; a code span or a short link is part of one word, and so is what may not begin a line."""
    found = []
    for word in re.findall(r"(?:`[^`]*`|\[[^\]`]{0,50}\]\([^)\s]*\)|[^\s`]|`)+", text):
        word = " ".join(word.split())
        if found and NO_START.match(word):
            found[-1] += " " + word
        else:
            found.append(word)
    return found


def fill(text, first, indent):
    """Lines of at most WIDTH characters: the first begins with `first`, the others with `indent`."""
    lines, line = [], first
    for word in words(text):
        glue = "" if line in (first, indent) else " "
        if len(line) + len(glue) + len(word) > WIDTH and glue:
            lines.append(line)
            line, glue = indent, ""
        line += glue + word
    return [*lines, line]


def kinds(text):
    """(line, kind, prefix) of each line: an item or a paragraph begins, more of it follows, or the line is kept."""
    before, fenced, content = "blank", False, 0  # content: the column of the text of the list item that is open
    for line in text.split("\n"):
        spaces = len(line) - len(line.lstrip())
        fence = re.match(r"\s*(```|~~~)", line) is not None
        if fenced or fence:
            kind = "fence"
            fenced ^= fence
        elif not line.strip():
            kind = "blank" if before != "code" else "code"
        else:
            after_text = before in ("item", "paragraph", "more")
            if spaces < content and not after_text:
                content = 0
            item = ITEM.match(line)
            if not after_text and before in ("blank", "code") and spaces >= content + 4:
                kind = "code"
            elif item and spaces < content + 4:
                kind, content = "item", len(item.group())
            elif KEPT.match(line):
                kind, content = "kept", 0 if spaces == 0 else content
            else:
                kind = "more" if after_text else "paragraph"
        prefix = ITEM.match(line).group() if kind == "item" else " " * spaces
        yield line, kind, prefix
        before = kind


def blocks(text):
    """(lines, first, indent): a paragraph or list item; or a line to keep, whose first is None."""
    block = None
    for line, kind, prefix in kinds(text):
        if kind == "more":
            block[0].append(line)
            continue
        if block:
            yield block
        first = prefix if kind in ("item", "paragraph") else None
        block = [line[len(first or ""):]], first, " " * len(first or "")
    yield block


def wrapped(text):
    out = []
    for lines, first, indent in blocks(text):
        whole = lines if first is None else [first + lines[0], *lines[1:]]
        if first is not None and any(len(line) > WIDTH for line in whole):
            whole = fill(" ".join(lines), first, indent)
        out += whole
    return "\n".join(out)


def too_long(text):
    """Numbers of the lines of prose that `wrapped` would wrap."""
    number = 1
    for lines, first, indent in blocks(text):
        whole = lines if first is None else [first + lines[0], *lines[1:]]
        if first is not None and any(len(line) > WIDTH for line in whole) and fill(" ".join(lines), first, indent) != whole:
            yield from (number + i for i, line in enumerate(whole) if len(line) > WIDTH)
        number += len(lines)


def write(file):
    text = file.read_text(encoding="utf-8")
    if wrapped(text) != text:
        file.write_text(wrapped(text), encoding="utf-8")


def main():
    for name in sys.argv[1:]:
        write(pathlib.Path(name))


if __name__ == "__main__":
    main()
