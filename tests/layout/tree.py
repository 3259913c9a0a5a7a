# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The files of a source tree, as the checks of this folder see them."""
import pathlib
import subprocess

CODE = {".cpp", ".hpp", ".h", ".c", ".inc", ".cu", ".cuh", ".hip"}
BUILD = {".cmake", ".py", ".sh"}


def files(root):
    """Paths relative to root: what git would commit, or everything where there is no git."""
    root = pathlib.Path(root)
    if (root / ".git").exists():
        listed = subprocess.run(["git", "-C", str(root), "ls-files", "-co", "--exclude-standard"],
                                stdout=subprocess.PIPE, text=True, check=True).stdout.split("\n")
        found = [pathlib.PurePosixPath(name) for name in listed if name]
    else:
        found = [pathlib.PurePosixPath(path.relative_to(root).as_posix())
                 for path in root.rglob("*") if path.is_file()]
    return sorted(path for path in set(found)
                  if (root / path).is_file() and not path.parts[0].startswith("build"))


def is_code(path):
    return path.suffix in CODE or path.name.endswith((".hpp.in", ".cpp.in"))


def is_source(path):
    return (is_code(path) or path.suffix in BUILD or path.name == "CMakeLists.txt"
            or path.name.endswith(".cmake.in") or path.parts[:2] == (".ci", "run"))
