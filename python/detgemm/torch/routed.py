# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""A layer of experts for inference: the choice, and all of the experts' products, in one operator each. No gradients.

    logits -> route -> weights, experts
    x -> places -> rows -> product -> silu * up -> product -> sum by eighths        rows and sums in one written order

The bits are those of `run_experts(..., by_eighths_of=)`, with fewer launches; a graph can capture them. vLLM's plugin calls these.
"""
import torch

from detgemm.torch.auditing import ROW_LOCAL
from detgemm.torch.derivatives import guard
from detgemm.torch.dispatch import check_factor, check_tensors, check_truth, chosen, on_device, refuse
from detgemm.torch.fakes import register_fake
from detgemm.torch.fused import _by_rows
from detgemm.torch.mixture import _check_weights, _read
from detgemm.torch.operators import OPS
from detgemm.torch.rows import _check

ROW_LOCAL["route"] = "lanes ascending, tree over lanes; a stable choice; sums over slots ascending"
ROW_LOCAL["routed_experts"] = ROW_LOCAL["routed_layer"] = "contracts of the products; slots ascending, tree over eighths of the experts"
SCORES = ("softmax", "sigmoid")
STABLE_WEIGHTS = 2  # the operator's value for "earlier work on the stream does not write b"
MOST_EXPERTS = 1024


@torch.library.custom_op("detgemm::route", mutates_args=())
def route_op(logits: torch.Tensor, bias: torch.Tensor | None, top_k: int, norm: bool, sigmoid: bool, groups: int, chosen_groups: int,
             scale: float) -> tuple[torch.Tensor, torch.Tensor]:
    with on_device(logits):
        return chosen(logits, "routed").route(_by_rows(logits), None if bias is None else bias.contiguous(), top_k, norm, sigmoid,
                                              groups, chosen_groups, float(scale))


@register_fake(route_op)
def _(logits, bias, top_k, norm, sigmoid, groups, chosen_groups, scale):
    shape = logits.shape[0], top_k
    return logits.new_empty(shape, dtype=torch.float32), logits.new_empty(shape, dtype=torch.int32)


def _product(rows, weight, offs, contract, scale_a, scale_b, dtype):
    out = torch.empty((rows.shape[0], weight.shape[1]), dtype=dtype, device=rows.device)
    OPS.grouped_gemm.out(rows, weight.mT, offs, contract, None, None, scale_a, None if scale_b is None else scale_b.mT,
                         stable=STABLE_WEIGHTS, out=out)
    return out


def _placed(x, experts, first, groups, leaf, routed=None):
    """(offs, places, rows, scales): x's rows sorted by expert, in 16 bits, or with a leaf in e4m3 with scales. routed: of one token on a
    device, what chooses its experts."""
    ours, slots = chosen(x, "routed"), experts.shape[1]
    if x.device.type == "cuda" and (routed or placing().serve(experts.numel())):
        return placing().place(x, experts, first, groups, leaf, routed)
    offs, places = ours.sort(experts.view(-1), first, groups)
    return (offs, places, *(ours.spread_quantize(x, places, slots, leaf) if leaf else (ours.spread(x, places, slots), None)))


def placing():
    from detgemm.torch.kernels import placing
    return placing


def _few(x, slots, gate_up, down, scales, contract):
    """The kernels for few tokens, or None where they are not for such a layer."""
    if x.device.type != "cuda":
        return None
    from detgemm.torch.kernels import few_tokens
    return few_tokens if few_tokens.serve(x, slots, gate_up, down, scales, contract) else None


def _layer(x, weights, experts, gate_up, down, scales, contract, leaf, first, total, dtype, routed=None):
    """From the rows' places to the sum. gate_up and down with scales: e4m3 under scaled:leaf."""
    of_gate_up, of_down = scales
    x, experts, leaf = _by_rows(x), experts.contiguous(), 0 if of_gate_up is None else leaf
    if few := _few(x, experts.numel(), gate_up, down, scales, contract):
        return few.layer(x, weights.contiguous(), experts, gate_up, down, scales, first, total, dtype)
    offs, places, rows, of_rows = _placed(x, experts, first, len(gate_up), leaf, routed)
    rows, of_rows = _product(rows, gate_up, offs, contract, of_rows, of_gate_up, x.dtype), None
    if leaf:
        rows, of_rows = chosen(x, "routed").silu_mul_quantize(rows, leaf)
    else:
        rows = chosen(x, "fused").silu_mul(*rows.chunk(2, dim=-1))
    rows = _product(rows, down, offs, contract, of_rows, of_down, x.dtype)
    return chosen(x, "combine").combine(rows, places.view(weights.shape), weights.contiguous(), None, dtype, experts, total)


