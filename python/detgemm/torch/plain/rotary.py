# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Rotary embedding, behind a norm of each head or not: definition."""
import torch

from detgemm.torch.plain import norms
from detgemm.torch.plain.arithmetic import rounded


def rotary(x, positions, cache, interleaved):
    """x: tokens x heads x d; positions: tokens; cache: positions x r, cosines then sines. Returns tokens x heads x d."""
    cos, sin = (part[:, None].float() for part in cache[positions].to(x.dtype).chunk(2, dim=-1))
    r = cache.shape[-1]
    turned = x[..., :r].unflatten(-1, (-1, 2)) if interleaved else x[..., :r].unflatten(-1, (2, -1)).transpose(-1, -2)
    first, second = turned.float().unbind(-1)

    def product(a, b):
        return rounded(a * b, x.dtype).float()

    pairs = torch.stack((rounded(product(first, cos) - product(second, sin), x.dtype),
                         rounded(product(second, cos) + product(first, sin), x.dtype)), dim=-1)
    out = pairs.flatten(-2) if interleaved else pairs.transpose(-1, -2).flatten(-2)
    return torch.cat((out, x[..., r:]), dim=-1)


def rotary_pair(q, k, positions, cache, interleaved, q_weight=None, k_weight=None, eps=0.0):
    """q and k, tokens x heads x d each; with weights of d elements, RMSNorm of every head first."""
    if q_weight is not None:
        q, k = norms.rms_norm(q, q_weight, eps)[0], norms.rms_norm(k, k_weight, eps)[0]
    return rotary(q, positions, cache, interleaved), rotary(k, positions, cache, interleaved)


def rotary_store(q, k, v, positions, cache, interleaved, q_weight, k_weight, eps, k_pages, v_pages, slots):
    """rotary_pair, whose keys, and v, go to pages x page x heads x d: token t to row slots[t] % page of page slots[t] // page.
    Tokens without a slot, and those whose slot is below zero, are not stored. Returns q."""
    q, k = rotary_pair(q, k, positions, cache, interleaved, q_weight, k_weight, eps)
    there = (slots >= 0).nonzero()[:, 0]
    page, row = slots[there] // k_pages.shape[1], slots[there] % k_pages.shape[1]
    k_pages[page, row], v_pages[page, row] = k[there], v[there]
    return q
