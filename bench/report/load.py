# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Result files of `detgemm bench`, schema 2. What is wrong with a file is said in a sentence (`Bad`)."""
import json
import lzma
import math
import pathlib

SCHEMA = 2
# A ceiling is no GEMM: for example the weights read once and nothing else.
ROLES = ("detgemm", "baseline", "ceiling")


class Bad(Exception):
    """A file, an argument or a combination that this report refuses; its text is a sentence."""


def refuse_constant(name):
    raise ValueError(f"it holds {name}, which no clock measures")


def read_text(path):
    """The text of a file, or of what an .xz file holds."""
    try:
        data = pathlib.Path(path).read_bytes()
        return (lzma.decompress(data) if str(path).endswith(".xz") else data).decode("utf-8")
    except (OSError, UnicodeDecodeError, lzma.LZMAError) as error:
        raise Bad(f"{path}: cannot be read: {error}") from None


def parse(path, text):
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
    if not isinstance(found, kinds) or (isinstance(found, bool) and kinds != (bool,)):
        raise Bad(f'{where}: "{name}" is {json.dumps(found)[:60]}, which is of the wrong kind')
    return found


def number(where, value, name, positive=True):
    found = field(where, value, name, (int, float))
    if not math.isfinite(found) or (positive and found <= 0):
        raise Bad(f'{where}: "{name}" is {found}: it must be a positive number')
    return found


def check_arm(where, arm, medians_alone):
    inside = f"{where}, arm {field(where, arm, 'arm', str)}"
    if field(inside, arm, "role", str) not in ROLES:
        raise Bad(f'{inside}: "role" is {arm["role"]}: it must be detgemm, baseline or ceiling')
    number(inside, arm, "us")
    for key in ("p10", "p90"):
        # Files converted from an older schema may hold medians alone: no spread is made up for them.
        if medians_alone and arm.get(key) is None:
            arm[key] = None
        else:
            number(inside, arm, key)
    spread = None if None in (arm["p10"], arm["p90"]) else (arm["p90"] - arm["p10"]) / arm["us"]
    for key, value in (("batch_invariant", None), ("what", ""), ("variant", None), ("noise", spread),
                       ("stable", "none"), ("bits", None)):
        arm.setdefault(key, value)


def check_result(where, result, medians_alone=False):
    where = f"{where} ({field(where, result, 'case', str)})"
    for size in ("m", "n", "k"):
        number(where, result, size)
    for key in ("kind", "dtype", "mode"):
        field(where, result, key, str)
    for arm in field(where, result, "arms", list):
        check_arm(where, arm, medians_alone)
    for key, value in (("suites", []), ("comparisons", []), ("notes", []), ("cache", "cold"),
                       ("accumulate", False), ("threads", 0), ("model", ""), ("layer", ""),
                       ("epilogue", "none")):
        result.setdefault(key, value)
    result.setdefault("flops", 2.0 * result["m"] * result["n"] * result["k"])
    result.setdefault("bytes", 0)
    return result


def check_fall(where, fall):
    """A pair of values of M of which the larger one took less time."""
    for key in ("model", "layer", "kind", "dtype", "mode", "arm", "role"):
        field(f"{where}: a fall", fall, key, str)
    inside = f"{where}: the fall of {fall['model']}/{fall['layer']}, arm {fall['arm']}"
    for key in ("points", "ratio", "m", "us", "later_m", "later_us"):
        number(inside, fall, key)
    field(inside, fall, "certain", (bool,))


def load(path):
    """One file as a run, with its name under "file"."""
    document = parse(path, read_text(path))
    schema = document.get("schema")
    if schema != SCHEMA or isinstance(schema, bool):
        raise Bad(f"{path}: schema is {json.dumps(schema)}: this report reads schema {SCHEMA} of "
                  "detgemm bench")
    where = str(path)
    field(where, document, "machine", dict)
    for key in ("date", "commit", "backend"):
        field(where, document, key, str)
    if document["backend"] not in ("cpu", "cuda", "hip"):
        raise Bad(f'{where}: "backend" is {document["backend"]}: it must be cpu, cuda or hip')
    results = field(where, document, "results", list)
    if not results:
        raise Bad(f"{path}: holds no cases")
    for at, result in enumerate(results, 1):
        check_result(f"{path}: result {at}", result, "converted_from" in document)
    for fall in document.setdefault("falls", []):
        check_fall(where, fall)
    for key, value in (("baselines", []), ("overheads", {}), ("ceilings", {}), ("quick", False),
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
    """The runs of some files, in the order of the files."""
    runs = [load(path) for path in paths]
    if not runs:
        raise Bad("no file was given")
    check_together(runs)
    return runs
