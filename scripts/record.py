#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Makes the record of a run: a page that a person reads, and the JSON it is made from, compressed.

    scripts/record.py report.json -o tests/results --command 'detgemm conform --backend cuda --full'
    scripts/record.py sweep.json -o tests/results --command '...' --commit 90378a3
    scripts/record.py bench.json -o bench/results

It takes what `detgemm conform --report json`, the sweeps of tests/cuda and `detgemm bench --json` write,
as .json or .json.xz, and writes FOLDER/NAME.md and FOLDER/NAME.json.xz. The page holds the sha256 of the
JSON before it was compressed. Python's standard library is all it needs. Exit codes: 0 written, 2 a
file or an argument that cannot be used, with a sentence.
"""
import argparse
import collections
import hashlib
import json
import lzma
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench" / "report"))
import figures
import load

CONFORMANCE = "detgemm-conformance-1"
VERDICTS = ("passed", "failed", "mistrusted", "untested", "skipped", "unsupported")
MAX_XZ_BYTES = 100_000


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(one).replace("|", "\\|") for one in row) + " |"
                     for row in lines)


def counted(cells, verdicts):
    counts = collections.Counter(cell["verdict"] for cell in cells)
    return [counts[verdict] for verdict in verdicts]


def group(cells, key):
    found = {}
    for cell in cells:
        found.setdefault(cell[key], []).append(cell)
    return found


def conformance_body(path, document):
    """Verdicts per property and per contract, and every reason for a cell that did not pass."""
    reports = load.field(path, document, "reports", list)
    if not reports:
        raise load.Bad(f"{path}: holds no reports")
    parts = []
    for report in reports:
        cells = load.field(path, report, "cells", list)
        if not cells:
            raise load.Bad(f"{path}: the report on {report.get('engine')} holds no cells")
        for cell in cells:
            for key in ("property", "contract", "digest", "verdict"):
                load.field(f"{path}: a cell", cell, key, str)
            for key in ("runs", "outputs", "mismatches"):
                load.number(f"{path}: a cell", cell, key, positive=False)
            if cell["verdict"] not in VERDICTS:
                raise load.Bad(f'{path}: a verdict is "{cell["verdict"]}", which no report holds')
        ran = {cell["contract"] for cell in cells if cell["verdict"] != "unsupported"}
        verdict = "passed" if load.field(path, report, "passed", (bool,)) else "FAILED"
        counts = collections.Counter(cell["verdict"] for cell in cells)
        said = ", ".join(f"{counts[v]:,} {v}" for v in VERDICTS if counts[v])
        outputs = sum(cell["outputs"] for cell in cells)
        wrong = sum(cell["mismatches"] for cell in cells)
        parts.append(f"## {report['engine']}: {verdict}\n\n{report['description']}.\n\n"
                     f"{len(cells):,} cells: {said}. {outputs:,} outputs were compared, {wrong:,} differ.")
        head = [v for v in VERDICTS if counts[v]]
        rows = [[f"`{name}`", *counted(mine, head), f"{sum(c['runs'] for c in mine):,}",
                 f"{sum(c['outputs'] for c in mine):,}"]
                for name, mine in group(cells, "property").items()]
        parts.append(table(["property", *head, "calls", "outputs"], rows))
        rows = []
        for name, mine in group(cells, "contract").items():
            if name in ran:
                kernels = {kernel for cell in mine for kernel in cell.get("kernels", [])}
                rows.append([f"`{name}`", f"`{mine[0]['digest']}`", *counted(mine, head),
                             len(kernels),
                             f"{sum(c['outputs'] for c in mine):,}"])
        parts.append(table(["contract", "digest", *head, "kernels", "outputs"], rows))
        rest = len(group(cells, "contract")) - len(rows)
        if rest:
            parts.append(f"{rest} more contracts are not supported by this engine on this device.")
        reasons = collections.Counter((c["verdict"], c["property"], c["reason"]) for c in cells
                                      if c["verdict"] not in ("passed", "unsupported"))
        if reasons:
            parts.append("\n".join(f"- {n} {verdict}, `{name}`: {why}"
                                   for (verdict, name, why), n in reasons.items()))
        kernels = sorted({kernel for cell in cells for kernel in cell.get("kernels", [])})
        if kernels:
            parts.append(f"{len(kernels)} kernels ran: " + ", ".join(f"`{k}`" for k in kernels) + ".")
    return "\n\n".join(parts)


def conformance_facts(document):
    report = document["reports"][0]
    return {"device": report.get("device"), "machine": report.get("machine"),
            "date": report.get("date"), "commit": report.get("commit"),
            "version": report.get("version"), "reference": report.get("oracle"),
            "run": f"level {report.get('level')}, seed {report.get('seed')}, "
                   f"{report.get('seconds', 0):.0f} s"}


def sweep_body(path, document):
    """Totals of a sweep, and its runs along each axis that problems were drawn from."""
    total = load.field(path, document, "total", dict)
    for key in ("runs", "outputs", "mismatches", "bytes_outside", "inputs_changed"):
        load.number(path, total, key, positive=False)
    outputs = load.number(path, document, "distinct_outputs")
    verdict = "passed" if document.get("passed") else "FAILED"
    who = document.get("runs_by", "every kernel that takes each problem")
    parts = [f"## {document.get('subject')}: {verdict}\n\n{document.get('problems', 0):,} problems with "
             f"{outputs:,} distinct outputs; {total['runs']:,} runs by {who}, "
             f"{total['outputs']:,} outputs compared: {total['mismatches']:,} differ, "
             f"{total['bytes_outside']:,} bytes outside of D were written, {total['inputs_changed']:,} "
             f"inputs changed."]
    if "nan_outputs" in total:
        parts[0] += f" {total['nan_outputs']:,} of the outputs are NaN."
    if document.get("plant"):
        parts.append(f"A fault was planted: {document['plant']}.")
    controls = document.get("controls", {})
    for name, control in controls.items():
        for key in ("outputs", "differ"):
            load.number(f"{path}: control {name}", control, key, positive=False)
    if controls:
        parts.append("### Controls, which must differ\n\n" + table(
            ["control", "outputs", "differ"],
            [[name, f"{control['outputs']:,}", f"{control['differ']:,}"] for name, control in controls.items()]))
    for axis, values in load.field(path, document, "by", dict).items():
        if "," in axis:
            continue  # a product of other axes, hundreds of rows: in the JSON
        for name, value in values.items():
            for key in ("runs", "outputs", "mismatches"):
                load.number(f"{path}: {axis} {name}", value, key, positive=False)
        rows = [[f"`{name}`", f"{v['runs']:,}", f"{v['outputs']:,}", f"{v['mismatches']:,}"]
                for name, v in sorted(values.items())]
        parts.append(f"### By {axis}\n\n" + table([axis, "runs", "outputs", "differ"], rows))
    return "\n\n".join(parts)


def sweep_facts(document):
    return {"device": document.get("device"), "reference": document.get("oracle"),
            "libraries": "; ".join(document.get("libraries", [])),
            "run": f"seed {document.get('seed')}, {document.get('seconds', 0):.0f} s"}


def bench_body(path, document):
    """What a result file of the benchmark holds; the page of all results is docs/bench/index.md."""
    results = document["results"]
    rows = []
    for suite, mine in suites_of(results).items():
        arms = list(dict.fromkeys(arm["arm"] for result in mine for arm in result["arms"]))
        names = ", ".join(arms) if len(", ".join(arms)) < 120 else f"{len(arms)} arms"
        rows.append([suite, len(mine), sum(len(r["arms"]) for r in mine), names])
    parts = ["## Cases\n\n" + table(["suite", "cases", "timings", "arms"], rows)]
    kept = [[name, f"{yes} of {yes + no}"] for name, (yes, no) in
            sorted(figures.invariance([document]).items())]
    if kept:
        parts.append("## Row 0 keeps its bits\n\n" + table(["arm", "comparisons"], kept))
    verdicts = figures.verdicts([document])
    if verdicts:
        parts.append("Comparisons of ours with the others: "
                     + ", ".join(f"{n} {verdict}" for verdict, n in sorted(verdicts.items())) + ".")
    return "\n\n".join(parts)


def suites_of(results):
    found = {}
    for result in results:
        for suite in result["suites"] or ["(none)"]:
            found.setdefault(suite, []).append(result)
    return found


def bench_facts(document):
    machine = document["machine"]
    facts = ", ".join(f"{key} {value}" for key, value in machine.items()
                      if key in ("driver", "toolkit", "cublaslt", "processors", "power limit"))
    return {"device": machine.get("device"), "machine": facts, "date": document["date"],
            "commit": document["commit"], "version": document["version"],
            "what": document.get("what"), "converted from": document.get("converted_from"),
            "command": document.get("command")}


def read(path):
    """(kind, document, text) of a result file."""
    text = load.read_text(path)
    document = load.parse(path, text)
    if document.get("schema") == CONFORMANCE:
        return "conformance", document, text
    if "distinct_outputs" in document:
        return "sweep", document, text
    if document.get("schema") == load.SCHEMA:
        return "bench", load.load(path), text
    raise load.Bad(f"{path}: schema is {json.dumps(document.get('schema'))}: a record is made from "
                   f'"{CONFORMANCE}", from a sweep, or from schema {load.SCHEMA} of detgemm bench')


def body(path):
    kind, document, _ = read(path)
    made = {"conformance": conformance_body, "sweep": sweep_body, "bench": bench_body}[kind]
    return made(path, document)


def page(path, options):
    kind, document, text = read(path)
    if options.without_logs:
        for report in document.get("reports", []):
            for cell in report.get("cells", []):
                cell.pop("log", None)
        text = json.dumps(document) + "\n"
    said = body(path)  # refuses what lacks something
    facts = dict.fromkeys(("device", "machine", "date", "commit", "command"))
    facts |= {"conformance": conformance_facts, "sweep": sweep_facts, "bench": bench_facts}[kind](
        document)
    for key in ("commit", "command", "date", "note"):
        if getattr(options, key):
            facts[key] = getattr(options, key)
    data = text.encode("utf-8")
    facts["JSON"] = f"[{options.name}.json.xz]({options.name}.json.xz), {len(data):,} bytes before xz"
    if options.without_logs:
        facts["JSON"] += ", without the shapes of every case, which follow from the seed"
    facts["sha256"] = f"`{hashlib.sha256(data).hexdigest()}` of the JSON before xz"
    title = {"conformance": "Conformance", "sweep": "Sweep", "bench": "Benchmark results"}[kind]
    lines = []
    for key, value in facts.items():
        if not value and key not in ("commit", "command", "date"):
            continue
        value = str(value or "not recorded")
        lines.append(f"- **{key}:** " + (f"`{value}`" if key == "command" and facts[key] else value))
    return (f"# {title}: {options.name}\n\n" + "\n".join(lines) + "\n\n" + said + "\n"), data


def main():
    parser = argparse.ArgumentParser(prog="record.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("-o", "--out", required=True, help="the folder of the record")
    parser.add_argument("--name", help="of the record; the file's own name where it is not given")
    for name in ("commit", "command", "date", "note"):
        parser.add_argument(f"--{name}", help="overrides or adds to what the file says")
    parser.add_argument("--without-logs", action="store_true",
                        help="leaves out the shapes of a conformance report's cases, where it is too large with them")
    options = parser.parse_args()
    file = pathlib.Path(options.file)
    options.name = options.name or file.name.removesuffix(".xz").removesuffix(".json")
    out = pathlib.Path(options.out)
    try:
        text, data = page(file, options)
        packed = lzma.compress(data, preset=9 | lzma.PRESET_EXTREME)
        if len(packed) > MAX_XZ_BYTES:
            raise load.Bad(f"{file}: its JSON takes {len(packed)} bytes compressed: a record in the tree "
                           f"takes {MAX_XZ_BYTES} or less")
        out.mkdir(parents=True, exist_ok=True)
        (out / f"{options.name}.json.xz").write_bytes(packed)
        (out / f"{options.name}.md").write_text(text, encoding="utf-8")
    except load.Bad as sentence:
        print(f"record.py: {sentence}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"record.py: {out}: cannot be written: {error}", file=sys.stderr)
        return 2
    print(f"{out / options.name}.md, {len(packed)} bytes of JSON beside it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
