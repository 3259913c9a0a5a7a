#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""torch_training.py --json FILE: forward and backward of a model with Llama-1B's shapes, 8192 tokens.

PyTorch's own linear layers with bf16 gradients that are then added to fp32 ones, against detgemm's, which add
to fp32 `main_grad` inside the product. Milliseconds per step, the median over alternated blocks.
"""
import torch
from torch.nn import functional

import detgemm.torch as dt
from report import begun, options, save
from timing import medians

BF16 = "hopper/bf16/chain->bf16"
WIDTH, INNER, HEADS, KV_HEADS, HEAD, VOCABULARY = 2048, 8192, 32, 8, 64, 128256


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        make = lambda inputs, outputs: torch.nn.Linear(inputs, outputs, bias=False)
        self.q, self.k, self.v = make(WIDTH, HEADS * HEAD), make(WIDTH, KV_HEADS * HEAD), make(WIDTH, KV_HEADS * HEAD)
        self.o = make(HEADS * HEAD, WIDTH)
        self.gate, self.up, self.down = make(WIDTH, INNER), make(WIDTH, INNER), make(INNER, WIDTH)
        self.norms = torch.nn.ModuleList(torch.nn.RMSNorm(WIDTH) for _ in range(2))

    def forward(self, x):
        y = self.norms[0](x)
        q, k, v = (f(y).unflatten(-1, (-1, HEAD)).transpose(1, 2) for f in (self.q, self.k, self.v))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.o(y.transpose(1, 2).flatten(2))
        y = self.norms[1](x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class Model(torch.nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.embed = torch.nn.Embedding(VOCABULARY, WIDTH)
        self.layers = torch.nn.ModuleList(Layer() for _ in range(layers))
        self.norm, self.head = torch.nn.RMSNorm(WIDTH), torch.nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        logits = self.head(self.norm(x))
        return functional.cross_entropy(logits.flatten(0, 1).float(), tokens.flatten(), reduction="sum") / tokens.numel()


def main():
    parser = options(__doc__, only=False, variants=False)
    parser.add_argument("--layers", type=int, default=16)
    parser.add_argument("--sequences", type=int, default=4)
    parser.add_argument("--length", type=int, default=2048)
    parser.add_argument("--blocks", type=int, default=5)
    given = parser.parse_args()
    torch.manual_seed(0)
    with torch.device("cuda"):
        torch.set_default_dtype(torch.bfloat16)
        model = Model(given.layers)
        tokens = torch.randint(0, VOCABULARY, (given.sequences, given.length))
    policies = {"fold:1024": dt.Policy(BF16, BF16, "hopper/bf16/fold:1024->fp32"),
                "chain": dt.Policy(BF16, BF16, "hopper/bf16/chain->fp32")}
    dt.convert(model, policies["chain"])
    linears = [module for module in model.modules() if isinstance(module, torch.nn.Linear)]
    sums = {p: torch.zeros_like(p, dtype=torch.float32) for p in model.parameters()}
    of_linears = {p for module in linears for p in module.parameters()}

    def use(arm):
        for module in linears:
            module.__class__ = torch.nn.Linear if arm == "stock" else dt.Linear
            for parameter in module.parameters():
                parameter.__dict__.pop("main_grad", None)
                if arm != "stock":
                    module.policy, parameter.main_grad = policies[arm], sums[parameter]

    def step(arm):
        use(arm)
        model(tokens).backward()
        for parameter, total in sums.items():
            if parameter.grad is not None:  # what has no main_grad is added here
                total += parameter.grad
                parameter.grad = None

    arms = {arm: lambda arm=arm: step(arm) for arm in ("stock", *policies)}
    took = {arm: us / 1000 for arm, us in medians(arms, given.blocks, block_us=1).items()}
    report = begun(tokens=tokens.numel(), layers=given.layers, accumulated_by_products=len(of_linears), ms=took)
    for arm, value in took.items():
        print(f"{arm:10s} {value:8.2f} ms per step, stock / this {took['stock'] / value:.3f}")
    save(report, given.json)


if __name__ == "__main__":
    main()
