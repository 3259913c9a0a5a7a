# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Files of bench/gpu ("detgemm-bench-gpu-1"), and of the Triton peer, as runs of schema 1."""
import json
import pathlib

SCHEMA = "detgemm-bench-gpu-1"
CASES = pathlib.Path(__file__).resolve().parents[1] / "cases" / "cases.json"
RIVALS = {"cublas": "cublaslt", "cublas0": "cublaslt0", "triton": "triton", "torch": "torch"}


def layers():
    """(n, k): the first layer of that shape in the table of cases."""
    table = json.loads(CASES.read_text(encoding="utf-8"))
    found = {}
    for model, shapes in table["models"].items():
        for layer, (n, k) in shapes.items():
            found.setdefault((n, k), (model, layer))
    return found


def ours_name(arm, family, fma):
    """The arm of the new table; None for kinds of launch that it does not have."""
    if fma:
        return "ieee_fma" if arm == "plain" else None
    return {"plain": family, "early": family + "+stable"}.get(arm)


def contract_of(problem, fma):
    dtype = problem["type"]
    out = "fp32" if fma or problem.get("accumulate") else dtype
    arithmetic = "ieee_fma" if fma else "hopper"
    return f"{arithmetic}/{dtype}/{problem.get('reduction', 'chain')}->{out}"


def arms_of(problem, arms):
    fma = problem["type"] == "fp32"
    family = problem.get("reduction", "chain").split(":")[0]
    for name, arm in arms.items():
        figures = {key: arm[key] for key in ("us", "p10", "p90", "samples", "calls", "what")
                   if key in arm}
        if name in RIVALS:
            yield {"arm": RIVALS[name], "role": "rival", **figures}
        elif ours_name(name, family, fma):
            yield {"arm": ours_name(name, family, fma), "role": "ours",
                   "contract": contract_of(problem, fma), **figures}


def convert(path, document, bad):
    known = layers()
    results = []
    for at, row in enumerate(document.get("results", []), 1):
        try:
            problem = row["problem"]
            kind, m, n, k = (problem[key] for key in ("kind", "m", "n", "k"))
            model, layer = known.get((n, k), ("other", f"{n}x{k}"))
            if any(size > 1 and size % 2 for size in (m, n, k)):
                model, layer = "odd", f"{n}x{k}"
            name = f"{model}/{layer}/{kind}/m{m}/{problem['type']}"
            name += "/settled" if row["mode"] == "settled" else ""
            name += "/accumulate" if problem.get("accumulate") else ""
            size = 4 if problem["type"] == "fp32" else 2
            results.append({
                "case": name, "suites": [row["group"]], "model": model, "layer": layer,
                "kind": kind, "m": m, "n": n, "k": k, "dtype": problem["type"],
                "mode": row["mode"], "accumulate": bool(problem.get("accumulate")),
                "bytes": size * (m * n + m * k + n * k),
                "arms": list(arms_of(problem, row["arms"])), "notes": row.get("notes", [])})
        except (KeyError, TypeError) as error:
            raise bad(f"{path}: result {at} lacks {error}") from None
    machine = document.get("machine")
    if not isinstance(machine, dict):
        raise bad(f'{path} lacks "machine"')
    names = {"sms": "processors", "cuda": "toolkit"}
    facts = {names.get(key, key): str(value) for key, value in machine.items()}
    rivals = [{"name": "cublaslt", "present": True, "what": f"cuBLASLt {machine['cublaslt']}"}] \
        if "cublaslt" in machine else []
    command = document.get("command", "unknown")
    return {"schema": 1, "date": document.get("date", "unknown"), "rivals": rivals,
            "commit": document.get("commit", "unknown"), "backend": "cuda", "machine": facts,
            "command": command, "quick": "--quick" in command, "results": results}
