#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Result files of detgemm bench into a page, and two files into a verdict.

    python3 bench/report page bench/results/*.json.xz -o out        # index.html, index.md, *.svg
    python3 bench/report page --no-html FILES -o docs/bench         # the page that is committed
    python3 bench/report plot bench/results/*h200*.json.xz -o docs/images/bench.svg
    python3 bench/report targets bench/results/*.json.xz            # hits and misses, markdown
    python3 bench/report sm90 bench/results/*-h200-*.json.xz        # docs/bench/sm90.md
    python3 bench/report compare OLD NEW                            # exit 1 where ours got worse

Files are .json or .json.xz. Python's standard library is all it needs. Exit codes: 0 written, or no regression; 1 a regression;
2 a file or an argument that cannot be used, with a sentence.
"""
import argparse
import pathlib
import sys

import blocks
import charts
import compare
import figures
import goals
import load
import page
import sm90


def write(path, text):
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise load.Bad(f"{path}: cannot be written: {error}") from None


def make_page(options):
    runs = load.load_all(options.files)
    built = page.build(runs)
    out = pathlib.Path(options.out)
    write(out / "index.md", blocks.to_markdown(built))
    for name, inner in blocks.pages(built):
        write(out / f"{name}.md", blocks.to_markdown(inner))
    for block in built:
        if block[0] == "svg":
            write(out / f"{block[1]}.svg", block[2])
    if not options.no_html:
        write(out / "index.html", blocks.to_html("detgemm: speed beside the vendor's library", built))
    cases = sum(len(run["results"]) for run in runs)
    print(f"{out / ('index.md' if options.no_html else 'index.html')}: {len(runs)} runs, {cases} cases")


def make_plot(options):
    """The README's: the layer of the first device that has the most values of M, GPUs first."""
    runs = load.load_all(options.files)
    order = {"cuda": 0, "hip": 1, "cpu": 2}
    for _, mine in sorted(figures.machines(runs).items(), key=lambda item: order[item[0][0]]):
        layers = figures.layers_with_sweep(mine)
        wanted = [x for x in layers if f"{x[0]}/{x[1]}" == options.layer] if options.layer else layers
        if wanted:
            points = {x: len(figures.series(mine, x).get("chain", [])) for x in wanted}
            layer = max(wanted, key=lambda x: points[x])
            write(pathlib.Path(options.out), charts.front_chart(mine, layer))
            print(f"{options.out}: {mine[-1]['device']}, {layer[0]}/{layer[1]}")
            return
    raise load.Bad("no file holds a layer that was timed at four or more values of M"
                   + (f" and is {options.layer}" if options.layer else ""))


def main():
    parser = argparse.ArgumentParser(prog="bench/report", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, default in (("page", "build/bench-page"), ("plot", "docs/images/bench.svg")):
        sub = commands.add_parser(name)
        sub.add_argument("files", nargs="+")
        sub.add_argument("-o", "--out", default=default)
        if name == "page":
            sub.add_argument("--no-html", action="store_true", help="markdown and charts alone")
        if name == "plot":
            sub.add_argument("--layer", help="MODEL/LAYER, for example llama3-8b/o")
    for name in ("targets", "sm90"):
        commands.add_parser(name).add_argument("files", nargs="+")
    sub = commands.add_parser("compare")
    sub.add_argument("old")
    sub.add_argument("new")
    sub.add_argument("--threshold", type=float, default=0.03, help="a share of time (0.03)")
    options = parser.parse_args()
    try:
        if options.command == "page":
            make_page(options)
        elif options.command == "plot":
            make_plot(options)
        elif options.command == "targets":
            print(blocks.to_markdown(goals.target_blocks(load.load_all(options.files))), end="")
        elif options.command == "sm90":
            print(blocks.to_markdown(sm90.build(load.load_all(options.files))), end="")
        else:
            if not 0 < options.threshold < 10:
                raise load.Bad(f"--threshold is {options.threshold}: it must be between 0 and 10")
            return 1 if compare.compare(options.old, options.new, options.threshold) else 0
    except load.Bad as sentence:
        print(f"bench/report: {sentence}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
