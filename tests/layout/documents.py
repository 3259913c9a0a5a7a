#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""documents.py ROOT [--fix]: checks that the documents say what the source tree is.

Each rule is a generator of (path, line, sentence). --fix first writes the table "Who includes whom" of
docs/architecture.md as the rules of rules.py have it, and wraps long lines of prose.
"""
import argparse
import pathlib
import re
import sys

import rules
import tree
import wrap

ARCHITECTURE = pathlib.PurePosixPath("docs/architecture.md")
BUILDING = pathlib.PurePosixPath("docs/building.md")
# Documents for a reader who is new here: every path in them exists, and their words are plain.
FOR_READERS = ("README.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/design.md",
               "docs/building.md", "docs/contracts.md")
# Markdown that a test compares byte for byte.
FIXTURES = ("tests/bench/report/golden",)
# Tables that a program writes, or that say what a test's machine models.
LOOSE_TABLES = ("docs/bench", "bench/results", "tests")

CODE = "core|backends|cuda|hip|tests|bench"
FOLDERS = CODE + "|cmake|docs|examples|scripts"
PATH = re.compile(rf"(?<![\w./-])(?:{FOLDERS})/[\w./*{{}},-]*")
LINK = re.compile(r"\]\(([^)\s]+)\)")
LONGEST_CELL = 160
# What a reader reads whole, or looks through: lines, and words of a log.
LINES = {"README.md": 120, "CHANGELOG.md": 80, "docs/sm90.md": 260, "docs/release-notes/0.1.0.md": 15}
WORDS = {"docs/log/sm90.md": 6000}
# Words of this project alone. The glossary of docs/architecture.md may define one of them; then it is
# nobody's private word any more.
PRIVATE = ("door", "lab", "rival", "park", "telling", "scene", "tally", "slot", "hammer")
# Declared in the cache by a check of the compiler, not for anybody to set.
NO_OPTION = {"DETGEMM_PLAIN_IEEE"}


def expanded(name):
    """Every name that {a,b} stands for."""
    match = re.search(r"\{([^{}]*)\}", name)
    if not match:
        return [name]
    return [end for middle in match.group(1).split(",")
            for end in expanded(name[:match.start()] + middle + name[match.end():])]


def exists(root, name):
    if "*" in name:
        return any(root.glob(name))
    return (root / name).exists()


def paths(root, path, text):
    """A path that a document for readers names is there."""
    if str(path) not in FOR_READERS:
        return
    for number, line in enumerate(text.splitlines(), 1):
        for match in PATH.finditer(LINK.sub("]", line)):  # links have a rule of their own
            for name in expanded(match.group().rstrip(".,-")):
                if not exists(root, name):
                    yield path, number, f"names {name}, which does not exist"


def slugs(text):
    """The anchors of a page's headings, as GitHub makes them."""
    found = {}
    for title in re.findall(r"^#+ +(.*)$", without_code(text), re.M):
        slug = re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")
        count = found.get(slug, 0)
        found[slug] = count + 1
        yield slug if count == 0 else f"{slug}-{count}"


def without_code(text):
    """The page with its fenced blocks blanked; lines keep their numbers."""
    out, inside = [], False
    for line in text.splitlines():
        fence = line.lstrip().startswith("```")
        out.append("" if inside or fence else line)
        inside ^= fence
    return "\n".join(out)


def links(root, path, text):
    """A relative link leads to a file, and its anchor to a heading."""
    for number, line in enumerate(without_code(text).splitlines(), 1):
        for target in LINK.findall(line):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            file = root / path.parent / name if name else root / path
            if not file.exists():
                yield path, number, f"links to {target}, and there is no such file"
            elif anchor and anchor not in set(slugs(file.read_text(encoding="utf-8"))):
                yield path, number, f"links to {target}, and that page has no such heading"


def rows(text):
    """(line, cells) of every row of every table."""
    for number, line in enumerate(without_code(text).splitlines(), 1):
        if line.startswith("|"):
            cells = re.split(r"(?<!\\)\|", line.strip().strip("|"))
            yield number, [cell.strip() for cell in cells]


