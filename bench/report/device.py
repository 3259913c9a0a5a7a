# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The part of the page that speaks of one device: how fast, at what price, and who keeps row 0."""
import re

import charts
import figures
from charts import arm_title

UNITS = {"cpu": ("GFLOP/s", 1e-3), "cuda": ("TFLOP/s", 1e-6), "hip": ("TFLOP/s", 1e-6)}
VENDOR = {"cpu": "the faster of OpenBLAS and oneDNN",
          "cuda": "the faster of cuBLASLt with and without workspace",
          "hip": "the faster of hipBLASLt with and without workspace"}
FAMILIES = ("chain", "fold", "tree", "ieee_fma")


def slug(words):
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")


def glance_blocks(backend, runs):
    if not figures.ratios(runs):
        return []
    rows = []
    for row in figures.glance(runs):
        yes, no = figures.invariance(runs, row["low"], row["high"]).get(row["arm"], (0, 0))
        rows.append([row["band"], arm_title(row["arm"]), row["points"], f"{row['geomean']:.3f}",
                     f"{row['worst']:.3f}", f"{row['best']:.3f}",
                     f"{yes} of {yes + no}" if yes + no else "not asked"])
    return [("h3", "At a glance"),
            ("p", f"The time of {VENDOR[backend]}, over ours: above 1 ours is faster. Forward products "
                  "of the models' layers with cold operands."),
            ("table", ["M", "ours", "cases", "geometric mean", "worst", "best",
                       "row 0 keeps its bits"], rows)]


def bits_sentence(runs):
    """Who kept row 0, ours and the others, in how many of the cases that were asked."""
    counts = figures.invariance(runs)
    others = charts.baselines_of(runs)
    if not counts:
        return "These files do not say who keeps row 0."
    ours = [figure for name, figure in counts.items() if name not in others]
    kept, asked = sum(yes for yes, _ in ours), sum(map(sum, ours))
    words = [f"{arm_title(name)} in {counts[name][0]} of {sum(counts[name])}"
             for name in others if name in counts]
    return (f"Ours kept row 0 in {kept} of {asked} comparisons" +
            ("; " + ", ".join(words) if words else "") + ".")


def price_cases(runs, max_cases=18):
    """Forward cases with two of our contracts or more; those with the most contracts first chosen."""
    cases = {}
    for (case, name), (_, result, arm) in figures.latest(runs).items():
        cases.setdefault(case, {"result": result, "arms": {}})["arms"][name] = arm
    found = [(name, case) for name, case in cases.items() if figures.plotted(case["result"])
             and sum(f in case["arms"] for f in FAMILIES) >= 2]
    found.sort(key=lambda one: -sum(f in one[1]["arms"] for f in FAMILIES))
    chosen = found[:max_cases]
    chosen.sort(key=lambda one: (one[1]["result"]["n"] * one[1]["result"]["k"], one[0].split("/m")[0],
                                 one[1]["result"]["m"]))
    return chosen


def price_blocks(backend, runs):
    """Rates of our contracts and of the others, with a star where row 0 depends on the batch."""
    unit, scale = UNITS[backend]
    chosen = price_cases(runs)
    if not chosen:
        return []
    names = [*FAMILIES, *charts.baselines_of(runs)]
    names = [name for name in names if any(name in case["arms"] for _, case in chosen)]
    rows = [[name] + [rate_cell(case, arm, scale) for arm in names] for name, case in chosen]
    cases = len({case for case, _ in figures.latest(runs)})
    return [("h3", f"The price of determinism, {unit}"),
            ("p", "What each contract costs on the same sizes. A star: row 0 has other bits in this batch "
                  f"than in a batch of one. {len(chosen)} of {cases} cases, those with the most contracts; "
                  "all cases are in the list below."),
            ("table", ["case"] + [arm_title(name) for name in names], rows)]


