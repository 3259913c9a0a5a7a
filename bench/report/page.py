# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The page: what was measured, on which machines, how fast, at what price, and what is missed."""
import json
import pathlib
import re

import charts
import figures
from charts import arm_title

HERE = pathlib.Path(__file__).resolve().parents[1]
UNITS = {"cpu": ("GFLOP/s", 1e-3), "cuda": ("TFLOP/s", 1e-6), "hip": ("TFLOP/s", 1e-6)}


def targets():
    return json.loads((HERE / "targets.json").read_text(encoding="utf-8"))


def introduction():
    return [
        ("h1", "detgemm: speed beside the vendor's own library"),
        ("p", "detgemm computes matrix products (C = A B) whose rows have the same bits whatever "
              "batch they ride in. A *contract* fixes the arithmetic: which products are fused, and "
              "in which order partial sums are joined. This page asks what that costs: each of our "
              "contracts, and the vendor's library, which makes no such promise, on the same sizes "
              "and data, in one process, in turn."),
        ("list", [
            "**chain**: one accumulator runs through all of K. **fold**: pieces of 1024 products, "
            "added one after the other. **tree**: pieces joined in a balanced tree, so that K can be "
            "shared by many processors. **ieee_fma**: one fp32 fused multiply-add a product, on "
            "ordinary cores.",
            "**M** is the number of tokens (rows of A) in a batch, **N x K** a layer's weights. "
            "*forward* is Y = X W^T, *dA* and *dB* are its gradients.",
            "**row 0 keeps its bits**: row 0 of the result was computed in this batch and alone, by "
            "the same arm, and compared byte for byte.",
            "Times are medians with the 10th and 90th percentile, on operands that step through "
            "more memory than twice the last cache. A **ratio** is the vendor's time over ours: "
            "above 1 ours is faster. What is too noisy to tell is called inconclusive."]),
    ]


def machine_blocks(runs, left_out):
    rows = []
    for run in runs:
        facts = ", ".join(f"{key} {value}" for key, value in run["machine"].items()
                          if key in ("processors", "driver", "toolkit", "cublaslt", "power limit",
                                     "last cache", "capability"))
        rivals = "; ".join(f"{r['what'] if r['present'] else r['name'] + ' absent'}"
                           for r in run["rivals"]) or "unknown"
        rows.append([f"{run['device']} ({run['backend']})", facts, rivals, run["date"],
                     f"`{run['commit']}`", len(run["results"]), f"`{run['file']}`"])
    blocks = [("h2", "Machines and runs"),
              ("table", ["device", "facts", "rivals", "date", "commit", "cases", "file"], rows)]
    for run in runs:
        load = str(run["machine"].get("load average at the start", ""))
        processors = str(run["machine"].get("processors", ""))
        if re.fullmatch(r"[\d.]+", load) and processors.isdigit() \
                and float(load) > 0.25 * int(processors):
            blocks.append(("note", f"`{run['file']}`: the machine was not idle (load average {load} "
                                   f"on {processors} processors): these times are upper bounds, and "
                                   "comparisons between arms weigh more than the times."))
        if run["not_measured"]:
            blocks.append(("note", f"`{run['file']}`: {run['not_measured']} cases were not measured: "
                                   "the budget of time was spent."))
    failed = [f"{result['case']}: {note}" for run in runs for result in run["results"]
              for note in result["notes"] if note.startswith("failed: ")]
    if failed:
        blocks += [("note", f"{len(failed)} cases ended in an error:"), ("list", failed)]
    versions = sorted({run["version"] for run in runs if run["version"] != "unknown"})
    if len(versions) > 1:
        blocks.append(("note", "Files of several versions of the library: " + ", ".join(versions)
                               + "."))
    if left_out:
        blocks.append(("list", left_out))
    return blocks


def glance_table(runs):
    counts = figures.invariance(runs)
    rows = []
    for row in figures.glance(runs):
        yes, no = counts.get(row["arm"], (0, 0))
        rows.append([row["band"], arm_title(row["arm"]), row["points"], f"{row['geomean']:.3f}",
                     f"{row['worst']:.3f}", f"{row['best']:.3f}",
                     f"{yes} of {yes + no}" if yes + no else "not asked"])
    return ("table", ["M", "ours", "cases", "geometric mean", "worst", "best",
                      "row 0 keeps its bits, all cases"], rows)


def bits_sentence(runs):
    """Who kept row 0, ours and rivals, in how many of the cases that were asked."""
    counts = figures.invariance(runs)
    rivals = charts.rivals_of(runs)
    if not counts:
        return "These files do not say who keeps row 0."
    ours = [figure for name, figure in counts.items() if name not in rivals]
    kept, asked = sum(yes for yes, _ in ours), sum(map(sum, ours))
    words = [f"{arm_title(name)} in {counts[name][0]} of {sum(counts[name])}"
             for name in rivals if name in counts]
    return (f"Ours kept row 0 in {kept} of {asked} comparisons" +
            ("; " + ", ".join(words) if words else "") + ".")


