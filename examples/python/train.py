#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Trains with a batch cut into micro-batches in several ways and compares all weights, byte for byte.

    examples/python/train.py --model tiny --device cpu
    examples/python/train.py --model 1b --device cuda --length 256

Each cut starts from the same weights and sees the same sequences; gradients are accumulated in fp32.
Exits with 1 where a weight of the arm "all" depends on the cut.
"""
import torch

import detgemm.torch

import common
from training import Trainer


def batches(options, model):
    source = torch.Generator().manual_seed(options.seed + 1)
    for _ in range(options.steps):
        yield torch.randint(model.config.vocab_size, (options.sequences, options.length + 1),
                            generator=source).to(options.device)


def learn(trainer, ids, constant):
    """Adds the gradients of one micro-batch; returns its log-probabilities."""
    values = trainer.log_probs(trainer.model(ids[:, :-1], use_cache=False).logits, ids[:, 1:])
    trainer.backward(values, torch.full_like(values, -1.0 / constant))
    return values.detach()


def run(options, arm, micro):
    """Weights after all steps with `micro` sequences per micro-batch, and the last loss."""
    model = common.build(options, arm, leaf=options.length)
    trainer = Trainer(model, options.rate, arm in ("all", "control"))
    for ids in batches(options, model):
        values = [learn(trainer, part, float(options.sequences * options.length)) for part in ids.split(micro)]
        trainer.step()
    return {name: p.detach().cpu() for name, p in trainer.parameters.items()}, -torch.cat(values).mean().item()


def audited(options, arm):
    """What one micro-batch of this arm adds together, and how."""
    model = common.build(options, arm, leaf=options.length)
    trainer, ids = Trainer(model, options.rate, True), next(batches(options, model))
    with detgemm.torch.audit() as report:
        learn(trainer, ids, 1.0)
    return report


def main():
    options = common.arguments(__doc__, sequences=8, length=64, steps=50, rate=1e-3)
    print(common.HONEST)
    cuts = [size for size in (options.sequences, options.sequences // 2, 1) if size]
    print(f"{options.model} on {options.device}: {options.steps} steps of Adam, {options.sequences} sequences of "
          f"{options.length} tokens; weights with the bytes of one micro-batch")
    columns = (9, *(16 for _ in cuts), 12)
    names = [f"{options.sequences // size} x {size}" for size in cuts]
    common.say(columns, ("arm", *names, "loss"))
    failed = False
    for arm in options.arms:
        first, loss = run(options, arm, cuts[0])
        counts = [f"{len(first)} of {len(first)}"]
        for size in cuts[1:]:
            weights, _ = run(options, arm, size)
            equal = sum(detgemm.torch.same_bits(first[name], weights[name]) for name in first)
            counts.append(f"{equal} of {len(first)}")
            failed |= arm in ("all", "control") and equal != len(first)
        common.say(columns, (arm, *counts, f"{loss:.4f}"))
    if "all" in options.arms:
        print(audited(options, "all"))
    common.finish(failed, "weights do not depend on how the batch is cut")


if __name__ == "__main__":
    main()
