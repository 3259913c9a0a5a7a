# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Charts as SVG text: lines over a log axis, points on two log axes, a heat map."""
import math
from html import escape

# Okabe and Ito's colours, told apart by people who see colours differently; in the middle between
# black and white, so that they are seen on either.
COLOURS = {"chain": "#0080c6", "chain+stable": "#56b4e9", "fold": "#cc79a7", "fold128": "#9e4a73",
           "tree": "#009e73", "tree+stable": "#66c2a5", "ieee_fma": "#e69f00",
           "ampere": "#8c6bb1", "cdna3": "#a65628", "cdna2": "#999933", "weight-read": "#707070"}
# Each baseline has a colour of its own; one that is not known takes the first that is free.
BASELINE_COLOURS = {"cublaslt": "#d55e00", "cublaslt0": "#858585", "cublaslt-best": "#b8860b",
                 "triton": "#9467bd", "torch": "#7f9f00", "hipblaslt": "#d55e00",
                 "hipblaslt0": "#858585", "openblas": "#d55e00", "onednn": "#7f9f00"}
FREE_COLOURS = ("#d55e00", "#858585", "#b8860b", "#9467bd", "#7f9f00", "#c2506e", "#3d8b8b")
# And a dash and a shape of its own, for prints without colours; ours are solid lines with circles.
SOLID, CIRCLE = "", "circle"
DASHES = ("6 4", "2 3", "10 3 2 3", "12 5", "4 2 1 2", "1 2", "8 2 8 6")
SEATS = {"cublaslt": 0, "cublaslt0": 1, "cublaslt-best": 2, "triton": 3, "torch": 4, "hipblaslt": 0,
         "hipblaslt0": 1, "openblas": 0, "onednn": 4}
SHAPES = ("square", "diamond", "triangle", "wedge", "cross", "hexagon", "star")
OWN_COLOURS = ("#4477aa", "#aa4499", "#117733", "#882255", "#44aa99")
FONT = "font-family=\"'DejaVu Sans', Helvetica, Arial, sans-serif\""
# Attributes are what a plain renderer draws: black on white. A viewer that prefers dark inverts them.
DARK = ("<style>@media (prefers-color-scheme: dark) { .paper { fill: #14171c } .ink { fill: #e2e4e8 } "
        ".soft { fill: #a4a9b2 } .rule { stroke: #3a3f47 } .edge { stroke: #8b919b } "
        ".on { fill: #14171c } }</style>")


def colour(name, baselines=()):
    if name in COLOURS:
        return COLOURS[name]
    if name in BASELINE_COLOURS:
        return BASELINE_COLOURS[name]
    if name not in baselines:  # an arm of detgemm named by its contract: one of detgemm's own colours
        return OWN_COLOURS[sum(map(ord, name)) % len(OWN_COLOURS)]
    taken = {BASELINE_COLOURS.get(other) for other in baselines}
    strangers = [other for other in baselines if other not in BASELINE_COLOURS and other not in COLOURS]
    free = [one for one in FREE_COLOURS if one not in taken] or list(FREE_COLOURS)
    return free[strangers.index(name) % len(free)]


def seat(name, baselines):
    """A baseline's number, the same on every chart of the known ones; None for what is ours."""
    if name not in baselines:
        return None
    if name in SEATS:
        return SEATS[name]
    taken = {SEATS.get(other) for other in baselines}
    strangers = [other for other in baselines if other not in SEATS]
    free = [i for i in range(len(SHAPES)) if i not in taken] or list(range(len(SHAPES)))
    return free[strangers.index(name) % len(free)]


def dash(name, baselines=()):
    at = seat(name, baselines)
    return SOLID if at is None else DASHES[at]


def shape(name, baselines=()):
    at = seat(name, baselines)
    return CIRCLE if at is None else SHAPES[at]


def compact(value):
    """1024 as 1K, 0.5 as 0.5: what an axis has room for."""
    if value >= 1024 and value % 1024 == 0:
        return f"{value // 1024:g}K"
    return f"{value:.4g}"


def text(x, y, words, size=12, anchor="start", fill="#222", extra="", kind=""):
    kind = kind or ("ink" if fill <= "#333" else "soft")
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" '
            f'fill="{fill}" class="{kind}" {extra}>{escape(words)}</text>')


def line(x1, y1, x2, y2, stroke="#ddd", width=1, dash=""):
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    kind = {"#ddd": "rule", "#e4e4e4": "rule", "#888": "edge", "#999": "edge", "#444": "edge"}.get(stroke)
    named = f' class="{kind}"' if kind else ""
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{stroke}" '
            f'stroke-width="{width}"{dashes}{named}/>')


def document(width, height, parts, label):
    body = "\n".join(parts)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" role="img" aria-label="{escape(label)}" {FONT}>\n'
            f'{DARK}\n<rect width="{width}" height="{height}" fill="white" class="paper"/>\n{body}\n'
            "</svg>\n")


def nice_step(span, max_ticks=6):
    """A step of 1, 2 or 5 times a power of ten that gives at most that many ticks."""
    raw = span / max_ticks
    power = 10 ** math.floor(math.log10(raw))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= raw)