@torch.library.custom_op("detgemm::routed_experts", mutates_args=())
def routed_experts_op(x: torch.Tensor, weights: torch.Tensor, experts: torch.Tensor, gate_up: torch.Tensor, down: torch.Tensor,
                      gate_up_scale: torch.Tensor | None, down_scale: torch.Tensor | None, contract: str, leaf: int, first: int,
                      total: int, dtype: torch.dtype) -> torch.Tensor:
    with on_device(x):
        return _layer(x, weights, experts, gate_up, down, (gate_up_scale, down_scale), contract, leaf, first, total, dtype)


@register_fake(routed_experts_op)
def _(x, weights, experts, gate_up, down, gate_up_scale, down_scale, contract, leaf, first, total, dtype):
    return x.new_empty(x.shape, dtype=dtype)


@torch.library.custom_op("detgemm::routed_layer", mutates_args=())
def routed_layer_op(x: torch.Tensor, logits: torch.Tensor, bias: torch.Tensor | None, top_k: int, norm: bool, sigmoid: bool, groups: int,
                    chosen_groups: int, scale: float, gate_up: torch.Tensor, down: torch.Tensor, gate_up_scale: torch.Tensor | None,
                    down_scale: torch.Tensor | None, contract: str, leaf: int, first: int, total: int,
                    dtype: torch.dtype) -> torch.Tensor:
    """`route` and `routed_experts`. For one token on a device the choice is part of the first launch."""
    with on_device(x):
        logits, bias = _by_rows(logits), None if bias is None else bias.contiguous()
        routed = None
        if len(x) == 1 and x.device.type == "cuda" and not _few(x, top_k, gate_up, down, (gate_up_scale, down_scale), contract):
            weights = torch.empty((1, top_k), dtype=torch.float32, device=x.device)
            experts = torch.empty((1, top_k), dtype=torch.int32, device=x.device)
            routed = logits, bias, norm, sigmoid, groups, chosen_groups, float(scale), weights
        else:
            weights, experts = chosen(x, "routed").route(logits, bias, top_k, norm, sigmoid, groups, chosen_groups, float(scale))
        return _layer(x, weights, experts, gate_up, down, (gate_up_scale, down_scale), contract, leaf, first, total, dtype, routed)


@register_fake(routed_layer_op)
def _(x, logits, bias, top_k, norm, sigmoid, groups, chosen_groups, scale, gate_up, down, gate_up_scale, down_scale, contract, leaf, first,
      total, dtype):
    return x.new_empty(x.shape, dtype=dtype)


def _backward(ctx, *grads):
    raise RuntimeError("detgemm: an operation for inference has no gradient: `moe` and `run_experts` have one")


for _operator in (route_op, routed_experts_op, routed_layer_op):
    _operator.register_autograd(_backward)
    guard(_operator)


