# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""What the pages show, computed from runs; no text and no drawing here."""
import math

# The vendor's own library as it comes; the fastest of its list is shown and decides no target.
VENDORS = {"cuda": ("cublaslt", "cublaslt0"), "hip": ("hipblaslt", "hipblaslt0"),
           "cpu": ("openblas", "onednn")}
NOISY = 0.10


def geomean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


# Suites of problems that were not chosen by hand, or too many of one kind for a table of all.
ENOUGH = 10  # random problems of a target in one file
SPECIAL = ("drawn", "epilogue", "falls", "own", "tokens", "variants")


def ordinary(result):
    """Bare products of the table of cases: those that averages over all cases speak of."""
    return result["epilogue"] == "none" and (
        not result["suites"] or any(suite not in SPECIAL for suite in result["suites"]))


def of_interest(arm):
    """Arms that a user meets: no kernel that was forced, and no ceiling."""
    return not arm["variant"] and arm["role"] != "ceiling"


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


def latest(runs, keep=of_interest):
    """(case, arm): (run, result, arm); of several files the last one counts."""
    found = {}
    for run in runs:
        for result in run["results"]:
            for arm in filter(keep, result["arms"]):
                found[result["case"], arm["arm"]] = (run, result, arm)
    return found


def ratios(runs):
    """(case, arm of ours): (run, result, vendor's time over ours, both of one run)."""
    found = {}
    for run in runs:
        for result in run["results"]:
            vendor = vendor_us(run, result)
            for arm in filter(of_interest, result["arms"]):
                if arm["role"] == "detgemm" and vendor:
                    found[result["case"], arm["arm"]] = (run, result, vendor / arm["us"])
    return found


def inside(value, wanted):
    """[low, high] for numbers, a list or one value for the rest."""
    if isinstance(wanted, list) and len(wanted) == 2 and all(isinstance(x, int) for x in wanted):
        return wanted[0] <= value <= wanted[1]
    return value in wanted if isinstance(wanted, list) else value == wanted


def selects(select, result):
    """Whether a target speaks of a result; "suite" names a set that averages else leave out.

    Of such a set, odd shapes and products with an epilogue count only where the target asks for them."""
    suite = select.get("suite")
    if suite not in result["suites"] if suite else not ordinary(result):
        return False
    if suite and (result["epilogue"] != select.get("epilogue", "none")
                  or (result["model"] == "odd") != (select.get("model") == "odd")):
        return False
    if result["model"] in select.get("not_models", []):
        return False
    return all(key in result and inside(result[key], wanted) for key, wanted in select.items()
               if key not in ("not_models", "suite"))


def arm_selected(target, arm):
    """By its name; or, where a target names a contract or a reduction, by its contract without a promise."""
    if not of_interest(arm) or arm["role"] != "detgemm":
        return False
    if "arms" in target:
        return arm["arm"] in target["arms"]
    contract = arm.get("contract", "")
    wanted = contract == target["contract"] if "contract" in target else (
        f"/{target['reduction']}->" in contract and not contract.startswith("ieee_fma/"))
    return wanted and arm["stable"] == "none"


def beside(run, result, arm, n, k):
    """Our own time of the same arm for N x K without an epilogue, at the same M; None where unknown."""
    for other in run["results"]:
        if ((other["n"], other["k"]) == (n, k) and other["epilogue"] == "none"
                and all(other[key] == result[key]
                        for key in ("m", "kind", "dtype", "mode", "cache", "accumulate"))):
            for one in other["arms"]:
                if one["arm"] == arm["arm"]:
                    return one["us"]
    return None


def against(target, run, result, arm):
    """The figure that a target asks of one arm: how many times the other is slower; None where unknown."""
    other = target.get("against", "vendor")
    n, k = result["n"], result["k"]
    if other == "vendor":
        us = vendor_us(run, result)
    elif other == "neighbour":  # the shape of which an odd one has 1 column or row less
        us = beside(run, result, arm, n + n % 2, k + k % 2)
    else:  # our own product without an epilogue, and the time in which the C that beta adds can be read
        us = beside(run, result, arm, n, k)
        if us and other == "bare and the bytes of C":
            rate = run["ceilings"].get("read_bytes_per_s")
            us = us + 2e6 * result["m"] * n / rate if rate else None
    return us / arm["us"] if us else None


