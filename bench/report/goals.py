# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Targets against what was measured."""
import json
import pathlib

import figures

HERE = pathlib.Path(__file__).resolve().parents[1]


def targets():
    return json.loads((HERE / "targets.json").read_text(encoding="utf-8"))


def pair(geomean, worst):
    return " / ".join("-" if value is None else f"{value:.2f}" for value in (geomean, worst))


def table(rows):
    lines = []
    for row in rows:
        asked = pair(row["geomean"], row["worst"])
        if not row["points"]:
            lines.append([row["name"], asked, "", "", "", "not measured"])
        else:
            lines.append([row["name"], asked, row["points"],
                          f"{row['found_geomean']:.3f} / {row['found_worst']:.3f}", row["worst_case"],
                          "hit" if row["hit"] else "missed"])
    return ("table", ["range", "target", "cases", "found", "worst case", "verdict"], lines)


def target_blocks(runs):
    asked = targets()
    rows = figures.target_rows(asked, runs)
    blocks = [("h2", "Targets"),
              ("p", "Speed targets of the GPU kernels, as geometric mean / worst point. Where the range "
                    "names nothing else, the figure is the time of the faster of the vendor's library "
                    "with and without workspace, over ours. Computed from the files of this page by "
                    "`python3 bench/report targets`."),
              ("h3", "Targets over the table of cases"),
              table([row for row in rows if "draw" not in row])]
    for name, draw in asked["draws"].items():
        blocks += [("h3", f"Targets over random problems: {name}"),
                   ("p", f"{draw['what']} `{draw['command']}`"),
                   table([row for row in rows if row.get("draw") == name])]
    return blocks
