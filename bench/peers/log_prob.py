#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""log_prob.py PART [--seed N] [--heads N] --json FILE: log-probabilities of random heads beside what has no written order.

forward   the fused pass, with and without the entropy, beside torch.mm into bf16 (no softmax at all): CUDA graphs
train     forward and backward of a mean cross entropy: linear_log_prob as it decides, with kept logits and without, beside
          PyTorch eager and compiled, a chunked head by cuBLAS and, where it is installed, Liger: calls as a trainer makes
          them, or with --graphs both passes of each as one CUDA graph
rows      log_probs_of of stored bf16 logits beside vLLM's kernel where it is installed, else one of the same plan: CUDA graphs
"""
import argparse
import importlib
import math
import random

import torch
import torch.nn.functional as nnf

import detgemm.torch as dt
from detgemm.torch.heads import dgrad_of
from report import begun, save
from timing import medians, sentence, sets_for, times

HEADS = (2048, 151936), (4096, 151936), (8192, 128256), (3584, 152064), (2304, 256000), (5120, 32000), (4096, 128256), (2560, 262144)
ODD = (2048, 50257), (4096, 32001), (3072, 49159), (2560, 100277)  # with --odd
TOKENS = 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384
LARGEST = 4.4e9  # bytes of one array of logits
CHAIN = "hopper/bf16/chain->bf16"


def normal(*shape, scale=1.0):
    return (torch.randn(shape, device="cuda") * scale).bfloat16()


def draw(source, tokens_of, heads_of, count):
    found = []
    while len(found) < count:
        tokens, head = source.choice(tokens_of), source.choice(heads_of)
        if 2 * tokens * head[1] <= LARGEST:
            found.append((tokens, *head))
    return found


def forward(tokens, hidden, words):
    x, weights = normal(tokens, hidden), [normal(words, hidden, scale=hidden**-0.5)]
    ids, z = torch.randint(words, (tokens,), device="cuda"), torch.empty(tokens, words, device="cuda", dtype=torch.bfloat16)
    policy = dt.Policy(CHAIN, CHAIN, "hopper/bf16/chain->fp32")

    def ours(entropy):
        return [lambda w=w: dt.linear_log_prob(x, w, ids, policy, entropy=entropy) for w in weights]

    return times({"torch.mm": [lambda w=w: torch.mm(x, w.t(), out=z) for w in weights], "fused": ours(False), "entropy": ours(True)})


def chunked(x, weight, ids, gradient, budget=2**28):
    """The published scheme of a fused linear cross entropy: chunks of tokens, whose gradients are computed at once."""
    step = max(128, budget // (2 * weight.shape[0]) // 128 * 128)
    dx, dw = torch.empty_like(x), None
    for begin in range(0, x.shape[0], step):
        part = slice(begin, begin + step)
        g = gradient(x[part] @ weight.t(), ids[part], 1 / x.shape[0])
        torch.mm(g, weight, out=dx[part])
        dw = g.t() @ x[part] if dw is None else dw.addmm_(g.t(), x[part])
    return dx, dw


def softmax_gradient(z, ids, factor):
    hot = torch.arange(z.shape[1], device=z.device)[None, :] == ids[:, None]
    return ((torch.softmax(z.float(), -1) - hot.float()) * factor).to(z.dtype)


def cross_entropy(x, weight, ids):
    return nnf.cross_entropy((x @ weight.t()).float(), ids)


def train(tokens, hidden, words, graphs):
    x, weight = normal(tokens, hidden).requires_grad_(), normal(words, hidden, scale=hidden**-0.5).requires_grad_()
    ids = torch.randint(words, (tokens,), device="cuda")
    policy = dt.Policy(CHAIN, dgrad_of(tokens, hidden, words), "hopper/bf16/fold:1024->fp32")

    def step(loss):
        x.grad = weight.grad = None
        loss(x, weight, ids).backward()

    def ours(keep):
        return lambda x, weight, ids: -dt.linear_log_prob(x, weight, ids, policy, keep_logits=keep).logp.mean()

    compiled, gradient = torch.compile(cross_entropy, dynamic=False), torch.compile(softmax_gradient, dynamic=True)
    runs = {"ours": lambda: step(ours(None)), "kept": lambda: step(ours(True)), "not kept": lambda: step(ours(False)),
            "compiled": lambda: step(compiled),
            "chunked": lambda: chunked(x.detach(), weight.detach(), ids, gradient)}
    if tokens * words < 3e8:
        runs["eager"] = lambda: step(cross_entropy)
    if tokens <= 1024:
        try:
            liger = importlib.import_module("liger_kernel.ops.fused_linear_cross_entropy").LigerFusedLinearCrossEntropyFunction
            runs["Liger"] = lambda: step(lambda *arrays: liger.apply(*arrays)[0])
        except ImportError as error:
            print("  Liger:", sentence(error))
    if graphs:
        for run in runs.values():  # PyTorch captures a backward pass that ran on another stream before
            with torch.cuda.stream(torch.cuda.Stream()):
                run()
        return times({name: [run] for name, run in runs.items()}, 5)
    return medians(runs, 5, 1)


def rival_of_rows():
    try:
        return importlib.import_module("vllm.v1.worker.gpu.sample.logprob").compute_token_logprobs
    except ImportError as error:
        print("  vLLM:", sentence(error))
    return importlib.import_module("row_log_prob").row_log_probs


def rows(tokens, _, words):
    sets = [normal(tokens, words, scale=3.0) for _ in range(sets_for(2 * tokens * words, most=8))]
    ids, rival = torch.randint(words, (tokens, 1), device="cuda"), rival_of_rows()
    return times({"rival": [lambda z=z: rival(z, ids) for z in sets],
                  "log_probs_of": [lambda z=z: dt.log_probs_of(z, ids[:, 0]) for z in sets]})


OURS = {"forward": ("fused",), "train": ("ours",), "rows": ("log_probs_of",)}
MINE = {"fused", "entropy", "ours", "kept", "not kept", "log_probs_of"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=sorted(OURS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--heads", type=int, default=20)
    parser.add_argument("--graphs", action="store_true")
    parser.add_argument("--tokens", type=int, nargs="*", default=TOKENS, help="numbers of tokens to draw from")
    parser.add_argument("--odd", action="store_true", help="vocabularies that are no multiple of 16 are drawn too")
    parser.add_argument("--json", required=True)
    asked = parser.parse_args()
    torch._dynamo.config.recompile_limit = 100
    report, ratios = begun(part=asked.part, seed=asked.seed, graphs=asked.graphs), []
    for shape in draw(random.Random(asked.seed), asked.tokens, HEADS + ODD if asked.odd else HEADS, asked.heads):
        took = globals()[asked.part](*shape, *([asked.graphs] if asked.part == "train" else []))
        best = min(us for name, us in took.items() if name not in MINE)
        ratios.append(best / took[OURS[asked.part][0]])
        report.setdefault("cases", []).append({"tokens": shape[0], "hidden": shape[1], "words": shape[2], "us": took})
        print(shape, " ".join(f"{name} {us:.1f}" for name, us in took.items()), f"ratio {ratios[-1]:.3f}", flush=True)
        save(report, asked.json)
        torch.cuda.empty_cache()
    print(f"{asked.part}: geometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}, worst {min(ratios):.3f}")


if __name__ == "__main__":
    main()
