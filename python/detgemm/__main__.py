# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""`python -m detgemm ...` is the command `detgemm` of this package: info, run, explain, conform, golden,
snap, preload."""
import os
import sys

from detgemm import _library


def main():
    program = _library.folder().parent / "bin" / "detgemm"
    if not program.exists():
        sys.exit(f"detgemm: {program} does not exist: this package was built without the command")
    os.execv(program, [str(program), *sys.argv[1:]])


if __name__ == "__main__":
    main()