def route(logits, top_k, *, norm=True, scores="softmax", bias=None, groups=1, chosen_groups=1, scale=1.0):
    """(weights, experts) of each token, tokens x top_k in fp32 and int32, slots in the order of experts' numbers. No gradient.

    logits  tokens x experts in bf16, fp16 or fp32, up to 1024 experts
    scores  "softmax" or "sigmoid" of the logits, in fp32: the probabilities
    bias    experts in fp32: added to the probabilities for the choice, and not for the weights
    groups  experts are so many groups of neighbours (a power of two), of which `chosen_groups` are chosen: those with the largest
            probability, or with `bias` with the largest sum of their two largest. Of equal groups the first
    top_k   so many experts of these are chosen, those with the largest sum of probability and bias, of equal ones the first
    norm    divides a token's weights by their sum, slots ascending in fp32; then they are multiplied by `scale`, rounded once each

    With softmax and one group these are `top_experts(softmax(logits), top_k, norm=norm, by_number=True)`.
    """
    _check("logits", logits)
    check_truth("norm", norm)
    refuse(logits.dim() != 2 or logits.shape[1] > MOST_EXPERTS,
           f"logits has the shape {tuple(logits.shape)}: it must have two dimensions, tokens x experts, of up to {MOST_EXPERTS} experts")
    count = logits.shape[1]
    refuse(scores not in SCORES, f'scores is {scores!r}: it must be "softmax" or "sigmoid"')
    for name, given in (("top_k", top_k), ("groups", groups), ("chosen_groups", chosen_groups)):
        refuse(not isinstance(given, int) or isinstance(given, bool) or given < 1, f"{name} is {given!r}: it must be a positive whole number")
    refuse(groups & (groups - 1) != 0 or count % groups != 0,
           f"groups is {groups}: it must be a power of two that divides {count}, the number of experts")
    refuse(chosen_groups > groups, f"chosen_groups is {chosen_groups}: it must be at most groups, {groups}")
    among = count // groups * chosen_groups
    refuse(top_k > among, f"top_k is {top_k}: it must be at most {among}, the number of experts in the groups that are chosen")
    if bias is not None:
        check_tensors(bias=bias)
        refuse(bias.shape != (count,) or bias.dtype != torch.float32 or bias.device != logits.device,
               f"bias has the shape {tuple(bias.shape)} of {bias.dtype} on {bias.device}: it must be ({count},) of float32 on {logits.device}")
        refuse(groups > 1 and count // groups < 2, f"groups is {groups}: with bias a group must have two experts or more")
    check_factor("scale", scale)
    return route_op(logits, bias, top_k, norm, scores == "sigmoid", groups, chosen_groups, float(scale))


def routed_experts(x, weights, experts, gate_up, down, contract, *, first=0, total=None, dtype=None):
    """The weighted sum of the experts' results for each row of x, or a share of it: tokens x H. No gradient.

    x         tokens x H in bf16 or fp16; weights, experts: tokens x k in fp32 and int32, as `route` returns them
    gate_up   G x 2n x H, and down, G x H x n: the weights of the experts first .. first + G - 1; slots of others add nothing.
              Under a contract of scaled:LEAF each is a pair of e4m3 numbers and scales, as `quantize(w, LEAF, per=128)` makes
              them of each expert; rows are then quantised as `quantize(x, LEAF)` does
    contract  text such as "hopper/bf16/chain->bf16" or "hopper/e4m3/scaled:128->bf16", whose output is x's type
    total     the number of experts in all, G by default. The slots of each eighth of them are summed from -0, ascending, in fp32,
              and the eighths are joined by a tree
    dtype     of the result, x's by default. Shares of 1, 2, 4 or 8 equal parts of the experts in float32, joined by `join`, have
              the bits of one call
    """
    _check("x", x)
    check_tensors(weights=weights, experts=experts)
    refuse(not isinstance(contract, str), f"contract is {contract!r}: it must be the text of a contract, such as hopper/bf16/chain->bf16")
    read, written, reduction, leaf = _read(contract)
    scaled = reduction == "scaled"
    kinds = {"bf16": torch.bfloat16, "fp16": torch.float16}
    refuse(kinds.get(written) != x.dtype or (read != "e4m3" if scaled else read != written),
           f"contract is {contract} and x.dtype is {x.dtype}: it must read and write x's type, bfloat16 or float16, or read e4m3 under "
           "scaled:LEAF and write it")
    count = len(_check_weights(x, gate_up, down, contract if scaled else None)[0])
    refuse(x.dim() != 2 or experts.shape != weights.shape or experts.dim() != 2 or len(experts) != len(x),
           f"x has the shape {tuple(x.shape)}, weights {tuple(weights.shape)} and experts {tuple(experts.shape)}: they must be tokens x H "
           "and twice tokens x k")
    refuse(experts.dtype != torch.int32 or weights.dtype != torch.float32,
           f"experts is {experts.dtype} and weights {weights.dtype}: they must be int32 and float32, as `route` returns them")
    total = count if total is None else total
    refuse(not isinstance(first, int) or not isinstance(total, int) or not 0 <= first <= total - count,
           f"first is {first!r} and total {total!r}: {count} experts from first on must be among total")
    gate_up, gate_up_scale = gate_up if scaled else (gate_up, None)
    down, down_scale = down if scaled else (down, None)
    return routed_experts_op(x, weights, experts, gate_up, down, gate_up_scale, down_scale, contract, leaf or 0, first, total,
                             x.dtype if dtype is None else dtype)
