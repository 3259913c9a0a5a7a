#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""masked.py OUT.json --checkpoint FOLDER --text FILE [--name WORDS]: what `snap` does to a masked language model, on a CPU.

model.py for models such as BERT: the same arms, and the same three figures over tokens that the model does not see. FOLDER
has config.json, the weights (model.safetensors or pytorch_model.bin) and a tokenizer, as transformers' save_pretrained writes
them; weights that the model's class does not know, such as further heads, are left out and counted, and one that is missing is
an error. Every line of FILE is one sequence. Nothing is downloaded.

Each sequence is read --draws times, each time with another 15 % of its tokens masked. The perplexity is that of the masked tokens,
given the others of their sequence. The head is fp32 in every arm.
"""
import argparse
import copy
import json
import pathlib

import torch
import transformers

import accuracy
import model as study

SHARE, SEED = 0.15, 20261123


def load(folder):
    """The model in fp32, and the names of weights in the folder that it has no place for."""
    found, report = transformers.AutoModelForMaskedLM.from_pretrained(
        folder, local_files_only=True, weights_only=True, dtype=torch.float32, output_loading_info=True)
    bad = sorted(map(str, [*report["missing_keys"], *report["mismatched_keys"]]))
    if bad:
        raise SystemExit(f"{folder}: {type(found).__name__} needs weights that are not there: {', '.join(bad)}")
    if head_of(found) is None:
        raise SystemExit(f"{folder}: {type(found).__name__} has more than a base model and a head of one module: its head cannot "
                         "be computed in fp32 while the blocks are not")
    return found.eval(), sorted(report["unexpected_keys"])


def head_of(model):
    """The one module beside the base model."""
    others = [module for name, module in model.named_children() if name != model.base_model_prefix]
    return others[0] if len(others) == 1 and model.base_model is not model else None


def masked(tokenizer, lines, draws, longest):
    """A pair per sequence: its tokens with the mask in some places, a row per draw, and what stood there (-1 elsewhere)."""
    generator = torch.Generator().manual_seed(SEED)
    pairs = []
    for line in lines:
        tokens = torch.tensor(tokenizer(line).input_ids)
        special = torch.tensor(tokenizer.get_special_tokens_mask(tokens.tolist(), already_has_special_tokens=True)).bool()
        places = (~special).nonzero().flatten()
        if len(tokens) > longest or len(places) == 0:
            raise SystemExit(f"a sequence of {len(tokens)} tokens, {len(places)} of them ordinary: it must have one of these, and "
                             f"{longest} in all at most")
        rows, hidden = tokens.repeat(draws, 1), torch.full((draws, len(tokens)), -1)
        for row in range(draws):
            chosen = places[torch.randperm(len(places), generator=generator)[:max(1, round(SHARE * len(places)))]]
            hidden[row, chosen] = tokens[chosen]
            rows[row, chosen] = tokenizer.mask_token_id
        pairs.append((rows, hidden))
    return pairs


def measure(model, pairs):
    """The arms of model.py over all masked tokens. Draws of a sequence are one batch, so nothing is padded."""
    def logits(arm):
        # A copy: the decoder of the head may share its weight with the embeddings, which stay as the arm has them.
        head = copy.deepcopy(head_of(arm)).float()
        return torch.cat([head(arm.base_model(rows).last_hidden_state[hidden >= 0].float()) for rows, hidden in pairs])
    return study.compare(model, logits, torch.cat([hidden[hidden >= 0] for _, hidden in pairs]))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--checkpoint", type=pathlib.Path, required=True)
    parser.add_argument("--text", type=pathlib.Path, required=True)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--name", help="the model's name in the table; without it, that of its class")
    options = parser.parse_args(arguments)
    model, left_out = load(options.checkpoint)
    tokenizer = transformers.AutoTokenizer.from_pretrained(options.checkpoint, local_files_only=True)
    lines = [line for line in options.text.read_text(encoding="utf-8").splitlines() if line.strip()]
    pairs = masked(tokenizer, lines, options.draws, model.config.max_position_embeddings)
    found = {"model": options.name or type(model).__name__, "class": type(model).__name__,
             "parameters": sum(each.numel() for each in model.parameters()), "left_out": left_out, "sequences": len(lines),
             "draws": options.draws, "tokens": sum(int((hidden >= 0).sum()) for _, hidden in pairs), "kind": "masked tokens"}
    report = {**accuracy.facts(), "torch": torch.__version__, "transformers": transformers.__version__,
              "models": [{**found, "arms": measure(model, pairs)}]}
    options.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
