# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""A layer of experts whose every operation has a written order: router, choice, grouped products, silu, weighted sum.

    x -> linear -> softmax -> top_experts ------------------------------------------+
    x -> gather_rows -> grouped_linear -> silu_mul -> grouped_linear -> combine_experts -> y        bf16, with gradients
    x -> gather_quantize -> grouped_gemm -> silu_mul_quantize -> grouped_gemm -> combine_experts    e4m3 with block scales

docs/moe.md says what does not depend on what.
"""
import torch

from detgemm.contract import contract as parsed
from detgemm.torch.auditing import ROW_LOCAL
from detgemm.torch.combining import combine_experts
from detgemm.torch.derivatives import guard
from detgemm.torch.dispatch import check_tensors, check_truth, refuse
from detgemm.torch.fakes import register_fake
from detgemm.torch.fused import silu_mul
from detgemm.torch.grouped import grouped_gemm, grouped_linear
from detgemm.torch.layers import _check_policy, linear
from detgemm.torch.quantizing import gather_quantize, silu_mul_quantize
from detgemm.torch.routing import gather_rows, segments
from detgemm.torch.rows import _check, softmax

ROW_LOCAL["top_experts"] = "a stable sort; sums over slots ascending"
ROW_LOCAL["top_experts_backward"] = "sums over slots ascending"


def _sum_of_slots(x):
    """Sum over the last dimension, ascending, one fp32 addition after the other."""
    total = x[:, 0]
    for slot in range(1, x.shape[1]):
        total = total + x[:, slot]
    return total[:, None]


@torch.library.custom_op("detgemm::top_experts", mutates_args=())
def top_experts_op(p: torch.Tensor, top_k: int, norm: bool, by_number: bool) -> tuple[torch.Tensor, torch.Tensor]:
    experts = torch.sort(p, dim=-1, descending=True, stable=True).indices[:, :top_k].contiguous()
    if by_number:
        experts = torch.sort(experts, dim=-1).values
    values = p.gather(1, experts)
    return values / _sum_of_slots(values) if norm else values, experts


@register_fake(top_experts_op)
def _(p, top_k, norm, by_number):
    return p.new_empty((p.shape[0], top_k)), p.new_empty((p.shape[0], top_k), dtype=torch.int64)


@torch.library.custom_op("detgemm::top_experts_backward", mutates_args=())
def top_experts_backward_op(dweights: torch.Tensor, p: torch.Tensor, experts: torch.Tensor, norm: bool) -> torch.Tensor:
    if norm:  # of v / s with s = sum of v: (dw - sum(dw w)) / s
        values = p.gather(1, experts)
        total = _sum_of_slots(values)
        dweights = (dweights - _sum_of_slots(dweights * (values / total))) / total
    return torch.zeros_like(p).scatter_(1, experts, dweights)


@register_fake(top_experts_backward_op)
def _(dweights, p, experts, norm):
    return p.new_empty(p.shape)


def _context(ctx, inputs, output):
    ctx.save_for_backward(inputs[0], output[1])
    ctx.norm = inputs[2]
    ctx.mark_non_differentiable(output[1])


top_experts_op.register_autograd(lambda ctx, dweights, _: (top_experts_backward_op(dweights, *ctx.saved_tensors, ctx.norm), None, None, None),
                                 setup_context=_context)
guard(top_experts_op)
guard(top_experts_backward_op)


def top_experts(p, top_k, *, norm=True, by_number=False):
    """(weights, experts) of each token, tokens x top_k: the largest of p and where they are, of equal ones the first.

    p          tokens x experts in fp32, such as `softmax(logits, dtype=torch.float32)`; gradients go to it
    norm       divides a token's weights by their sum, slots ascending in fp32
    by_number  slots in the order of experts' numbers, in place of the order of choice, largest first
    """
    check_tensors(p=p)
    for name, given in (("norm", norm), ("by_number", by_number)):
        check_truth(name, given)
    refuse(p.dim() != 2 or p.dtype != torch.float32,
           f"p has the shape {tuple(p.shape)} of {p.dtype}: it must have two dimensions, tokens x experts, of float32")
    refuse(not isinstance(top_k, int) or isinstance(top_k, bool) or not 1 <= top_k <= p.shape[1],
           f"top_k is {top_k!r}: it must be a whole number from 1 to {p.shape[1]}, the number of experts")
    return top_experts_op(p, top_k, norm, by_number)


def eighths_of(experts, total):
    """Which eighth of `total` experts each is in, int32. Equal shares of 1, 2, 4 or 8 ranks are whole eighths."""
    return torch.div(experts * 8, total, rounding_mode="floor").to(torch.int32)


def _check_weights(x, gate_up, down, scaled):
    """The two weights without their scales."""
    if scaled is not None:
        for name, given in (("gate_up", gate_up), ("down", down)):
            refuse(not isinstance(given, (tuple, list)) or len(given) != 2,
                   f"{name} is a {type(given).__name__}: with scaled it must be a pair of e4m3 numbers and their scales")
            check_tensors(**{name: given[0], f"the scale of {name}": given[1]})
        gate_up, down = gate_up[0], down[0]
    check_tensors(gate_up=gate_up, down=down)
    refuse(gate_up.dim() != 3 or gate_up.shape[1] % 2 != 0 or gate_up.shape[2] != x.shape[-1],
           f"gate_up has the shape {tuple(gate_up.shape)}: it must be experts x 2n x {x.shape[-1]}, gate's rows and then up's")
    refuse(down.shape != (gate_up.shape[0], x.shape[-1], gate_up.shape[1] // 2),
           f"down has the shape {tuple(down.shape)}: it must be {gate_up.shape[0]} x {x.shape[-1]} x {gate_up.shape[1] // 2}, "
           "experts x columns of x x n")
    return gate_up, down


@torch.compiler.assume_constant_result  # reading a contract calls the library, which a compiler cannot trace
def _read(text):
    read = parsed(text)
    return read.input, read.output, read.reduction, read.leaf_k


def _check_contracts(policy, scaled):
    """LEAF of scaled, or None."""
    _check_policy(policy)
    if scaled is None:
        read, written, *_ = _read(policy.forward)
        refuse(read != written, f"policy.forward is {policy.forward}: its output must be {read}, which it reads, since one product reads what "
                                "another made")
        return None
    refuse(not isinstance(scaled, str), f"scaled is {scaled!r}: it must be the text of a contract, such as hopper/e4m3/scaled:128->bf16")
    read, _, reduction, leaf = _read(scaled)
    refuse(reduction != "scaled" or read != "e4m3", f"scaled is {scaled}: it must be a contract of e4m3 with the reduction scaled:LEAF")
    return leaf


def run_experts(x, weights, experts, gate_up, down, policy, *, scaled=None, first=0, start=None, dtype=None, by_eighths_of=None):
    """The weighted sum of the experts' results for each row of x, or a share of it: tokens x H.

    x         tokens x H. weights, experts: tokens x k, as `top_experts` returns them
    gate_up   G x 2n x H, and down, G x H x n: the weights of the experts first .. first + G - 1; slots of others add nothing. With
              `scaled` each is a pair of e4m3 numbers and scales, as `quantize(w, leaf, per=128)` makes them of each expert
    policy    contracts of the products, with gradients
    scaled    text of a contract such as "hopper/e4m3/scaled:128->bf16", for e4m3; no gradient
    start     fp32, the sum of the shares before this one, and dtype, the result's: x's by default, float32 for a share that is not
              the last. With `by_number` shares that are called in the order of `first` have the bits of one call
    by_eighths_of  the number of experts in all: slots are summed by eighths of them (`combine_experts`), so that shares of 1, 2, 4
              or 8 equal parts of the experts in float32, joined by `detgemm.torch.ranks.join`, have the bits of one call
    """
    _check("x", x)
    check_tensors(weights=weights, experts=experts)
    leaf = _check_contracts(policy, scaled)
    groups = len(_check_weights(x, gate_up, down, scaled)[0])
    refuse(x.dim() != 2 or experts.shape != weights.shape or experts.dim() != 2 or len(experts) != len(x),
           f"x has the shape {tuple(x.shape)}, weights {tuple(weights.shape)} and experts {tuple(experts.shape)}: they must be tokens x H "
           "and twice tokens x k")
    refuse(by_eighths_of is not None and (not isinstance(by_eighths_of, int) or not 0 <= first <= by_eighths_of - groups),
           f"by_eighths_of is {by_eighths_of!r} and first {first}: {groups} experts from first on must be among so many")
    slots = experts.shape[1]
    offs, index, places = segments(experts.reshape(-1) - first, groups)
    if scaled is None:
        rows = grouped_linear(gather_rows(x, index, places, slots), gate_up, offs, policy)
        rows = grouped_linear(silu_mul(rows), down, offs, policy)
    else:
        rows, scales = gather_quantize(x, index, leaf, copies=slots)
        rows = grouped_gemm(rows, gate_up[0].mT, offs, scaled, scale_a=scales, scale_b=gate_up[1].mT)
        rows, scales = silu_mul_quantize(rows, leaf)
        rows = grouped_gemm(rows, down[0].mT, offs, scaled, scale_a=scales, scale_b=down[1].mT)
    return combine_experts(rows, places, weights, start=start, dtype=x.dtype if dtype is None else dtype,
                           eighths=None if by_eighths_of is None else eighths_of(experts, by_eighths_of))


def moe(x, router_weight, gate_up, down, policy, *, top_k, norm=True, scaled=None, by_eighths=False):
    """A mixture of experts, from the router to the weighted sum: ... x H.

    x              ... x H of the type that the policy reads
    router_weight  E x H, under the policy, also with `scaled`; probabilities are the softmax of its product in fp32
    gate_up, down  the experts' weights and `scaled`, as for `run_experts`: y = down (silu(gate) * up)
    top_k, norm    as for `top_experts`
    by_eighths     slots in the order of experts' numbers, summed by eighths of the experts, as vLLM's plugin does; by default in the
                   order of choice

    A token's row, and without `scaled` the gradient of x there, depend on that token alone. Gradients of weights are sums over
    tokens in the order of the call.
    """
    _check("x", x)
    _check_contracts(policy, scaled)
    check_tensors(router_weight=router_weight)
    check_truth("by_eighths", by_eighths)
    count = len(_check_weights(x, gate_up, down, scaled)[0])
    refuse(router_weight.shape != (count, x.shape[-1]),
           f"router_weight has the shape {tuple(router_weight.shape)}: it must be {count} x {x.shape[-1]}, experts x columns of x")
    rows = x.reshape(-1, x.shape[-1])
    p = softmax(linear(rows, router_weight, None, policy), dtype=torch.float32)
    weights, experts = top_experts(p, top_k, norm=norm, by_number=by_eighths)
    return run_experts(rows, weights, experts, gate_up, down, policy, scaled=scaled,
                       by_eighths_of=count if by_eighths else None).view(x.shape)
