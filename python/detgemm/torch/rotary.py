# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Rotary embedding with the roundings of transformers, eager, compiled and in graphs: torch.ops.detgemm.rotary.

A compiler that fuses the formula leaves out roundings, and kernels of engines differ in which they make. Here each product
is rounded to the type of x, and so is each sum. No gradient. torch.ops.detgemm.rotary_pair is that of q and k in one kernel,
behind a norm of each head where a model has one.
"""
import torch

from detgemm.torch.auditing import ROW_LOCAL
from detgemm.torch.derivatives import guard
from detgemm.torch.dispatch import check_tensors, check_truth, chosen, on_device, refuse
from detgemm.torch.fakes import register_fake
from detgemm.torch.rows import _check

ROW_LOCAL.update(rotary="elements", rotary_pair="lanes ascending, tree over lanes of a head, then elements")


@torch.library.custom_op("detgemm::rotary", mutates_args=())
def rotary_op(x: torch.Tensor, positions: torch.Tensor, cache: torch.Tensor, interleaved: bool) -> torch.Tensor:
    if x.stride(-1) != 1:
        x = x.contiguous()
    with on_device(x):
        return chosen(x, "rotary").rotary(x, positions.contiguous(), cache.contiguous(), interleaved)


@register_fake(rotary_op)
def _(x, positions, cache, interleaved):
    return x.new_empty(x.shape)


@torch.library.custom_op("detgemm::rotary_pair", mutates_args=())
def rotary_pair_op(q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor, cache: torch.Tensor, interleaved: bool,
                   q_weight: torch.Tensor | None, k_weight: torch.Tensor | None, eps: float) -> tuple[torch.Tensor, torch.Tensor]:
    q, k = (x if x.stride(-1) == 1 else x.contiguous() for x in (q, k))
    weights = (None, None) if q_weight is None else (q_weight.contiguous(), k_weight.contiguous())
    with on_device(q):
        return chosen(q, "rotary").rotary_pair(q, k, positions.contiguous(), cache.contiguous(), interleaved, *weights, eps)


@register_fake(rotary_pair_op)
def _(q, k, positions, cache, interleaved, q_weight, k_weight, eps):
    return q.new_empty(q.shape), k.new_empty(k.shape)


for _operator in (rotary_op, rotary_pair_op):
    guard(_operator)


def rotary(x, positions, cache, *, interleaved=False):
    """Turns the first r elements of every head: pairs (i, i + r/2), or (2i, 2i + 1) where interleaved; no gradient.

    x: tokens x heads x d in bf16, fp16 or fp32; positions: tokens, int64, each a row of the cache; cache: ... x r in a
    floating-point type, r/2 cosines, then r/2 sines. Positions are not checked on the host.
    """
    _check("x", x)
    check_tensors(positions=positions, cache=cache)
    check_truth("interleaved", interleaved)
    refuse(x.dim() != 3, f"x has {x.dim()} dimensions: it must have three, tokens x heads x d")
    refuse(positions.dtype != torch.int64 or positions.shape != x.shape[:1],
           f"positions has the shape {tuple(positions.shape)} of {positions.dtype}: it must be int64 with one per token, "
           f"({x.shape[0]},)")
    refuse(cache.dim() != 2 or not cache.dtype.is_floating_point or cache.shape[1] % 2 != 0 or not 2 <= cache.shape[1] <= x.shape[2],
           f"cache has the shape {tuple(cache.shape)} of {cache.dtype}: it must have rows of an even number of elements, "
           f"2 to {x.shape[2]}, cosines and sines")
    refuse(positions.device != x.device or cache.device != x.device,
           f"positions is on {positions.device} and cache on {cache.device}: they must be on x's device, {x.device}")
    return rotary_op(x, positions, cache, interleaved)
