#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""REINFORCE on a toy reward: do the trainer's log-probabilities equal the rollout's?

    examples/python/rl.py --model tiny --device cpu
    examples/python/rl.py --model 1b --device cuda --sequences 32 --new 32
    examples/python/rl.py --head fused --vocabulary 65536 --arms all

The rollout samples with a KV cache, all sequences in one padded batch. The trainer scores the same
tokens by full forward passes in micro-batches of other sizes and padding. Exits with 1 where a
log-probability of the arm "all" has other bytes, that is, where the divergence is not exactly 0.
"""
import contextlib
import random
import resource

import torch

import common
from detgemm.torch import heads
from generate import padded
from training import Trainer


def noise(seed, step, count, place, size, device):
    """Gumbel noise that is a function of the seed, the step, the sequence, the place and the token."""
    x = torch.arange(count, device=device)[:, None] * 1000003 + torch.arange(size, device=device)
    x = x + ((seed * 8191 + step) * 8191 + place) * 0x9E3779B97F4A7C1 % 2 ** 62
    for factor in (-0x00AE502812AA7333, -0x3B314601E57A13AD):
        x = (x ^ (x >> 33 & 0x7FFFFFFF)) * factor
    uniform = ((x >> 40 & 0xFFFFFF).double() + 0.5) / 2 ** 24
    return -torch.log(-torch.log(uniform)).float()


@torch.no_grad()
def rollout(trainer, rows, new, seed, step):
    """Samples with a KV cache; returns tokens and their log-probabilities, count x new."""
    model = trainer.model
    ids, mask, places = padded(rows, model.device)
    cache, tokens, values = None, [], []
    for place in range(new):
        out = model(ids, attention_mask=mask, position_ids=places, past_key_values=cache, use_cache=True,
                    logits_to_keep=1)
        cache, logits = out.past_key_values, out.logits[:, -1]
        drawn = (logits.float() + noise(seed, step, len(rows), place, logits.shape[-1], logits.device)).argmax(-1)
        values.append(trainer.log_probs(logits, drawn))
        tokens.append(drawn)
        ids, places = drawn[:, None], places[:, -1:] + 1
        mask = torch.cat((mask, torch.ones_like(ids)), 1)
    return torch.stack(tokens, 1), torch.stack(values, 1)


def inputs_of(trainer, rows, tokens):
    """What a forward pass over whole sequences reads, on the device: copies there wait for the device, so they are made beforehand."""
    new = tokens.shape[1]
    ids, mask, places = padded([row + drawn.tolist() for row, drawn in zip(rows, tokens)], trainer.model.device)
    lengths = [len(row) + new - 1 for row in rows]
    longest, mask = max(lengths), mask[:, :-1]
    if trainer.ours and not trainer.fused:  # segments: a mask would be read by the host
        mask = common.hooks.table([[at, longest - each, each, at, longest - each, each] for at, each in enumerate(lengths)], ids.device)
    elif min(lengths) == longest:
        mask = None
    return ids[:, :-1], mask, places[:, :-1], tokens.to(ids.device)


def score(trainer, ids, mask, places, tokens):
    """Log-probabilities of the sampled tokens by one forward pass."""
    given = {"input_ids": ids, "attention_mask": mask, "position_ids": places, "use_cache": False}
    if trainer.fused:
        return heads.log_probs(trainer.model, tokens, trainer.model.lm_head.policy, **given).logp
    return trainer.log_probs(trainer.model(**given, logits_to_keep=tokens.shape[1]).logits, tokens)


def run(options, arm, watch):
    """Per step: the reward, the largest difference and the divergence k3. watch: audits the first step."""
    model = common.build(options, arm, leaf=options.length)
    trainer = Trainer(model, options.rate, arm in ("all", "control"), options.head)
    source, results = random.Random(options.seed), []
    vocabulary, count = model.config.vocab_size, options.sequences
    for step in range(options.steps):
        rows = [[source.randrange(vocabulary) for _ in range(source.randint(3, options.prompt))]
                for _ in range(count)]
        with watch if step == 0 else contextlib.nullcontext():
            tokens, sampled = rollout(trainer, rows, options.new, options.seed, step)
        reward = (tokens < vocabulary // 2).double().mean(1)
        gain = ((reward - reward.mean()) / (count * options.new)).float()
        scored = []
        for at in range(0, count, options.micro):
            part = slice(at, at + options.micro)
            with watch if step == 0 else contextlib.nullcontext():
                values = score(trainer, *inputs_of(trainer, rows[part], tokens[part]))
                trainer.backward(values, -gain[part, None].expand_as(values).contiguous())
            scored.append(values.detach())
        trainer.step()
        difference = (torch.cat(scored).double() - sampled.double())
        results.append((reward.mean().item(), difference.abs().max().item(),
                        (difference.exp() - 1 - difference).mean().item(),
                        common.differing(torch.cat(scored), sampled)))
    return results


def main():
    options = common.arguments(__doc__, sequences=8, prompt=12, new=8, steps=4, micro=3, rate=1e-3, length=64, head="logits",
                               vocabulary=0)
    if options.head not in ("logits", "fused"):
        raise SystemExit(f'--head is "{options.head}": it must be logits or fused')
    print(common.HONEST)
    print(f"{options.model} on {options.device}: rollouts of {options.sequences} sequences and {options.new} tokens, "
          f"trained in micro-batches of {options.micro}")
    columns = (9, 5, 8, 22, 14, 22)
    common.say(columns, ("arm", "step", "reward", "max |logp difference|", "k3 divergence", "logps with other bytes"))
    failed = False
    for arm in options.arms:
        watch = common.Watch()
        results = run(options, arm, watch)
        for step, (reward, largest, divergence, other) in enumerate(results):
            common.say(columns, (arm, step, f"{reward:.3f}", f"{largest:.3e}", f"{divergence:.3e}",
                                 f"{other} of {options.sequences * options.new}"))
        if arm in ("all", "control"):
            failed |= any(other for *_, other in results)
            print(watch)
    # Of the whole process and all arms: name one arm to compare heads.
    peak = (torch.cuda.max_memory_allocated() / 2 ** 20 if options.device == "cuda" else
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2 ** 10)
    print(f"most memory: {peak:.0f} MiB")
    common.finish(failed, "the trainer's log-probabilities are the rollout's, so the divergence is exactly 0")


if __name__ == "__main__":
    main()
