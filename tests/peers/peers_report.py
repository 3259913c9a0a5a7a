# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""What bitwise.py found, summed up as JSON and as a page."""


def merge(children):
    """One document of the processes' results: `comparisons` a shape, `summary` a peer, `batch`."""
    settings = list(children)
    head = children[settings[0]]
    document = {"schema": "detgemm-peers-1", "failures": [],
                **{key: head.get(key) for key in ("ours", "device", "torch", "cuda", "triton")},
                "comparisons": head["comparisons"], "batch": list(head["batch"])}
    for setting in settings[1:]:
        more = children[setting]
        for row, other in zip(document["comparisons"], more["comparisons"], strict=True):
            if row["digest"] != other["digest"]:
                document["failures"].append(f"ours gave two results at {place(row)}")
            row["peers"] |= other["peers"]
        # Ours ran in each process; it is counted once, and every time it failed.
        document["batch"] += [row for row in more["batch"]
                              if row["who"] != "ours" or row["changed_at"] or "error" in row]
    document["summary"] = summarise(document["comparisons"])
    document["batch_summary"] = summarise_batch(document["batch"])
    judge(document, settings[0])
    return document


def place(row):
    return f"{row['kind']} {row['m']} x {row['n']} x {row['k']}"


def summarise(comparisons):
    sums = {}
    for row in comparisons:
        for peer, entry in row["peers"].items():
            total = sums.setdefault(peer, {"shapes_equal": 0, "shapes_unequal": 0, "errors": 0,
                                           "outputs": 0, "outputs_unequal": 0})
            if "error" in entry:
                total["errors"] += 1
                continue
            total["shapes_unequal" if entry["unequal"] else "shapes_equal"] += 1
            total["outputs"] += entry["outputs"]
            total["outputs_unequal"] += entry["unequal"]
    return sums


def summarise_batch(batch):
    sums = {}
    for row in batch:
        total = sums.setdefault(row["who"], {"kept": 0, "changed": [], "errors": []})
        if "error" in row:
            total["errors"].append(row["error"])
        elif row["changed_at"]:
            total["changed"].append({"n": row["n"], "k": row["k"], "at": row["changed_at"]})
        else:
            total["kept"] += 1
    return sums


def judge(document, default):
    failures = document["failures"]
    ours = document["batch_summary"].get("ours", {"changed": [], "errors": ["did not run"], "kept": 0})
    if ours["changed"] or ours["errors"] or not ours["kept"]:
        failures.append("ours fails the batch property")
    if not document["batch_summary"].get(default, {"changed": []})["changed"]:
        failures.append("negative control: cuBLAS by default kept its bits on every shape, so the "
                        "batch test showed nothing")


def markdown(document):
    lines = ["# Bits of ours and of its peers", "",
             f"{document['ours']}; {document['device']}, torch {document['torch']}, "
             f"CUDA {document['cuda']}, Triton {document['triton']}, {document['type']}, "
             f"commit {document['commit']}, {document['date']}.", "",
             "A shape is equal when every output has ours' bits.", "",
             "| peer | shapes equal | unequal | could not run | outputs | of them unequal |",
             "|---|---|---|---|---|---|"]
    for peer, s in document["summary"].items():
        lines.append(f"| {peer} | {s['shapes_equal']} | {s['shapes_unequal']} | {s['errors']} | "
                     f"{s['outputs']:,} | {s['outputs_unequal']:,} |")
    lines += ["", "## The batch property: the first row in batches of 1 to 1024", "",
              "| who | shapes where it kept its bits | where it did not | could not run |",
              "|---|---|---|---|"]
    for who, s in document["batch_summary"].items():
        lines.append(f"| {who} | {s['kept']} | {len(s['changed'])} | {len(s['errors'])} |")
    for who, s in document["batch_summary"].items():
        if s["changed"]:
            where = "; ".join(f"{c['n']}x{c['k']} at M = {', '.join(map(str, c['at']))}"
                              for c in s["changed"])
            lines += ["", f"{who} changed (against M = 1024): {where}."]
    lines += ["", "## Unequal shapes", ""]
    listed = [f"- {place(row)}: {peer}, {e['unequal']:,} of {e['outputs']:,} outputs, largest "
              f"difference {e['largest_difference']:.3g}"
              for row in document["comparisons"] for peer, e in row["peers"].items()
              if e.get("unequal")]
    errors = sorted({f"- {peer} could not run: {e['error']}" for row in document["comparisons"]
                     for peer, e in row["peers"].items() if "error" in e})
    lines += (listed or ["None."]) + errors
    lines += ["", "## Verdict", ""]
    lines += [f"- FAILED: {failure}" for failure in document["failures"]] or ["Passed."]
    return "\n".join(lines) + "\n"