def rate_cell(case, name, scale):
    arm = case["arms"].get(name)
    if arm is None:
        return ""
    noisy = " (noisy)" if (arm["noise"] or 0) > figures.NOISY else ""
    changed = " *" if arm["batch_invariant"] is False else ""
    return f"{case['result']['flops'] / arm['us'] * scale:.1f}" + noisy + changed


def all_cases(device, runs):
    """A page of every case and arm: microseconds, and the vendor's time over it."""
    cases = {}
    for (case, name), (run, result, arm) in figures.latest(runs).items():
        cases.setdefault(case, {})[name] = (run, result, arm)
    names = list(dict.fromkeys(name for arms in cases.values() for name in arms))

    def words(found):
        if found is None:
            return ""
        run, result, arm = found
        vendor = figures.vendor_us(run, result)
        ratio = f" ({vendor / arm['us']:.2f})" if vendor and arm["role"] == "detgemm" else ""
        return f"{arm['us']:.4g}{ratio}" + {False: " *"}.get(arm["batch_invariant"], "")

    rows = [[case] + [words(arms.get(name)) for name in names] for case, arms in cases.items()]
    return ("page", f"cases-{slug(device)}", f"All {len(cases)} cases of {device}",
            [("h1", f"All cases of {device}"),
             ("p", "Median microseconds per call; in parentheses the vendor's time over ours. A star: "
                   "row 0 has other bits than in a batch of one."),
             ("table", ["case"] + [arm_title(name) for name in names], rows)])


def overhead_blocks(runs):
    rows = []
    for run in runs:
        p90 = run["overheads"].get("host_us_p90", {})
        for what, us in run["overheads"].get("host_us", {}).items():
            rows.append([what, f"{us:.2f} us", f"{p90[what]:.2f} us" if what in p90 else "",
                         run["file"]])
        for what, size in run["overheads"].get("bytes", {}).items():
            rows.append([what, f"{size / 1024:.0f} KiB", "", run["file"]])
        for key, value in run["machine"].items():
            if key.startswith(("build ", "compile ")):
                rows.append([key, value, "", run["file"]])
    head = ["what", "figure", "p90", "file"]
    filled = [i for i in range(len(head)) if any(row[i] for row in rows)]
    return [("h3", "What the library itself costs"),
            ("table", [head[i] for i in filled], [[row[i] for i in filled] for row in rows])
            ] if rows else []


def noise_blocks(runs):
    blocks = [("h3", "What is too noisy to tell")]
    noisy = figures.noisy(runs)
    counts = figures.verdicts(runs)
    if counts:
        blocks.append(("p", "Comparisons of ours with the others, by the interval of the median of "
                            "paired ratios: " + ", ".join(f"{n} {verdict}" for verdict, n in
                                                          sorted(counts.items())) + "."))
    if not noisy:
        return blocks + [("p", "No arm's 10th and 90th percentile lie more than 10 % of its median "
                               "apart.")]
    noisy.sort(key=lambda row: -row[2])
    shown = noisy[:12]
    blocks.append(("p", f"{len(noisy)} arms spread by more than 10 %, and their figures decide nothing; "
                        + ("the widest first." if len(shown) == len(noisy) else
                           f"the widest {len(shown)} of them:")))
    blocks.append(("table", ["case", "arm", "(p90 - p10) / median"],
                   [[case, arm_title(arm), f"{100 * noise:.0f} %"] for case, arm, noise in shown]))
    return blocks


def ceiling_sentence(runs):
    words = []
    copy = figures.ceiling(runs, "copy_bytes_per_s")
    read = figures.ceiling(runs, "read_bytes_per_s")
    if copy:
        words.append(f"copy {copy * 1e-9:.0f} GB/s")
    if read:
        words.append(f"read {read * 1e-9:.0f} GB/s")
    how = ""
    for run in reversed(runs):
        if run["ceilings"].get("flops_per_s"):
            words += [f"{unit} {charts.rate_words(flops * 1e-12)}"
                      for unit, flops in run["ceilings"]["flops_per_s"].items()]
            how = f" ({run['ceilings'].get('how', 'not said how')})"
            break
    return f"Ceilings measured in the same run: {', '.join(words)}{how}." if words else \
        "These files hold no measured ceilings."


