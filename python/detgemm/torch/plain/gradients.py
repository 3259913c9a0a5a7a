# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Gradients of a decoder layer's row operations, as autograd composes them from the separate operations: definitions."""
import torch

from detgemm.torch.plain import norms
from detgemm.torch.plain.arithmetic import rounded


def _added(a, b):
    return rounded(a.float() + b.float(), a.dtype)


def add_rms_norm_backward(parts, dtotal, total, weight, eps):
    """The gradient of total -> (rms_norm(total), total). parts: rows x n each, whose sum from the left, rounded after each addition,
    is the gradient of the first output; dtotal: of the second. Returns the gradient of total and the fp32 products whose sum over
    rows is the weight's."""
    dy = parts[0]
    for part in parts[1:]:
        dy = _added(dy, part)
    r = norms.scale(total.float(), eps)[..., 0]
    dx, products = norms.rms_norm_backward(dy, total, weight, r)
    return _added(dx, dtotal), products


def _turned_back(dy, positions, cache):
    """The gradient of the rotary embedding of whole heads, halves paired: tokens x heads x d."""
    cos, sin = (part[:, None].float() for part in cache[positions].to(dy.dtype).chunk(2, dim=-1))
    first, second = dy.float().chunk(2, dim=-1)

    def product(a, b):
        return rounded(a * b, dy.dtype).float()

    # Autograd adds the two slices of a head first, each with zeros for the other: -0 becomes +0 there.
    return torch.cat((rounded((product(second, sin) + 0.0) + product(first, cos), dy.dtype),
                      rounded((0.0 - product(first, sin)) + product(second, cos), dy.dtype)), dim=-1)


def _one_backward(dy, x, positions, cache, weight, eps):
    dy = _turned_back(dy, positions, cache)
    if weight is None:
        return dy, torch.empty((0, x.shape[-1]), dtype=torch.float32, device=x.device)
    rows, n = x.shape[0] * x.shape[1], x.shape[2]
    r = norms.scale(x.float(), eps)[..., 0]
    dx, products = norms.rms_norm_backward(dy, x, weight, r)
    return dx, products.reshape(rows, n)


def rotary_pair_backward(dq, dk, q, k, positions, cache, q_weight, k_weight, eps):
    """Of plain.rotary.rotary_pair with halves paired and heads turned whole. Returns dq, dk, and for each weight the fp32 products
    whose sum over rows, tokens and then heads, is its gradient; no rows without weights."""
    dq, q_products = _one_backward(dq, q, positions, cache, q_weight, eps)
    dk, k_products = _one_backward(dk, k, positions, cache, k_weight, eps)
    return dq, dk, q_products, k_products