def cells(_root, path, text):
    """A table is for looking up: sentences go below it."""
    for number, row in rows(text):
        for cell in row:
            if len(cell) > LONGEST_CELL:
                yield path, number, f"a cell of {len(cell)} characters, at most {LONGEST_CELL}: {cell[:60]}"


def section(text, title):
    """(number of its first line, the text) below a heading, up to the next one that is not deeper."""
    match = re.search(rf"^(#+) +{re.escape(title)}\s*$", text, re.M)
    if not match:
        return 0, ""
    after = text[match.end():]
    end = re.search(rf"^#{{1,{len(match.group(1))}}} ", after, re.M)
    return text[:match.end()].count("\n") + 1, after[:end.start()] if end else after


def glossary(root):
    file = root / ARCHITECTURE
    text = section(file.read_text(encoding="utf-8"), "Glossary")[1] if file.exists() else ""
    defined = " ".join(row[0] for _, row in rows(text) if row)
    return {word.lower() for word in re.findall(r"\w+", defined)}


def words(root, path, text):
    """Private words need the glossary; a rate is "per", not "a"."""
    if str(path) not in FOR_READERS:
        return
    known = glossary(root)
    for number, line in enumerate(without_code(text).splitlines(), 1):
        plain = re.sub(r"`[^`]*`", "", line)
        for word in re.findall(r"[A-Za-z]+", plain):
            stem = word.lower()
            stem = stem[:-1] if stem.endswith("s") and stem[:-1] in PRIVATE else stem
            if stem in PRIVATE and stem not in known:
                yield path, number, f'"{word}" is a private word that the glossary does not define'


def folders_on_the_map(root, path, text):
    """Every folder of code, tests or benchmarks, two deep, is on the map."""
    if path != ARCHITECTURE:
        return
    named = set()
    for name in PATH.findall(text):
        for one in expanded(name.rstrip(".,-")):
            named.update([one.rstrip("/"), *map(str, pathlib.PurePosixPath(one).parents)])
    found = {pathlib.PurePosixPath(*file.parts[:2]) for file in tree.files(root)
             if len(file.parts) > 2 and tree.is_source(file) and re.fullmatch(CODE, file.parts[0])}
    for folder in sorted(found):
        if str(folder) not in named:
            yield path, 0, f"does not say what {folder}/ holds"


def include_rows():
    """The table of the layout test: a folder, and the prefixes it may include."""
    for folder, allowed in rules.MAY_INCLUDE.items():
        yield folder, [name for name in allowed if not name.startswith(folder + "/")]


def includes(_root, path, text):
    """Who includes whom is what the layout test enforces."""
    if path != ARCHITECTURE:
        return
    first, table = section(text, "Who includes whom")
    said = {}
    for number, row in rows(table):
        folder = re.fullmatch(r"`([^`]+)`", row[0])
        if folder and len(row) > 1:
            said[folder.group(1)] = first + number - 1, re.findall(r"`([^`]+)`", row[1])
    for folder, allowed in include_rows():
        line, written = said.pop(folder, (first, None))
        if written is None:
            yield path, line, f"the table lacks {folder}, which tests/layout/rules.py has"
        elif sorted(written) != sorted(allowed):
            yield path, line, f"{folder} may include {allowed} by tests/layout/rules.py"
    for folder, (line, _) in said.items():
        yield path, line, f"{folder} has no row in tests/layout/rules.py"


def write_includes(file):
    """Puts the rules' table where the page has its own."""
    text = file.read_text(encoding="utf-8")
    table = section(text, "Who includes whom")[1]
    rows_now = "\n".join(f"| `{folder}` | {', '.join(f'`{name}`' for name in allowed)} |"
                         for folder, allowed in include_rows())
    new = re.sub(r"(\|---\|---\|\n)(?:\|.*\n)*", lambda match: match.group(1) + rows_now + "\n", table)
    file.write_text(text.replace(table, new), encoding="utf-8")


