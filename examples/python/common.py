# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""What the three programs share: models with random weights, arms, the planted fault, the report."""
import argparse
import collections

import torch
import transformers

import detgemm.torch
from detgemm.torch import transformers as hooks

# Real configurations; weights are random, so that nothing is downloaded. Embeddings are not tied to
# the head: the two gradients would otherwise be added alternately, in an order that the cut decides.
MODELS = {
    "tiny": (transformers.Qwen3Config, dict(
        vocab_size=256, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=16, max_position_embeddings=2048)),
    "tiny-moe": (transformers.Qwen3MoeConfig, dict(
        vocab_size=256, hidden_size=64, intermediate_size=128, moe_intermediate_size=64, num_experts=8,
        num_experts_per_tok=2, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=16,
        max_position_embeddings=2048, norm_topk_prob=True)),
    # Llama 3.2 1B, Qwen3 8B and Qwen3 30B-A3B
    "1b": (transformers.LlamaConfig, dict(
        vocab_size=128256, hidden_size=2048, intermediate_size=8192, num_hidden_layers=16,
        num_attention_heads=32, num_key_value_heads=8, head_dim=64, max_position_embeddings=131072,
        rms_norm_eps=1e-5)),
    "qwen3-8b": (transformers.Qwen3Config, dict(
        vocab_size=151936, hidden_size=4096, intermediate_size=12288, num_hidden_layers=36,
        num_attention_heads=32, num_key_value_heads=8, head_dim=128, max_position_embeddings=40960)),
    "qwen3-30b-a3b": (transformers.Qwen3MoeConfig, dict(
        vocab_size=151936, hidden_size=2048, intermediate_size=6144, moe_intermediate_size=768, num_experts=128,
        num_experts_per_tok=8, num_hidden_layers=48, num_attention_heads=32, num_key_value_heads=4, head_dim=128,
        max_position_embeddings=40960, norm_topk_prob=True)),
}

ARMS = {"stock": "PyTorch as it is, attention by sdpa", "linear": "linear layers by detgemm, all else PyTorch",
        "all": "every reduction by detgemm", "control": "all, with a planted fault: K is cut by the number of rows"}


class Split(torch.nn.Linear):
    """The planted fault: what a heuristic does that looks at M. K is cut in two, at a place that
    depends on the binary order of the number of rows, and two rounded products are added."""

    def forward(self, x):
        order = (x.numel() // x.shape[-1]).bit_length()
        cut = x.shape[-1] * (1 + order % 4) // 8
        first = torch.cat((x[..., :cut], torch.zeros_like(x[..., cut:])), -1)
        return super().forward(first) + super().forward(x - first)


def arguments(description, **defaults):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--model", choices=MODELS, default="tiny")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--control", action="store_true",
                        help="plant a fault in place of the proof; the program must exit with 1")
    parser.add_argument("--arms", default="stock,linear,all", help="some of " + ", ".join(ARMS))
    for name, value in defaults.items():
        parser.add_argument("--" + name.replace("_", "-"), type=type(value), default=value)
    options = parser.parse_args()
    options.arms = ["control"] if options.control else options.arms.split(",")
    unknown = [arm for arm in options.arms if arm not in ARMS]
    if unknown:
        parser.error(f"--arms names {unknown[0]}: it must name some of {', '.join(ARMS)}")
    torch.backends.cuda.matmul.allow_tf32 = False
    return options


def policy(leaf):
    return detgemm.torch.Policy(forward="hopper/bf16/chain->bf16", dgrad="hopper/bf16/chain->bf16",
                                wgrad=f"hopper/bf16/fold:{leaf}->fp32")


def build(options, arm, leaf=1024):
    """A model of this arm; the same weights for every arm."""
    kind, values = MODELS[options.model]
    if getattr(options, "vocabulary", 0):
        values = {**values, "vocab_size": options.vocabulary}
    torch.manual_seed(options.seed)
    config = kind(**values, tie_word_embeddings=False, use_cache=False)
    with torch.device(options.device):
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16,
                                                              attn_implementation="sdpa")
    model.eval()
    if arm == "linear":
        detgemm.torch.convert(model, policy(leaf))
    elif arm in ("all", "control"):
        hooks.use(model, policy(leaf))
    if arm == "control":
        for module in model.modules():
            if isinstance(module, detgemm.torch.Linear):
                module.__class__ = type("SplitLinear", (Split, type(module)), {})
    return model


class Watch:
    """An audit that may be entered several times; prints what all of them saw."""

    def __init__(self):
        self.rows = collections.Counter()

    def __enter__(self):
        self.audit = detgemm.torch.audit()
        self.report = self.audit.__enter__()

    def __exit__(self, *error):
        self.audit.__exit__(*error)
        self.rows.update({row[:4]: row[4] for row in self.report.rows})

    def __str__(self):
        return "\n".join(f"{calls:8d}  {verdict:9s}  {operator:32s} {dtype:9s} {why}".rstrip()
                         for (operator, dtype, verdict, why), calls in sorted(self.rows.items()))


def differing(found, wanted):
    """How many elements have other bytes."""
    integer = {2: torch.int16, 4: torch.int32}[found.element_size()]
    return int((found.contiguous().view(integer) != wanted.contiguous().view(integer)).sum())


def say(columns, values):
    print("  ".join(f"{text!s:{width}}" for text, width in zip(values, columns)), flush=True)


def finish(failed, what):
    """One sentence, and the exit status."""
    print(f"{'FAILED' if failed else 'passed'}: {what}")
    raise SystemExit(1 if failed else 0)


HONEST = ("Random weights on one device: this says nothing about quality, about several GPUs or about other "
          "engines. Equal means byte for byte.")
