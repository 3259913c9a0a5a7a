#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""summary.py FOLDER: adds up what ctest wrote there as JUnit, one file per preset.

The last line says how many tests passed, failed and were skipped; failing or running none is
exit status 1.
"""
import pathlib
import sys
import xml.etree.ElementTree as xml


def main():
    passed = failed = skipped = 0
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.xml")):
        for case in xml.parse(path).getroot().iter("testcase"):
            status = case.get("status")
            passed += status == "run"
            skipped += status in ("notrun", "disabled") and case.find("skipped") is not None
            if status == "fail" or (status == "notrun" and case.find("skipped") is None):
                failed += 1
                print(f"failed: {case.get('name')} ({path.stem})")
            if case.find("skipped") is not None:
                print(f"skipped: {case.get('name')} ({path.stem}): "
                      f"{case.find('skipped').get('message')}")
    print(f"detgemm: {passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(0 if passed and not failed else 1)


if __name__ == "__main__":
    main()
