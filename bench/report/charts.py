# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The charts of the page, drawn from runs."""
import figures
import svg

SHOWN = ("chain", "chain+stable", "fold", "tree", "ieee_fma")
NAMES = {"chain": "chain", "chain+stable": "chain, weights promised stable", "fold": "fold:1024",
         "tree": "tree of 8 leaves", "tree+stable": "tree, weights promised stable",
         "cublaslt": "cuBLASLt", "cublaslt0": "cuBLASLt, no workspace",
         "cublaslt-best": "cuBLASLt, fastest of its list", "openblas": "OpenBLAS sgemm (fp32)",
         "onednn": "oneDNN", "hipblaslt": "hipBLASLt", "hipblaslt0": "hipBLASLt, no workspace",
         "triton": "Triton, persistent", "torch": "torch.matmul"}


def arm_title(arm):
    return NAMES.get(arm, arm)


def shown(series, baselines):
    """Arms in the order of the legend: ours, then baselines."""
    ours = [arm for arm in SHOWN if arm in series]
    return ours + [arm for arm in baselines if arm in series]


def baselines_of(runs):
    """Names of what detgemm is measured beside, in the order of the files."""
    return list(dict.fromkeys(arm["arm"] for run in runs for result in run["results"]
                              for arm in result["arms"] if arm["role"] == "baseline"))


def rate(result, us):
    """TFLOP/s."""
    return result["flops"] / us * 1e-6


def rate_words(tflops):
    """With the unit that leaves digits to read."""
    return f"{tflops:.4g} TFLOP/s" if tflops >= 1 else f"{1e3 * tflops:.4g} GFLOP/s"


def tip(arm_name, m, arm, result):
    bits = {True: "row 0 keeps its bits", False: "row 0 depends on M"}.get(
        arm["batch_invariant"], "")
    return (f"{arm_title(arm_name)}, M = {m}: {arm['us']:.4g} us, "
            f"{rate_words(rate(result, arm['us']))}{', ' + bits if bits else ''}")


def low_high(arm):
    """p10 and p90, or the median twice where a file has medians alone."""
    return arm["p10"] or arm["us"], arm["p90"] or arm["us"]


def throughput_panel(box, runs, layer, series, arms, baselines, unit):
    left, top, right, bottom = box
    scale = 1.0 if unit == "TFLOP/s" else 1e3
    tokens = sorted({m for arm in arms for m, _, _ in series[arm]})
    high = max(rate(result, arm["us"]) for name in arms for _, arm, result in series[name]) * scale
    flops = figures.ceiling(runs, "flops_per_s", layer[2]) * 1e-12 * scale
    high = max(high, flops) * 1.06
    x = svg.Axis(tokens[0], tokens[-1], left + 8, right - 8, log=True)
    y = svg.Axis(0, high, bottom, top)
    title = f"{layer[0]} {layer[1]}: N = {layer[3]}, K = {layer[4]}, {layer[2]}"
    parts = svg.panel(box, title, x, y, thinned(tokens), unit, "M (tokens), log scale")
    if flops:
        parts.append(svg.line(left, y.at(flops), right, y.at(flops), "#999", 1, "2 3"))
        parts.append(svg.text(left + 6, y.at(flops) + 14, "measured ceiling", 11, "start", "#777"))
    for name in arms:
        fill = svg.colour(name, baselines)
        points = [(x.at(m), rate(result, arm["us"]) * scale, arm, result, m)
                  for m, arm, result in series[name]]
        parts.append(svg.band([(px, *(y.at(min(high, rate(r, us) * scale))
                                      for us in reversed(low_high(a))))
                               for px, _, a, r, _ in points], fill))
        for piece in unbroken([(m, px, y.at(v)) for px, v, _, _, m in points]):
            parts.append(svg.polyline(piece, fill, svg.dash(name, baselines)))
        for px, value, arm, result, m in points:
            parts.append(svg.marker(px, y.at(value), fill, arm["batch_invariant"] is False,
                                    tip(name, m, arm, result), svg.shape(name, baselines)))
    return parts


def unbroken(points, gap=4):
    """Pieces of [(m, x, y)] in which M grows by a factor of at most `gap`: no line where nobody looked."""
    pieces, last = [], None
    for m, x, y in points:
        if last is None or m > gap * last:
            pieces.append([])
        pieces[-1].append((x, y))
        last = m
    return [piece for piece in pieces if len(piece) > 1]


