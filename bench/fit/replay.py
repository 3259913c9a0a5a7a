#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""replay.py --choices PROGRAM [RESULT.json ...]: what the choosers of the CUDA kernels take, against
the times that were recorded on an H200.

PROGRAM is cuda_choices of a build (tests/cuda/sm90/choices.cpp), which runs the choosers of the library
on the host. RESULT.json or RESULT.json.xz: schema 2, from `detgemm bench`; without any, all of
bench/results. Two questions are answered:

- Where a run forced every kernel (--variants all), the loss is the time of the chosen one over the
  least of the run, less 1.
- Where a run has single times, another choice has a bound: the same kernel with as many tiles along the
  tokens at a larger M takes at least as long. With --before FILE (written by --save FILE with another
  build) choices that differ are compared by such times.
"""
import argparse
import collections
import json
import math
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(HERE / "report"))
import load  # noqa: E402

RANGES = ((1, 64), (65, 512), (513, 1 << 40))
MANY = 6  # kernels forced on one problem: fewer are no choice
Problem = collections.namedtuple("Problem", "arithmetic input output reduction kind m n k")


def kernel_of(arm):
    """The kernel that ran, by name and roles; None where it is of another path."""
    text = arm["what"] if arm["what"].startswith(("sm90/", "simt/")) else arm["variant"]
    if not text:
        return None
    parts = text.removeprefix("sm90/").removeprefix("simt/").split("/")
    if set(parts) & {"general", "realign", "gather", "gather-leaves", "from-c"}:
        return None
    return "/".join(p for p in parts if not p.startswith("leaves-"))


def was_replaced(problem, kernel, path):
    """Whether another kernel has taken the place of the recorded one, under the same name: trees of two leaves run
    as folds since 28 November 2026 (docs/log/sm90.md), unless their leaves are parts. In the course of that day folds
    of gradients that go on from C got the kernel of folds in tiles of two groups and 128 columns and more, and trees in
    wider ones a kernel of their own: files of the day itself are left out with the older ones."""
    name = pathlib.Path(path).name
    reduction, _, leaf = problem.reduction.partition(":")
    if name < "2026-11-29":
        if reduction == "tree" and re.match(r"128x(160|192)(/swapped)?$", kernel):
            return True
        if reduction == "fold" and problem.kind == "dB+c":
            return re.match(r"128x(128|192)(-pair-[xy])?(/swapped)?$", kernel) is not None
    if name >= "2026-11-28" or reduction != "tree" or problem.k > 2 * int(leaf):
        return False
    return not re.search(r"-(cluster|grid)\d|-load\d|-depth\d", kernel)


def problem_of(result, arm):
    arithmetic, kind, rest = arm["contract"].split("/")
    reduction, output = rest.split("->")
    m, n, k = result["gemm"]
    if kind != "fp32" and (n % 8 or k % 8):
        return None  # rows at odd addresses
    way = result["kind"] + ("+c" if result["accumulate"] else "")
    return Problem(arithmetic, kind, output, reduction, way, m, n, k)


def recorded(paths):
    """(where, problem, promise, mode) -> {kernel: [microseconds, ...]}; `where` is a run of a file."""
    times = collections.defaultdict(lambda: collections.defaultdict(list))
    for path in paths:
        run = load.load(path)
        if run["backend"] != "cuda" or "H200" not in run["device"]:
            continue
        for result in run["results"]:
            if "gemm" not in result or result["epilogue"] != "none":
                continue
            for arm in result["arms"]:
                contract = arm.get("contract") or ""
                if arm["role"] != "detgemm" or not re.match(r"(hopper/(bf16|fp16)|ieee_fma/fp32)/", contract):
                    continue
                if arm.get("epilogue", "none") != "none" or "@snap" in arm["arm"]:
                    continue
                problem, kernel = problem_of(result, arm), kernel_of(arm)
                if problem and kernel and not was_replaced(problem, kernel, path):
                    where = (run["file"], result.get("run", ""))
                    times[where, problem, arm["stable"], result["mode"]][kernel].append(arm["us"])
    return {key: {name: sorted(us)[len(us) // 2] for name, us in by.items()} for key, by in times.items()}


def ask(program, problems):
    """{problem: (kernel, expected microseconds)} by the choosers of a build."""
    lines = "".join(" ".join(map(str, p)) + "\n" for p in problems)
    done = subprocess.run([program], input=lines, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"replay.py: {program} ended with {done.returncode}: {done.stderr.strip()}")
    answers = [line.rsplit(" ", 1) for line in done.stdout.splitlines()]
    return {p: (kernel_of({"what": a[0], "variant": None}), float(a[1])) for p, a in zip(problems, answers)}


def tiles(problem, kernel):
    """Tiles along the tokens of a forward product, or None for a name that has no tile."""
    match = re.match(r"(\d+)x(\d+)(?:x\d+)?(?:-\w+)*?(?:-(pair|quad)-([xy]))?(?:-(?:grid|cluster)\d)?(/swapped)?$", kernel)
    if not match:
        return None
    side = int(match[2]) if match[5] else int(match[1])
    if match[4] == ("x" if match[5] else "y"):
        side *= 2 if match[3] == "pair" else 4
    return -(-problem.m // side)


def family(problem):
    return "ieee_fma" if problem.arithmetic == "ieee_fma" else "chain" if problem.reduction == "chain" else "leaves"


def group(problem):
    low, high = next(r for r in RANGES if r[0] <= problem.m <= r[1])
    span = f"M {low} .. {high}" if high < 1 << 40 else f"M > {low - 1}"
    name = problem.reduction.split(":")[0] if family(problem) == "leaves" else family(problem)
    return f"{name}, {'forward' if problem.kind == 'forward' else problem.kind}, {span}"


def text(problem):
    return f"{problem.m} x {problem.n} x {problem.k} {problem.reduction} {problem.kind}"


def summary(rows, title):
    print(f"\n{title}\n")
    for name in sorted({r[0] for r in rows}):
        losses = [r[1] for r in rows if r[0] == name]
        print(f"  {name:44} {len(losses):4} problems, mean {sum(losses) / len(losses):6.2%}, worst {max(losses):6.1%}")


def forced_losses(times, chosen, kernels):
    rows, unknown = [], 0
    for (where, problem, _, _), by in times.items():
        offered = {name: us for name, us in by.items() if name.split("/")[0] in kernels}
        if len(offered) < MANY:
            continue
        name = chosen[problem][0]
        if name not in offered:
            unknown += 1
            continue
        best = min(offered, key=offered.get)
        rows.append((offered[name] / offered[best] - 1, where[0], problem, name, offered[name], best, offered[best]))
    return rows, unknown


def curves(times):
    """Times by everything but M and the file, to bound a kernel at M by one at a larger M."""
    by = collections.defaultdict(list)
    for (_, problem, promise, mode), each in times.items():
        for name, us in each.items():
            by[problem._replace(m=0), promise, mode, name].append((problem.m, us, tiles(problem, name)))
    return by


def bound(by, problem, promise, mode, name):
    """(microseconds, whether measured at this very M), or None."""
    known = by.get((problem._replace(m=0), promise, mode, name), [])
    here = sorted(us for m, us, _ in known if m == problem.m)
    if here:
        return here[len(here) // 2], True
    above = [us for m, us, count in known
             if m > problem.m and problem.kind == "forward" and count and count == tiles(problem, name)]
    return (min(above), False) if above else None


def compare(times, chosen, before):
    by, done, rows, open_ = curves(times), set(), [], 0
    for _, problem, promise, mode in times:
        old, new = before.get(" ".join(map(str, problem))), chosen[problem][0]
        if old is None or old == new or (problem, promise, mode) in done:
            continue
        done.add((problem, promise, mode))
        was, now = bound(by, problem, promise, mode, old), bound(by, problem, promise, mode, new)
        if was is None or now is None or not was[1]:
            open_ += 1
        else:
            rows.append((now[0] / was[0], group(problem), problem, old, was[0], new, now))
    print(f"\nChoices that differ from those before: {len(rows)} with a time of each, {open_} without")
    for name in sorted({r[1] for r in rows}):
        part = [math.log(r[0]) for r in rows if r[1] == name]
        print(f"  {name:44} {len(part):4} problems, time after over before: {math.exp(sum(part) / len(part)):.3f}")
    for ratio, _, problem, old, us, new, now in sorted(rows, key=lambda r: -r[0]):
        sign = "=" if now[1] else "<="
        print(f"  {ratio:.3f}  {text(problem)}: {old} {us:.1f} us, {new} {sign} {now[0]:.1f} us")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="*")
    parser.add_argument("--choices", required=True, metavar="PROGRAM")
    parser.add_argument("--worst", type=int, default=12, help="losses to list")
    parser.add_argument("--save", metavar="FILE", help="writes the choices to a file")
    parser.add_argument("--before", metavar="FILE", help="choices of another build, to compare with")
    parser.add_argument("--at-most", action="append", default=[], metavar="FAMILY=PERCENT",
                        help="fails where the mean loss of chain, leaves or ieee_fma is larger")
    options = parser.parse_args()
    paths = options.results or sorted((HERE / "results").glob("*h200*.json.xz"))
    try:
        times = recorded(paths)
    except load.Bad as error:
        sys.exit(f"replay.py: {error}")
    problems = sorted({key[1] for key in times})
    chosen = ask(options.choices, problems)
    kernels = subprocess.run([options.choices, "--kernels"], capture_output=True, text=True, check=True)
    rows, unknown = forced_losses(times, chosen, set(kernels.stdout.split()))
    if not rows:
        sys.exit("replay.py: no file has a problem with every kernel forced: measure with --variants all")
    summary([(group(r[2]), r[0]) for r in rows], "Loss against the best of all kernels, by what is computed")
    summary([(r[1], r[0]) for r in rows], "The same by file")
    print(f"\n{len(rows)} problems; of {unknown} the chosen kernel has no time. The largest losses:")
    for loss, _, problem, name, us, best, least in sorted(rows, key=lambda r: -r[0])[:options.worst]:
        print(f"  {loss:6.1%}  {text(problem)}: {name} {us:.1f} us, best {best} {least:.1f} us")
    if options.save:
        table = {" ".join(map(str, p)): chosen[p][0] for p in problems}
        pathlib.Path(options.save).write_text(json.dumps(table, indent=0), encoding="utf-8")
    if options.before:
        compare(times, chosen, json.loads(pathlib.Path(options.before).read_text(encoding="utf-8")))
    failed = False
    for limit in options.at_most:
        name, percent = limit.split("=")
        losses = [r[0] for r in rows if family(r[2]) == name]
        mean = sum(losses) / len(losses) if losses else math.inf
        if mean > float(percent) / 100:
            failed = True
            print(f"\n{name}: the mean loss is {mean:.2%}: it must be at most {percent} %")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
