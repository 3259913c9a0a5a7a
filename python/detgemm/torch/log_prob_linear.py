# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Log-probabilities of a linear layer's outputs without storing these: torch.ops.detgemm.linear_log_prob.

    forward    one call of the library; with a group, or with logits that are kept, for each stripe of the vocabulary:
               Z = X W_c^T  ->  nodes of logsum16  ->  Z is dropped
    backward   for each stripe:  Z again  ->  G = gradient of Z in bf16;  dX += G W_c;  dW_c = G^T X, or continued

Stripes end where the contracts of dX and of the tree allow a cut, so they move no bit (docs/log-prob.md).
"""
from typing import NamedTuple

import torch

from detgemm.contract import contract as parsed
from detgemm.torch.auditing import ROW_LOCAL
from detgemm.torch.derivatives import guard
from detgemm.torch.dispatch import check_tensors, check_truth, chosen, on_device, refuse, under_autocast
from detgemm.torch.layers import _cast, _check_policy, _check_types
from detgemm.torch.log_prob import LOGITS, ORDER, check_targets, check_values, checked_scale, spoiled, usable
from detgemm.torch.main_grad import gradient_of
from detgemm.torch.operators import NAMES, OPS, output_type
from detgemm.torch.plain.arithmetic import rounded
from detgemm.torch.plain.log_prob import BLOCK, LEAF, concatenated
from detgemm.torch.ranks import check_ranks, join_op
from detgemm.torch.shards import Borders, pieces, stripes

ROW_LOCAL["linear_log_prob"] = ROW_LOCAL["linear_log_prob_backward"] = ORDER
STRIPE = 4 * BLOCK  # columns of logits that exist at a time, in the forward pass with a group
STRIPE_BYTES = 2**28  # of logits, and of G in their place, in the backward pass
KEPT_BYTES = 2**31  # logits of at most so many bytes are kept from pass to pass
KEPT_STRIPE_BYTES = 2**30  # of G, where logits are kept


class LogProbs(NamedTuple):
    """What linear_log_prob returns, in fp32, of the targets' shape."""

    logp: torch.Tensor
    lse: torch.Tensor
    entropy: torch.Tensor | None
    target_logit: torch.Tensor


def _here(weight, valid, vocab_start):
    """How many of this rank's columns exist; valid is -1 where all do."""
    return weight.shape[0] if valid < 0 else max(0, min(weight.shape[0], valid - vocab_start))


def _logits(x, weight, bias, start, stop, contract, alpha):
    return OPS.gemm(x, weight[start:stop].t(), contract, None, None if bias is None else bias[start:stop], alpha=alpha)


