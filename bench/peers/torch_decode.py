#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""torch_decode.py --json FILE: one decode step of a model with Qwen3-8B's shapes in a CUDA graph.

Only the linear layers change: PyTorch's own, detgemm's, and detgemm's with the weights promised stable. The
weights are random. Reported per batch: milliseconds per step, the median over alternated blocks, and whether
sequence 0 has the same logits as in the batch of 1.
"""
import argparse
import statistics

import torch
from torch.nn import functional

import detgemm.torch as dt
from report import begun, save

BF16 = "hopper/bf16/chain->bf16"
POLICY = dt.Policy(BF16, BF16, "hopper/bf16/fold:1024->fp32")
WIDTH, INNER, HEADS, KV_HEADS, HEAD, VOCABULARY = 4096, 12288, 32, 8, 128, 151936


class Layer(torch.nn.Module):
    def __init__(self, batch, context):
        super().__init__()
        make = lambda inputs, outputs: torch.nn.Linear(inputs, outputs, bias=False)
        self.q, self.k, self.v = make(WIDTH, HEADS * HEAD), make(WIDTH, KV_HEADS * HEAD), make(WIDTH, KV_HEADS * HEAD)
        self.o = make(HEADS * HEAD, WIDTH)
        self.gate, self.up, self.down = make(WIDTH, INNER), make(WIDTH, INNER), make(INNER, WIDTH)
        self.norms = torch.nn.ModuleList(torch.nn.RMSNorm(WIDTH) for _ in range(2))
        # Every sequence has the same past, so that sequence 0 can be compared between batches.
        past = torch.randn(2, 1, KV_HEADS, context, HEAD) * 0.5
        self.register_buffer("past", past.expand(2, batch, KV_HEADS, context, HEAD).contiguous())

    def forward(self, x, batch):
        y = self.norms[0](x)
        q, k, v = (f(y).view(batch, 1, -1, HEAD).transpose(1, 2) for f in (self.q, self.k, self.v))
        keys, values = self.past[:, :batch]
        keys, values = torch.cat([keys, k], 2), torch.cat([values, v], 2)
        y = functional.scaled_dot_product_attention(q, keys, values, enable_gqa=True)
        x = x + self.o(y.transpose(1, 2).reshape(batch, -1))
        y = self.norms[1](x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class Model(torch.nn.Module):
    def __init__(self, layers, batch, context):
        super().__init__()
        self.layers = torch.nn.ModuleList(Layer(batch, context) for _ in range(layers))
        self.norm, self.head = torch.nn.RMSNorm(WIDTH), torch.nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x, x.shape[0])
        return self.head(self.norm(x))


def captured(model, x):
    with torch.no_grad():
        model(x)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            logits = model(x)
    return graph, logits


def milliseconds(graphs, blocks, replays):
    times = {name: [] for name in graphs}
    for block in range(blocks + 1):
        order = list(graphs.items())
        for name, (graph, _) in order[block % len(order):] + order[:block % len(order)]:
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            graph.replay()
            start.record()
            for _ in range(replays):
                graph.replay()
            end.record()
            end.synchronize()
            if block:
                times[name].append(start.elapsed_time(end) / replays)
    return {name: statistics.median(values) for name, values in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", default="1,7,8,33,64,100")
    parser.add_argument("--layers", type=int, default=36)
    parser.add_argument("--context", type=int, default=512)
    parser.add_argument("--blocks", type=int, default=9)
    parser.add_argument("--replays", type=int, default=8)
    parser.add_argument("--json")
    options = parser.parse_args()
    batches = [int(b) for b in options.batches.split(",")]
    torch.manual_seed(0)
    with torch.device("cuda"):
        torch.set_default_dtype(torch.bfloat16)
        model = Model(options.layers, max(batches), options.context)
        inputs = torch.randn(max(batches), WIDTH)
    names, _ = dt.convert(model, POLICY)
    linears = [module for module in model.modules() if isinstance(module, torch.nn.Linear)]
    print(f"{len(names)} linear layers, {sum(p.numel() for p in model.parameters()) / 1e9:.2f} billion weights")

    def use(arm):
        for module in linears:
            module.__class__ = torch.nn.Linear if arm == "stock" else dt.Linear
            module.weights_are_stable = arm == "stable"

    report = begun(layers=options.layers, context=options.context, rows=[])
    alone = {}
    for batch in batches:
        graphs = {}
        for arm in ("stock", "detgemm", "stable"):
            use(arm)
            graphs[arm] = captured(model, inputs[:batch].contiguous())
        times = milliseconds(graphs, options.blocks, options.replays)
        row = {"batch": batch, **{arm: times[arm] for arm in graphs}}
        for arm, (_, logits) in graphs.items():
            first = logits[:1].clone()
            alone.setdefault(arm, first)
            row[f"{arm}_same_bits"] = dt.same_bits(first, alone[arm])
        row["ratio"], row["ratio_stable"] = times["stock"] / times["detgemm"], times["stock"] / times["stable"]
        report["rows"].append(row)
        print(f"batch {batch:4d}: stock {times['stock']:.3f} ms, detgemm {times['detgemm']:.3f} ({row['ratio']:.3f}), "
              f"stable {times['stable']:.3f} ({row['ratio_stable']:.3f}); sequence 0 as in the batch of 1: stock "
              f"{row['stock_same_bits']}, detgemm {row['detgemm_same_bits']}", flush=True)
        del graphs
    for key in ("ratio", "ratio_stable"):
        ratios = [row[key] for row in report["rows"]]
        print(f"{key}: geometric mean {statistics.geometric_mean(ratios):.3f}, worst {min(ratios):.3f}")
    save(report, options.json)


if __name__ == "__main__":
    main()
