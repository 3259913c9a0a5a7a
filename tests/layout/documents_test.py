#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Plants one fault at a time in a tree whose documents are true and expects the rule meant for it."""
import pathlib
import sys
import tempfile

import documents
import wrap

INCLUDES = "\n".join(f"| `{folder}` | {', '.join(f'`{name}`' for name in allowed)} |"
                     for folder, allowed in documents.include_rows())
FILES = sorted({name.rstrip("/") for folder, allowed in documents.include_rows()
                for name in [folder, *allowed] if not name.startswith("detgemm/")})
ARCHITECTURE = f"""# Map

## Who includes whom

| folder | may include |
|---|---|
{INCLUDES}

## Glossary

### Kernels

| word | meaning |
|---|---|
| slot | a place in the workspace |
"""
BUILDING = """# Building

| option | default | meaning |
|---|---|---|
| `DETGEMM_ENABLE_CUDA` | `AUTO` | the backend |
| `DETGEMM_BUILD_TESTS` | on | tests |
| `DETGEMM_LIST` | `80;90` | a list |
| `DETGEMM_CLANG_*` | found | a compiler |
"""
README = """# Project

See [the map](docs/architecture.md), [its words](docs/architecture.md#glossary),
`core/api/a.cpp`,
`core/{api,contract}/*.cpp` and a [site](https://example.org/no/such/file). A slot is defined.

| a | b |
|---|---|
| short | cells |

```cpp
int door = 0;  // core/no/such/file.cpp is a comment of code and named all the same
```
""".replace("core/no/such/file.cpp", "core/api/a.cpp")
OPTIONS = """detgemm_tristate(CUDA AUTO "The backend")
option(DETGEMM_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
set(DETGEMM_LIST "80;90" CACHE STRING "A list")
set(DETGEMM_LOCAL 1)
find_program(DETGEMM_CLANG_${arch} NAMES clang)
"""
CLEAN = {
    "README.md": README,
    "docs/architecture.md": ARCHITECTURE,
    "docs/building.md": BUILDING,
    "cmake/Options.cmake": OPTIONS,
    "core/api/a.cpp": "int x;\n",
    "core/contract/b.cpp": "int x;\n",
}

# (rule, file, what is replaced or "" to append, by what)
FAULTS = [
    ("paths", "README.md", "`core/api/a.cpp`", "`core/api/gone.cpp`"),
    ("paths", "README.md", "core/{api,contract}/*.cpp", "core/{api,cli}/b.hpp"),
    ("paths", "README.md", "int door", "// core/api/gone.cpp\nint door"),
    ("links", "README.md", "[site](https://example.org/no/such/file)", "[changes](GONE.md)"),
    ("links", "README.md", "#glossary", "#no-such-heading"),
    ("links", "docs/other.md", "", "# Other\n\n[up](../GONE.md)\n"),
    ("cells", "README.md", "| short |", "| " + "long " * 40 + "|"),
    ("words", "README.md", "A slot", "A rival"),
    ("length", "CHANGELOG.md", "", "# Changes\n" + "- more\n" * 80),
    ("length", "docs/log/sm90.md", "", "# Log\n" + "a word\n" * 3000),
    ("benchmark", "docs/hour.md", "", "| 1 | with the wheel: `detgemm bench --quick` |\n"),
    ("benchmark", "docs/program.md", "", "    cmake -DDETGEMM_BUILD_BENCH=OFF\n    detgemm tune --out a\n"),
    ("words", "docs/architecture.md", "| slot |", "| place |"),  # README's "slot" is private then
    ("folders_on_the_map", "bench/report/new.py", "", "x = 1\n"),
    ("includes", "docs/architecture.md", "| `core/capi` | `detgemm/` |", "| `core/capi` | `core/api/` |"),
    ("includes", "docs/architecture.md", "| `core/capi` | `detgemm/` |\n", ""),
    ("includes", "docs/architecture.md", "## Glossary", "| `scripts` | `detgemm/` |\n\n## Glossary"),
    ("options", "docs/building.md", "| `DETGEMM_LIST` | `80;90` | a list |\n", ""),
    ("options", "docs/building.md", "`80;90`", "`90`"),
    ("options", "docs/building.md", "`DETGEMM_BUILD_TESTS`", "`DETGEMM_BUILD_TEST`"),
    ("options", "cmake/Options.cmake", "CUDA AUTO", "CUDA ON"),
    ("options", "core/api/CMakeLists.txt", "", 'option(DETGEMM_NEW "New" OFF)\n'),
    ("lines", "README.md", "A slot is defined.", "A slot is defined. " + "word " * 20),
    ("lines", "docs/other.md", "", "# Other\n\n- " + "word " * 20 + "\n"),
]


def heard(fault):
    """The rules that speak about a true tree with this fault in it."""
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        for file in FILES:  # what the table of includes names
            place = root / file
            (place.parent if place.suffix else place).mkdir(parents=True, exist_ok=True)
            if place.suffix:
                place.write_text("")
        for file, text in CLEAN.items():
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (root / file).write_text(text)
        if fault is not None:
            _, file, old, new = fault
            text = (root / file).read_text() if (root / file).exists() else ""
            if old not in text:
                return {f"{old!r} is not in {file}"}
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (root / file).write_text(text.replace(old, new, 1) if old else text + new)
        return {rule for rule, *_ in documents.check(root)[0]}


# Wrapped: what may not be joined, cut or begin a line keeps its meaning.
LONG = f"""{"word " * 19}- `a code span that is long` 1. | # end
{"more " * 19}

- {"item " * 21}
  its second line

      {"code " * 30}

| {"cell " * 30} |

    {"code " * 30}

```
{"code " * 30}
```
"""
WRAPPED = f"""{"word " * 19}-
`a code span that is long` 1. | # end {("more " * 12).strip()}
{("more " * 7).strip()}

- {("item " * 19).strip()}
  item item its second line

      {"code " * 30}

| {"cell " * 30} |

    {"code " * 30}

```
{"code " * 30}
```
"""


def main():
    wrong = []
    if heard(None):
        wrong.append(f"the true tree is refused by {heard(None)}")
    for fault in FAULTS:
        spoke = heard(fault)
        if spoke != {fault[0]}:
            wrong.append(f"{fault[1]}: expected {fault[0]}, heard {spoke or 'nothing'}: {fault[2:]!r}")
    if wrap.wrapped(LONG) != WRAPPED or wrap.wrapped(WRAPPED) != WRAPPED:
        wrong.append(f"wrapped wrongly:\n{wrap.wrapped(LONG)}")
    print("\n".join(wrong + [f"{len(FAULTS)} faults planted, {len(wrong)} not found as meant"]))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
