#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""imports.py ROOT: the modules of the Python package import each other without a circle.

An import inside of a function counts too: it hides a circle and does not cut it. An `__init__.py` gathers names
for users, so nothing below its folder imports from it.
"""
import ast
import pathlib
import sys


def imported(text, names, own):
    """The modules of the package that a module imports."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found = [f"{node.module}.{alias.name}" for alias in node.names]
            found = [name if name in names else node.module for name in found]
        else:
            continue
        # A package imports its own parts: that is no circle for a part that names it.
        yield from (name for name in found if name in names and name != own and not own.startswith(name + "."))


def circle(graph):
    """A list of modules, the last of which imports the first, or nothing."""
    done, path = set(), []

    def visit(name):
        if name in path:
            return path[path.index(name):]
        if name in done:
            return []
        path.append(name)
        for other in sorted(graph[name]):
            found = visit(other)
            if found:
                return found
        path.pop()
        done.add(name)
        return []

    return next((found for found in map(visit, sorted(graph)) if found), [])


def graph_of(texts):
    return {name: set(imported(text, texts, name)) for name, text in texts.items()}


def main():
    root = pathlib.Path(sys.argv[1]) / "python"
    texts = {}
    for path in sorted(root.glob("detgemm/**/*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        texts[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path.read_text(encoding="utf-8")
    planted = {"p.a": "def f():\n    from p.b import g\n", "p.b": "import p.c\n", "p.c": "from p import a\n"}
    missed = circle(graph_of(planted)) != ["p.a", "p.b", "p.c"]
    found = circle(graph_of(texts))
    print(" imports ".join([*found, found[0]]) if found else "no circle")
    print(f"{len(texts)} modules; the planted circle was {'missed' if missed else 'found'}")
    sys.exit(1 if found or missed or not texts else 0)


if __name__ == "__main__":
    main()
