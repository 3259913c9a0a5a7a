#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""summary.py [--dead STAGE=WHY]... FOLDER: adds up what ctest wrote there as JUnit, one file per preset.

A report that was cut off while it was written is a failure of its own name. A stage that died counts as one failure
under its own name, unless its report has a failed test that says why: that of "host: test" is host.xml, those of
"python" are python-*.xml.

The last line says how many tests passed, failed and were skipped, which stages died, and whether no test ran; failing or
running none is exit status 1. A skipped test is listed with the reason that it printed itself, and one that printed
none counts as failed: a return code is no reason.
"""
import argparse
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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dead", action="append", default=[], metavar="STAGE=WHY")
    parser.add_argument("folder", type=pathlib.Path)
    options = parser.parse_args()
    passed, failures, skips, explained = 0, [], {}, set()
    reports = sorted(options.folder.glob("*.xml"))
    for path in reports:
        before = len(failures)
        try:
            cases = list(xml.parse(path).getroot().iter("testcase"))
        except xml.ParseError as error:
            failures.append(f"{path.stem}: its report {path} is not whole: {error}")
            continue
        for case in cases:
            name, status = f"{case.get('name')} ({path.stem})", case.get("status")
            skipped = case.find("skipped") is not None
            missing = skipped and case.find("skipped").get("message", "").startswith("Unable to find executable")
            passed += status == "run"
            if status == "fail" or (status == "notrun" and not skipped):
                failures.append(name)
            elif missing:
                failures.append(f"{name}: its program was not built")
            elif skipped and reason(case):
                skips.setdefault(reason(case), []).append(name)
            elif skipped:
                failures.append(f"{name}: it was skipped and did not say why")
        if len(failures) > before:
            explained |= {f"{path.stem}: test", path.stem.partition("-")[0]}
    dead = []
    for stage, _, why in (each.partition("=") for each in options.dead):
        if stage not in explained:
            dead.append(stage)
            failures.append(f"{stage}: the stage died with {why}")
    ending = f"; died: {', '.join(dead)}" if dead else ""
    if not passed and not failures:
        ending = "; no test ran"
        failures.append(f"no test ran: {len(reports)} reports in {options.folder} hold none")
    for name in failures:
        print(f"failed: {name}")
    for why, names in skips.items():
        print(f"skipped: {', '.join(names)}: {why}")
    skipped = sum(map(len, skips.values()))
    print(f"detgemm: {passed} passed, {len(failures)} failed, {skipped} skipped" + ending)
    sys.exit(0 if passed and not failures else 1)


if __name__ == "__main__":
    main()