def conditions_blocks(runs):
    """Settled cases: what the driver said while they ran."""
    rows = []
    for run in runs:
        for result in run["results"]:
            found = result.get("conditions")
            if result["mode"] != "settled" or not found or not figures.ordinary(result):
                continue
            vendor = figures.vendor_us(run, result)
            mine = [f"{arm_title(arm['arm'])} {vendor / arm['us']:.3f}" for arm in result["arms"]
                    if arm["role"] == "detgemm" and vendor]
            rows.append([result["case"], ", ".join(mine), f"{found.get('watts', 0):.0f} W",
                         f"{found.get('mhz', 0):.0f} MHz", f"{found.get('celsius', 0):.0f} C"])
    return [("h3", "Under continuous load"),
            ("p", "Blocks without a pause, where power sets the clock: the vendor's time over ours, "
                  "and what the driver said meanwhile (its clock reads about 10 % high under tensor "
                  "load)."),
            ("table", ["case", "ratio", "power", "clock", "temperature"], rows)] if rows else []


def tokens_blocks(device, runs):
    """Time against M, token by token, and where it falls."""
    layers = figures.token_layers(runs)
    if not layers:
        return []
    blocks = [("h3", "Time against the number of tokens"),
              ("p", f"A call with more tokens should not take less time. A ring marks an M for which a "
                    f"call with at most {figures.REACH} tokens more takes at least 3 % less; the table "
                    "has the worst of each arm of ours.")]
    rows = []
    for layer, arms in layers.items():
        blocks.append(("svg", f"{slug(device)}-tokens-{slug('-'.join(layer[:3]))}",
                       charts.tokens_chart(runs, layer, arms)))
        for name, points in arms.items():
            if name in charts.baselines_of(runs):
                continue
            found = figures.falls(points)
            worst = max(found, key=lambda one: one[1] / one[3], default=None)
            rows.append([f"{layer[0]} {layer[1]} {layer[2]}", arm_title(name), len(points), len(found)]
                        + ([f"{worst[1] / worst[3]:.2f}", f"{worst[1]:.4g} us at {worst[0]}",
                            f"{worst[3]:.4g} us at {worst[2]}"] if worst else ["", "", ""]))
    return blocks + [("table", ["layer", "arm", "values of M", "falls", "worst", "from", "to"], rows)]


def blocks(backend, device, runs):
    found = [("h2", device), ("p", bits_sentence(runs))]
    if backend == "cpu":
        found.append(("p", "On a processor `chain`, `fold` and `tree` emulate tensor cores bit for "
                           "bit, in integers and doubles, which no other library does: sgemm does other "
                           "work. `ieee_fma` is what compares with it. Another library's bf16 may run on "
                           "units whose ceiling is not measured here."))
    found += glance_blocks(backend, runs)
    layers = figures.layers_with_sweep(runs)
    if layers:
        found += [("h3", "Throughput against M"),
                  ("p", "A hollow dot: in this batch row 0 of the result has other bits than in a batch "
                        "of one.")]
        for layer in layers[:4]:
            found.append(("svg", f"{slug(device)}-{layer[0]}-{layer[1]}-{layer[2]}",
                          charts.sweep_chart(runs, layer)))
    found += tokens_blocks(device, runs)
    found += price_blocks(backend, runs)
    if figures.latest(runs):
        found += [("h3", "All cases"), all_cases(device, runs)]
    found += conditions_blocks(runs)
    drawn = charts.roofline(runs)
    if drawn:
        found += [("h3", "Against what the machine can do"), ("p", ceiling_sentence(runs)),
                  ("svg", slug(device) + "-roofline", drawn)]
    drawn = charts.invariance_map(runs)
    if drawn:
        found += [("h3", "Who keeps row 0"), ("svg", slug(device) + "-invariance", drawn)]
    return found + overhead_blocks(runs) + noise_blocks(runs)