def thinned(tokens, max_ticks=9):
    """At most that many ticks, the last one among them, and the first where a step allows."""
    first = -(-len(tokens) // max_ticks)
    step = next((step for step in range(first, 2 * first + 2) if (len(tokens) - 1) % step == 0), first)
    return tokens[::-1][::step][::-1]


def share_panel(box, series, arms, baselines, vendors, words="its time / the arm's"):
    """Vendor's time over others' against M: above 1 they are faster."""
    left, top, right, bottom = box
    lines = {}
    for name in arms:
        if name in vendors:
            continue
        points = []
        for m, arm, result in series[name]:
            times = [a["us"] for a in result["arms"] if a["arm"] in vendors]
            if times:
                points.append((m, min(times) / arm["us"], arm, result))
        if points:
            lines[name] = points
    if not lines:
        return []
    # Arms that are far below would flatten the others; the table of prices has them.
    near = {name: points for name, points in lines.items() if max(p[1] for p in points) >= 0.4}
    far = [arm_title(name) for name in lines if near and name not in near]
    lines = near or lines
    tokens = sorted({m for points in lines.values() for m, *_ in points})
    values = [value for points in lines.values() for _, value, *_ in points]
    x = svg.Axis(tokens[0], tokens[-1], left + 8, right - 8, log=True)
    y = svg.Axis(min(0.6, *values) if min(values) > 0.3 else 0, max(1.2, *values) * 1.03, bottom, top)
    name = arm_title(vendors[0]) if len({one.rstrip("0") for one in vendors}) == 1 else \
        " and ".join(map(arm_title, vendors))
    title = f"Speed relative to {'the faster ' if len(vendors) > 1 else ''}{name}"
    parts = svg.panel(box, title, x, y, thinned(tokens), words, "M (tokens), log scale")
    parts.append(svg.line(left, y.at(1), right, y.at(1), "#888", 1.4))
    if far:
        parts.append(svg.text(left + 6, bottom - 8, "below 0.4: " + ", ".join(far), 11, "start",
                              "#777"))
    for name, points in lines.items():
        fill = svg.colour(name, baselines)
        for piece in unbroken([(m, x.at(m), y.at(v)) for m, v, *_ in points]):
            parts.append(svg.polyline(piece, fill, svg.dash(name, baselines)))
        for m, value, arm, _ in points:
            parts.append(svg.marker(x.at(m), y.at(value), fill, arm["batch_invariant"] is False,
                                    f"{arm_title(name)}, M = {m}: {value:.3f} of the vendor",
                                    svg.shape(name, baselines)))
    return parts


def provenance(runs, layer):
    """Device, dates and commits of the runs that a layer's figures come from."""
    used = {(run["date"], run["commit"]) for (_, _), (run, result, _) in
            figures.latest(runs).items()
            if (result["model"], result["layer"]) == layer[:2] and figures.plotted(result)}
    said = ", ".join(f"{date} ({commit})" for date, commit in sorted(used))
    return f"{runs[-1]['device']}, {said}"


def entry(arm, baselines, hollow):
    """A line of the legend."""
    return (arm_title(arm), svg.colour(arm, baselines), svg.dash(arm, baselines), hollow,
            svg.shape(arm, baselines))


def sweep_chart(runs, layer):
    """Throughput of one layer, and the same relative to the vendor's library, side by side."""
    baselines = baselines_of(runs)
    series = figures.series(runs, layer)
    arms = shown(series, baselines)
    backend = runs[-1]["backend"]
    unit = "GFLOP/s" if backend == "cpu" else "TFLOP/s"
    parts = throughput_panel((70, 62, 480, 348), runs, layer, series, arms, baselines, unit)
    present = {arm["arm"] for run in runs for result in run["results"] for arm in result["arms"]}
    vendors = [name for name in figures.VENDORS[backend] if name in present]
    parts += share_panel((560, 62, 940, 348), series, arms, baselines, vendors)
    entries = [entry(arm, baselines, False) for arm in arms]
    if any(arm["batch_invariant"] is False for a in arms for _, arm, _ in series[a]):
        entries.append(("hollow: row 0 changed its bits with M", "#858585", svg.SOLID, True, svg.CIRCLE))
    half = -(-len(entries) // 3)
    for column in range(3):
        parts += svg.legend(70 + 300 * column, 414, entries[column * half:(column + 1) * half])
    parts.append(svg.text(940, 22, provenance(runs, layer), 11, "end", "#777"))
    label = f"Throughput against M of {layer[0]} {layer[1]} on {runs[-1]['device']}"
    return svg.document(970, 424 + 18 * half, parts, label)


def bits_panel(box, series, arms, baselines):
    """A line per arm and a dot per M: filled where row 0 of the batch has the bits that it has alone."""
    left, top, right, bottom = box
    tokens = sorted({m for arm in arms for m, _, _ in series[arm]})
    x = svg.Axis(tokens[0], tokens[-1], left + 8, right - 8, log=True)
    step = (bottom - top) / len(arms)
    parts = [svg.text(20, top - 12, "Row 0 in a batch: filled, the bits that it has alone; hollow, others", 13,
                      extra='font-weight="bold"')]
    for value in thinned(tokens):
        parts.append(svg.line(x.at(value), bottom, x.at(value), bottom + 4, "#888"))
        parts.append(svg.text(x.at(value), bottom + 17, svg.compact(value), 11, "middle", "#555"))
    parts.append(svg.line(left, bottom, right, bottom, "#888"))
    parts.append(svg.text((left + right) / 2, bottom + 35, "M (rows of the batch), log scale", 12, "middle", "#333"))
    for row, name in enumerate(arms):
        y, fill = top + (row + 0.5) * step, svg.colour(name, baselines)
        owner = "" if name in baselines else "detgemm, "
        parts.append(svg.line(left, y, right, y, "#e4e4e4"))
        parts.append(svg.text(left - 8, y + 4, owner + arm_title(name), 12, "end"))
        for m, arm, result in series[name]:
            if arm["batch_invariant"] is not None:
                parts.append(svg.marker(x.at(m), y, fill, not arm["batch_invariant"], tip(name, m, arm, result),
                                        svg.shape(name, baselines)))
    return parts


def front_chart(runs, layer):
    """The README's: whose row 0 keeps its bits in a batch, and at what speed."""
    baselines = baselines_of(runs)
    series = figures.series(runs, layer)
    arms = [arm for arm in shown(series, baselines) if arm not in ("ieee_fma", "chain+stable")]
    present = {arm["arm"] for run in runs for result in run["results"] for arm in result["arms"]}
    vendors = [name for name in figures.VENDORS[runs[-1]["backend"]] if name in present]
    parts = bits_panel((190, 48, 510, 268), series, arms, baselines)
    parts += share_panel((580, 48, 950, 268), series, arms, baselines, vendors, "above 1 is faster")
    entries = [entry(arm, baselines, False) for arm in arms if arm not in vendors]
    half = -(-len(entries) // 2)
    for column in range(2):
        parts += svg.legend(580 + 170 * column, 330, entries[column * half:(column + 1) * half])
    words = f"{layer[0]} {layer[1]}: N = {layer[3]}, K = {layer[4]}, {layer[2]}"
    parts.append(svg.text(20, 330, words, 12))
    parts.append(svg.text(20, 348, provenance(runs, layer), 11, fill="#777"))
    label = f"Bits of row 0 and speed against M of {layer[0]} {layer[1]} on {runs[-1]['device']}"
    return svg.document(970, 324 + 18 * half, parts, label)


def roofline(runs):
    """Arithmetic intensity against throughput, with the measured ceilings."""
    memory = figures.ceiling(runs, "read_bytes_per_s") or figures.ceiling(
        runs, "copy_bytes_per_s")
    units = {}
    for run in runs:
        units.update(run["ceilings"].get("flops_per_s", {}))
    if not memory or not units:
        return None
    points = [(result["flops"] / result["bytes"], result["flops"] / arm["us"] * 1e6, name, arm, result)
              for (_, name), (_, result, arm) in figures.latest(runs).items()
              if result["bytes"] and result["cache"] == "cold"]
    if not points:
        return None
    baselines = baselines_of(runs)
    unit, scale = ("TFLOP/s", 1e-12) if runs[-1]["backend"] != "cpu" else ("GFLOP/s", 1e-9)
    peak = max(units.values()) * scale
    x = svg.Axis(min(p[0] for p in points) / 1.5, max(p[0] for p in points) * 1.5, 80, 700, True)
    points = [(intensity, value * scale, *rest) for intensity, value, *rest in points]
    y = svg.Axis(min(p[1] for p in points) / 1.5, max(peak * 1.6, 1.3 * max(p[1] for p in points)), 400,
                 44, True)
    parts = svg.panel((80, 44, 700, 400), "Roofline, cold operands (hollow: not ours)", x, y, x.ticks(), unit,
                      "FLOP per byte that must move, log scale",
                      lambda v: f"{v:g}", lambda v: f"{v:g}")
    for value in sorted(set(map(round, units.values()))):
        top = value * scale
        words = ", ".join(k for k, v in units.items() if round(v) == value)
        knee = min(max(value / memory, x.low), x.high)
        parts.append(svg.line(x.at(knee), y.at(top), 700, y.at(top), "#444", 1.4))
        parts.append(svg.text(694, y.at(top) - 6, f"{words}: {top:.3g} {unit} measured", 11, "end"))
    low = x.low if memory * x.low * scale > y.low else y.low / scale / memory
    knee = min(peak / scale / memory, x.high)
    parts.append(svg.line(x.at(low), y.at(memory * low * scale), x.at(knee),
                          y.at(memory * knee * scale), "#444", 1.4))
    parts.append(svg.text(92, 62, f"memory: {memory * 1e-9:.4g} GB/s measured", 11))
    order = list(dict.fromkeys(p[2] for p in points))
    for intensity, value, name, arm, result in points:
        parts.append(svg.marker(x.at(intensity), y.at(value), svg.colour(name, baselines),
                                name in baselines, result["case"] + ": " + tip(name, result["m"], arm,
                                                                           result),
                                svg.shape(name, baselines)))
    parts += svg.legend(720, 70, [(arm_title(n), svg.colour(n, baselines), "", n in baselines,
                                   svg.shape(n, baselines)) for n in order])
    return svg.document(980, 450, parts, "Roofline")


def tokens_chart(runs, layer, arms):
    """Time against every few M of one layer; where a greater M took less time is marked."""
    baselines = baselines_of(runs)
    shown_arms = shown(arms, baselines)
    box = left, top, right, bottom = 80, 48, 940, 400
    tokens = sorted({m for name in shown_arms for m, _ in arms[name]})
    high = max(arm["us"] for name in shown_arms for _, arm in arms[name]) * 1.06
    x = svg.Axis(tokens[0], tokens[-1], left + 8, right - 8)
    y = svg.Axis(0, high, bottom, top)
    title = f"{layer[0]} {layer[1]}: N = {layer[3]}, K = {layer[4]}, {layer[2]}"
    parts = svg.panel(box, title, x, y, [m for m in x.ticks() if m > 0], "us per call", "M (tokens)")
    for name in shown_arms:
        fill = svg.colour(name, baselines)
        parts.append(svg.polyline([(x.at(m), y.at(arm["us"])) for m, arm in arms[name]], fill,
                                  svg.dash(name, baselines)))
        if name in baselines:
            continue
        for m, us, later, later_us in figures.falls(arms[name]):
            parts.append(svg.marker(x.at(m), y.at(us), fill, True,
                                    f"{arm_title(name)}: {us:.4g} us at M = {m}, "
                                    f"{later_us:.4g} us at M = {later}"))
    entries = [entry(arm, baselines, None) for arm in shown_arms]
    third = -(-len(entries) // 3)
    for column in range(3):
        parts += svg.legend(80 + 300 * column, 458, entries[column * third:(column + 1) * third])
    ring = f"ring: a call with up to {figures.REACH} more tokens takes at least 3 % less"
    parts += svg.legend(80, 458 + 18 * third, [(ring, "#858585", svg.SOLID, True, svg.CIRCLE)])
    label = f"Time against M of {layer[0]} {layer[1]} on {runs[-1]['device']}"
    return svg.document(970, 486 + 18 * third, parts, label)


def invariance_map(runs):
    """Where row 0 keeps its bits: one row per layer and type, one column per M."""
    found = {}
    for (_, name), (_, result, arm) in figures.latest(runs).items():
        if (arm["batch_invariant"] is None or result["kind"] != "forward" or result["threads"]
                or not figures.ordinary(result)):
            continue
        row = f"{result['model']}/{result['layer']} {result['dtype']}"
        found.setdefault((row, result["m"]), {})[name] = arm["batch_invariant"]
    if not found:
        return None
    baselines = baselines_of(runs)
    rows = sorted({row for row, _ in found})
    columns = sorted({m for _, m in found})

    def cell(row, column):
        answers = found.get((row, column))
        if answers is None:
            return None
        ours_no = [n for n, kept in answers.items() if not kept and n not in baselines]
        no = [n for n, kept in answers.items() if not kept and n in baselines]
        asked = [n for n in answers if n in baselines]
        words = f"M = {column}: " + ", ".join(
            f"{arm_title(n)} {'keeps' if kept else 'changes'}" for n, kept in answers.items())
        if ours_no:
            return "ours no", "#d55e00", words
        if not asked:
            return "ours", "#c8e6d8", words
        return f"{len(asked) - len(no)}/{len(asked)}", ("#f6d7b8" if no else "#c8e6d8"), words

    return svg.heat_map(rows, columns, cell,
                        "Row 0 in a batch of M: how many baselines keep its bits, of those asked",
                        "Invariance heat map")
