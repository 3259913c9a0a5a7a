# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Log-probabilities of a linear layer's outputs without storing these: torch.ops.detgemm.linear_log_prob.

The library computes both passes (python/torch_ops/linear_log_prob.cpp); ranks that share a vocabulary call log_prob_sharded.
"""
from typing import NamedTuple

import torch

from detgemm.contract import contract as parsed
from detgemm.torch.auditing import ROW_LOCAL
from detgemm.torch.derivatives import register_gradient
from detgemm.torch.dispatch import check_factor, check_tensors, check_truth, refuse, under_autocast
from detgemm.torch.fakes import register_fake
from detgemm.torch.layers import _cast, _check_policy, _check_types
from detgemm.torch.log_prob import LOGITS, ORDER, check_local, check_targets, checked_scale, no_second
from detgemm.torch.log_prob_gradients import gradients, save
from detgemm.torch.log_prob_sharded import sharded_log_prob_op
from detgemm.torch.main_grad import gradient_of
from detgemm.torch.operators import OPS, input_type, output_type
from detgemm.torch.plain.log_prob import LEAF

ROW_LOCAL["linear_log_prob"] = ROW_LOCAL["linear_log_prob_backward"] = ORDER
KEPT_BYTES = 2**31  # logits of at most so many bytes are kept from pass to pass


class LogProbs(NamedTuple):
    """What linear_log_prob returns, in fp32, of the targets' shape."""

    logp: torch.Tensor
    lse: torch.Tensor
    entropy: torch.Tensor | None
    target_logit: torch.Tensor


