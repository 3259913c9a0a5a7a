#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""subjects.py ROOT: the newest commit's subject reads "area: what it does", in at most 72 characters.

Merges are passed over, and a shallow clone is enough. Without git there is nothing to read (exit status 77).
"""
import re
import subprocess
import sys

LONGEST = 72
SHAPE = re.compile(r"[a-z0-9][a-z0-9_./, -]*: \S.*[^.\s]$")


def breach(subject):
    """What is wrong with a subject, or None."""
    if len(subject) > LONGEST:
        return f"{len(subject)} characters; at most {LONGEST}"
    return None if SHAPE.match(subject) else 'it must be "area: what it does", the area in small letters, without a period'


# (subject, whether it is fine)
PLANTED = [
    ("cluster: do not wait for peers after an interrupt", True),
    ("docs, python: name the contract in every example", True),
    ("A job that is interrupted asks nobody", False),
    ("Cluster: do not wait", False),
    ("cluster:do not wait", False),
    ("cluster: do not wait.", False),
    ("cluster: " + "x" * 64, False),
    ("", False),
]


def main():
    wrong = [f"{subject!r}: {breach(subject)}" for subject, fine in PLANTED if (breach(subject) is None) != fine]
    done = subprocess.run(["git", "-C", sys.argv[1], "log", "-1", "--no-merges", "--format=%s"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    subject = done.stdout.strip()
    if done.returncode == 0 and subject and breach(subject):
        wrong.append(f"{subject!r}: {breach(subject)}")
    print("\n".join(wrong + [f"{len(PLANTED)} planted subjects and the newest one, {len(wrong)} breaches"]))
    if not wrong and not subject:
        print(f"skipped: {sys.argv[1]} has no commit that git can read")
        return 77
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
