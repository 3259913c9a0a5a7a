# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Cross entropy over a vocabulary that ranks share, with the bits of one rank.

    m = max over all x      e = exp(x - m)      s = sum of e      loss = log(s) - (x[label] - m)      dx = round(g (e (1/s) - [label]))

The one sum is a product with a column of ones under `SUMS`, a tree: each rank computes the root of its leaves, and roots are
joined in the tree's order. A maximum has no order, and all else is by element. exp and log are those of docs/python-orders.md.

`fused_loss` is another order, logsum16 (docs/log-prob.md), in which head and loss are one operation.
"""
import torch

from detgemm.megatron.linear import step_of
from detgemm.megatron.ranks import gather, only_one
from detgemm.torch.dispatch import check_tensors, chosen, on_device, refuse
from detgemm.torch.log_prob_linear import check_contracts, linear_log_prob
from detgemm.torch.operators import OPS
from detgemm.torch.plain.arithmetic import log
from detgemm.torch.policy import Policy
from detgemm.torch.ranks import check_ranks, join_op

# Megatron pads a vocabulary to a multiple of 128 per rank, so every rank has whole leaves.
SUMS = "ieee_fma/fp32/tree:128->fp32"


class CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logits, labels, group):
        ranks, (*shape, size) = group.size(), logits.shape
        x = logits.reshape(-1, size).contiguous()
        top = x.amax(-1).float()
        if ranks > 1:
            torch.distributed.all_reduce(top, op=torch.distributed.ReduceOp.MAX, group=group)
        at = labels.reshape(-1) - group.rank() * size
        here = (at >= 0) & (at < size)
        label = torch.where(here, x.gather(-1, at.clamp(0, size - 1)[:, None])[:, 0].float() - top, 0.0)
        with on_device(x):
            e = chosen(x, "cross_entropy").powers(x, top)
        total = OPS.gemm(e, e.new_ones((size, 1)), SUMS)
        if ranks > 1:
            label = only_one(label, group)
            total = join_op(gather(total, group), None, torch.float32)
        total = total[:, 0]
        ctx.save_for_backward(e, total, torch.where(here, at, -1))
        ctx.dtype, ctx.shape = logits.dtype, logits.shape
        return (log(total) - label).view(shape)

    @staticmethod
    def backward(ctx, g):
        e, total, at = ctx.saved_tensors
        inverse = torch.div(torch.ones_like(total), total)
        with on_device(e):
            dx = chosen(e, "cross_entropy").gradient(e, inverse, at, g.reshape(-1).contiguous(), ctx.dtype)
        return dx.view(ctx.shape), None, None


def vocab_parallel_cross_entropy(logits, labels, group):
    """The loss of every token, in fp32. logits: ... x this rank's share of the vocabulary; labels: ..., int64; group: the ranks."""
    check_tensors(logits=logits, labels=labels)
    refuse(labels.dtype != torch.int64 or labels.shape != logits.shape[:-1],
           f"labels has the shape {tuple(labels.shape)} of {labels.dtype}: it must be int64 of the logits' leading shape "
           f"{tuple(logits.shape[:-1])}")
    refuse(not logits.is_floating_point(), f"logits.dtype is {logits.dtype}: it must be a floating-point type")
    if group.size() > 1:
        check_ranks(SUMS, logits.shape[-1] * group.size(), group.size())
    return CrossEntropy.apply(logits, labels, group)


def policy_of(contracts):
    """Of a head on one rank and on several: dX is a sum over the vocabulary, which ranks share."""
    policy = contracts.policy
    return Policy(policy.forward, contracts.across_ranks or policy.dgrad, policy.wgrad)


def check_fused(contracts, ranks):
    """Refuses contracts under which `fused_loss` has no rule, before a model is changed."""
    policy = policy_of(contracts)
    check_contracts(policy.forward, policy.dgrad, ranks, True)


def fused_loss(hidden, labels, head):
    """The loss of every token, B x S in fp32, from hidden states. hidden: S x B x H; labels: B x S; head: a ColumnParallelLinear.

    Rows of a sequence follow each other, so the weight's gradient is that of one sequence after the other.
    """
    policy, group = policy_of(head.contracts), head.tp_group
    step, length = step_of(policy.wgrad), hidden.shape[0]
    refuse(length % step != 0, f"sequences have {length} tokens: with fused_head they must have a multiple of {step}, the step of "
                               f"{policy.wgrad}, so that the cut into micro-batches moves no bit")
    ranks = {"group": group, "vocab_start": group.rank() * head.weight.shape[0]} if group.size() > 1 else {}
    return -linear_log_prob(hidden.transpose(0, 1), head.weight, labels, policy, **ranks).logp
