# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""docs/bench/sm90.md: what was measured of the SM90 kernels, from the files of their own runs."""
import figures

# (range, suite of the files, least M, largest M, arm of ours, what was asked)
RANGES = (
    ("M = 1 .. 64", "small", 1, 64, "chain", "1.25 / 0.97; 1.10 without the promise"),
    ("M = 128 .. 512", "middle", 128, 512, "chain", "1.10 / 0.97"),
    ("M = 1024 .. 8192, bursts", "large", 1024, 8192, "chain", "1.05 / 0.99"),
    ("M = 1024 .. 8192, settled", "settled", 1024, 8192, "chain", "1.02 / 0.98"),
    ("dA, 512 .. 8192 tokens", "dA", 512, 8192, "chain", "1.05 / 0.97"),
    ("dB, 512 .. 8192 tokens", "dB", 512, 8192, "chain", "1.05 / 0.97"),
    ("M 8191, N or K odd", "odd", 1, 8192, "chain", "-"),
    ("fp16, M = 16 and 4096", "fp16", 1, 8192, "chain", "-"),
    ("tree of 8 leaves, M = 1 .. 64", "tree-small", 1, 64, "tree", "1.20 / 0.95"),
    ("tree of 8 leaves, M = 128 .. 512", "tree-middle", 128, 512, "tree", "1.05 / 0.90"),
    ("tree of 8 leaves, M = 1024 .. 8192, bursts", "tree-large", 1024, 8192, "tree", "0.97 / 0.90"),
    ("tree of 8 leaves, M = 4096, settled", "tree-settled", 4096, 4096, "tree", "-"),
    ("tree, N 256 .. 1024, K 8192 .. 28672, M <= 16", "tree-skinny", 1, 16, "tree", "1.20 / 1.00"),
    ("fold:1024, 4096 .. 32768 tokens", "fold-large", 4096, 32768, "fold", "1.00 / 0.92"),
    ("fold:1024, dB added to fp32, 4096 .. 32768 tokens", "fold-dB", 4096, 32768, "fold", "1.00 / 0.92"),
)
WEIGHTS = ((1024, 4096), (4096, 4096), (6144, 4096), (4096, 12288), (4096, 14336), (8192, 8192),
           (10240, 8192), (24576, 4096), (28672, 4096), (8192, 28672), (57344, 8192), (128256, 4096),
           (151936, 4096))


def cases_of(runs, suite, low, high):
    """case: (run, result); of several files the last one counts."""
    found = {}
    for run in runs:
        for result in run["results"]:
            if suite in result["suites"] and low <= result["m"] <= high:
                found[result["case"], result["mode"]] = (run, result)
    return list(found.values())


def ratio_of(run, result, name):
    arm = next((arm for arm in result["arms"] if arm["arm"] == name), None)
    vendor = figures.vendor_us(run, result)
    return vendor / arm["us"] if arm and vendor else None


def both(values):
    return f"{figures.geomean(values):.3f} / {min(values):.3f}" if values else "not measured"


def range_rows(runs):
    rows, losses = [], []
    for title, suite, low, high, arm, asked in RANGES:
        cases = cases_of(runs, suite, low, high)
        early = [(ratio_of(run, result, arm + "+stable"), result["case"]) for run, result in cases]
        plain = [(ratio_of(run, result, arm), result["case"]) for run, result in cases]
        rows.append([title, len(cases), both([r for r, _ in early if r]), both([r for r, _ in plain if r]),
                     asked])
        worst = sorted((r, case) for r, case in (early if any(r for r, _ in early) else plain) if r)[:3]
        losses.append([title] + [f"{case} {r:.3f}" for r, case in worst] + [""] * (3 - len(worst)))
    return rows, losses


def beside_rows(runs):
    """Ours beside ours: the aligned neighbour of an odd shape, bf16 beside fp16."""
    rows = []
    for suite in ("odd", "fp16"):
        for _, result in cases_of(runs, suite, 1, 1 << 30):
            arm = next((one for one in result["arms"] if one["arm"] == "chain+stable"), None)
            other = result.get("neighbour")
            if arm and other:
                rows.append([result["case"], f"{result['m']} x {result['n']} x {result['k']}",
                             f"{arm['us']:.4g}", other["case"], f"{other['us']:.4g}",
                             f"{other['us'] / arm['us']:.3f}"])
    return rows