@register_fake("detgemm::linear_log_prob")
def _(x, weight, targets, scale, bias, main_grad, bias_main_grad, forward, dgrad, wgrad, valid, entropy, keep_logits, zero_gradient,
      alpha=1.0):
    tokens = x.shape[0]
    rows = [x.new_empty((tokens if wanted else 0,), dtype=torch.float32) for wanted in (True, True, entropy, True, True, True)]
    # Rows of kept logits begin at multiples of 16 bytes.
    return (*rows, x.new_empty((tokens, (valid + 7) // 8 * 8 if keep_logits else 0), dtype=output_type(forward)))


@register_fake("detgemm::linear_log_prob_backward")
def _(dlogp, dlse, dentropy, x, weight, targets, scale, bias, k, r, lse, entropy, kept, main_grad, bias_main_grad, ones, forward, dgrad,
      wgrad, valid, stripe_bytes, of_x, of_weight, of_bias, alpha=1.0):
    return (x.new_empty(x.shape if of_x else (0,)),
            weight.new_empty(weight.shape) if of_weight and main_grad is None else x.new_empty((0,)),
            bias.new_empty(bias.shape) if of_bias and bias_main_grad is None else x.new_empty((0,)))


def _context(ctx, inputs, output):
    (*operands, main_grad, bias_main_grad, ctx.forward, ctx.dgrad, ctx.wgrad, ctx.valid, ctx.has_entropy, _, ctx.zero_gradient,
     ctx.alpha) = inputs
    save(ctx, operands, (main_grad, bias_main_grad), output)


def _backward(ctx, *upstream):
    def call(given, stripe_bytes, of):
        x = given[3]
        ones = x.new_ones((1, x.shape[0])) if of[2] else None  # a bias's gradient is a sum of rows
        return OPS.linear_log_prob_backward(*given, *ctx.main_grads, ones, ctx.forward, ctx.dgrad, ctx.wgrad, ctx.valid, stripe_bytes, *of,
                                            ctx.alpha)

    return gradients(ctx, upstream, call, 15)


register_gradient("linear_log_prob", _backward, setup_context=_context)
register_gradient("linear_log_prob_backward", no_second("linear_log_prob"))


@torch.compiler.assume_constant_result
def _logit_bytes(forward):
    return output_type(forward).itemsize


@torch.compiler.assume_constant_result
def check_contracts(forward, dgrad, ranks, of_x):
    """Refuses contracts under which a layer's logits or their gradients have no rule here."""
    reads = input_type(forward)
    refuse(reads not in LOGITS, f"policy.input is {reads}: gradients of logits are bf16, so it must be bfloat16 or float32")
    refuse(output_type(forward) not in LOGITS, f'policy.forward is "{forward}": logits must be bf16 or fp32')
    refuse(ranks > 1 and of_x and parsed(dgrad).reduction != "tree",
           f'policy.dgrad is "{dgrad}": with {ranks} ranks dX is a sum over all of them, so it must be tree:LEAF')


def _check_shapes(x, weight, targets, bias, valid, group, vocab_start):
    """Sentences are made where they are said: most calls say none."""
    columns = weight.shape[0]
    if weight.dim() != 2 or x.dim() < 1 or x.shape[-1] != weight.shape[1]:
        refuse(True, f"x has the shape {tuple(x.shape)} and weight {tuple(weight.shape)}: they must be [..., H] and V x H")
    if targets.shape != x.shape[:-1]:
        refuse(True, f"targets has the shape {tuple(targets.shape)}: it must be x's leading shape, {tuple(x.shape[:-1])}")
    for name, tensor in (("weight", weight), ("targets", targets), ("bias", bias)):
        if tensor is not None and tensor.device != x.device:
            refuse(True, f"{name} is on {tensor.device} and x is on {x.device}")
    if bias is not None and bias.shape != (columns,):
        refuse(True, f"bias has the shape {tuple(bias.shape)}: it must be ({columns},)")
    if valid is not None and (isinstance(valid, bool) or not isinstance(valid, int) or valid < 1 or (group is None and valid > columns)):
        refuse(True, f"valid is {valid!r}: it must be an integer from 1 to the {columns} rows of the weight")
    if group is None and columns < 1:
        refuse(True, "weight has no row")
    if not isinstance(vocab_start, int) or vocab_start < 0 or vocab_start % LEAF != 0 or (group is None and vocab_start != 0):
        refuse(True, f"vocab_start is {vocab_start!r}: it must be a multiple of {LEAF}, and 0 without a group")


def linear_log_prob(x, weight, targets, policy, *, scale=None, valid=None, bias=None, entropy=False, group=None, vocab_start=0,
                    keep_logits=None, alpha=1):
    """ln p of one token per row under softmax(x W^T + bias), without storing the logits, with gradients.

    x        [..., H] and weight V x H, of the type that the policy reads; under autocast they are rounded to it
    targets  [...] in int64 or int32. A negative one gives +0 and no gradient; one of `valid` or more is refused on a CPU, and
             gives NaN on a GPU, where nothing waits to look
    policy   logits are x W^T under `forward` (bf16 or fp32 out), dX = G W under `dgrad`, dW = G^T x under `wgrad`, where G is
             the gradient of the logits, in bf16
    scale    1 / temperature: a number, or fp32 [...]; finite and above zero (as for targets, NaN on a GPU)
    valid    rows of the weight from this one on are padding: they are not read, and get no gradient
    bias     V elements; -inf masks a token
    entropy  whether the entropy is returned too
    group    a process group whose ranks own consecutive rows of the weight, in rank order; `vocab_start` is this rank's
             first, a multiple of 16. targets and valid count from the whole vocabulary's first row. All ranks return the bits of
             one; dX then needs a `dgrad` of tree:LEAF. The host waits for the device once per call
    keep_logits  True stores the logits, so that the backward pass does not compute them again; False never does. By default they
             are stored where a gradient is needed, there is no group, and they have at most 2 GiB. No bit changes
    alpha    a factor of the product, before the bias: logits are alpha x W^T + bias, rounded as `forward` says

    Returns (logp, lse, entropy or None, target_logit), fp32 [...]; gradients pass through the first three. The weight's
    gradient goes to its main_grad where that exists, as for `linear`. A wrong call raises DetgemmError with a sentence; values of
    targets and scale that are refused on a CPU raise RuntimeError with one.
    """
    # The default of alpha is an integer: torch.compile takes a float for a number that changes, and compiles twice.
    _check_policy(policy)
    check_tensors(x=x, weight=weight)
    check_targets("targets", targets)
    check_local(x=x, weight=weight, targets=targets, bias=bias)
    check_truth("entropy", entropy)
    if keep_logits is not None:
        check_truth("keep_logits", keep_logits)
    check_factor("alpha", alpha)
    main_grad, flagged = gradient_of(weight, "weight")
    bias_main_grad, _ = gradient_of(bias, "bias")
    if under_autocast(x):
        x, weight = _cast(x, policy.input), _cast(weight, policy.input)
    _check_types(x, weight, policy)
    _check_shapes(x, weight, targets, bias, valid, group, vocab_start)
    ranks = 1 if group is None else torch.distributed.get_world_size(group)
    check_contracts(policy.forward, policy.dgrad, ranks, x.requires_grad and torch.is_grad_enabled())
    leading, columns = targets.shape, weight.shape[0]
    rows, ids = (x, targets) if x.dim() == 2 else (x.reshape(-1, x.shape[-1]), targets.reshape(-1))
    factor = checked_scale(scale, rows.shape[0], rows, leading)
    if keep_logits is None:
        learns = torch.is_grad_enabled() and (x.requires_grad or weight.requires_grad or (bias is not None and bias.requires_grad))
        keep_logits = learns and group is None and rows.shape[0] * columns * _logit_bytes(policy.forward) <= KEPT_BYTES
    operands = rows, weight, ids, factor, bias, main_grad, bias_main_grad, policy.forward, policy.dgrad, policy.wgrad
    if group is None:
        found = OPS.linear_log_prob(*operands, columns if valid is None else valid, entropy, keep_logits, flagged, float(alpha))
    else:
        found = sharded_log_prob_op(*operands[:2], ids.to(torch.int64), *operands[3:], -1 if valid is None else valid, entropy, keep_logits,
                                    flagged, group.group_name, vocab_start, float(alpha))
    logp, lse, h, target_logit = found[:4]
    if x.dim() != 2:
        logp, lse, target_logit = logp.view(leading), lse.view(leading), target_logit.view(leading)
        h = h.view(leading) if entropy else h
    return LogProbs(logp, lse, h if entropy else None, target_logit)
