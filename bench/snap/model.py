#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""model.py OUT.json [--checkpoint FOLDER [--text FILE]]: what `snap` does to a language model's predictions, on a CPU.

Two models of the architecture Llama, both bf16. "trained": 1.8 million parameters, which learn to predict the bytes of
this repository's own text for 120 steps, so that its perplexity on other pieces of the text means something. "random": random
weights with wider layers. Every arm computes the linear layers of all blocks; the head is fp32 in every arm, since
rounding logits to bf16 would hide everything else, and the rest is PyTorch's own bf16.

    KL            mean over tokens of KL(exact || arm), in nats; `exact` is the same model with bf16 weights in fp32
    perplexity    of the next byte

With --checkpoint it is instead the causal language model in a folder that transformers' save_pretrained wrote, with its
tokenizer, on a text: 16 pieces of FILE or, without it, of this repository's pages. Nothing is downloaded. masked.py does the
same with a masked language model.

An arm that rounds as little as bf16 itself has the KL of the arm `bf16`, since bf16 activations are what moves it.
"""
import argparse
import json
import math
import pathlib
import time

import torch
import transformers

import detgemm.torch as dt

import accuracy

ROOT = pathlib.Path(__file__).resolve().parents[2]
WIDTH, BATCH, HELD_OUT = 256, 8, 16
TRAINED = {"vocab_size": 256, "hidden_size": 256, "intermediate_size": 768, "num_hidden_layers": 2,
           "num_attention_heads": 4, "num_key_value_heads": 4, "max_position_embeddings": WIDTH}
RANDOM = {"vocab_size": 1024, "hidden_size": 1024, "intermediate_size": 2816, "num_hidden_layers": 4,
          "num_attention_heads": 8, "num_key_value_heads": 8, "max_position_embeddings": WIDTH}
E4M3_MAX = 448.0


def build(shape):
    torch.manual_seed(20261122)
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**shape, tie_word_embeddings=False))


def text():
    """The repository's sources and pages as bytes, in the order of their names; every eighth piece is held out."""
    files = sorted(path for folder in ("core", "cuda", "docs") for path in (ROOT / folder).rglob("*")
                   if path.suffix in (".md", ".hpp", ".cpp", ".cu", ".cuh"))
    data = torch.frombuffer(bytearray(b"".join(path.read_bytes() for path in files)), dtype=torch.uint8).long()
    pieces = data[:len(data) // (WIDTH + 1) * (WIDTH + 1)].view(-1, WIDTH + 1)
    held = torch.arange(len(pieces)) % 8 == 0
    return pieces[~held], pieces[held]


def train(model, pieces, steps):
    """Adam in fp32."""
    generator = torch.Generator().manual_seed(1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, betas=(0.9, 0.95))
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = 2e-3 * min(1, (step + 1) / 20) * (0.05 + 0.95 * (1 + math.cos(math.pi * step / steps)) / 2)
        rows = pieces[torch.randint(len(pieces), (BATCH,), generator=generator)]
        loss = torch.nn.functional.cross_entropy(model(rows[:, :-1]).logits.flatten(0, 1), rows[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(f"step {step}: loss {loss.item():.3f}", flush=True)
    return {"steps": steps, "last_loss": round(loss.item(), 4)}


def fp8_linear(x, weight, bias=None):
    """Rows of both operands scaled to e4m3's range and rounded; the sum in fp32, the result in bf16."""
    def rounded(tensor):
        scale = tensor.float().abs().amax(-1, keepdim=True).clamp(min=1e-30) / E4M3_MAX
        return (tensor.float() / scale).to(torch.float8_e4m3fn).float() * scale
    return torch.nn.functional.linear(rounded(x), rounded(weight), None if bias is None else bias.float()).to(torch.bfloat16)


def with_arm(model, arm):
    """A copy of a bf16 model whose linear layers, those of the head excepted, compute as the arm says."""
    torch.manual_seed(0)
    copy = type(model)(model.config)
    copy.load_state_dict(model.state_dict())
    copy = copy.eval()
    if arm == "exact":
        return copy.float()
    copy = copy.bfloat16()
    if "/" in arm:
        policy = dt.Policy(arm, arm, arm.split("->")[0] + "->fp32")
        dt.convert(copy.base_model, policy, snap_weights=arm.startswith("snap"))
    elif arm == "fp8 e4m3, scaled rows":
        for module in copy.base_model.modules():
            if isinstance(module, torch.nn.Linear):
                module.forward = lambda x, layer=module: fp8_linear(x, layer.weight, layer.bias)
    return copy


ARMS = ("exact", "bf16, PyTorch", "hopper/bf16/chain->bf16", "snap/bf16/fold:64->bf16", "snap/bf16/fold:128->bf16",
        "snap/bf16/fold:256->bf16", "snap/bf16/fold:512->bf16", "fp8 e4m3, scaled rows")


def logits_of(model, rows):
    """The head in fp32."""
    hidden = model.model(rows).last_hidden_state.float()
    return torch.nn.functional.linear(hidden, model.lm_head.weight.float())


def measure(model, rows):
    """What every arm predicts of the next token."""
    return compare(model, lambda arm: logits_of(arm, rows[:, :-1]), rows[:, 1:])


def compare(model, logits, targets):
    """KL against `exact` and perplexity of every arm, over the same tokens."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(parameter.bfloat16().float())
        found, exact = [], None
        for arm in ARMS:
            begin = time.monotonic()
            log_p = logits(with_arm(model, arm)).log_softmax(-1).double()
            exact = log_p if exact is None else exact
            kl = (exact.exp() * (exact - log_p)).sum(-1).mean().item()
            loss = -log_p.gather(-1, targets.unsqueeze(-1)).mean().item()
            same = (log_p.argmax(-1) == exact.argmax(-1)).double().mean().item()
            found.append({"arm": arm, "kl": float(f"{max(kl, 0.0):.4g}"), "perplexity": float(f"{math.exp(loss):.7g}"),
                          "same_first_choice": float(f"{same:.5g}")})
            print(f"{found[-1]}, {time.monotonic() - begin:.1f} s", flush=True)
    return found


def of_checkpoint(folder, file):
    """What is measured of somebody's model."""
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, local_files_only=True, dtype=torch.float32).eval()
    if not hasattr(model, "model") or getattr(model, "lm_head", None) is None or model.lm_head.bias is not None:
        raise SystemExit(f"{folder}: {type(model).__name__} has no `model` and `lm_head` without a bias: its head cannot be "
                         "computed in fp32 while the blocks are not")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    files = [file] if file else sorted((ROOT / "docs").glob("*.md"))
    tokens = torch.tensor(tokenizer("\n".join(path.read_text(encoding="utf-8") for path in files)).input_ids)
    pieces = tokens[:len(tokens) // (WIDTH + 1) * (WIDTH + 1)].view(-1, WIDTH + 1)
    if len(pieces) == 0:
        raise SystemExit(f"the text has {len(tokens)} tokens: {WIDTH + 1} or more are needed")
    rows = pieces[::max(1, len(pieces) // HELD_OUT)][:HELD_OUT]
    return {"model": type(model).__name__, "parameters": sum(p.numel() for p in model.parameters()),
            "tokens": rows[:, 1:].numel(), "arms": measure(model, rows)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--checkpoint", type=pathlib.Path)
    parser.add_argument("--text", type=pathlib.Path)
    options = parser.parse_args()
    if options.checkpoint:
        report = {**accuracy.facts(), "torch": torch.__version__, "transformers": transformers.__version__,
                  "models": [of_checkpoint(options.checkpoint, options.text)]}
        pathlib.Path(options.out).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
        return
    pieces, held_out = text()
    trained = build(TRAINED)
    training = train(trained, pieces, options.steps)
    tokens = torch.randint(RANDOM["vocab_size"], (2, WIDTH + 1), generator=torch.Generator().manual_seed(2))
    rows = held_out[:: max(1, len(held_out) // HELD_OUT)][:HELD_OUT]
    report = {**accuracy.facts(), "torch": torch.__version__, "transformers": transformers.__version__,
              "models": [{"model": "trained", "shape": TRAINED, "tokens": rows[:, 1:].numel(), **training,
                          "arms": measure(trained, rows)},
                         {"model": "random", "shape": RANDOM, "tokens": tokens[:, 1:].numel(),
                          "arms": measure(build(RANDOM), tokens)}]}
    pathlib.Path(options.out).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
