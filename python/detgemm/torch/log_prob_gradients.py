# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""What the gradients of a head with log-probabilities have in common, on one rank and on several."""
import torch

# Of logits that exist at a time in either pass, and of G in their place; four times as many of G where logits are kept.
STRIPE_BYTES = 2**28


def save(ctx, operands, main_grads, output):
    """operands: x, weight, targets, scale, bias; output: what the operator of the forward pass returns."""
    _, lse, entropy, target_logit, k, r, kept = output
    ctx.set_materialize_grads(False)
    ctx.mark_non_differentiable(target_logit, k, r, kept)
    ctx.save_for_backward(*operands, k, r, lse, entropy, kept)
    ctx.main_grads = main_grads  # not saved as operands: every backward pass adds to them


def gradients(ctx, upstream, call, count):
    """A gradient for each of `count` inputs, from `call(tensors, stripe_bytes, (of x, of weight, of bias))`."""
    needs, grads = ctx.needs_input_grad, [None] * count
    of = needs[0], needs[1], needs[4]
    dlogp, dlse, dentropy = upstream[:3]
    if not ctx.has_entropy:
        dentropy = None
    if dlogp is None and dlse is None and dentropy is None:
        return tuple(grads)
    saved = ctx.saved_tensors
    found = call((dlogp, dlse, dentropy, *saved), STRIPE_BYTES, of)
    for place, wanted, gradient, main_grad in zip((0, 1, 4), of, found, (None, *ctx.main_grads)):
        if wanted and main_grad is None:
            grads[place] = gradient
        elif wanted and ctx.zero_gradient:
            grads[place] = torch.zeros_like(saved[place])
    return tuple(grads)
