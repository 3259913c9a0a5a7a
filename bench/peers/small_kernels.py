#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""small_kernels.py --json FILE: a decode step of Qwen3-1.7B's layers in one CUDA graph, the kernels between products in several forms.

Norms start the next kernel at once (1) or when they have read their row (2), with 1, 8 or 16 warps per row; SiLU likewise, with 2 or 8; plain:
launched as any kernel is. Products are detgemm's or torch.mm. Attention and the cache's write are an elementwise kernel of
PyTorch each. Weights are random. Microseconds per step, medians over turns A B .. B A, and whether all forms have equal bits.
"""
import argparse
import contextlib
import itertools
import statistics

import torch

import detgemm.torch as dt  # noqa: F401 - registers torch.ops.detgemm
from detgemm.torch.kernels import fused, rotary
from report import begun, save

H, INNER, LAYERS, HQ, HK, D = 2048, 6144, 28, 16, 8, 128
SHAPES = ((HQ + 2 * HK) * D, H), (H, HQ * D), (2 * INNER, H), (H, INNER)
CONTRACT = "hopper/bf16/chain->bf16"
KNOBS = ("NORM_STARTS", "NORM_WARPS", "SILU_STARTS", "SILU_WARPS")


def normal(*shape, scale=1.0):
    return (torch.randn(shape, device="cuda") * scale).bfloat16()


@contextlib.contextmanager
def form(values, plain=False):
    """The kernels' constants, and whether they start early at all."""
    kept, early = [getattr(fused, name) for name in KNOBS], fused._programmatic
    for name, value in zip(KNOBS, values, strict=True):
        setattr(fused, name, value)
    if plain:
        fused._programmatic = rotary._programmatic = lambda device: False
    yield
    for name, value in zip(KNOBS, kept, strict=True):
        setattr(fused, name, value)
    fused._programmatic = rotary._programmatic = early


class Model:
    def __init__(self):
        self.weights = [[normal(n, k, scale=k**-0.5).t() for n, k in SHAPES] for _ in range(LAYERS)]
        self.norm, self.q_norm, self.k_norm = normal(H), normal(D), normal(D)
        angle = torch.arange(4096, device="cuda")[:, None] / 10000 ** (torch.arange(D // 2, device="cuda") / (D // 2))
        self.table = torch.cat((angle.cos(), angle.sin()), dim=-1).bfloat16()

    def step(self, m, product):
        """The graph of a step over m rows, and what it writes."""
        torch.manual_seed(5)
        x, residual, at = normal(m, H), normal(m, H), torch.arange(m, device="cuda")
        attended = torch.empty(m, HQ * D, device="cuda", dtype=torch.bfloat16)

        def run():
            y, r = fused.rms_norm(x, residual, self.norm, 1e-6)
            for qkv_w, o_w, up_w, down_w in self.weights:
                q, k, _ = (each.unflatten(1, (-1, D)) for each in product(y, qkv_w).split([HQ * D, HK * D, HK * D], 1))
                q, k = rotary.rotary_pair(q, k, at, self.table, False, self.q_norm, self.k_norm, 1e-6)
                torch.mul(k, 1.0)
                torch.mul(q.view(m, -1), 1.0, out=attended)
                y, r = fused.rms_norm(product(attended, o_w), r, self.norm, 1e-6)
                y, r = fused.rms_norm(product(torch.ops.detgemm.silu_mul(product(y, up_w)), down_w), r, self.norm, 1e-6)
            return y

        run()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = run()
        graph.replay()
        return graph, y


def timed(graphs, rounds):
    """Microseconds per replay; the first round warms up."""
    times = {name: [] for name in graphs}
    for i in range(rounds + 1):
        for name in list(graphs) if i % 2 else list(graphs)[::-1]:
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            torch.cuda._sleep(60000)
            start.record()
            graphs[name].replay()
            end.record()
            torch.cuda.synchronize()
            times[name].append(start.elapsed_time(end) * 1e3)
    return {name: round(statistics.median(each[1:]), 1) for name, each in times.items()}


def ours(x, w):
    return torch.ops.detgemm.gemm(x, w, CONTRACT, None, None, stable=2)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json")
    parser.add_argument("--rows", default="1,8,40,104")
    parser.add_argument("--rounds", type=int, default=10)
    chosen = parser.parse_args()
    torch.manual_seed(0)
    model, results = Model(), []
    for m in map(int, chosen.rows.split(",")):
        graphs, outputs = {}, {}
        for values in itertools.product((1, 2), (1, 8, 16), (1, 2), (2, 8)):
            name = ", ".join(f"{knob.lower()} {value}" for knob, value in zip(KNOBS, values, strict=True))
            with form(values):
                graphs[name], outputs[name] = model.step(m, ours)
        for name, product in {"plain": ours, "plain, torch.mm": lambda x, w: torch.mm(x, w)}.items():
            with form((1, 8, 1, 4), plain=True):
                graphs[name], y = model.step(m, product)
            if product is ours:
                outputs[name] = y
        torch.cuda.synchronize()
        first = next(iter(outputs.values()))
        results.append({"rows": m, "us": timed(graphs, chosen.rounds), "equal": all(torch.equal(first, each) for each in outputs.values())})
        print(results[-1], flush=True)
    save(begun(results=results), chosen.json)


if __name__ == "__main__":
    main()
