#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""triton_sm80.py --json FILE: the kernels of mma.sync beside a Triton kernel of tl.dot that is compiled for sm_80, on one card.

Both have the instructions of an A100, so the card of 9.0 stands for one: Triton's PTX of sm_80 is assembled for this card. Of
Triton the fastest of a few settings counts, of detgemm the fastest tile. Problems are a fixed list, or drawn (--drawn COUNT).
Each case: microseconds, medians over alternated blocks, rotating operands, CUDA graphs; and outputs that differ from the
backend's own chain.
"""
import os
import random
import statistics

os.environ["TRITON_OVERRIDE_ARCH"] = "sm80"  # before triton reads it

import torch
import triton
import triton.backends.nvidia.compiler as compiler
import triton.language as tl
from report import begun, differing, options, save
from timing import sentence, sets_for, times

import detgemm.torch  # noqa: F401 - registers torch.ops.detgemm

CHAIN = "hopper/bf16/chain->bf16"
FIXED = ((1, 18432, 16384), (16, 3840, 4096), (32, 8192, 4096), (64, 3840, 4096), (64, 18432, 16384), (128, 4096, 14336),
         (256, 3840, 4096), (512, 7168, 2048), (1024, 18432, 16384), (4096, 3840, 4096), (8192, 8192, 2048))
TILES = ("16x32", "16x32-k128", "16x64", "16x128", "32x32", "32x64", "64x32", "64x64", "64x96", "64x128", "128x128", "128x128-8w")


@triton.jit
def product(a, b, d, m, n, k, a_row, b_col, d_row, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, BAND: tl.constexpr):
    """A tile per program, in bands of BAND rows of tiles; both operands run along k."""
    program, across = tl.program_id(0), tl.cdiv(n, BN)
    first = program // (BAND * across) * BAND
    high = min(tl.cdiv(m, BM) - first, BAND)
    inside = program % (BAND * across)
    row = (first + inside % high) * BM + tl.arange(0, BM)
    col = inside // high * BN + tl.arange(0, BN)
    step = tl.arange(0, BK)
    a_at = a + (row % m)[:, None] * a_row + step[None, :]
    b_at = b + (col % n)[None, :] * b_col + step[:, None]
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, k, BK):  # k is a multiple of BK
        acc = tl.dot(tl.load(a_at), tl.load(b_at), acc)
        a_at += BK
        b_at += BK
    tl.store(d + row[:, None].to(tl.int64) * d_row + col[None, :], acc.to(d.dtype.element_ty), mask=(row < m)[:, None] & (col < n)[None, :])


def multiply(a, b, d, setting):
    (m, k), n, (bm, bn, bk, warps, stages) = a.shape, b.shape[1], setting
    if k % bk:
        raise ValueError(f"K is {k}: it must be a multiple of {bk}")
    product[(triton.cdiv(m, bm) * triton.cdiv(n, bn),)](a, b, d, m, n, k, a.stride(0), b.stride(1), d.stride(0), BM=bm, BN=bn, BK=bk, BAND=8,
                                                        num_warps=warps, num_stages=stages)


def assemble_for_this_card():
    """Triton would assemble for sm_80, whose machine code does not run here."""
    plain, (major, minor) = compiler.CUDABackend.make_cubin, torch.cuda.get_device_capability()
    compiler.CUDABackend.make_cubin = lambda self, source, metadata, given, capability: plain(self, source, metadata, given, major * 10 + minor)


def settings(m):
    """Of Triton: BM, BN, BK, warps, stages."""
    if m <= 16:
        return [(16, 64, 128, 4, 5), (16, 32, 128, 4, 6), (16, 32, 256, 4, 4)]
    if m <= 64:
        return [(64, 64, 64, 4, 5), (32, 64, 128, 4, 5), (64, 32, 128, 4, 4)]
    if m <= 256:
        return [(64, 128, 64, 4, 4), (128, 64, 64, 4, 4), (64, 64, 64, 4, 4)]
    return [(128, 256, 64, 8, 3), (128, 128, 64, 8, 3), (128, 128, 32, 4, 4)]


def tiles(m):
    """Of detgemm: those with no more than twice the rows, and not the smallest for many."""
    return [tile for tile in TILES if (rows := int(tile.partition("x")[0])) < 2 * max(m, 16) and 16 * rows >= min(m, 1024)]


def drawn(count, seed):
    draw = random.Random(seed)
    rows = (1, 4, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
    return [(draw.choice(rows), 128 * draw.randint(8, 128), 256 * draw.randint(4, 48)) for _ in range(count)]


def case(m, n, k):
    sets = sets_for(2 * (m * k + n * k), 2, 24)
    a = [torch.randn(m, k, device="cuda").bfloat16() for _ in range(sets)]
    b = [torch.randn(n, k, device="cuda").bfloat16().t() for _ in range(sets)]
    d = [torch.empty(m, n, device="cuda", dtype=torch.bfloat16) for _ in range(2)]

    def ours(i, variant=""):
        torch.ops.detgemm.gemm.out(a[i], b[i], CHAIN, variant=variant, out=d[i % 2])

    def theirs(i, setting):
        multiply(a[i], b[i], d[i % 2], setting)
    arms = {"backend": [lambda i=i: ours(i) for i in range(sets)]}
    arms |= {f"mma/{tile}": [lambda i=i, tile=tile: ours(i, f"mma/{tile}") for i in range(sets)] for tile in tiles(m)}
    arms |= {f"triton {setting}": [lambda i=i, setting=setting: theirs(i, setting) for i in range(sets)] for setting in settings(m)}
    ours(0)
    wanted, differ = d[0].clone(), {}
    for name, calls in arms.items():
        try:
            d[0].fill_(-3)
            calls[0]()
            differ[name] = differing(d[0], wanted)
        except Exception as error:  # a setting that does not fit; `times` says so too
            print(f"  {name}: {sentence(error)}")
    took = times({name: arms[name] for name in differ}, blocks=5)
    best = lambda words: min((us, name) for name, us in took.items() if name.startswith(words))
    (us, tile), (rival, setting) = best("mma/"), best("triton")
    row = {"m": m, "n": n, "k": k, "us": took, "differ": differ, "tile": tile, "setting": setting, "triton": rival / us,
           "backend": took["backend"] / us}
    print(f"{m} x {n} x {k}: {tile} {us:.1f} us, {setting} {rival:.1f} ({row['triton']:.3f}), backend {took['backend']:.1f} "
          f"({row['backend']:.3f}); differ: ours {sum(v for x, v in differ.items() if x.startswith('mma'))}, Triton "
          f"{sum(v for x, v in differ.items() if x.startswith('triton'))}", flush=True)
    return row


def main():
    parser = options(__doc__, only=False, variants=False)
    parser.add_argument("--drawn", type=int, default=0, help="so many drawn problems in place of the fixed list")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    assemble_for_this_card()
    report = begun(seed=given.seed, rows=[])
    for problem in drawn(given.drawn, given.seed) if given.drawn else FIXED:
        report["rows"].append(case(*problem))
        save(report, given.json)
    ratios = [row["triton"] for row in report["rows"]]
    print(f"Triton's time over ours: geometric mean {statistics.geometric_mean(ratios):.3f}, worst {min(ratios):.3f}")


if __name__ == "__main__":
    main()
