#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""bench_torch.py: host cost of a call, eager decode and a training step of a 1B model, as JSON.

run.py --bench runs it with and without the preload, in turns, and prints the ratios.
"""
import json
import statistics
import sys
import time

try:
    import torch
    from torch import nn
except ImportError:
    print("PyTorch is not installed", file=sys.stderr)
    sys.exit(3)

HIDDEN, LAYERS, FEED, VOCABULARY = 2048, 16, 8192, 32000  # about 1.1 billion weights
ROUNDS = 15


class Block(nn.Module):
    """The products of a layer, and as little else as trains."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(HIDDEN)
        self.qkv = nn.Linear(HIDDEN, 3 * HIDDEN, bias=False)
        self.out = nn.Linear(HIDDEN, HIDDEN, bias=False)
        self.up = nn.Linear(HIDDEN, FEED)
        self.down = nn.Linear(FEED, HIDDEN)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        x = x + self.out(q * torch.sigmoid(k) + v)
        return x + self.down(nn.functional.gelu(self.up(x), approximate="tanh"))


def model():
    return nn.Sequential(nn.Embedding(VOCABULARY, HIDDEN), *(Block() for _ in range(LAYERS)),
                         nn.Linear(HIDDEN, VOCABULARY, bias=False)).to("cuda", torch.bfloat16)


def median_ms(run):
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        run()
        torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times)


def host_us():
    """The time until a small product's call returns, the queue of the device never being full."""
    x = torch.randn(1, 64, device="cuda", dtype=torch.bfloat16)
    w = torch.randn(64, 64, device="cuda", dtype=torch.bfloat16)
    out = torch.empty(1, 64, device="cuda", dtype=torch.bfloat16)
    best = []
    for _ in range(50):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(200):
            torch.mm(x, w, out=out)
        best.append(1e6 * (time.perf_counter() - start) / 200)
    return statistics.median(best)


def main():
    if not torch.cuda.is_available():
        print("no CUDA device", file=sys.stderr)
        return 3
    torch.manual_seed(1)
    net = model()
    result = {"device": torch.cuda.get_device_name(), "torch": torch.__version__,
              "host_us": host_us()}
    for batch in (1, 16, 64):
        tokens = torch.randint(VOCABULARY, (batch, 1), device="cuda")
        with torch.no_grad():
            result[f"decode_{batch}_ms"] = median_ms(lambda t=tokens: net(t))
    tokens = torch.randint(VOCABULARY, (4, 1024), device="cuda")
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)

    def step():
        optimizer.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(net(tokens).flatten(0, 1).float(), tokens.flatten()).backward()
        optimizer.step()

    result["train_ms"] = median_ms(step)
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
