# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The weighted sum of a token's experts, and its gradients: definitions."""
import torch

from detgemm.torch.plain.arithmetic import lane_sum, rounded


def _rows(x, place):
    """The rows of x at these places, and something where there is none."""
    return x.new_zeros((len(place), x.shape[1])) if x.shape[0] == 0 else x[place.clamp(min=0)]


def by_eighths(x, places, weights, eighths, parts, dtype):
    """A sum as below for each of 0 to 7, floor(8 eighths / parts); then pairs of neighbours, three times."""
    kind = torch.promote_types(x.dtype, weights.dtype)
    totals = x.new_full((8, len(weights), x.shape[1]), -0.0, dtype=torch.float32)
    token = torch.arange(len(weights), device=x.device)
    for place, weight, which in zip(places.unbind(1), weights.float().unbind(1), (eighths.long() * 8 // parts).unbind(1)):
        product = rounded(weight[:, None] * _rows(x, place).float(), kind).float()
        total = totals[which, token]
        totals[which, token] = torch.where((place >= 0)[:, None], rounded(total + product, kind).float(), total)
    while len(totals) > 1:
        totals = rounded(totals[0::2] + totals[1::2], kind).float()
    return rounded(totals[0], dtype)


def combine(x, places, weights, start, dtype, eighths=None, parts=8):
    """x: rows x n; places, weights: tokens x k; start: tokens x n or None. Returns tokens x n of dtype.

    eighths  tokens x k, each from 0 to parts - 1, such as experts of which there are so many; or None
    """
    if eighths is not None:
        return by_eighths(x, places, weights, eighths, parts, dtype)
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
