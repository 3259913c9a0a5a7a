#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""lint.py ROOT TOOLS: ruff, codespell, yamllint, check-jsonschema (workflows by GitHub's schema) and zizmor (workflows: expressions
that become commands, tokens, versions of actions) find nothing in the tree, and each finds a planted fault; then workflows.py
looks at what GitHub reads.

.pre-commit-config.yaml has their versions. They are installed from PyPI into the folder TOOLS, once per set
of versions.

Exit status 77: they are not in TOOLS, and pip cannot install them here.
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import venv

import tree

# Tool: its command line without the files, and a file in which it must find a fault.
TOOLS = {
    "ruff": (["check", "--no-cache", "--quiet", "--output-format=concise"], "planted.py", "print(undefined)\n"),
    "codespell": ([], "planted.md", "The row is recei" "eved.\n"),
    "yamllint": (["--strict"], "planted.yaml", "a: 1\na: 2\n"),
    "check-jsonschema": (["--builtin-schema", "vendor.github-workflows"], "planted.yml",
                         "on: push\njobs:\n  a:\n    runs-on: ubuntu-24.04\n    steps:\n      - use: actions/checkout@v4\n"),
    "zizmor": (["--offline", "--no-progress", "--quiet", "--format=plain"], "planted.yml",
               "on: pull_request\npermissions: {}\njobs:\n  a:\n    runs-on: ubuntu-24.04\n    steps:\n      - run: echo ${{ github.head_ref }}\n"),
}
SUFFIXES = {"ruff": {".py"}, "yamllint": {".yml", ".yaml", ".cff"}}
FOLDERS = {"check-jsonschema": ".github/workflows", "zizmor": ".github/workflows"}


def versions(root):
    """{tool: what pip installs}, from the configuration of pre-commit."""
    text = (root / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    found = dict(re.findall(r"additional_dependencies: \[(([\w-]+)==[\w.]+)\]", text))
    return {name: pinned for pinned, name in found.items() if name in TOOLS}


def installed(root, folder):
    """The folder of the tools' programs."""
    pins = sorted(versions(root).values())
    if len(pins) != len(TOOLS):
        sys.exit(f".pre-commit-config.yaml pins {pins}; it must pin {', '.join(TOOLS)}")
    stamp, programs = folder / "installed.txt", folder / "bin"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == "\n".join(pins):
        return programs
    venv.create(folder, with_pip=True, clear=True)
    done = subprocess.run([programs / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *pins],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        lines = done.stdout.strip().splitlines()
        print(f"skipped: pip cannot install {', '.join(pins)}: {lines[-1] if lines else done.returncode}")
        sys.exit(77)
    stamp.write_text("\n".join(pins), encoding="utf-8")
    return programs


def run(programs, tool, files, folder):
    """Whether the tool found nothing, and what it said."""
    done = subprocess.run([programs / tool, *TOOLS[tool][0], *files], cwd=folder, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode == 0, done.stdout


def missed(programs, root):
    """The tools that do not find the fault that is planted for them, under the project's own settings."""
    for tool, (_, name, text) in TOOLS.items():
        with tempfile.TemporaryDirectory() as folder:
            for settings in ("pyproject.toml", ".codespellrc", ".yamllint"):
                (pathlib.Path(folder) / settings).write_bytes((root / settings).read_bytes())
            (pathlib.Path(folder) / name).write_text(text, encoding="utf-8")
            clean, said = run(programs, tool, [name], folder)
            if clean or name not in said:
                yield tool


def main():
    root, folder = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    programs, files, wrong = installed(root, folder), tree.files(root), 0
    for tool in TOOLS:
        mine = [str(path) for path in files if path.suffix in SUFFIXES.get(tool, {path.suffix}) and FOLDERS.get(tool, "") in path.as_posix()]
        clean, said = run(programs, tool, mine, root)
        print(said, end="")
        print(f"{tool}: {len(mine)} files, {'nothing' if clean else 'faults'}")
        wrong += not clean or not mine
    # What needs a parser of YAML, which yamllint brings.
    wrong += subprocess.run([programs / "python", pathlib.Path(__file__).with_name("workflows.py"), root], check=False).returncode != 0
    blind = list(missed(programs, root))
    print(f"planted faults missed: {', '.join(blind) or 'none'}")
    sys.exit(1 if wrong or blind else 0)


if __name__ == "__main__":
    main()
