#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""DeepGEMM's FP8 GEMM on Hopper against the contract hopper/e4m3/scaled:128->bf16, bit for bit.

    PYTHONPATH=wheels python3 tests/peers/deep_gemm_bits.py --library libdetgemm.so -o deep_gemm.json

Two questions, each answered by counts:
  invariance  are the rows of fp8_gemm_nt at M = 1, 64, 100, 128 those of M = 4096, byte by byte?
  contract    are sampled rows the bytes that our reference computes on the CPU?
A peer that differs is a finding. Exit 1 where the control does not show: leaves of 64 in place of
128, with the same scales, must give other bytes on at least one output of the data that cancels;
or where nothing was compared. NaN payloads are not compared; NaN are counted.
"""
import argparse
import json
import sys
import time

import torch

from ours import package

LEAF = 128
SIZES = (1, 64, 100, 128, 4096)
SHAPES = ((4096, 576), (2112, 7168), (7168, 2048), (576, 7168), (4096, 7168), (24576, 1536))
KINDS = ("normal", "cancel", "bits")


class Reference:
    """The reference backend."""

    def __init__(self, path):
        self.detgemm = package(path)
        self.detgemm.start(0)

    def __call__(self, a, sa, b, sb, leaf=LEAF):
        """a (m x k, e4m3) times b (n x k, e4m3) transposed; sa (m x leaves), sb (blocks x leaves)."""
        d = torch.empty((a.shape[0], b.shape[0]), dtype=torch.bfloat16)
        self.detgemm.scaled_gemm(a, sa, b.t(), sb.t(), f"hopper/e4m3/scaled:{leaf}->bf16", out=d, backend="reference")
        return d.view(torch.int16)


def draw(kind, rows, cols, generator):
    """e4m3 bytes, random, no NaN among them."""
    device = generator.device
    if kind == "bits":
        raw = torch.randint(0, 256, (rows, cols), generator=generator, device=device,
                            dtype=torch.uint8)
        return torch.where((raw & 0x7f) == 0x7f, raw - 1, raw).view(torch.float8_e4m3fn)
    x = torch.randn(rows, cols, generator=generator, device=device) * 64
    return x.clamp(-448, 448).to(torch.float8_e4m3fn)


def cancelled(x):
    """The second half of K takes the first half away again, but for one number in 64."""
    half = x.shape[1] // 2 // LEAF * LEAF
    raw = x.view(torch.uint8).clone()
    flip = raw[:, :half] ^ 0x80
    flip[:, ::64] = raw[:, half:2 * half][:, ::64]
    raw[:, half:2 * half] = flip
    return raw.view(torch.float8_e4m3fn)


def draw_scales(rows, leaves, generator):
    exponent = torch.randint(-6, 7, (rows, leaves), generator=generator, device=generator.device)
    fraction = torch.rand(rows, leaves, generator=generator, device=generator.device) + 1
    return torch.ldexp(fraction, exponent)


def problem(kind, n, k, seed, device):
    generator = torch.Generator(device=device).manual_seed(seed)
    leaves = (k + LEAF - 1) // LEAF
    a = draw(kind, SIZES[-1], k, generator)
    b = draw(kind, n, k, generator)
    sa = draw_scales(SIZES[-1], leaves, generator)
    sb = draw_scales((n + 127) // 128, leaves, generator)
    if kind == "cancel" and k >= 2 * LEAF:
        half = k // 2 // LEAF
        a = cancelled(a)
        raw = b.view(torch.uint8).clone()
        raw[:, half * LEAF:2 * half * LEAF] = raw[:, :half * LEAF]
        b = raw.view(torch.float8_e4m3fn)
        sa[:, half:2 * half] = sa[:, :half]
        sb[:, half:2 * half] = sb[:, :half]
    return a, sa, b, sb


def differing(x, y):
    """Outputs that differ (bf16 as int16), where not both are NaN; and NaN in both."""
    nan_x, nan_y = (x & 0x7fff) > 0x7f80, (y & 0x7fff) > 0x7f80
    return int(((x != y) & ~(nan_x & nan_y)).sum()), int((nan_x & nan_y).sum())


def sampled_rows(seed):
    generator = torch.Generator().manual_seed(seed)
    some = torch.randint(0, SIZES[-1], (64,), generator=generator).tolist()
    return sorted({0, min(99, SIZES[-1] - 1), SIZES[-1] - 1, *some})


def gemm_of_peer(deep_gemm):
    """The peer, called in the first of these ways that its version takes."""
    def dense(a, sa, b, sb, d, **how):
        deep_gemm.fp8_gemm_nt((a, sa), (b, sb), d, **how)
        return d

    def one_group(a, sa, b, sb, d):
        """The grouped product with one group, whose rows it wants in multiples of 128."""
        more = -a.shape[0] % 128
        a, sa, d = (torch.cat([x, x.new_zeros((more, x.shape[1]))]) if more else x for x in (a.view(torch.uint8), sa, d))
        deep_gemm.m_grouped_fp8_gemm_nt_contiguous(
            (a.view(torch.float8_e4m3fn), sa), (b[None], sb[None]), d,
            torch.zeros(d.shape[0], dtype=torch.int32, device=d.device))
        return d[:d.shape[0] - more]

    ways = [("fp8_gemm_nt, recipe (1, 128, 128)", lambda *x: dense(*x, recipe=(1, 128, 128))),
            ("fp8_gemm_nt", dense), ("m_grouped_fp8_gemm_nt_contiguous, one group", one_group)]

    def gemm(a, sa, b, sb):
        while True:
            d = torch.full((a.shape[0], b.shape[0]), float("nan"), dtype=torch.bfloat16,
                           device=a.device)
            try:
                d = ways[0][1](a, sa, b, sb, d)
                torch.cuda.synchronize()
                return d.contiguous().view(torch.int16)
            except Exception as error:  # whatever a foreign library throws
                print(f"{ways[0][0]} for M = {a.shape[0]}: {error}", file=sys.stderr)
                if len(ways) == 1:
                    raise
                ways.pop(0)
    gemm.way = lambda: ways[0][0]
    return gemm


def measure(gemm, reference, kind, n, k, seed, device):
    a, sa, b, sb = problem(kind, n, k, seed, device)
    row = {"kind": kind, "n": n, "k": k}
    results = {m: gemm(a[:m].contiguous(), sa[:m].contiguous(), b, sb) for m in SIZES}
    whole = results[SIZES[-1]]
    row["rows_of_other_m"] = sum(SIZES[:-1])
    row["invariance_outputs"] = row["rows_of_other_m"] * n
    row["invariance_differ"] = sum(differing(results[m], whole[:m])[0] for m in SIZES[:-1])
    row["repeat_differ"] = differing(gemm(a, sa, b, sb), whole)[0]
    picked = sampled_rows(seed)
    on_host = [x.cpu() for x in (a[picked].contiguous(), sa[picked].contiguous(), b, sb)]
    begin = time.time()
    expected = reference(*on_host)
    row["reference_seconds"] = round(time.time() - begin, 2)
    row["contract_outputs"] = expected.numel()
    row["contract_differ"], row["nan"] = differing(whole[picked].cpu(), expected)
    if row["contract_differ"]:
        at = (whole[picked].cpu() != expected).nonzero()[0].tolist()
        row["first"] = {"row": picked[at[0]], "col": at[1],
                        "theirs": f"{int(whole[picked][at[0], at[1]]) & 0xffff:04x}",
                        "ours": f"{int(expected[at[0], at[1]]) & 0xffff:04x}"}
    if kind == "cancel":  # the control: other leaves, the same scales
        halves = [s.repeat_interleave(2, 1)[:, :(k + 63) // 64].contiguous()
                  for s in (on_host[1], on_host[3])]
        other = reference(on_host[0], halves[0], on_host[2], halves[1], leaf=64)
        row["control_differ"] = differing(other, whole[picked].cpu())[0]
    return row


def self_test(reference):
    """Without a GPU: the reference takes the calls that this script makes, and the control shows."""
    def gemm(a, sa, b, sb):
        return reference(a, sa, b, sb)

    global SIZES
    SIZES = (1, 3, 130)
    return [measure(gemm, reference, kind, 200, 576, 7, "cpu") for kind in KINDS]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--library", required=True, help="libdetgemm.so with the reference")
    parser.add_argument("--shapes", type=int, default=len(SHAPES), help="how many of the shapes")
    parser.add_argument("--seconds", type=float, default=300, help="begin no shape after this long")
    parser.add_argument("--self-test", action="store_true", help="ours against ours, on the host")
    parser.add_argument("-o", "--output", help="a JSON file")
    options = parser.parse_args()
    reference = Reference(options.library)
    report = {"library": reference.detgemm.version(), "torch": torch.__version__}
    begin = time.time()
    if options.self_test:
        report["rows"] = self_test(reference)
    else:
        import deep_gemm
        report["peer"] = "DeepGEMM " + str(getattr(deep_gemm, "__version__", "of unknown version"))
        report["device"] = torch.cuda.get_device_name()
        report["rows"] = []
        gemm = gemm_of_peer(deep_gemm)
        for index, (n, k) in enumerate(SHAPES[:options.shapes]):
            for kind in KINDS:
                if time.time() - begin > options.seconds:
                    continue
                report["rows"].append(measure(gemm, reference, kind, n, k, 11 + index, "cuda"))
                print(json.dumps(report["rows"][-1]), flush=True)
        report["call"] = gemm.way()
    total = {key: sum(row.get(key, 0) for row in report["rows"])
             for key in ("invariance_outputs", "invariance_differ", "contract_outputs",
                         "contract_differ", "repeat_differ", "control_differ", "nan")}
    report["total"], report["seconds"] = total, round(time.time() - begin, 1)
    if options.output:
        with open(options.output, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=1)
    print(f"{report.get('peer', 'self-test')} on {report.get('device', 'the host')}: "
          f"{total['invariance_differ']} of {total['invariance_outputs']} outputs change with M; "
          f"{total['contract_differ']} of {total['contract_outputs']} differ from "
          f"hopper/e4m3/scaled:128->bf16 ({total['nan']} NaN in both); {total['repeat_differ']} "
          f"change from call to call; control: {total['control_differ']}; {report['seconds']} s")
    sys.exit(0 if total["contract_outputs"] and total["control_differ"] else 1)


if __name__ == "__main__":
    main()