def target_points(target, runs):
    """{case, arm: (case, ratio)} of the results a target speaks of; the last file counts.

    Random problems differ from run to run, so there it is the last file that holds ENOUGH of a target, or else the one
    that holds most."""
    found = {}
    if target.get("against") == "itself at greater M":
        for run in runs:
            for fall in run["falls"]:
                if fall["arm"] in target["arms"] and fall["points"] >= target["points"]:
                    name = f"{fall['model']}/{fall['layer']}/{fall['kind']}/m{fall['m']}/{fall['dtype']}"
                    weight = *(fall[key] for key in ("model", "layer", "kind", "dtype")), fall["arm"]
                    found[weight] = (name, 1 / fall["ratio"])  # wherever its worst M lies
        return found
    drawn = target["select"].get("suite") == "drawn"
    for run in reversed(runs) if drawn else runs:
        mine = {}
        for result in run["results"]:
            if selects(target["select"], result):
                for arm in result["arms"]:
                    ratio = against(target, run, result, arm) if arm_selected(target, arm) else None
                    if ratio:
                        mine[result["case"], arm["arm"]] = (result["case"], ratio)
        if not drawn:
            found |= mine
        elif len(found) < ENOUGH and len(mine) > len(found):
            found = mine
    return found


def target_rows(targets, runs):
    """One row per target: what was asked, what was found, hit or missed or not measured."""
    rows = []
    for target in targets["targets"]:
        mine = [run for run in runs if run["backend"] == target["backend"]]
        points = list(target_points(target, mine).values())
        row = {**target, "points": len(points)}
        if points:
            row["found_geomean"] = geomean(ratio for _, ratio in points)
            row["worst_case"], row["found_worst"] = min(points, key=lambda point: point[1])
            row["hit"] = all(asked is None or found >= asked for asked, found in (
                (target["geomean"], row["found_geomean"]), (target["worst"], row["found_worst"])))
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
                     and not result["accumulate"] and result["model"] not in ("odd", "skinny")
                     and ordinary(result)]
            if found:
                rows.append({"band": label, "low": low, "high": high, "arm": arm, "points": len(found),
                             "geomean": geomean(found), "worst": min(found), "best": max(found)})
    return rows


def invariance(runs, low=1, high=1 << 62):
    """arm: [yes, no] over the cases of low <= M <= high where the question has an answer."""
    counts = {}
    for (_, name), (_, result, arm) in latest(runs).items():
        if arm["batch_invariant"] is not None and low <= result["m"] <= high:
            counts.setdefault(name, [0, 0])[0 if arm["batch_invariant"] else 1] += 1
    return counts


def layers_with_sweep(runs, min_points=4):
    """(model, layer, dtype, n, k) whose forward cases were timed at that many values of M."""
    tokens = {}
    for (_, _), (_, result, _) in latest(runs).items():
        if plotted(result):
            key = (result["model"], result["layer"], result["dtype"], result["n"], result["k"])
            tokens.setdefault(key, set()).add(result["m"])
    return [key for key, ms in tokens.items() if len(ms) >= min_points]


def plotted(result):
    return (result["kind"] == "forward" and result["mode"] != "settled"
            and result["cache"] == "cold" and not result["accumulate"] and not result["threads"]
            and ordinary(result))


def token_layers(runs):
    """{(model, layer, dtype, n, k): {arm: [(m, arm's figures)]}} of the suite `tokens`.

    Other suites share some of its cases and bring arms that were timed at few M; a line between so
    few points would say nothing, so these are left out."""
    found = {}
    for (_, name), (_, result, arm) in latest(runs).items():
        if "tokens" in result["suites"]:
            key = tuple(result[one] for one in ("model", "layer", "dtype", "n", "k"))
            found.setdefault(key, {}).setdefault(name, []).append((result["m"], arm))
    return {key: {name: sorted(points, key=lambda p: p[0]) for name, points in arms.items()
                  if 2 * len(points) >= max(map(len, arms.values()))}
            for key, arms in found.items()}


REACH = 64  # tokens: how far a greater M may lie that took less time


def falls(points, share=0.03):
    """[(m, us, later m, later us)]: where a greater M nearby took less time by more than that share."""
    found = []
    for at, (m, arm) in enumerate(points):
        later = [(other["us"], mm) for mm, other in points[at + 1:] if mm <= m + REACH]
        if later and min(later)[0] < (1 - share) * arm["us"]:
            found.append((m, arm["us"], min(later)[1], min(later)[0]))
    return found


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
            if arm["noise"] is not None and arm["noise"] > NOISY]


def verdicts(runs):
    """How many comparisons ended how."""
    counts = {}
    for run in runs:
        for result in run["results"]:
            for comparison in result["comparisons"]:
                counts[comparison["verdict"]] = counts.get(comparison["verdict"], 0) + 1
    return counts
