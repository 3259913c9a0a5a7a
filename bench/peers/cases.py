# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The table of cases (bench/cases/cases.json) for peers written in Python: bf16, cold operands."""
import json
import pathlib

TABLE = json.loads((pathlib.Path(__file__).resolve().parents[1] / "cases" / "cases.json")
                   .read_text(encoding="utf-8"))
SUITES = ["sweep", "decode", "middle", "prefill", "settled", "gradients", "skinny"]


def shape_of(layer):
    model, name = layer.split("/")
    return tuple(TABLE["models"][model][name])


def values(tokens):
    """Tokens of a suite: a list, or a text such as "1:512:8,63:65" (detgemm bench --help)."""
    if not isinstance(tokens, str):
        return tokens
    found = {}
    for part in tokens.split(","):
        pieces = [int(x) for x in part.split(":")]
        low, high, step = pieces[0], pieces[min(1, len(pieces) - 1)], (pieces[2:] or [1])[0]
        found.update(dict.fromkeys(range(low, high + 1, step)))
    return list(found)


SHAPES = [shape_of(layer) for layer in TABLE["sets"]["linear"]]


def points(suites=None, quick=False, tokens=None):
    """Results without arms, as detgemm bench names them; a case of two suites comes once."""
    found = {}
    for suite in TABLE["suites"]:
        if suite["name"] not in (suites or SUITES):
            continue
        wanted = {**suite, **(suite.get("quick", {}) if quick else {})}
        layers = wanted["layers"]
        for layer in TABLE["sets"][layers] if isinstance(layers, str) else layers:
            n, k = shape_of(layer)
            for kind in wanted.get("kinds", ["forward"]):
                for m in tokens or values(wanted["tokens"]):
                    mode = wanted.get("mode") or (
                        "stream" if m <= 512 and kind == "forward" else "burst")
                    name = f"{layer}/{kind}/m{m}/bf16" + ("/settled" if mode == "settled" else "")
                    if name in found:
                        found[name]["suites"].append(suite["name"])
                        continue
                    model, short = layer.split("/")
                    found[name] = {
                        "case": name, "suites": [suite["name"]], "model": model, "layer": short,
                        "kind": kind, "m": m, "n": n, "k": k, "gemm": list(sizes(kind, m, n, k)),
                        "dtype": "bf16", "output": "bf16", "mode": mode,
                        "cache": "cold", "accumulate": False, "threads": 0,
                        "flops": 2.0 * m * n * k, "bytes": 2.0 * (m * n + m * k + n * k)}
    return list(found.values())


def sizes(kind, tokens, n, k):
    """(m, n, k) of D = A * B for a linear layer with weights n x k."""
    return {"forward": (tokens, n, k), "dA": (tokens, k, n), "dB": (n, k, tokens)}[kind]


def operands(kind, tokens, n, k, take_a, take_b):
    """Views of A (m x k) and B (k x n); take_x(rows, cols) gives row-major memory."""
    if kind == "forward":
        return take_a(tokens, k), take_b(n, k).t()
    if kind == "dA":
        return take_a(tokens, n), take_b(n, k)
    return take_a(tokens, n).t(), take_b(tokens, k)


def parse_shapes(text):
    return [tuple(int(x) for x in one.split("x")) for one in text.split(",")] if text else SHAPES