def read_share(runs):
    """Share of a pure read of the weights that chains of few tokens reach."""
    shares = []
    for _, result in cases_of(runs, "small", 1, 16):
        reads = [arm["us"] for arm in result["arms"] if arm["role"] == "ceiling"]
        mine = next((arm["us"] for arm in result["arms"] if arm["arm"] == "chain+stable"), None)
        if reads and mine:
            shares.append((min(reads) / mine, result["case"]))
    if not shares:
        return "No file holds reads of the weights alone."
    worst = min(shares)
    mean = sum(share for share, _ in shares) / len(shares)
    return (f"Chains of at most 16 tokens with weights of 100 MB and more reach {mean:.3f} of the fastest "
            f"read of the same weights on average, {worst[0]:.3f} at worst ({worst[1]}); "
            f"{len(shares)} points. The target is 0.95.")


def bits_sentence(runs):
    """Outputs that were compared in the same runs, with a plain chain and with cuBLASLt."""
    seen = different = points = equal = 0
    for suite in ("small", "middle", "large", "settled", "dA", "dB"):
        for _, result in cases_of(runs, suite, 1, 1 << 30):
            bits = result.get("bits", {})  # of files converted from the kernels' own benchmark
            seen += bits.get("chain_seen", 0)
            different += bits.get("chain_different", 0)
            points += "cublas0_seen" in bits
            equal += bits.get("cublas0_seen", 0) > 0 and not bits["cublas0_different"]
            for arm in result["arms"]:
                if arm["role"] == "detgemm" and arm["bits"]:
                    seen += arm["bits"]["outputs"]
                    different += arm["bits"]["different"]
                elif arm["arm"] == "cublaslt0" and arm["bits"]:
                    points += 1
                    equal += not arm["bits"]["different"]
    return (f"In these runs {seen:,} outputs of chains, dA and dB were compared with a plain mma.sync chain: "
            f"{different:,} differ. {equal} of {points} points equal cuBLASLt without workspace in every bit."
            ) if seen else "These files compare no bits."


def floor_rows():
    rows = []
    for n, k in WEIGHTS:
        size, flops = 2.0 * n * k, 2.0 * 4096 * n * k
        rows.append([f"{n} x {k}", f"{size * 1e-6:.1f}", f"{size / 4.4e6:.1f} .. {size / 4.6e6:.1f}",
                     f"{flops / 8e8:.0f} / {flops / 7e8:.0f}"])
    return rows


def build(runs):
    ranges, losses = range_rows(runs)
    used = [run for run in runs if any(suite in {one[1] for one in RANGES}
                                       for result in run["results"] for suite in result["suites"])]
    blocks = [
        ("h1", "SM90 kernels: what was measured"),
        ("note", "Generated by `python3 bench/report sm90 bench/results/*-h200-*.json.xz`; do not edit. How "
                 "the kernels work: [sm90.md](../sm90.md). What was tried: [the log](../log/sm90.md)."),
        ("p", "One H200 at a time (cards differ by about 3 %, so figures compare within one run only), cuBLASLt "
              "in the same process, arms in turn. The ratio is the time of the faster of cuBLASLt with 32 MiB "
              "of workspace and without, over ours: geometric mean / worst. *Promised stable*: B is promised "
              "not to be written by earlier work on the stream. Losses stand as they are."),
        ("h2", "Against cuBLASLt"),
        ("table", ["range", "points", "B promised stable", "no promise", "target"], ranges),
        ("p", "The same targets against all committed results: [targets.md](targets.md)."),
        ("h2", "The worst points"),
        ("table", ["range", "worst", "second", "third"], losses),
        ("h2", "Beside our own neighbours"),
        ("p", "An odd shape beside the aligned one, and fp16 beside bf16; microseconds, and the neighbour's time "
              "over ours."),
        ("table", ["case", "M x N x K", "us", "neighbour", "us", "ratio"], beside_rows(runs)),
        ("h2", "Against reading the weights"), ("p", read_share(runs)),
        ("h2", "Bits"), ("p", bits_sentence(runs)),
        ("h2", "Floors"),
        ("p", "Bytes and FLOPs of the weights' shapes, computed. Memory is the floor below about M = 178 "
              "(800 TFLOP/s over 4.5 TB/s), arithmetic above it."),
        ("table", ["N x K", "weights, MB", "read at 4.4 .. 4.6 TB/s, us", "M = 4096 at 800 / 700 TFLOP/s, us"],
         floor_rows()),
        ("h2", "Files"),
        ("list", [f"[{run['file']}](../../bench/results/{run['file'].split('.')[0]}.md), {run['date']}, commit "
                  f"`{run['commit']}`" for run in used] +
         ["[every kernel, forced](../../bench/results/2026-11-22-h200-variants.md) for chains, and for "
          "[folds and trees](../../bench/results/2026-11-22-h200-leaf-variants.md)",
          "[what the profiler says](../../bench/results/2026-11-22-h200-ncu.md)",
          "[what a call costs the host](../../bench/results/2026-11-22-h200-host-overhead.md)"]),
    ]
    return blocks
