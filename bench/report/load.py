# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Result files into one shape. What is wrong with a file is said in a sentence (`Bad`)."""
import json
import math
import pathlib

import old

SCHEMA = 1
# Files of bench/results that are no timings of cases, by their schema.
OTHERS = {"detgemm-bench-cpu-1": "rates of the host in an older form",
          "detgemm-variants-1": "times of every kernel", "detgemm-peers-1": "bits of peers",
          "detgemm/leaf-variants/1": "times of every kernel of fold and tree",
          "detgemm-ncu-1": "what a profiler says of some launches"}


class Bad(Exception):
    """A file, an argument or a combination that this report refuses; its text is a sentence."""


class Skipped(Exception):
    """A known kind of file that holds no timings of cases."""


def refuse_constant(name):
    raise ValueError(f"it holds {name}, which no clock measures")


def parse(path):
    try:
        text = pathlib.Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Bad(f"{path}: cannot be read: {error}") from None
    try:
        document = json.loads(text, parse_constant=refuse_constant)
    except ValueError as error:
        raise Bad(f"{path}: is no result file: {error}") from None
    if not isinstance(document, dict):
        raise Bad(f"{path}: is no result file: it must hold one JSON object")
    return document


def field(where, value, name, kinds):
    if not isinstance(value, dict) or name not in value:
        raise Bad(f'{where} lacks "{name}"')
    found = value[name]
    if not isinstance(found, kinds) or isinstance(found, bool):
        raise Bad(f'{where}: "{name}" is {json.dumps(found)[:60]}, which is of the wrong kind')
    return found


def number(where, value, name, positive=True):
    found = field(where, value, name, (int, float))
    if not math.isfinite(found) or (positive and found <= 0):
        raise Bad(f'{where}: "{name}" is {found}: it must be a positive number')
    return found


def check_result(where, result):
    name = field(where, result, "case", str)
    where = f"{where} ({name})"
    for size in ("m", "n", "k"):
        number(where, result, size)
    for key in ("kind", "dtype", "mode"):
        field(where, result, key, str)
    for arm in field(where, result, "arms", list):
        arm_name = field(where, arm, "arm", str)
        inside = f"{where}, arm {arm_name}"
        if field(inside, arm, "role", str) not in ("ours", "rival"):
            raise Bad(f'{inside}: "role" is {arm["role"]}: it must be ours or rival')
        for key in ("us", "p10", "p90"):
            number(inside, arm, key)
        arm.setdefault("batch_invariant", None)
        arm.setdefault("what", "")
        arm.setdefault("noise", (arm["p90"] - arm["p10"]) / arm["us"])
    for key, value in (("suites", []), ("comparisons", []), ("notes", []), ("cache", "cold"),
                       ("accumulate", False), ("threads", 0), ("model", ""), ("layer", "")):
        result.setdefault(key, value)
    result.setdefault("flops", 2.0 * result["m"] * result["n"] * result["k"])
    result.setdefault("bytes", 0)
    return result


def load(path):
    """One file as a run of schema 1, with its path under "file"."""
    document = parse(path)
    schema = document.get("schema")
    if schema in OTHERS:
        raise Skipped(f"{path}: left out: it holds {OTHERS[schema]}, no cases")
    if schema == old.SCHEMA:
        document = old.convert(path, document, Bad)
    elif schema is None and "us" in document and "device" in document:
        raise Skipped(f"{path}: left out: it holds host times of the library, no cases")
    elif schema != SCHEMA:
        raise Bad(f"{path}: schema is {json.dumps(schema)}: this report reads {SCHEMA} and "
                  f'"{old.SCHEMA}"')
    where = str(path)
    field(where, document, "machine", dict)
    for key in ("date", "commit", "backend"):
        field(where, document, key, str)
    results = field(where, document, "results", list)
    if not results:
        raise Bad(f"{path}: holds no cases")
    for at, result in enumerate(results, 1):
        check_result(f"{path}: result {at}", result)
    for key, value in (("rivals", []), ("overheads", {}), ("ceilings", {}), ("quick", False),
                       ("not_measured", 0), ("command", "unknown"), ("version", "unknown")):
        document.setdefault(key, value)
    document["file"] = pathlib.Path(path).name
    document["device"] = document["machine"].get("device", "unknown device")
    return document


def check_together(runs):
    """A contract's bits never change under its name, so its digest is one in all files."""
    seen = {}
    for run in runs:
        for result in run["results"]:
            for arm in result["arms"]:
                contract, digest = arm.get("contract"), arm.get("digest")
                if not contract or not digest:
                    continue
                first = seen.setdefault(contract, (digest, run["file"]))
                if first[0] != digest:
                    raise Bad(f"{first[1]} has {contract} with digest {first[0]} and {run['file']} "
                              f"with {digest}: results of different versions of a contract are "
                              "not put on one page")


def load_all(paths):
    """(runs, sentences about files that were left out)."""
    runs, left_out = [], []
    for path in paths:
        try:
            runs.append(load(path))
        except Skipped as sentence:
            left_out.append(str(sentence))
    if not runs:
        raise Bad("no file with cases was given" + "".join(f"; {s}" for s in left_out))
    check_together(runs)
    return runs, left_out