class Axis:
    """Values to places: linear from `low`, or logarithmic."""

    def __init__(self, low, high, start, end, log=False):
        self.low, self.high, self.start, self.end, self.log = low, high, start, end, log
        if high <= low:
            self.high = low * 2 if low > 0 else low + 1

    def at(self, value):
        if self.log:
            share = (math.log(max(value, 1e-30)) - math.log(self.low)) / (
                math.log(self.high) - math.log(self.low))
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self):
        if not self.log:
            step = nice_step(self.high - self.low)
            first = math.ceil(self.low / step - 1e-9)
            last = math.floor(self.high / step + 1e-9)
            return [i * step for i in range(first, last + 1)]
        first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
        return [10.0 ** i for i in range(first, last + 1)]


def panel(box, title, x, y, x_ticks, y_label, x_label, y_text=compact, x_text=compact):
    """The frame of one chart: title, grid, ticks and what the axes are."""
    left, top, right, bottom = box
    parts = [text(left, top - 12, title, 13, extra='font-weight="bold"')]
    for value in y.ticks():
        parts.append(line(left, y.at(value), right, y.at(value), "#e4e4e4"))
        parts.append(text(left - 6, y.at(value) + 4, y_text(value), 11, "end", "#555"))
    for value in x_ticks:
        parts.append(line(x.at(value), bottom, x.at(value), bottom + 4, "#888"))
        parts.append(text(x.at(value), bottom + 17, x_text(value), 11, "middle", "#555"))
    parts.append(line(left, bottom, right, bottom, "#888"))
    parts.append(text((left + right) / 2, bottom + 35, x_label, 12, "middle", "#333"))
    middle = (top + bottom) / 2
    parts.append(text(left - 44, middle, y_label, 12, "middle", "#333",
                      f'transform="rotate(-90 {left - 44:.1f} {middle:.1f})"'))
    return parts


CORNERS = {  # of the shapes, around their middle
    "square": [(-3.3, -3.3), (3.3, -3.3), (3.3, 3.3), (-3.3, 3.3)],
    "diamond": [(0, -4.6), (4.6, 0), (0, 4.6), (-4.6, 0)],
    "triangle": [(0, -4.4), (4.2, 3.2), (-4.2, 3.2)],
    "wedge": [(0, 4.4), (4.2, -3.2), (-4.2, -3.2)],
    "cross": [(-4.2, -1.5), (-1.5, -1.5), (-1.5, -4.2), (1.5, -4.2), (1.5, -1.5), (4.2, -1.5),
              (4.2, 1.5), (1.5, 1.5), (1.5, 4.2), (-1.5, 4.2), (-1.5, 1.5), (-4.2, 1.5)],
    "hexagon": [(-4, 0), (-2, -3.5), (2, -3.5), (4, 0), (2, 3.5), (-2, 3.5)],
    "star": [(0, -5), (1.4, -1.4), (5, 0), (1.4, 1.4), (0, 5), (-1.4, 1.4), (-5, 0), (-1.4, -1.4)]}


def marker(x, y, fill, hollow=False, title="", outline=CIRCLE):
    inside, kind = ("white", ' class="on"') if hollow else (fill, "")
    tip = f"<title>{escape(title)}</title>" if title else ""
    if outline != CIRCLE:
        corners = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in CORNERS[outline])
        return (f'<polygon points="{corners}" fill="{inside}"{kind} stroke="{fill}" '
                f'stroke-width="1.4">{tip}</polygon>')
    return (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.6" fill="{inside}"{kind} stroke="{fill}" '
            f'stroke-width="1.6">{tip}</circle>')


def band(points, fill):
    """The area between p10 and p90: [(x, low, high)]."""
    if len(points) < 2:
        return ""
    edge = [f"{x:.1f},{high:.1f}" for x, _, high in points]
    edge += [f"{x:.1f},{low:.1f}" for x, low, _ in reversed(points)]
    return f'<polygon points="{" ".join(edge)}" fill="{fill}" fill-opacity="0.18"/>'


def polyline(points, stroke, dash=""):
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return (f'<polyline points="{places}" fill="none" stroke="{stroke}" stroke-width="2" '
            f'stroke-linejoin="round"{dashes}/>')


def legend(x, y, entries, step=18):
    """[(words, colour, dash, hollow, outline)], one below the other; hollow is None where no dot is drawn."""
    parts = []
    for i, (words, fill, dashes, hollow, outline) in enumerate(entries):
        at = y + i * step
        parts.append(line(x, at - 4, x + 26, at - 4, fill, 2, dashes))
        if hollow is not None:
            parts.append(marker(x + 13, at - 4, fill, hollow, outline=outline))
        parts.append(text(x + 33, at, words, 12))
    return parts


def heat_map(rows, columns, cell, title, label):
    """cell(row, column): (words, fill, tip) or None. Rows are named at the left."""
    width, height, left, top = 58, 24, 250, 54
    parts = [text(12, 22, title, 13, extra='font-weight="bold"')]
    for j, column in enumerate(columns):
        parts.append(text(left + (j + 0.5) * width, top - 8, str(column), 11, "middle", "#555"))
    for i, row in enumerate(rows):
        parts.append(text(left - 8, top + (i + 0.66) * height, row, 11, "end"))
        for j, column in enumerate(columns):
            found = cell(row, column)
            if found is None:
                continue
            words, fill, tip = found
            x, y = left + j * width, top + i * height
            parts.append(f'<rect x="{x + 1}" y="{y + 1}" width="{width - 2}" '
                         f'height="{height - 2}" rx="3" fill="{fill}">'
                         f"<title>{escape(tip)}</title></rect>")
            parts.append(text(x + width / 2, y + height * 0.68, words, 11, "middle",
                              kind="label"))
    return document(max(640, left + len(columns) * width + 20), top + len(rows) * height + 16, parts,
                    label)
