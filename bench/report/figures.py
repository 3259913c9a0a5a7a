# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""What the pages show, computed from runs; no text and no drawing here."""
import math

# The vendor's own library as it comes; its searched list is shown and decides no target.
VENDORS = {"cuda": ("cublaslt", "cublaslt0"), "hip": ("hipblaslt", "hipblaslt0"),
           "cpu": ("openblas", "onednn")}
NOISY = 0.10


def geomean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def arm_of(result, name):
    return next((arm for arm in result["arms"] if arm["arm"] == name), None)


def vendor_us(run, result):
    """The faster of the vendor's arms; None where none ran."""
    times = [arm["us"] for arm in result["arms"] if arm["arm"] in VENDORS[run["backend"]]]
    return min(times, default=None)


def machines(runs):
    """Devices in the order they come, each with its runs."""
    found = {}
    for run in runs:
        found.setdefault((run["backend"], run["device"]), []).append(run)
    return found


def latest(runs):
    """(case, arm): (run, result, arm); of several files the last one counts."""
    found = {}
    for run in runs:
        for result in run["results"]:
            for arm in result["arms"]:
                found[result["case"], arm["arm"]] = (run, result, arm)
    return found


def ratios(runs):
    """(case, arm of ours): (result, vendor's time over ours, both of one run)."""
    found = {}
    for run in runs:
        for result in run["results"]:
            vendor = vendor_us(run, result)
            for arm in result["arms"]:
                if arm["role"] == "ours" and vendor:
                    found[result["case"], arm["arm"]] = (run, result, vendor / arm["us"])
    return found


def inside(value, wanted):
    """[low, high] for numbers, a list or one value for the rest."""
    if isinstance(wanted, list) and len(wanted) == 2 and all(isinstance(x, int) for x in wanted):
        return wanted[0] <= value <= wanted[1]
    return value in wanted if isinstance(wanted, list) else value == wanted


def selects(select, result):
    if any(result["model"] == model for model in select.get("not_models", [])):
        return False
    return all(inside(result[key], wanted) for key, wanted in select.items()
               if key != "not_models")


def target_rows(targets, runs):
    """One row a target: what was asked, what was found, hit or missed or not measured."""
    rows = []
    for target in targets["targets"]:
        mine = [run for run in runs if run["backend"] == target["backend"]]
        points = [(result["case"], ratio) for (_, arm), (_, result, ratio) in ratios(mine).items()
                  if arm in target["arms"] and selects(target["select"], result)]
        row = {**target, "points": len(points)}
        if points:
            row["found_geomean"] = geomean(ratio for _, ratio in points)
            row["worst_case"], row["found_worst"] = min(points, key=lambda point: point[1])
            row["hit"] = (row["found_geomean"] >= target["geomean"]
                          and row["found_worst"] >= target["worst"])
        rows.append(row)
    return rows


BANDS = (("M = 1 .. 64", 1, 64), ("M = 128 .. 512", 65, 512), ("M >= 1024", 513, 1 << 30))


def glance(runs):
    """(band, arm): geomean, worst, best, points; forward layers of models, cold."""
    rows = []
    all_ratios = ratios(runs)
    arms = list(dict.fromkeys(arm for _, arm in all_ratios))
    for label, low, high in BANDS:
        for arm in arms:
            found = [ratio for (_, name), (_, result, ratio) in all_ratios.items()
                     if name == arm and low <= result["m"] <= high and result["kind"] == "forward"
                     and result["mode"] != "settled" and result["cache"] == "cold"
                     and not result["accumulate"] and result["model"] not in ("odd", "skinny")]
            if found:
                rows.append({"band": label, "arm": arm, "points": len(found),
                             "geomean": geomean(found), "worst": min(found), "best": max(found)})
    return rows


def invariance(runs):
    """arm: [yes, no] over the cases where the question has an answer."""
    counts = {}
    for (_, name), (_, _, arm) in latest(runs).items():
        if arm["batch_invariant"] is not None:
            counts.setdefault(name, [0, 0])[0 if arm["batch_invariant"] else 1] += 1
    return counts


def layers_with_sweep(runs, least=4):
    """(model, layer, dtype) whose forward cases were timed at `least` different M."""
    tokens = {}
    for (_, _), (_, result, _) in latest(runs).items():
        if plotted(result):
            key = (result["model"], result["layer"], result["dtype"], result["n"], result["k"])
            tokens.setdefault(key, set()).add(result["m"])
    return [key for key, ms in tokens.items() if len(ms) >= least]


def plotted(result):
    return (result["kind"] == "forward" and result["mode"] != "settled"
            and result["cache"] == "cold" and not result["accumulate"] and not result["threads"])


def series(runs, layer):
    """arm: [(m, arm's figures, result)] of one layer, by ascending M."""
    model, name, dtype = layer[:3]
    found = {}
    for (_, arm_name), (_, result, arm) in latest(runs).items():
        if plotted(result) and (result["model"], result["layer"], result["dtype"]) == (
                model, name, dtype):
            found.setdefault(arm_name, []).append((result["m"], arm, result))
    return {arm: sorted(points, key=lambda p: p[0]) for arm, points in found.items()}


def ceiling(runs, *keys):
    """The last measured ceiling of that name; 0 where there is none."""
    for run in reversed(runs):
        value = run["ceilings"]
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        if value:
            return value
    return 0


def noisy(runs):
    """(case, arm, noise) of the arms whose samples spread too far to decide anything."""
    return [(case, name, arm["noise"]) for (case, name), (_, _, arm) in latest(runs).items()
            if arm["noise"] > NOISY]


def verdicts(runs):
    """How many comparisons ended how."""
    counts = {}
    for run in runs:
        for result in run["results"]:
            for comparison in result["comparisons"]:
                counts[comparison["verdict"]] = counts.get(comparison["verdict"], 0) + 1
    return counts