FAMILIES = ("chain", "fold", "tree", "ieee_fma")


def price_cases(runs, most=18):
    """Forward cases with two of our contracts or more; those with the most of them first chosen."""
    cases = {}
    for (case, name), (_, result, arm) in figures.latest(runs).items():
        cases.setdefault(case, {"result": result, "arms": {}})["arms"][name] = arm
    found = [(name, case) for name, case in cases.items() if figures.plotted(case["result"])
             and sum(f in case["arms"] for f in FAMILIES) >= 2]
    found.sort(key=lambda one: -sum(f in one[1]["arms"] for f in FAMILIES))
    chosen = found[:most]
    chosen.sort(key=lambda one: (one[1]["result"]["n"] * one[1]["result"]["k"], one[0].split("/m")[0],
                                 one[1]["result"]["m"]))
    return chosen


def price_table(runs):
    """Rates of our contracts, then each rival's with whether it keeps row 0."""
    unit, scale = UNITS[runs[-1]["backend"]]
    chosen = price_cases(runs)
    columns = []
    for family in FAMILIES:
        columns.append((family, lambda case, name=family: rate_cell(case, name, scale)))
    for rival in charts.rivals_of(runs):
        columns.append((arm_title(rival), lambda case, name=rival: rate_cell(case, name, scale)))
        columns.append(("keeps row 0", lambda case, name=rival: kept_cell(case, name)))
    rows = [[name] + [column(case) for _, column in columns] for name, case in chosen]
    head = ["case"] + [title for title, _ in columns]
    filled = [i for i in range(len(head)) if any(row[i] for row in rows)]
    return unit, ("table", [head[i] for i in filled], [[row[i] for i in filled] for row in rows])


def rate_cell(case, name, scale):
    arm = case["arms"].get(name)
    if arm is None:
        return ""
    noisy = " (noisy)" if arm["noise"] > figures.NOISY else ""
    return f"{case['result']['flops'] / arm['us'] * scale:.1f}" + noisy


def kept_cell(case, name):
    arm = case["arms"].get(name)
    return {True: "yes", False: "no", None: ""}[arm["batch_invariant"] if arm else None]


def overhead_blocks(runs):
    rows = []
    for run in runs:
        for what, us in run["overheads"].get("host_us", {}).items():
            rows.append([run["device"], what, f"{us:.2f} us"])
        for what, size in run["overheads"].get("bytes", {}).items():
            rows.append([run["device"], what, f"{size / 1024:.0f} KiB"])
        for key, value in run["machine"].items():
            if key.startswith(("build ", "compile ")):
                rows.append([run["device"], key, value])
    return [("h3", "What the library itself costs"),
            ("table", ["device", "what", "figure"], rows)] if rows else []


def noise_blocks(runs):
    blocks = [("h3", "What is too noisy to tell")]
    noisy = figures.noisy(runs)
    counts = figures.verdicts(runs)
    if counts:
        blocks.append(("p", "Comparisons of ours with a rival, by the interval of the median of "
                            "paired ratios: " + ", ".join(f"{n} {verdict}" for verdict, n in
                                                          sorted(counts.items())) + "."))
    if not noisy:
        return blocks + [("p", "No arm's 10th and 90th percentile lie more than 10 % of its median "
                               "apart.")]
    noisy.sort(key=lambda row: -row[2])
    blocks.append(("p", f"{len(noisy)} arms spread by more than 10 %, the widest first; their "
                        "figures decide nothing."))
    blocks.append(("table", ["case", "arm", "(p90 - p10) / median"],
                   [[case, arm_title(arm), f"{100 * noise:.0f} %"]
                    for case, arm, noise in noisy[:12]]))
    return blocks


def ceiling_sentence(runs):
    words = []
    copy = figures.ceiling(runs, "copy_bytes_per_s")
    read = figures.ceiling(runs, "read_bytes_per_s")
    if copy:
        words.append(f"copy {copy * 1e-9:.0f} GB/s")
    if read:
        words.append(f"read {read * 1e-9:.0f} GB/s")
    for run in reversed(runs):
        if run["ceilings"].get("flops_per_s"):
            words += [f"{unit} {flops * 1e-12:.3g} TFLOP/s"
                      for unit, flops in run["ceilings"]["flops_per_s"].items()]
            words.append("(" + run["ceilings"].get("how", "") + ")")
            break
    return "Ceilings measured in the same run: " + ", ".join(words) + "." if words else \
        "These files hold no measured ceilings."


