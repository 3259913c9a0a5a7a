# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The weighted sum of what a token's experts computed, in slot order, with gradients: torch.ops.detgemm.combine_experts.

docs/python-orders.md writes the order down. A token's row depends on its own slots alone.
"""
import torch

from detgemm.torch.auditing import ROW_LOCAL
from detgemm.torch.derivatives import guard
from detgemm.torch.dispatch import check_tensors, chosen, on_device, refuse
from detgemm.torch.fakes import register_fake
from detgemm.torch.fused import _by_rows
from detgemm.torch.rows import FLOATS, _check

ROW_LOCAL["combine_experts"] = "slots ascending; tree over eighths of the experts"
ROW_LOCAL["combine_experts_backward"] = "lanes ascending, tree over lanes"


@torch.library.custom_op("detgemm::combine_experts", mutates_args=())
def combine_experts_op(x: torch.Tensor, places: torch.Tensor, weights: torch.Tensor, start: torch.Tensor | None,
                       dtype: torch.dtype, eighths: torch.Tensor | None) -> torch.Tensor:
    with on_device(x):
        return chosen(x, "combine").combine(_by_rows(x), places.contiguous().view(weights.shape), weights.contiguous(),
                                            None if start is None else start.contiguous(), dtype,
                                            None if eighths is None else eighths.contiguous())


@register_fake(combine_experts_op)
def _(x, places, weights, start, dtype, eighths):
    return x.new_empty((weights.shape[0], x.shape[1]), dtype=dtype)


@torch.library.custom_op("detgemm::combine_experts_backward", mutates_args=())
def combine_experts_backward_op(dy: torch.Tensor, x: torch.Tensor, places: torch.Tensor,
                                weights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    with on_device(x):
        return chosen(x, "combine").combine_backward(dy.contiguous(), _by_rows(x), places.contiguous().view(weights.shape),
                                                     weights.contiguous())


@register_fake(combine_experts_backward_op)
def _(dy, x, places, weights):
    return x.new_empty(x.shape), weights.new_empty(weights.shape)


def _context(ctx, inputs, output):
    ctx.save_for_backward(*inputs[:3])
    ctx.start = None if inputs[3] is None else inputs[3].dtype


def _backward(ctx, dy):
    dx, dweights = combine_experts_backward_op(dy, *ctx.saved_tensors)
    return dx, None, dweights, dy.to(ctx.start) if ctx.start is not None and ctx.needs_input_grad[3] else None, None, None


combine_experts_op.register_autograd(_backward, setup_context=_context)
guard(combine_experts_op)
guard(combine_experts_backward_op)


def combine_experts(x, places, weights, *, start=None, dtype=None, eighths=None):
    """Each token's sum over its slots of weight times row, slots ascending: tokens x n.

    x        rows x n in bf16, fp16 or fp32, sorted by expert, as grouped products return them
    places   the row of each slot, tokens * k numbers of int32 or int64, as `segments` returns them. -1: the slot adds nothing. No row
             may serve two slots, and every place must be a row of x; neither is checked on the host
    weights  tokens x k in bf16, fp16 or fp32
    start    tokens x n of the type of the sums: the sum goes on from there, so that shares of the experts, called one after the
             other, have the bits of one call where the slots of a share are before those of the next
    dtype    of the result, rounded once; x's by default
    eighths  tokens x k of int32, 0 to 7: each of these has a sum of its slots, ascending from -0, and the eight are joined by a
             tree of neighbours. Shares that hold 1, 2 or 4 neighbouring eighths are subtrees of it, which `join` joins

    Each product and each sum is rounded to the type that PyTorch promotes x's and the weights' to: with weights in fp32
    that is fp32. Without `start` the first product is the first sum, and a token without a slot is -0. The gradient of a row is
    round(weight dy); that of a weight the sum of dy x over the row, in fp32, by lanes and their tree (docs/python-orders.md).
    """
    _check("x", x)
    check_tensors(places=places, weights=weights)
    refuse(x.dim() != 2, f"x has {x.dim()} dimensions: it must have two, rows x n")
    refuse(weights.dim() != 2 or weights.dtype not in FLOATS,
           f"weights has the shape {tuple(weights.shape)} of {weights.dtype}: it must have two dimensions, tokens x k, of bfloat16, "
           "float16 or float32")
    refuse(weights.shape[1] < 1, "weights has no column: a token needs one slot or more")
    refuse(places.dtype not in (torch.int32, torch.int64) or places.numel() != weights.numel(),
           f"places has the shape {tuple(places.shape)} of {places.dtype}: it must be int32 or int64 with one per slot, "
           f"{weights.shape[0]} x {weights.shape[1]}")
    kind = torch.promote_types(x.dtype, weights.dtype)
    if start is not None:
        check_tensors(start=start)
        refuse(start.shape != (weights.shape[0], x.shape[1]) or start.dtype != kind,
               f"start has the shape {tuple(start.shape)} of {start.dtype}: it must be {weights.shape[0]} x {x.shape[1]} of {kind}, the "
               "type of the sums")
    if eighths is not None:
        check_tensors(eighths=eighths)
        refuse(eighths.shape != weights.shape or eighths.dtype != torch.int32,
               f"eighths has the shape {tuple(eighths.shape)} of {eighths.dtype}: it must be weights', {tuple(weights.shape)}, of int32")
        refuse(start is not None, "start and eighths are both given: a sum that goes on from another has no tree")
    for name, given in (("places", places), ("weights", weights), ("start", start), ("eighths", eighths)):
        refuse(given is not None and given.device != x.device, f"{name} is on {getattr(given, 'device', None)} and x is on {x.device}")
    dtype = x.dtype if dtype is None else dtype
    refuse(dtype not in FLOATS, f"dtype is {dtype}: it must be bfloat16, float16 or float32")
    return combine_experts_op(x, places, weights, start, dtype, eighths)
