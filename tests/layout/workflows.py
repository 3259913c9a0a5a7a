#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""workflows.py ROOT: what GitHub reads can be read, and says what this tree has. Needs PyYAML; lint.py runs it.

Workflows give a token no more than it needs, end in time, and run every stage of scripts/test.sh; forms of issues
have the fields that GitHub asks for; CITATION.cff has the version of version.hpp.
"""
import pathlib
import re
import sys

import yaml

FIELDS = {"markdown", "input", "textarea", "dropdown", "checkboxes"}


def stages(root):
    """The words of scripts/test.sh that choose a stage."""
    text = (root / "scripts/test.sh").read_text(encoding="utf-8")
    return {word[2:] for word in re.findall(r"^#   (--\w+)", text, re.M)} - {"no"}


def jobs_of(root, name, flow):
    """Sentences about a workflow, and the stages that it runs."""
    said, ran = [], set()
    triggers = flow.get("on", flow.get(True))  # YAML 1.1 reads the key as a number of truth
    if not triggers or "contents" not in flow.get("permissions", {}):
        said.append("has no trigger, or no permissions of its token")
    for job, body in flow.get("jobs", {}).items():
        if "runs-on" not in body or not 0 < body.get("timeout-minutes", 0) <= 180:
            said.append(f"job {job}: says no machine, or no time after which it ends")
        for step in body.get("steps", []):
            if ("uses" in step) == ("run" in step):
                said.append(f"job {job}: a step must have one of uses and run")
            if "uses" in step and not re.fullmatch(r"[\w./-]+@v\d+(\.\d+)*", step["uses"]):
                said.append(f"job {job}: {step['uses']} has no version")
            command = step.get("run", "")
            for script in re.findall(r"scripts/\w+\.\w+", command):
                if not (root / script).exists():
                    said.append(f"job {job}: runs {script}, which does not exist")
            for word in re.findall(r"scripts/test\.sh --(\S+)", command):
                ran.add(word)
            if "--${{" in command:
                ran.update(body.get("strategy", {}).get("matrix", {}).get("stage", []))
    said += [f"job {job} needs {need}, which is no job" for job, body in flow.get("jobs", {}).items()
             for need in [body.get("needs", job)] if need not in flow["jobs"]]
    return [f"{name}: {sentence}" for sentence in said], ran - {"${{"}


def form(name, body):
    """Sentences about the form of an issue."""
    if not all(body.get(key) for key in ("name", "description", "body")):
        yield f"{name}: lacks a name, a description or a body"
    seen = set()
    for field in body.get("body", []):
        if field.get("type") not in FIELDS:
            yield f"{name}: a field of type {field.get('type')}"
        elif field["type"] != "markdown" and (field.get("id") in seen or not field.get("id") or "label" not in field["attributes"]):
            yield f"{name}: a field without a label, or without an id of its own"
        seen.add(field.get("id"))


def check(root, flows, forms, citation):
    """Sentences about parsed files: {name: content}."""
    said, ran, known = [], set(), stages(root)
    for name, flow in flows.items():
        found, words = jobs_of(root, name, flow)
        said, ran = said + found, ran | words
    said += [f"no workflow runs scripts/test.sh --{stage}" for stage in sorted(known - ran)]
    said += [f"scripts/test.sh has no stage --{word}" for word in sorted(ran - known)]
    for name, body in forms.items():
        said += form(name, body)
    version = re.search(r'VERSION_STRING "([\d.]+)"', (root / "core/include/detgemm/version.hpp").read_text(encoding="utf-8"))
    if str(citation.get("version")) != version.group(1):
        said.append(f"CITATION.cff: the version is {citation.get('version')}, and the library's {version.group(1)}")
    said += [f"CITATION.cff: lacks {key}" for key in ("cff-version", "message", "title", "authors") if not citation.get(key)]
    return said


def parsed(folder):
    return {path.name: yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.yml"))}


# What is wrong, and how it gets so.
FAULTS = [
    ("a stage that no workflow runs", lambda w, f, c: w["tests.yml"]["jobs"]["stage"]["strategy"]["matrix"]["stage"].remove("asan")),
    ("a stage that is none", lambda w, f, c: w["tests.yml"]["jobs"]["stage"]["strategy"]["matrix"]["stage"].append("rocm")),
    ("a job without an end", lambda w, f, c: w["tests.yml"]["jobs"]["cuda"].pop("timeout-minutes")),
    ("a token with all rights", lambda w, f, c: w["site.yml"].pop("permissions")),
    ("a step of no version", lambda w, f, c: w["site.yml"]["jobs"]["build"]["steps"].append({"uses": "actions/checkout@main"})),
    ("a script that is not there", lambda w, f, c: w["site.yml"]["jobs"]["build"]["steps"].append({"run": "scripts/none.sh"})),
    ("a job that needs no job", lambda w, f, c: w["site.yml"]["jobs"]["publish"].update(needs="none")),
    ("a form without a body", lambda w, f, c: f["2-bug.yml"].pop("body")),
    ("a field without an id", lambda w, f, c: f["3-feature.yml"]["body"][0].pop("id")),
    ("an old version", lambda w, f, c: c.update(version="0.0.9")),
]


def main():
    root = pathlib.Path(sys.argv[1])

    def read():
        forms = parsed(root / ".github/ISSUE_TEMPLATE")
        forms.pop("config.yml")
        return parsed(root / ".github/workflows"), forms, yaml.safe_load((root / "CITATION.cff").read_text(encoding="utf-8"))

    said, missed = check(root, *read()), []
    for what, plant in FAULTS:
        files = read()
        plant(*files)
        if not set(check(root, *files)) - set(said):
            missed.append(what)
    print("\n".join(said))
    print(f"{sum(map(len, read()[:2]))} workflows and forms, {len(said)} faults; planted faults missed: {', '.join(missed) or 'none'}")
    sys.exit(1 if said or missed else 0)


if __name__ == "__main__":
    main()
