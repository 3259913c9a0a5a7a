#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Generates text in several ways and compares the logits of every generated token, byte for byte.

    examples/python/generate.py --model tiny --device cpu
    examples/python/generate.py --model qwen3-8b --device cuda --sequences 64

The reference is one forward pass per sequence, alone. Against it: decoding alone, a batch padded on
the left, all sequences packed into one row, prompts in chunks, and continuous batching, in which
prompts' chunks and single tokens of other sequences share a step. Exits with 1 where bytes differ.
"""
import random

import torch

from detgemm.torch import transformers as hooks

import common


def prompts(options, vocabulary):
    source = random.Random(options.seed)
    return [[source.randrange(vocabulary) for _ in range(source.randint(3, options.prompt))]
            for _ in range(options.sequences)]


def padded(rows, device):
    """Token ids, mask and positions of a batch padded on the left."""
    width = max(map(len, rows))
    mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows], device=device)
    ids = torch.tensor([[0] * (width - len(row)) + row for row in rows], device=device)
    return ids, mask, (mask.cumsum(1) - 1).clamp(min=0)


def batch(model, rows, new, follow=None):
    """Greedy decoding of a left-padded batch, or of given tokens; returns tokens and logits."""
    ids, mask, places = padded(rows, model.device)
    cache, tokens, logits = None, [], []
    for step in range(new):
        out = model(ids, attention_mask=mask, position_ids=places, past_key_values=cache, use_cache=True,
                    logits_to_keep=1)
        cache = out.past_key_values
        logits.append(out.logits[:, -1])
        chosen = logits[-1].argmax(-1) if follow is None else follow[:, step]
        tokens.append(chosen)
        ids, places = chosen[:, None], places[:, -1:] + 1
        mask = torch.cat((mask, torch.ones_like(ids)), 1)
    return torch.stack(tokens, 1), torch.stack(logits, 1)


def alone(model, row, new, tokens):
    """One forward pass of one sequence."""
    ids = torch.tensor([row + tokens[:-1].tolist()], device=model.device)
    return model(ids).logits[0, len(row) - 1:]


def decoded_alone(model, row, new, tokens):
    return batch(model, [row], new, tokens[None])[1][0]


def chunked(model, row, new, tokens, size):
    """The prompt in chunks, then token by token, with transformers' cache."""
    cache, logits = None, []
    chunks = [row[at:at + size] for at in range(0, len(row), size)] + [[t] for t in tokens[:-1].tolist()]
    for chunk in chunks:
        out = model(torch.tensor([chunk], device=model.device), past_key_values=cache, use_cache=True,
                    logits_to_keep=1)
        cache = out.past_key_values
        logits.append(out.logits[0])
    return torch.cat(logits[-new:])


def packed(model, rows, new, tokens, ours):
    """Every sequence behind the other in one row."""
    whole = [row + tokens[i, :-1].tolist() for i, row in enumerate(rows)]
    ids = torch.tensor([sum(whole, [])], device=model.device)
    places = torch.tensor([[p for row in whole for p in range(len(row))]], device=model.device)
    starts = [sum(map(len, whole[:i])) for i in range(len(whole))]
    mask = hooks.table([[0, s, len(r), 0, s, len(r)] for s, r in zip(starts, whole)], ids.device) if ours else None
    wanted = [s + len(r) - new + i for s, r in zip(starts, whole) for i in range(new)]
    logits = model(ids, position_ids=places, attention_mask=mask, use_cache=False,
                   logits_to_keep=torch.tensor(wanted, device=ids.device)).logits[0]
    return logits.view(len(rows), new, -1)


def continuous(model, rows, new, tokens, budget, size):
    """A scheduler: running sequences advance by a token, free tokens of the budget go to prompts in
    chunks; sequences arrive two per step and leave when they are done."""
    slots = hooks.Slots(model.config, min(len(rows), 8), max(map(len, rows)) + new, model.dtype, model.device)
    free, running, waiting = list(range(len(slots.lengths))), {}, list(range(len(rows)))
    found = [[] for _ in rows]
    while waiting or running:
        for _ in range(2):
            if waiting and free:
                running[waiting[0]] = (free.pop(), list(rows[waiting[0]]))
                waiting.pop(0)
        work, left = [], budget
        for i, (slot, rest) in running.items():
            chunk = rest[:min(left, size)] if rest else [int(tokens[i, len(found[i]) - 1])]
            if chunk and left > 0:
                work.append((i, slot, chunk))
                left -= len(chunk)
        last = slots.load([(slot, chunk) for _, slot, chunk in work])
        logits = slots.run(model, logits_to_keep=torch.tensor(last, device=model.device)).logits[0]
        for (i, slot, chunk), row in zip(work, logits):
            rest = running[i][1]
            del rest[:len(chunk)]
            if not rest:
                found[i].append(row)
            if len(found[i]) == new:
                slots.lengths[slot] = 0
                free.append(slot)
                del running[i]
    return torch.stack([torch.stack(rows) for rows in found])


def main():
    options = common.arguments(__doc__, sequences=6, prompt=24, new=4, chunk=5, budget=16, some=4)
    print(common.HONEST)
    print(f"{options.model} on {options.device}: {options.sequences} sequences, prompts of 3 to {options.prompt} "
          f"tokens, {options.new} generated; logits with other bytes than one forward pass alone")
    columns = (9, 11, 11, 11, 11, 11)
    common.say(columns, ("arm", "decode", "left-padded", "packed", "chunked", "continuous"))
    failed, total = {}, 0
    for arm in options.arms:
        model = common.build(options, arm)
        ours = arm in ("all", "control")
        rows, new = prompts(options, model.config.vocab_size), options.new
        some = range(min(options.some, len(rows)))  # decoded alone, one after the other
        watch = common.Watch()
        with torch.no_grad(), watch:
            tokens, in_batch = batch(model, rows, new)
            wanted = torch.stack([alone(model, row, new, tokens[i]) for i, row in enumerate(rows)])
            count = {
                "decode": sum(common.differing(decoded_alone(model, rows[i], new, tokens[i]), wanted[i]) for i in some),
                "left-padded": common.differing(in_batch, wanted),
                "packed": common.differing(packed(model, rows, new, tokens, ours), wanted),
                "chunked": sum(common.differing(chunked(model, rows[i], new, tokens[i], options.chunk), wanted[i])
                               for i in some),
                "continuous": common.differing(continuous(model, rows, new, tokens, options.budget, options.chunk),
                                               wanted) if ours else "-"}
        total = wanted.numel()
        failed[arm] = any(value for value in count.values() if value != "-")
        common.say(columns, (arm, *count.values()))
        if ours:
            print(watch)
        del model, wanted, in_batch
    print(f"{total} logits per column ({total // options.sequences} per sequence); the digest of none is compared, "
          "every byte is")
    proved = [arm for arm in options.arms if arm in ("all", "control")]
    common.finish(any(failed[arm] for arm in proved), "logits do not depend on how a sequence is run, arm "
                  + ", ".join(proved or ["none"]))


if __name__ == "__main__":
    main()
