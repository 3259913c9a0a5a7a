#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""summary.py FOLDER: adds up what ctest wrote there as JUnit, one file per preset.

The last line says how many tests passed, failed and were skipped; failing or running none is
exit status 1. A skipped test is listed with the reason that it printed itself, and one that printed
none counts as failed: a return code is no reason.
"""
import pathlib
import re
import sys
import xml.etree.ElementTree as xml


def reason(case):
    """What the test said last before it was skipped, or nothing."""
    said = (case.findtext("system-out") or "").strip().splitlines()
    words = [line.strip() for line in said if re.search("[a-z]{3}", line)]
    for line in words:
        if line.startswith("skipped: "):
            return line.removeprefix("skipped: ")
    told = case.find("skipped").get("message") or ""
    if words:
        return words[-1]
    return "" if re.fullmatch(r"SKIP_RETURN_CODE=\d+|", told) else told


def main():
    passed, failures, skips = 0, [], {}
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.xml")):
        for case in xml.parse(path).getroot().iter("testcase"):
            name, status = f"{case.get('name')} ({path.stem})", case.get("status")
            skipped = case.find("skipped") is not None
            passed += status == "run"
            if status == "fail" or (status == "notrun" and not skipped):
                failures.append(name)
            elif skipped and reason(case):
                skips.setdefault(reason(case), []).append(name)
            elif skipped:
                failures.append(f"{name}: it was skipped and did not say why")
    for name in failures:
        print(f"failed: {name}")
    for why, names in skips.items():
        print(f"skipped: {', '.join(names)}: {why}")
    skipped = sum(map(len, skips.values()))
    print(f"detgemm: {passed} passed, {len(failures)} failed, {skipped} skipped")
    sys.exit(0 if passed and not failures else 1)


if __name__ == "__main__":
    main()
