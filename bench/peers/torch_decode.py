#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""torch_decode.py --json FILE: one decode step of a model with Qwen3-8B's shapes in a CUDA graph.

Only the linear layers change: PyTorch's own, detgemm's, and detgemm's with the weights promised stable. The
weights are random. Reported per batch: milliseconds per step, the median over alternated blocks, and whether
sequence 0 has the same logits as in the batch of 1.
"""
import statistics

import torch
from torch.nn import functional

import detgemm.torch as dt
from report import begun, options, save
from timing import graph_of, medians

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


def main():
    parser = options(__doc__, only=False, variants=False)
    parser.add_argument("--batches", default="1,7,8,33,64,100")
    parser.add_argument("--layers", type=int, default=36)
    parser.add_argument("--context", type=int, default=512)
    parser.add_argument("--blocks", type=int, default=9)
    given = parser.parse_args()
    batches = [int(b) for b in given.batches.split(",")]
    torch.manual_seed(0)
    with torch.device("cuda"):
        torch.set_default_dtype(torch.bfloat16)
        model = Model(given.layers, max(batches), given.context)
        inputs = torch.randn(max(batches), WIDTH)
    names, _ = dt.convert(model, POLICY)
    linears = [module for module in model.modules() if isinstance(module, torch.nn.Linear)]
    print(f"{len(names)} linear layers, {sum(p.numel() for p in model.parameters()) / 1e9:.2f} billion weights")

    def use(arm):
        for module in linears:
            module.__class__ = torch.nn.Linear if arm == "stock" else dt.Linear
            module.weights_are_stable = arm == "stable"

    report = begun(layers=given.layers, context=given.context, rows=[])
    alone = {}
    for batch in batches:
        graphs, x = {}, inputs[:batch].contiguous()
        for arm in ("stock", "detgemm", "stable"):
            use(arm)
            with torch.no_grad():
                graphs[arm] = graph_of([lambda x=x: model(x)])
        took = medians({arm: graph.replay for arm, graph in graphs.items()}, given.blocks, block_us=50_000)
        times = {arm: us / 1000 for arm, us in took.items()}
        row = {"batch": batch, **{arm: times[arm] for arm in graphs}}
        for arm, graph in graphs.items():
            first = graph.results[0][:1].clone()
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
    save(report, given.json)


if __name__ == "__main__":
    main()
