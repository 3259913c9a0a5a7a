# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The weighted sum of a token's experts, and its gradients: definitions."""
import torch

from detgemm.torch.plain.arithmetic import lane_sum, rounded


def _rows(x, place):
    """The rows of x at these places, and something where there is none."""
    return x.new_zeros((len(place), x.shape[1])) if x.shape[0] == 0 else x[place.clamp(min=0)]


def combine(x, places, weights, start, dtype):
    """x: rows x n; places, weights: tokens x k; start: tokens x n or None. Returns tokens x n of dtype."""
    kind = torch.promote_types(x.dtype, weights.dtype)
    # -0 is what an addition leaves alone, so the first product is the first sum.
    total = x.new_full((len(weights), x.shape[1]), -0.0, dtype=torch.float32) if start is None else start.float()
    for place, weight in zip(places.unbind(1), weights.float().unbind(1)):
        product = rounded(weight[:, None] * _rows(x, place).float(), kind).float()
        total = torch.where((place >= 0)[:, None], rounded(total + product, kind).float(), total)
    return rounded(total, dtype)


def combine_backward(dy, x, places, weights):
    """Gradients of x, zeros at the places of no slot, and of weights."""
    kind = torch.promote_types(x.dtype, weights.dtype)
    dx, dweights = torch.zeros_like(x, memory_format=torch.contiguous_format), torch.zeros_like(weights)
    dy = dy.float()
    for slot, place in enumerate(places.unbind(1)):
        there = place >= 0
        dx[place[there]] = rounded(rounded(weights[there, slot, None].float() * dy[there], kind).float(), x.dtype)
        sums = rounded(lane_sum(dy * _rows(x, place).float()), weights.dtype)
        dweights[:, slot] = torch.where(there, sums, torch.zeros_like(sums))
    return dx, dweights
