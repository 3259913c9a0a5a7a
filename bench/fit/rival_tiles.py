#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""rival_tiles.py HEADER [RESULT.json ...]: which tiles cuBLASLt took for the recorded products of chains, and how ours did there.

HEADER is cublasLt.h, which names its tiles by number. RESULT.json or RESULT.json.xz: schema 2, from
`detgemm bench`; without any, all of bench/results. Tiles that cuda/sm90/tile/geometry.hpp has in neither
role are marked: where cuBLASLt takes one and ours lose, a width is missing. Products that it cuts along k
are left out. With --json FILE the problems are written, too.
"""
import argparse
import collections
import json
import math
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(HERE / "report"))
import load  # noqa: E402

RANGES = ((65, 512), (513, 1 << 40))
TABLES = {"kOne": 64, "kTwo": 128, "kWide": 256, "kThree": 192, "kQuad": 64}  # of widths, for so many rows
GEOMETRIES = HERE.parent / "cuda/sm90/tile/geometry.hpp"


def names(header):
    """Tiles by number."""
    found = {int(at): tile for tile, at in re.findall(r"CUBLASLT_MATMUL_TILE_(\d+x\d+)\s*=\s*(\d+)", header)}
    if not found:
        sys.exit("HEADER names no tile: it must be cublasLt.h")
    return found


def ours(text):
    """Tiles of the table of chains, in both roles."""
    have = set()
    for table, rows in TABLES.items():
        widths = re.search(rf"constexpr int {table}\[\] = {{([^}}]*)}}", text)
        if widths is None:
            sys.exit(f"{GEOMETRIES}: there is no list {table}")
        for width in map(int, re.findall(r"\d+", widths[1])):
            have |= {f"{rows}x{width}", f"{width}x{rows}"}
    return have


def problems(path, tiles):
    """Of each forward product of bf16 chains: M, N, K, times, our kernel and cuBLASLt's tile."""
    for case in load.load(path)["results"]:
        if case["kind"] != "forward" or case["epilogue"] != "none" or case["accumulate"] or case["dtype"] != "bf16":
            continue
        arms = {arm["arm"]: arm for arm in case["arms"] if arm.get("us")}
        mine = [arms[name] for name in ("chain", "chain+stable") if name in arms]
        rival = arms.get("cublaslt")
        said = rival and re.search(r"tile (\d+).*split-K (-?\d+)", rival.get("what") or "")
        if not mine or not said or int(said[2]) > 1:
            continue
        best = min(mine, key=lambda arm: arm["us"])
        m, n, k = case["gemm"]
        yield {"m": m, "n": n, "k": k, "us": best["us"], "kernel": best["what"], "cublaslt_us": rival["us"],
               "tile": tiles.get(int(said[1]), said[1]), "file": pathlib.Path(path).name}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("header", metavar="HEADER")
    parser.add_argument("results", nargs="*", metavar="RESULT.json")
    parser.add_argument("--json", metavar="FILE")
    args = parser.parse_args()
    tiles = names(pathlib.Path(args.header).read_text(encoding="utf-8"))
    have = ours(GEOMETRIES.read_text(encoding="utf-8"))
    files = args.results or sorted(str(p) for p in (HERE / "results").glob("*-h200-*.json.xz"))
    rows = [row for path in files for row in problems(path, tiles)]
    for low, high in RANGES:
        by_tile = collections.defaultdict(list)
        for row in rows:
            if low <= row["m"] <= high:
                by_tile[row["tile"]].append(row)
        absent = [t for t in by_tile if t not in have]
        print(f"M from {low}: {sum(map(len, by_tile.values()))} problems, {sum(len(by_tile[t]) for t in absent)} in tiles that are not ours")
        mean = {t: math.exp(sum(math.log(r["cublaslt_us"] / r["us"]) for r in v) / len(v)) for t, v in by_tile.items()}
        for tile in sorted(absent, key=mean.get):
            worst = min(by_tile[tile], key=lambda r: r["cublaslt_us"] / r["us"])
            print(f"  {tile:8s} {len(by_tile[tile]):4d} {mean[tile]:.3f} / {worst['cublaslt_us'] / worst['us']:.3f}   "
                  f"{worst['m']} x {worst['n']} x {worst['k']}, {worst['kernel']}")
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(rows, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