def declared(root):
    """Cache entries of the build: name -> default, or None where it is not one plain word or list."""
    found = {}
    for file in tree.files(root):
        if file.name != "CMakeLists.txt" and file.suffix != ".cmake":
            continue
        text = re.sub(r"^\s*#.*$", "", (root / file).read_text(encoding="utf-8"), flags=re.M)
        for name, rest in re.findall(r'\boption\(\s*(DETGEMM_\w+)\s+"[^"]*"\s+([^)\s]+)', text):
            found[name] = rest if rest in ("ON", "OFF") else None
        for name, value in re.findall(r'\bset\(\s*(DETGEMM_\w+)\s+("[^"]*"|\S+)\s+CACHE\b', text):
            found[name] = value.strip('"')
        for name, value in re.findall(r"^detgemm_tristate\(\s*(\w+)\s+(\w+)", text, re.M):
            found[f"DETGEMM_ENABLE_{name}"] = value
        for name in re.findall(r"\bfind_(?:program|library|path|file)\(\s*(DETGEMM_[\w${}]+)", text):
            found[re.sub(r"\$\{\w+\}", "*", name)] = None
    return {name: value for name, value in found.items() if name not in NO_OPTION}


def options(root, path, text):
    """The table of building.md has every option of the build, with its default."""
    if path != BUILDING:
        return
    table = {}
    for number, row in rows(text):
        for name in re.findall(r"`(DETGEMM_[\w*]+)`", row[0]):
            table[name] = number, row
    real = declared(root)
    for name, default in sorted(real.items()):
        if name not in table:
            yield path, 0, f"the table of options lacks {name}"
        elif default is not None and f"`{default}`" not in table[name][1][1]:
            yield path, table[name][0], f"the default of {name} is {default}"
    for name, (number, _) in table.items():
        if name not in real:
            yield path, number, f"the build has no option {name}"


def is_page(path):
    """Whether people read and change it as a page; logs, results and generated pages have their own folders."""
    return str(path) in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md") or str(path.parent) == "docs"


def lines(_root, path, text):
    """Prose has lines of at most wrap.WIDTH characters, so that a difference can be read."""
    if is_page(path):
        for number in wrap.too_long(text):
            yield path, number, f"a line of more than {wrap.WIDTH} characters; documents.py ROOT --fix wraps it"


def benchmark(_root, path, text):
    """`bench`, `tune` and `calibrate` are programs of a build with the benchmark: a wheel and a build without have none."""
    if not is_page(path):
        return
    without = "-DDETGEMM_BUILD_BENCH=OFF" in re.sub(r"`[^`\n]*`", "", text)
    for number, line in enumerate(text.splitlines(), 1):
        command = re.search(r"\bdetgemm (?:bench|tune|calibrate)\b", line)
        if command and (without and line.startswith("    ") or re.search(r"\bwheels?\b(?! ha(?:s|ve) no)", line)):
            yield path, number, f"{command.group()} is not in a wheel, nor in a build with DETGEMM_BUILD_BENCH=OFF"


def length(_root, path, text):
    """Pages that are read whole stay short: what is new takes the place of what is old."""
    for limits, unit, count in ((LINES, "lines", len(text.splitlines())), (WORDS, "words", len(text.split()))):
        if count > limits.get(str(path), count):
            yield path, 0, f"{count} {unit}, at most {limits[str(path)]}"


RULES = (paths, links, cells, words, folders_on_the_map, includes, options, lines, benchmark, length)


def documents(root):
    for path in tree.files(root):
        if path.suffix == ".md" and not rules.within(FIXTURES, path):
            yield path


def check(root):
    """Every breach as (rule, path, line, sentence), and the number of documents read."""
    root = pathlib.Path(root)
    found, count = [], 0
    for path in documents(root):
        count += 1
        text = (root / path).read_text(encoding="utf-8")
        for rule in RULES:
            if rule is cells and rules.within(LOOSE_TABLES, path):
                continue
            found += [(rule.__name__, *breach) for breach in rule(root, path, text)]
    return found, count


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root")
    parser.add_argument("--fix", action="store_true")
    arguments = parser.parse_args()
    if arguments.fix:
        root = pathlib.Path(arguments.root)
        write_includes(root / ARCHITECTURE)
        for path in filter(is_page, documents(root)):
            wrap.write(root / path)
    found, count = check(arguments.root)
    for rule, path, line, sentence in found:
        print(f"{path}:{line}: {rule}: {sentence}")
    print(f"{count} documents, {len(found)} breaches")
    return 1 if found or count < 10 else 0


if __name__ == "__main__":
    sys.exit(main())
