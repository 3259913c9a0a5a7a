#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""A mixture of experts: a token's row in any batch, and gradients of the experts' weights in any micro-batches.

    examples/python/moe.py --device cpu
    examples/python/moe.py --device cuda --hidden 2048 --width 768 --experts 128 --chosen 8 --length 128

One layer as in Mixtral, with random weights: a router, `--chosen` of `--experts` experts for each token, each a
gated pair of products. Each arm computes
  forward    the rows of the last sequence alone, and in batches of up to `--sequences`, wherever it stands there
  gradients  of all weights, for all sequences at once, in halves, and one by one
Arms: "stock" is PyTorch as it is (`F.grouped_mm`), "ours" detgemm with every sequence's rows padded inside of each
expert, and "unpadded" the same without padding, a control in which gradients must differ. Exits with 1 where a bit
of "ours" depends on the batch or the cut, and where the control does not differ.
"""
import argparse

import torch
import torch.nn.functional as F

import detgemm.torch as dt

ROUTE = "ieee_fma/bf16/chain->fp32"


class Layer(torch.nn.Module):
    def __init__(self, options):
        super().__init__()
        e, n, k = options.experts, options.width, options.hidden
        torch.manual_seed(options.seed)
        self.chosen = options.chosen
        for name, shape in (("router", (e, k)), ("gate_up", (e, 2 * n, k)), ("down", (e, k, n))):
            weight = torch.randn(shape, device=options.device) / shape[-1] ** 0.5
            setattr(self, name, torch.nn.Parameter(weight.bfloat16(), requires_grad=name != "router"))

    def route(self, x, probabilities):
        """Experts of each token, and their weights: a stable sort, so that ties have one answer."""
        values, experts = torch.sort(probabilities, dim=-1, descending=True, stable=True)
        return experts[:, :self.chosen].reshape(-1), values[:, :self.chosen].to(x.dtype)


class Stock(Layer):
    def forward(self, x, samples):
        experts, weights = self.route(x, F.linear(x, self.router).float().softmax(-1))
        order = torch.argsort(experts, stable=True)
        offs = torch.bincount(experts, minlength=len(self.router)).cumsum(0).to(torch.int32)
        gate, up = F.grouped_mm(x[order // self.chosen], self.gate_up.mT, offs=offs).chunk(2, -1)
        y = F.grouped_mm(F.silu(gate) * up, self.down.mT, offs=offs)
        y = torch.empty_like(y).index_copy(0, order, y).view(len(x), self.chosen, -1)
        return (y * weights[..., None]).sum(1)


class Ours(Layer):
    """Keys are (expert, sample): within an expert one sample follows the other, each padded to a multiple."""

    def __init__(self, options, padded=True):
        super().__init__(options)
        self.policy = dt.Policy("hopper/bf16/chain->bf16", "hopper/bf16/chain->bf16",
                                f"hopper/bf16/fold:{options.leaf}->fp32")
        self.multiple = self.policy.step if padded else 1
        for weight in (self.gate_up, self.down):
            weight.main_grad = torch.zeros_like(weight, dtype=torch.float32)

    def forward(self, x, samples):
        count, top = int(samples), self.chosen
        experts, weights = self.route(x, dt.softmax(dt.gemm(x, self.router.t(), ROUTE)))
        sample = torch.arange(len(x) * top, device=x.device) // (len(x) * top // count)
        offs, index, places = dt.segments(experts * count + sample, len(self.router) * count, self.multiple)
        offs = offs[count - 1::count].contiguous()
        gate, up = dt.grouped_linear(dt.gather_rows(x, index, places, top), self.gate_up, offs, self.policy).chunk(2, -1)
        y = dt.grouped_linear(F.silu(gate) * up, self.down, offs, self.policy)
        y = dt.gather_rows(y, places, index).view(len(x), top, -1) * weights[..., None]
        total = y[:, 0]
        for slot in range(1, top):
            total = total + y[:, slot]
        return total


def forward_differs(layer, x):
    """Outputs of the last sequence that depend on what is computed beside it."""
    samples, worst = len(x), 0
    with torch.no_grad():
        alone = layer(x[-1], 1)
        for size in range(2, samples + 1):
            for place in {0, size // 2, size - 1}:
                batch = torch.cat((x[:place], x[-1:], x[place:size - 1]))
                rows = layer(batch.flatten(0, 1), size).view(size, *alone.shape)[place]
                worst = max(worst, int((rows.view(torch.int16) != alone.view(torch.int16)).sum()))
    return worst


def gradients(layer, x, dy, cut):
    """fp32 gradients of the experts' weights, `cut` sequences at a time."""
    weights = (layer.gate_up, layer.down)
    totals = []
    for weight in weights:
        weight.grad = None
        totals.append(getattr(weight, "main_grad", torch.zeros_like(weight, dtype=torch.float32)).zero_())
    for first in range(0, len(x), cut):
        part = slice(first, first + cut)
        y = layer(x[part].flatten(0, 1), len(x[part]))
        y.backward(dy[part].flatten(0, 1))
        for weight, total in zip(weights, totals):
            if weight.grad is not None:  # of PyTorch: rounded to bf16, added here in fp32
                total += weight.grad
                weight.grad = None
    return [total.clone() for total in totals]


def differing(found, wanted):
    return sum(int((a.view(torch.int32) != b.view(torch.int32)).sum()) for a, b in zip(found, wanted))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    for name, value in (("hidden", 64), ("width", 96), ("experts", 8), ("chosen", 2), ("sequences", 8), ("length", 13),
                        ("leaf", 64), ("seed", 0)):
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("--control", action="store_true", help="take the arm without padding for ours: exits with 1")
    options = parser.parse_args()
    source = torch.Generator().manual_seed(options.seed + 1)
    x, dy = (torch.randn(options.sequences, options.length, options.hidden, generator=source).bfloat16().to(options.device)
             for _ in range(2))
    arms = {"stock": Stock(options), "ours": Ours(options, not options.control), "unpadded": Ours(options, False)}
    cuts = sorted({options.sequences, options.sequences // 2, 1} - {0}, reverse=True)
    print(f"{options.experts} experts of {options.hidden} x {options.width} on {options.device}, {options.sequences} sequences of "
          f"{options.length} tokens, {options.chosen} experts each; elements with other bytes")
    print("arm       forward   " + "  ".join(f"gradient {options.sequences // cut} x {cut}".ljust(14) for cut in cuts[1:]))
    found = {}
    for name, layer in arms.items():
        whole = gradients(layer, x, dy, cuts[0])
        found[name] = [forward_differs(layer, x), *(differing(gradients(layer, x, dy, cut), whole) for cut in cuts[1:])]
        print(f"{name:8s}  {found[name][0]:7d}   " + "  ".join(f"{count:14d}" for count in found[name][1:]), flush=True)
    failed = any(found["ours"]) or found["unpadded"][0] or not all(found["unpadded"][1:])
    print(f"{'FAILED' if failed else 'passed'}: rows and gradients do not depend on batches and cuts, and without padding "
          "gradients do")
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
