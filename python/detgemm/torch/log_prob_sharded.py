# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The head of a model whose vocabulary is cut over ranks, with log-probabilities: torch.ops.detgemm.sharded_log_prob.

    forward    for each stripe of this rank's columns:  Z = X W_c^T  ->  nodes of logsum16  ->  Z is dropped;  ranks join nodes
    backward   for each stripe:  Z again  ->  G = gradient of Z in bf16;  dX += G W_c;  dW_c = G^T X, or continued

Stripes end where the contracts of dX and of the tree allow a cut, so they move no bit. What one rank does is linear_log_prob.
"""
import ctypes

import torch

from detgemm.contract import contract as parsed
from detgemm.torch.auditing import ROW_LOCAL
from detgemm.torch.derivatives import guard
from detgemm.torch.dispatch import chosen, on_device, refuse
from detgemm.torch.fakes import register_fake
from detgemm.torch.log_prob import ORDER, check_values, spoiled, usable
from detgemm.torch.log_prob_gradients import gradients, save
from detgemm.torch.operators import MODULE, NAMES, OPS, output_type
from detgemm.torch.plain.arithmetic import rounded
from detgemm.torch.plain.log_prob import BLOCK, LEAF
from detgemm.torch.ranks import check_ranks, join_op
from detgemm.torch.shards import Borders, pieces, stripes

ROW_LOCAL["sharded_log_prob"] = ROW_LOCAL["sharded_log_prob_backward"] = ORDER
STRIPE = 4 * BLOCK  # columns of logits that exist at a time in the forward pass
_gradient_stripe = MODULE.detgemm_torch_gradient_stripe  # columns of G at a time: those of the head of one rank
_gradient_stripe.argtypes, _gradient_stripe.restype = (ctypes.c_char_p, *[ctypes.c_int64] * 3), ctypes.c_int64


def _here(weight, valid, vocab_start):
    """How many of this rank's columns exist; valid is -1 where all do."""
    return weight.shape[0] if valid < 0 else max(0, min(weight.shape[0], valid - vocab_start))


def _logits(x, weight, bias, start, stop, contract, alpha):
    return OPS.gemm(x, weight[start:stop].t(), contract, None, None if bias is None else bias[start:stop], alpha=alpha)


@torch.library.custom_op("detgemm::sharded_log_prob", mutates_args=())
def sharded_log_prob_op(x: torch.Tensor, weight: torch.Tensor, targets: torch.Tensor, scale: torch.Tensor | None,
                       bias: torch.Tensor | None, main_grad: torch.Tensor | None, bias_main_grad: torch.Tensor | None, forward: str,
                       dgrad: str, wgrad: str, valid: int, entropy: bool, keep_logits: bool, zero_gradient: bool, group: str,
                       vocab_start: int, alpha: float = 1.0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor,
                                                                      torch.Tensor, torch.Tensor, torch.Tensor]:
    """x: T x H, weight: V x H, targets: T int64. logp, lse, entropy (or none), target_logit; K, R and the logits for backward."""
    columns, tokens, order = weight.shape[0], x.shape[0], chosen(x, "log_prob")
    targets = targets.contiguous()
    borders = Borders(group, vocab_start, columns, valid, tokens, x.device)
    total, here = borders.valid, _here(weight, valid, vocab_start)
    check_values("targets", targets, scale, total)
    scale = usable(scale)
    kept = x.new_empty((tokens, here if keep_logits else 0), dtype=output_type(forward))
    parts, target_x = [], x.new_zeros((tokens,), dtype=torch.float32)
    with on_device(x):
        for begin, end, level in stripes(vocab_start, vocab_start + here, STRIPE, False):
            z = _logits(x, weight, bias, begin - vocab_start, end - vocab_start, forward, alpha)
            if keep_logits:
                kept[:, begin - vocab_start:end - vocab_start] = z
            parts += pieces(level, begin // LEAF >> level, order.nodes(z, scale, entropy, level))
            mine = z.gather(1, (targets - begin).clamp(0, end - begin - 1)[:, None])[:, 0].float()
            target_x = torch.where((targets >= begin) & (targets < end), mine if scale is None else mine * scale, target_x)
        root, target_x = borders.joined(parts, target_x, targets, entropy)
        k, r, lse, h, logp, target_x = order.finish(root, target_x[:, None], targets[:, None], total)
        k = spoiled(k, targets, total)
    return logp[:, 0], lse, x.new_empty((0,), dtype=torch.float32) if h is None else h, target_x[:, 0], k, r, kept


@register_fake(sharded_log_prob_op)
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


@torch.library.custom_op("detgemm::sharded_log_prob_backward", mutates_args=("main_grad", "bias_main_grad"))
def sharded_log_prob_backward(dlogp: torch.Tensor | None, dlse: torch.Tensor | None, dentropy: torch.Tensor | None, x: torch.Tensor,
                             weight: torch.Tensor, targets: torch.Tensor, scale: torch.Tensor | None, bias: torch.Tensor | None,
                             k: torch.Tensor, r: torch.Tensor, lse: torch.Tensor, entropy: torch.Tensor, kept: torch.Tensor,
                             main_grad: torch.Tensor | None, bias_main_grad: torch.Tensor | None, forward: str, dgrad: str, wgrad: str,
                             valid: int, stripe_bytes: int, group: str, vocab_start: int, of_x: bool, of_weight: bool, of_bias: bool,
                             alpha: float = 1.0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """dX, dW and the bias's gradient; empty where they are not needed or went to main_grad."""
    here = _here(weight, valid, vocab_start)
    targets = targets.contiguous()
    borders = Borders(group, vocab_start, weight.shape[0], valid, x.shape[0], x.device)
    split = borders.ranks > 1 and of_x
    if split:
        _check_ranks_of_dx(dgrad, borders)
    total, wide = borders.valid, parsed(dgrad).with_output("fp32").text
    stripe = _gradient_stripe(dgrad.encode(), stripe_bytes * 4 if kept.shape[1] else stripe_bytes, x.shape[0], here)
    refuse(stripe < 1, f"dgrad is {dgrad!r}: the library reads no contract in it")
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


@register_fake(sharded_log_prob_backward)
def _(dlogp, dlse, dentropy, x, weight, targets, scale, bias, k, r, lse, entropy, kept, main_grad, bias_main_grad, forward, dgrad, wgrad,
      valid, stripe_bytes, group, vocab_start, of_x, of_weight, of_bias, alpha=1.0):
    return (x.new_empty(x.shape if of_x else (0,)),
            weight.new_empty(weight.shape) if of_weight and main_grad is None else x.new_empty((0,)),
            bias.new_empty(bias.shape) if of_bias and bias_main_grad is None else x.new_empty((0,)))


def _context(ctx, inputs, output):
    (*operands, main_grad, bias_main_grad, ctx.forward, ctx.dgrad, ctx.wgrad, ctx.valid, ctx.has_entropy, _, ctx.zero_gradient, ctx.group,
     ctx.vocab_start, ctx.alpha) = inputs
    save(ctx, operands, (main_grad, bias_main_grad), output)


def _backward(ctx, *upstream):
    def call(given, stripe_bytes, of):
        return sharded_log_prob_backward(*given, *ctx.main_grads, ctx.forward, ctx.dgrad, ctx.wgrad, ctx.valid, stripe_bytes, ctx.group,
                                         ctx.vocab_start, *of, ctx.alpha)

    return gradients(ctx, upstream, call, 17)


sharded_log_prob_op.register_autograd(_backward, setup_context=_context)
guard(sharded_log_prob_op)
guard(sharded_log_prob_backward)