def _stripe(tokens, here, dgrad, limit):
    """Columns of G at a time, of `limit` bytes: a whole number of dgrad's leaves, and all of them under a tree."""
    contract = parsed(dgrad)
    unit = contract.leaf_k or contract.k_block
    return max(1, here) if contract.reduction == "tree" else max(1, limit // (2 * max(1, tokens) * unit)) * unit


@torch.library.custom_op("detgemm::linear_log_prob", mutates_args=())
def linear_log_prob_op(x: torch.Tensor, weight: torch.Tensor, targets: torch.Tensor, scale: torch.Tensor | None,
                       bias: torch.Tensor | None, main_grad: torch.Tensor | None, bias_main_grad: torch.Tensor | None, forward: str,
                       dgrad: str, wgrad: str, valid: int, entropy: bool, keep_logits: bool, zero_gradient: bool, group: str,
                       vocab_start: int, alpha: float = 1.0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor,
                                                                      torch.Tensor, torch.Tensor, torch.Tensor]:
    """x: T x H, weight: V x H, targets: T int64. logp, lse, entropy (or none), target_logit; K, R and the logits for backward."""
    columns, tokens, order = weight.shape[0], x.shape[0], chosen(x, "log_prob")
    targets = targets.contiguous()
    borders = Borders(group, vocab_start, columns, valid, tokens, x.device) if group else None
    total = borders.valid if group else columns if valid < 0 else valid
    here = _here(weight, valid, vocab_start)
    check_values("targets", targets, scale, total)
    scale = usable(scale)
    kept = x.new_empty((tokens, here if keep_logits else 0), dtype=output_type(forward))
    if tokens and here and not group:
        with on_device(x):
            if keep_logits:
                OPS.gemm.out(x, weight[:here].t(), forward, None, None if bias is None else bias[:here], alpha=alpha, out=kept)
                found = OPS.logits_log_probs(kept, targets, scale, here, entropy)
            else:
                found = OPS.layer_log_probs(x, weight, targets, scale, bias, forward, here, entropy, alpha=alpha)
        logp, lse, h, target_x, k, r = found
        return logp, lse, h, target_x, k.view(torch.int32), r, kept
    found, parts, target_x = [], [], x.new_zeros((tokens,), dtype=torch.float32)
    with on_device(x):
        for begin, end, level in stripes(vocab_start, vocab_start + here, STRIPE, not group):
            z = _logits(x, weight, bias, begin - vocab_start, end - vocab_start, forward, alpha)
            if keep_logits:
                kept[:, begin - vocab_start:end - vocab_start] = z
            node = order.nodes(z, scale, entropy, level)
            found.append(node)
            parts += pieces(level, begin // LEAF >> level, node) if group else []
            mine = z.gather(1, (targets - begin).clamp(0, end - begin - 1)[:, None])[:, 0].float()
            target_x = torch.where((targets >= begin) & (targets < end), mine if scale is None else mine * scale, target_x)
        if group:
            root, target_x = borders.joined(parts, target_x, targets, entropy)
        else:
            root = concatenated(found)
        k, r, lse, h, logp, target_x = order.finish(root, target_x[:, None], targets[:, None], total)
        k = spoiled(k, targets, total)
    return logp[:, 0], lse, x.new_empty((0,), dtype=torch.float32) if h is None else h, target_x[:, 0], k, r, kept


@linear_log_prob_op.register_fake
def _(x, weight, targets, scale, bias, main_grad, bias_main_grad, forward, dgrad, wgrad, valid, entropy, keep_logits, zero_gradient,
      group, vocab_start, alpha=1.0):
    tokens, here = x.shape[0], _here(weight, valid, vocab_start)

    def row():
        return x.new_empty((tokens,), dtype=torch.float32)

    return (row(), row(), row() if entropy else x.new_empty((0,), dtype=torch.float32), row(), x.new_empty((tokens,), dtype=torch.int32),
            row(), x.new_empty((tokens, here if keep_logits else 0), dtype=output_type(forward)))


def _sum_over_ranks(root, contract, borders):
    """The root of dX's tree over the vocabulary of all ranks, from each rank's own."""
    return join_op(torch.stack(borders.gathered(root)), None, output_type(contract))


def _check_ranks_of_dx(contract, borders):
    check_ranks(contract, borders.valid, borders.ranks)
    sizes = [end - begin for begin, end in borders.spans]
    refuse(len(set(sizes)) != 1, f"the ranks have {sizes} columns that exist: dX under a tree needs equal numbers")


@torch.library.custom_op("detgemm::linear_log_prob_backward", mutates_args=("main_grad", "bias_main_grad"))
def linear_log_prob_backward(dlogp: torch.Tensor | None, dlse: torch.Tensor | None, dentropy: torch.Tensor | None, x: torch.Tensor,
                             weight: torch.Tensor, targets: torch.Tensor, scale: torch.Tensor | None, bias: torch.Tensor | None,
                             k: torch.Tensor, r: torch.Tensor, lse: torch.Tensor, entropy: torch.Tensor, kept: torch.Tensor,
                             main_grad: torch.Tensor | None, bias_main_grad: torch.Tensor | None, forward: str, dgrad: str, wgrad: str,
                             valid: int, group: str, vocab_start: int, of_x: bool, of_weight: bool, of_bias: bool,
                             alpha: float = 1.0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """dX, dW and the bias's gradient; empty where they are not needed or went to main_grad."""
    here = _here(weight, valid, vocab_start)
    targets = targets.contiguous()
    borders = Borders(group, vocab_start, weight.shape[0], valid, x.shape[0], x.device) if group else None
    split = borders is not None and borders.ranks > 1 and of_x
    if split:
        _check_ranks_of_dx(dgrad, borders)
    total = borders.valid if borders else weight.shape[0] if valid < 0 else valid
    stripe = _stripe(x.shape[0], here, dgrad, KEPT_STRIPE_BYTES if kept.shape[1] else STRIPE_BYTES)
    wide = parsed(dgrad).with_output("fp32").text
    dx = dw = db = None
    if of_weight and main_grad is None:
        dw = torch.empty_like(weight, memory_format=torch.contiguous_format)
        if here < weight.shape[0]:
            dw[here:] = 0
        narrow = parsed(wgrad).with_output(NAMES[weight.dtype]).text
    if of_bias and bias_main_grad is None:
        db = torch.zeros_like(bias)

    def gradient(z, start, out, factor):
        OPS.logits_gradient(z, targets, scale, k.view(torch.float32), r, None if dentropy is None else lse,
                            None if dentropy is None else entropy, dlogp, dlse, dentropy, vocab_start + start, total, factor, out=out)
        return out

    with on_device(x):
        for start in range(0, here, stripe):
            stop = min(start + stripe, here)
            part = slice(start, stop)
            z = kept[:, part] if kept.shape[1] else _logits(x, weight, bias, start, stop, forward, alpha)
            if of_bias:  # alpha is the product's alone
                g = gradient(z, start, torch.empty_like(z, dtype=torch.bfloat16), 1.0).to(x.dtype)
                ones = g.new_ones((1, g.shape[0]))
                if bias_main_grad is not None:
                    OPS.accumulate_(bias_main_grad[part].view(1, -1), ones, g, wgrad)
                else:
                    db[part] = OPS.gemm(ones, g, parsed(wgrad).with_output(NAMES[bias.dtype]).text)[0]
            if not of_bias or alpha != 1.0:
                in_place = z.is_cuda and z.dtype == torch.bfloat16 and not kept.shape[1]
                g = gradient(z, start, z if in_place else torch.empty(z.shape, dtype=torch.bfloat16, device=z.device), alpha).to(x.dtype)
            del z
            if of_x and here <= stripe:
                dx = OPS.gemm(g, weight[part], wide if split else dgrad)
            elif of_x and dx is None:
                dx = OPS.gemm(g, weight[part], wide)
            elif of_x:
                OPS.accumulate_(dx, g, weight[part], wide)
            if of_weight and main_grad is not None:
                OPS.accumulate_(main_grad[part], g.t(), x, wgrad)
            elif of_weight:
                OPS.gemm.out(g.t(), x, narrow, out=dw[part])
            del g  # before the next stripe's logits
        if of_x:
            dx = torch.zeros(x.shape, dtype=torch.float32, device=x.device) if dx is None else dx
            dx = _sum_over_ranks(dx, dgrad, borders) if split else rounded(dx, output_type(dgrad))
            dx = dx.to(x.dtype)
    return tuple(x.new_empty((0,)) if each is None else each for each in (dx, dw, db))


@linear_log_prob_backward.register_fake
def _(dlogp, dlse, dentropy, x, weight, targets, scale, bias, k, r, lse, entropy, kept, main_grad, bias_main_grad, forward, dgrad, wgrad,
      valid, group, vocab_start, of_x, of_weight, of_bias, alpha=1.0):
    return (x.new_empty(x.shape if of_x else (0,)),
            weight.new_empty(weight.shape) if of_weight and main_grad is None else x.new_empty((0,)),
            bias.new_empty(bias.shape) if of_bias and bias_main_grad is None else x.new_empty((0,)))


def _context(ctx, inputs, output):
    (x, weight, targets, scale, bias, main_grad, bias_main_grad, ctx.forward, ctx.dgrad, ctx.wgrad, ctx.valid, ctx.has_entropy, _,
     ctx.zero_gradient, ctx.group, ctx.vocab_start, ctx.alpha) = inputs
    _, lse, entropy, target_logit, k, r, kept = output
    ctx.set_materialize_grads(False)
    ctx.mark_non_differentiable(target_logit, k, r, kept)
    ctx.save_for_backward(x, weight, targets, scale, bias, k, r, lse, entropy, kept)
    # Not saved as operands: every backward pass adds to them.
    ctx.main_grad, ctx.bias_main_grad = main_grad, bias_main_grad


def _backward(ctx, dlogp, dlse, dentropy, *_):
    of_x, of_weight, of_bias = ctx.needs_input_grad[0], ctx.needs_input_grad[1], ctx.needs_input_grad[4]
    grads = [None] * 17
    dentropy = dentropy if ctx.has_entropy else None
    if all(each is None for each in (dlogp, dlse, dentropy)):
        return tuple(grads)
    _, weight, _, _, bias = ctx.saved_tensors[:5]
    dx, dw, db = linear_log_prob_backward(dlogp, dlse, dentropy, *ctx.saved_tensors, ctx.main_grad, ctx.bias_main_grad, ctx.forward,
                                          ctx.dgrad, ctx.wgrad, ctx.valid, ctx.group, ctx.vocab_start, of_x, of_weight, of_bias,
                                          ctx.alpha)
    zeros = torch.zeros_like if ctx.zero_gradient else lambda _: None
    grads[0] = dx if of_x else None
    grads[1] = None if not of_weight else dw if ctx.main_grad is None else zeros(weight)
    grads[4] = None if not of_bias else db if ctx.bias_main_grad is None else zeros(bias)
    return tuple(grads)


linear_log_prob_op.register_autograd(_backward, setup_context=_context)
guard(linear_log_prob_op)
guard(linear_log_prob_backward)


@torch.compiler.assume_constant_result
def _logit_bytes(forward):
    return output_type(forward).itemsize


@torch.compiler.assume_constant_result
def _check_contracts(forward, dgrad, ranks, of_x):
    refuse(output_type(forward) not in LOGITS, f'policy.forward is "{forward}": logits must be bf16 or fp32')
    refuse(ranks > 1 and of_x and parsed(dgrad).reduction != "tree",
           f'policy.dgrad is "{dgrad}": with {ranks} ranks dX is a sum over all of them, so it must be tree:LEAF')


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
    gradient goes to its main_grad where that exists, as for `linear`. A wrong call raises DetgemmError with a sentence.
    """
    # The default of alpha is an integer: torch.compile takes a float for a number that changes, and compiles twice.
    _check_policy(policy)
    check_tensors(x=x, weight=weight)
    check_targets("targets", targets)
    check_truth("entropy", entropy)
    if keep_logits is not None:
        check_truth("keep_logits", keep_logits)
    if isinstance(alpha, bool) or not isinstance(alpha, (int, float)) or not abs(alpha) < float("inf"):
        refuse(True, f"alpha is {alpha!r}: it must be a finite number")  # apart, since a compiler traces the sentence
    main_grad, flagged = gradient_of(weight, "weight")
    bias_main_grad, _ = gradient_of(bias, "bias")
    if under_autocast(x):
        x, weight = _cast(x, policy.input), _cast(weight, policy.input)
    _check_types(x, weight, policy)
    refuse(weight.dim() != 2 or x.dim() < 1 or x.shape[-1] != weight.shape[1],
           f"x has the shape {tuple(x.shape)} and weight {tuple(weight.shape)}: they must be [..., H] and V x H")
    refuse(targets.shape != x.shape[:-1], f"targets has the shape {tuple(targets.shape)}: it must be x's leading shape, "
                                          f"{tuple(x.shape[:-1])}")
    for name, tensor in (("weight", weight), ("targets", targets), ("bias", bias)):
        refuse(tensor is not None and tensor.device != x.device, f"{name} is on {getattr(tensor, 'device', None)} and x is on {x.device}")
    columns = weight.shape[0]
    refuse(bias is not None and bias.shape != (columns,), f"bias has the shape {tuple(getattr(bias, 'shape', ()))}: it must be ({columns},)")
    refuse(valid is not None and (not isinstance(valid, int) or valid < 1 or (group is None and valid > columns)),
           f"valid is {valid!r}: it must be an integer from 1 to the {columns} rows of the weight")
    refuse(group is None and columns < 1, "weight has no row")
    refuse(not isinstance(vocab_start, int) or vocab_start < 0 or vocab_start % LEAF != 0 or (group is None and vocab_start != 0),
           f"vocab_start is {vocab_start!r}: it must be a multiple of {LEAF}, and 0 without a group")
    ranks = 1 if group is None else torch.distributed.get_world_size(group)
    refuse(policy.input not in LOGITS, f"policy.input is {policy.input}: gradients of logits are bf16, so it must be bfloat16 or float32")
    _check_contracts(policy.forward, policy.dgrad, ranks, x.requires_grad and torch.is_grad_enabled())
    leading, rows = x.shape[:-1], x.reshape(-1, x.shape[-1])
    factor = checked_scale(scale, rows.shape[0], rows, leading)
    if keep_logits is None:
        learns = torch.is_grad_enabled() and any(each is not None and each.requires_grad for each in (x, weight, bias))
        keep_logits = learns and group is None and rows.shape[0] * columns * _logit_bytes(policy.forward) <= KEPT_BYTES
    logp, lse, h, target_logit, *_ = linear_log_prob_op(
        rows, weight, targets.reshape(-1).to(torch.int64), factor, bias, main_grad, bias_main_grad, policy.forward, policy.dgrad,
        policy.wgrad, -1 if valid is None else valid, entropy, keep_logits, flagged, "" if group is None else group.group_name,
        vocab_start, float(alpha))
    return LogProbs(logp.view(leading), lse.view(leading), h.view(leading) if entropy else None, target_logit.view(leading))