def conditions_blocks(runs):
    """Settled cases: what the driver said while they ran."""
    rows = []
    for run in runs:
        for result in run["results"]:
            found = result.get("conditions")
            if result["mode"] != "settled" or not found:
                continue
            vendor = figures.vendor_us(run, result)
            mine = [f"{arm_title(arm['arm'])} {vendor / arm['us']:.3f}" for arm in result["arms"]
                    if arm["role"] == "ours" and vendor]
            rows.append([result["case"], ", ".join(mine), f"{found.get('watts', 0):.0f} W",
                         f"{found.get('mhz', 0):.0f} MHz", f"{found.get('celsius', 0):.0f} C"])
    return [("h3", "Under continuous load"),
            ("p", "Blocks without a pause, where power sets the clock: the vendor's time over ours, "
                  "and what the driver said meanwhile (its clock reads about 10 % high under tensor "
                  "load)."),
            ("table", ["case", "ratio", "power", "clock", "temperature"], rows)] if rows else []


def device_blocks(backend, device, runs):
    blocks = [("h2", f"{device}"), ("p", ceiling_sentence(runs))]
    if backend == "cpu":
        blocks.append(("p", "On a processor `chain`, `fold` and `tree` emulate tensor cores bit for "
                            "bit, in integers and doubles, which no other library does; a rival's "
                            "sgemm is no rival of theirs. `ieee_fma` is what compares with it. A rival's "
                            "bf16 may run on units whose ceiling is not measured here."))
    if figures.ratios(runs):
        blocks += [("h3", "At a glance: the vendor's time over ours"), glance_table(runs)]
    blocks.append(("p", bits_sentence(runs)))
    slug = re.sub(r"[^a-z0-9]+", "-", device.lower()).strip("-")
    layers = figures.layers_with_sweep(runs)
    if layers:
        blocks.append(("h3", "Throughput against M"))
        for layer in layers[:4]:
            name = f"{slug}-{layer[0]}-{layer[1]}-{layer[2]}"
            blocks.append(("svg", name, charts.sweep_chart(runs, layer)))
    unit, table = price_table(runs)
    if table[2]:
        blocks += [("h3", f"The price of determinism, {unit}"),
                   ("p", "What each contract costs on the same sizes, and whether the rival beside "
                         "it keeps row 0 when the batch changes."), table]
    blocks += conditions_blocks(runs)
    drawn = charts.roofline(runs)
    if drawn:
        blocks += [("h3", "Against what the machine can do"), ("svg", slug + "-roofline", drawn)]
    drawn = charts.invariance_map(runs)
    if drawn:
        blocks += [("h3", "Who keeps row 0"), ("svg", slug + "-invariance", drawn)]
    blocks += overhead_blocks(runs) + noise_blocks(runs)
    return blocks


def target_blocks(runs):
    rows = []
    for row in figures.target_rows(targets(), runs):
        wanted = f"{row['geomean']:.2f} / {row['worst']:.2f}"
        if not row["points"]:
            rows.append([row["name"], wanted, "", "", "", "not measured"])
            continue
        verdict = "hit" if row["hit"] else "missed"
        rows.append([row["name"], wanted, row["points"],
                     f"{row['found_geomean']:.3f} / {row['found_worst']:.3f}", row["worst_case"],
                     verdict])
    return [("h2", "Targets"),
            ("p", "Speed targets of the GPU kernels: the faster of the vendor's library as it comes "
                  "and without workspace, over ours. Geometric mean / worst point. Computed from the "
                  "files above."),
            ("table", ["range", "target", "cases", "found", "worst case", "verdict"], rows)]


def predicted_blocks(runs):
    predicted = json.loads((HERE / "predicted" / "gfx942.json").read_text(encoding="utf-8"))
    devices = [key for key in figures.machines(runs) if key[0] != "cpu"]
    rows = []
    for point in predicted["points"]:
        sizes = (point["m"], point["n"], point["k"])
        row = [" x ".join(map(str, sizes))]
        for key in devices:
            rates = [charts.rate(result, arm["us"])
                     for (_, name), (_, result, arm) in
                     figures.latest(figures.machines(runs)[key]).items()
                     if name == "chain" and result["kind"] == "forward"
                     and result["dtype"] == "bf16" and result["mode"] == "burst"
                     and (result["m"], result["n"], result["k"]) == sizes]
            row.append(f"{rates[-1]:.0f}" if rates else "not measured")
        rows.append(row + [f"{point['tflops']}"])
    return [("h2", "AMD"), ("p", predicted["note"]),
            ("table", ["M x N x K, bf16 chain, TFLOP/s", *[f"{d}, measured" for _, d in devices],
                       "gfx942, predicted"], rows)]


def again_blocks(runs):
    commands = "\n".join(dict.fromkeys(run["command"] for run in runs))
    return [("h2", "Again"),
            ("p", "`scripts/bench.sh` builds, measures and writes this page; `scripts/bench.sh "
                  "--cpu` does the part of the host. Each result in the files holds the command that "
                  "measures its case alone. These runs were:"), ("pre", commands)]


def build(runs, left_out):
    blocks = introduction() + machine_blocks(runs, left_out)
    for (backend, device), mine in figures.machines(runs).items():
        blocks += device_blocks(backend, device, mine)
    return blocks + target_blocks(runs) + predicted_blocks(runs) + again_blocks(runs)
