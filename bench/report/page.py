# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The page: what it is about, its contents, each device's results, targets, machines, how to repeat it."""
import re

import device
import figures
import goals

FACTS = ("processors", "driver", "toolkit", "cublaslt", "power limit", "last cache", "capability",
         "compiler", "system")


def introduction():
    return [
        ("h1", "detgemm: speed beside the vendor's own library"),
        ("p", "detgemm computes matrix products (C = A B) whose rows have the same bits whatever "
              "batch they ride in. A *contract* fixes the arithmetic: which products are fused, and "
              "in which order partial sums are joined. This page asks what that costs: each of our "
              "contracts, and the vendor's library, which makes no such promise, on the same sizes "
              "and data, in one process, in turn."),
        ("contents",),
        ("list", [
            "**chain**: one accumulator runs through all of K. **fold**: pieces of 1024 products, "
            "added one after the other. **tree**: pieces joined in a balanced tree, so that K can be "
            "shared by many processors. **ieee_fma**: one fp32 fused multiply-add per product, on "
            "ordinary cores.",
            "**M** is the number of tokens (rows of A) in a batch, **N x K** a layer's weights. "
            "*forward* is Y = X W^T, *dA* and *dB* are its gradients.",
            "**row 0 keeps its bits**: row 0 of the result was computed in this batch and alone, by "
            "the same arm, and compared byte for byte. An **arm** is one implementation that is timed.",
            "Times are medians with the 10th and 90th percentile, on operands that step through "
            "more memory than twice the last cache. A **ratio** is the vendor's time over ours: "
            "above 1 ours is faster. What is too noisy to tell is called inconclusive."]),
    ]


def run_lines(run):
    facts = ", ".join(f"{key} {value}" for key, value in run["machine"].items() if key in FACTS)
    others = "; ".join(one["what"] if one["present"] else one["name"] + " absent"
                       for one in run["baselines"]) or "not recorded"
    lines = [f"**`{run['file']}`**: {run['device']} ({run['backend']}), {run['date']}, commit "
             f"`{run['commit']}`, {len(run['results'])} cases. Facts: {facts}. Beside it: {others}."]
    if run.get("converted_from"):
        lines[-1] += f" Converted from {run['converted_from']}."
    load = str(run["machine"].get("load average at the start", ""))
    processors = str(run["machine"].get("processors", ""))
    if re.fullmatch(r"[\d.]+", load) and processors.isdigit() and float(load) > 0.25 * int(processors):
        lines[-1] += (f" **The machine was not idle** (load average {load} on {processors} processors): "
                      "these times are upper bounds, and comparisons between arms weigh more than the "
                      "times.")
    if run["not_measured"]:
        lines[-1] += f" {run['not_measured']} cases were not measured: the budget of time was spent."
    return lines


def machine_blocks(runs):
    blocks = [("h2", "Machines and runs"), ("list", [line for run in runs for line in run_lines(run)])]
    failed = [f"{result['case']}: {note}" for run in runs for result in run["results"]
              for note in result["notes"] if note.startswith("failed: ") or "WRONG BITS" in note]
    if failed:
        blocks += [("note", f"{len(failed)} cases ended in an error or with wrong bits:"), ("list", failed)]
    versions = sorted({run["version"] for run in runs if run["version"] != "unknown"})
    if len(versions) > 1:
        blocks.append(("note", "Files of several versions of the library: " + ", ".join(versions)
                               + "."))
    return blocks


def again_blocks(runs):
    commands = "\n".join(dict.fromkeys(run["command"] for run in runs))
    return [("h2", "How to repeat it"),
            ("p", "`scripts/bench.sh` builds, measures and writes this page; `scripts/bench.sh "
                  "--cpu` does the part of the host. Each result in the files holds the command that "
                  "measures its case alone. These runs were:"), ("pre", commands)]


def build(runs):
    blocks = introduction()
    for (backend, name), mine in figures.machines(runs).items():
        blocks += device.blocks(backend, name, mine)
    return (blocks + goals.target_blocks(runs) + machine_blocks(runs)
            + again_blocks(runs))
