#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""plot.py ACCURACY.json MODEL.json... OUT.svg: draws the error of `snap` from what accuracy.py wrote, and prints the tables
of docs/snap-accuracy.md from it and from what model.py and masked.py wrote. Python's standard library is enough.

tests/layout/claims.py makes both again and compares.
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "report"))
import svg

# Arm: (words of the legend, colour, dash, shape).
ARMS = {"fp8 e4m3, scaled rows": ("fp8 (e4m3), scaled rows", "#858585", "2 3", "diamond"),
        "snap, LEAF 512": ("snap, LEAF 512", "#56b4e9", "", "circle"),
        "snap, LEAF 256": ("snap, LEAF 256", "#0080c6", "", "circle"),
        "snap, LEAF 128": ("snap, LEAF 128", "#9e4a73", "", "circle"),
        "snap, LEAF 64": ("snap, LEAF 64", "#cc79a7", "", "circle"),
        "output rounded to bf16": ("exact sum, rounded to bf16", "#d55e00", "6 4", "square"),
        "hopper/bf16/chain": ("hopper/bf16/chain", "#009e73", "10 3 2 3", "triangle")}
PANEL, HEIGHT, LEFT, TOP, GAP = 226, 210, 66, 74, 74
LOW, HIGH = 1e-6, 1e-1


def drawing(document):
    cells = {(cell["data"], cell["k"], cell["arm"]): cell["error"] for cell in document["cells"]}
    kinds = list(dict.fromkeys(cell["data"] for cell in document["cells"]))
    ks = sorted({cell["k"] for cell in document["cells"]})
    parts = [svg.text(LEFT - 44, 26, "Error of the sum against fp64: |got - exact| / |exact|, Frobenius", 15,
                      extra='font-weight="bold"')]
    for i, kind in enumerate(kinds):
        left = LEFT + i % 4 * (PANEL + GAP)
        top = TOP + i // 4 * (HEIGHT + 80)
        x = svg.Axis(ks[0], ks[-1], left + 8, left + PANEL - 8, log=True)
        y = svg.Axis(LOW, HIGH, top + HEIGHT, top, log=True)
        parts += svg.panel((left, top, left + PANEL, top + HEIGHT), kind, x, y, ks, "error", "K, log scale",
                           y_text=lambda value: f"{value:.0e}".replace("e-0", "e-"))
        for arm, (words, colour, dash, shape) in ARMS.items():
            points = [(x.at(k), y.at(cells[kind, k, arm])) for k in ks]
            parts.append(svg.polyline(points, colour, dash))
            parts += [svg.marker(*point, colour, title=f"{words}, K = {k}: {cells[kind, k, arm]:.2g}", outline=shape)
                      for point, k in zip(points, ks)]
    at = len(kinds)
    parts += svg.legend(LEFT + at % 4 * (PANEL + GAP), TOP + at // 4 * (HEIGHT + 80) + 16,
                        [(words, colour, dash, False, shape) for words, colour, dash, shape in ARMS.values()], 22)
    width = LEFT + 4 * (PANEL + GAP) - GAP + 20
    height = TOP + (at // 4 + 1) * (HEIGHT + 80) - 20
    return svg.document(width, height, parts, "Error of snap against fp64, for seven kinds of data")


def number(value):
    """1.3e-3 rather than 1.3e-03."""
    return f"{value:.1e}".replace("e-0", "e-")


def row(cells):
    return "| " + " | ".join(cells) + " |"


def error_table(document, k):
    """Errors at one K, a line per arm."""
    cells = {(cell["data"], cell["arm"]): cell["error"] for cell in document["cells"] if cell["k"] == k}
    kinds = list(dict.fromkeys(data for data, _ in cells))
    return [row([f"K = {k}", *kinds]), row(["---"] * (1 + len(kinds))),
            *(row([words, *(number(cells[kind, arm]) for kind in kinds)]) for arm, (words, *_) in ARMS.items())]


def output_table(document, k):
    """The error of a bf16 output, beyond the exact sum's own rounding."""
    cells = {(cell["data"], cell["arm"]): cell["error"] for cell in document["cells"] if cell["k"] == k}
    kinds = list(dict.fromkeys(data for data, _ in cells))
    lines = [row([f"output bf16, K = {k}", *kinds]), row(["---"] * (1 + len(kinds)))]
    for words, arm in (("exact sum", "output rounded to bf16"),
                       *((f"snap, LEAF {leaf}", f"snap, LEAF {leaf}, output rounded to bf16") for leaf in (64, 128, 256, 512))):
        lines.append(row([words, *(number(cells[kind, arm]) for kind in kinds)]))
    return lines


def model_table(model):
    lines = [row([f"{model['model']}, {model['tokens']} {model.get('kind', 'tokens')}", "KL, nats", "perplexity", "same first choice"]),
             row(["---"] * 4)]
    for arm in model["arms"]:
        lines.append(row([arm["arm"] if "/" not in arm["arm"] else f"`{arm['arm']}`", number(arm["kl"]) if arm["kl"] else "0",
                          f"{arm['perplexity']:.5g}", f"{100 * arm['same_first_choice']:.2f} %"]))
    return lines


def tables(document, studies):
    """Every table of the page, as lines."""
    return [error_table(document, 4096), error_table(document, 65536), output_table(document, 4096),
            *(model_table(model) for study in studies for model in study["models"])]


def snap3_table(document, inputs):
    """Errors of snap3 for one type of operands, from what accuracy3.py wrote."""
    cells = {(cell["data"], cell["arm"]): cell["error"] for cell in document["cells"] if cell["inputs"] == inputs}
    kinds, arms = (list(dict.fromkeys(key[i] for key in cells)) for i in (0, 1))
    return [row([f"{inputs} operands, K = {document['cells'][0]['k']}", *kinds]), row(["---"] * (1 + len(kinds))),
            *(row([arm, *(number(cells[kind, arm]) for kind in kinds)]) for arm in arms)]


def read(path):
    return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))


def main():
    source, *studies, out = sys.argv[1:]
    document = read(source)
    pathlib.Path(out).write_text(drawing(document), encoding="utf-8")
    print("\n\n".join("\n".join(table) for table in tables(document, [read(path) for path in studies])))


if __name__ == "__main__":
    main()
