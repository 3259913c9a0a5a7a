#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""walks.py ROOT: a reader who follows a call through the host code of cuda/ seldom returns to a file that he has left.

A walk begins in a function and visits every function that it calls, directly or not, once, in the order of the text. A
stay is a run of functions of one file; the stays beyond one per file are returns. Walked are `decide`, `enqueue` and the
choosers and launches of the table of families, at whose rows the first two end. Calls are followed by name: to a function
of the same file, else of a file that is included, or of the source beside an included header.

At most MOST returns a walk, but for what MORE lists. A planted one, of two files that call each other in turn, has more.
"""
import pathlib
import re
import sys

MOST = 8
# What decides and launches tensor-core kernels asks about geometries, tiles and sharings, which kernels ask too.
MORE = {("cuda/sm90/host/choose.cpp", "choose"): 14, ("cuda/sm90/host/launch_leaves.cpp", "launch_leaves"): 14}
STARTS = [("cuda/host/decide.cpp", "decide"), ("cuda/host/enqueue.cpp", "enqueue")]
FUNCTION = re.compile(r"^(?!\s)(?!.*\b(?:struct|class|enum|namespace|using|typedef)\b)[^;{}()#]*?\b(\w+)\([^;{}]*\)[^;{}()]*\{", re.MULTILINE)
METHOD = re.compile(r"^  (?:[\w:<>*&, ]+ )?(\w+)\([^;{}]*\) (?:const )?(?:override )?\{", re.MULTILINE)
CALL = re.compile(r"(?<![.\w>])(?:\w+::)*(\w+)\(|(?:\.|->)(\w+)\(")


def bodies(text):
    """(name, body) of every function of a file, methods defined in their class among them."""
    for pattern in (FUNCTION, METHOD):
        for match in pattern.finditer(text):
            depth, at = 1, match.end()
            while depth and at < len(text):
                depth += {"{": 1, "}": -1}.get(text[at], 0)
                at += 1
            yield match.group(1), match.start(), text[match.end():at]


class House:
    """Files by path: their functions and what they include."""

    def __init__(self, files):
        self.functions, self.included = {}, {}
        for path, text in files.items():
            text = re.sub(r"//[^\n]*", "", text)
            found = {}
            for name, _, body in sorted(bodies(text), key=lambda each: each[1]):
                found[name] = found.get(name, "") + body
            self.functions[path] = found
            self.included[path] = [name for name in re.findall(r'#include "([^"]+)"', text) if name in files]

    def place(self, path, name):
        """The file whose function of this name is called from here, or None."""
        if name in self.functions[path]:
            return path
        for header in self.included[path]:
            for file in (header, re.sub(r"\.hpp$", ".cpp", header)):
                if name in self.functions.get(file, ()):
                    return file
        return None

    def walk(self, path, name):
        """The files of the functions visited, in order."""
        seen, order = set(), []

        def visit(file, function):
            if (file, function) in seen:
                return
            seen.add((file, function))
            order.append(file)
            for free, method in CALL.findall(self.functions[file][function]):
                there = self.place(file, free or method)
                if there is not None:
                    visit(there, free or method)
        visit(path, name)
        return order


def counts(order):
    """(stays, files, returns)."""
    stays = sum(1 for i, file in enumerate(order) if i == 0 or order[i - 1] != file)
    return stays, len(set(order)), stays - len(set(order))


def starts(root, house):
    """STARTS, and the functions of the columns `choose` and `launch` of the table of families."""
    yield from STARTS
    table = (root / "cuda/host/families.cpp").read_text(encoding="utf-8")
    for name in sorted(set(re.findall(r"\b(?:\w+::)*(choose\w*|launch\w*)\b", table))):
        for path, functions in house.functions.items():
            if name in functions and path.endswith(".cpp") and path != "cuda/host/families.cpp":
                yield path, name


def planted():
    pairs = range(MOST + 2)
    a = "".join(f"void a{i}() {{\n  b{i}();\n}}\n" for i in pairs) + "void a%d() {\n}\n" % len(pairs)
    b = "".join(f"void b{i}() {{\n  a{i + 1}();\n}}\n" for i in pairs)
    return House({"a.hpp": '#include "b.hpp"\n' + a, "b.hpp": '#include "a.hpp"\n' + b}).walk("a.hpp", "a0")


def main():
    root = pathlib.Path(sys.argv[1])
    files = {str(path.relative_to(root)): path.read_text(encoding="utf-8")
             for folder in ("cuda", "core/contract") for path in sorted((root / folder).rglob("*.[ch]pp"))}
    house, failed, walked = House(files), 0, 0
    for path, name in starts(root, house):
        if name not in house.functions[path]:
            print(f"{path}: there is no function {name}")
            failed += 1
            continue
        stays, rooms, returns = counts(house.walk(path, name))
        walked += 1
        most = MORE.get((path, name), MOST)
        failed += returns > most
        print(f"{path}: {name}: {stays} stays in {rooms} files, {returns} returns{f'; at most {most}' if returns > most else ''}")
    found = counts(planted())[2] > MOST
    print(f"{walked} walks, {failed} breaches; the planted walk {'was found' if found else 'WAS NOT FOUND'}")
    sys.exit(1 if failed or not found or walked < 10 else 0)


if __name__ == "__main__":
    main()
