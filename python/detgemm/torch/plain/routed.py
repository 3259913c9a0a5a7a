# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The choice of a token's experts, places of rows sorted by expert, and rows at their places: definitions."""
import torch

from detgemm.torch.plain import fused, softmax
from detgemm.torch.plain.arithmetic import rounded
from detgemm.torch.plain.quantize import quantize, silu_mul_quantize  # noqa: F401 - of this module's kernels too


def _largest(scores, count):
    """Where the largest are, of equal ones the first."""
    return torch.sort(scores, dim=-1, descending=True, stable=True).indices[..., :count]


def route(logits, bias, top_k, norm, sigmoid, groups, chosen, scale):
    """logits: tokens x experts; bias: experts, fp32, or None. Returns weights and int32 experts, tokens x top_k, by number."""
    p = rounded(fused._sigmoid(logits.float()), torch.float32) if sigmoid else softmax.softmax(logits, torch.float32)
    scores = p if bias is None else p + bias
    if groups > 1:
        of_groups = scores.view(len(scores), groups, -1)
        best = torch.sort(of_groups, dim=-1, descending=True, stable=True).values
        best = best[..., 0] if bias is None else best[..., 0] + best[..., 1]
        allowed = torch.zeros_like(best, dtype=torch.bool).scatter_(1, _largest(best, chosen), True)
        places = torch.arange(scores.shape[1], device=scores.device).view(groups, -1)
        inside = [places[which].flatten() for which in allowed]
        experts = torch.stack([among[_largest(score[among], top_k)] for score, among in zip(scores, inside)]) if inside else \
            scores.new_zeros((0, top_k), dtype=torch.int64)
    else:
        experts = _largest(scores, top_k)
    experts = experts.sort(dim=-1).values
    values = p.gather(1, experts)
    if norm:
        total = values[:, 0]
        for slot in range(1, top_k):
            total = total + values[:, slot]
        values = values / total[:, None]
    return values * scale, experts.to(torch.int32)


def sort(experts, first, groups):
    """experts: slots. Returns the ends of each expert's rows, first to first + groups - 1, and the place of each slot or -1."""
    keys = experts.to(torch.int64) - first
    inside = (keys >= 0) & (keys < groups)
    chosen, order = torch.sort(torch.where(inside, keys, groups), stable=True)
    offs = torch.searchsorted(chosen, torch.arange(groups, device=keys.device), right=True).to(torch.int32)
    places = torch.full_like(experts, -1)
    places[order] = torch.where(chosen < groups, torch.arange(len(keys), device=keys.device), -1).to(experts.dtype)
    return offs, places


def spread(x, places, slots):
    """Row t of x at the places of slots t * slots to t * slots + slots - 1. Rows of no slot are zeros here."""
    y = x.new_zeros((len(places), x.shape[1]))
    there = places >= 0
    y[places[there].long()] = x.repeat_interleave(slots, 0)[there]
    return y


def spread_quantize(x, places, slots, leaf):
    return quantize(spread(x, places, slots), leaf)
