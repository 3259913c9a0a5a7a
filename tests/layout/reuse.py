#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""reuse.py ROOT: every file says whose it is and under which licence, as `reuse lint` asks.

The rule of the REUSE specification, version 3.3, as far as this tree uses it: a copyright and a licence in
the file, or by an annotation of REUSE.toml; each licence that is used lies in LICENSES/, and no other.
`reuse lint` itself (PyPI: reuse 5 or newer) is run too where it is installed.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import tree

# REUSE-IgnoreStart: the tags below are looked for, not given
HOLDER = re.compile(r"SPDX-FileCopyrightText:\s*\S")
LICENCE = re.compile(r"SPDX-License-Identifier:[ \t]*(.*?)[ \t]*[\"')\]:*/>-]*$", re.M)
# REUSE-IgnoreEnd
IGNORED = re.compile(r"REUSE-IgnoreStart.*?REUSE-IgnoreEnd", re.S)
EXEMPT = re.compile(r"(^|/)(LICENSE|COPYING)([-.].*)?$|^LICENSES/|^REUSE\.toml$|(^|/)\.git(/|$)")


def pattern(glob):
    """REUSE.toml's globs: ** is anything, * anything without a slash."""
    words = {"**": ".*", "*": "[^/]*"}
    return re.compile("".join(words.get(w) or re.escape(w) for w in re.split(r"(\*\*|\*)", glob) if w) + "$")


def annotations(root):
    """[(patterns, licence)] of REUSE.toml."""
    text = re.sub(r"^\s*#.*$", "", (root / "REUSE.toml").read_text(), flags=re.M)
    found = []
    for part in text.split("[[annotations]]")[1:]:
        paths = re.search(r"path\s*=\s*(\[.*?\]|\"[^\"]*\")", part, re.S).group(1)
        licence = re.search(r'SPDX-License-Identifier"?\s*=\s*"([^"]+)"', part).group(1)
        assert re.search(r'SPDX-FileCopyrightText"?\s*=\s*"[^"]+"', part)
        found.append(([pattern(glob) for glob in re.findall(r'"([^"]+)"', paths)], licence))
    return found


def breaches(root):
    """Sentences, and how many files were looked at."""
    covered, used, said, files = annotations(root), set(), [], 0
    for path in tree.files(root):
        name = path.as_posix()
        if EXEMPT.search(name) or (root / path).stat().st_size == 0:
            continue
        files += 1
        head = IGNORED.sub("", (root / path).read_bytes().decode("utf-8", "replace"))
        licences = {licence for globs, licence in covered if any(g.match(name) for g in globs)}
        if not licences and HOLDER.search(head):
            licences = set(LICENCE.findall(head))
        strange = [one for one in LICENCE.findall(head) if not re.fullmatch(r"[\w.+-]+", one)]
        said += [f"{name}: {one!r} is no licence's name" for one in strange]
        if not licences:
            said.append(f"{name}: no copyright and licence, neither in it nor in REUSE.toml")
        used |= licences
    there = {path.stem for path in (root / "LICENSES").iterdir()}
    said += [f"LICENSES/{one}.txt: is used and not there" for one in used - there]
    said += [f"LICENSES/{one}.txt: is there and not used" for one in there - used]
    return said, files


def planted():
    """Faults that the rule must find: a file without a word, an unknown licence, one that nobody uses."""
    spdx = "# SPDX-" + "FileCopyrightText: X\n# SPDX-" + "License-Identifier: "
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        files = {"REUSE.toml": '[[annotations]]\npath = ["*.md"]\nSPDX-FileCopyrightText = "X"\n'
                               'SPDX-License-Identifier = "Apache-2.0"\n',
                 "LICENSES/Apache-2.0.txt": "text", "LICENSES/MIT.txt": "text", "a.md": "covered",
                 "b/c.md": "a star is no slash", "good.py": spdx + "Apache-2.0\n", "bad.py": "pass\n",
                 "torn.py": spdx + 'Apache-2.0\\n";\n', "strange.py": spdx + "BSD-3-Clause\n"}
        for path, text in files.items():
            (root / path).parent.mkdir(exist_ok=True)
            (root / path).write_text(text)
        said = "\n".join(breaches(root)[0])
    wanted = ("bad.py:", "torn.py: ", "b/c.md:", "BSD-3-Clause.txt: is used", "MIT.txt: is there")
    return [one for one in wanted if one not in said] + [one for one in ("good.py", "\na.md") if one in said]


def lint(root):
    """`reuse lint`, where a release is installed that reads REUSE.toml."""
    if not shutil.which("reuse"):
        return 0
    version = subprocess.run(["reuse", "--version"], stdout=subprocess.PIPE, text=True, check=False).stdout
    if int((re.search(r"(\d+)\.", version) or ["", "0"])[1]) < 5:
        return 0
    return subprocess.run(["reuse", "--root", root, "lint", "--quiet"], check=False).returncode


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    said, files = breaches(root)
    missed, linted = planted(), lint(root)
    print("\n".join(said))
    print(f"{files} files, {len(said)} breaches; planted faults missed: {missed or 'none'}")
    sys.exit(1 if said or missed or linted or not files else 0)


if __name__ == "__main__":
    main()
