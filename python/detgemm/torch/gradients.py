# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Operators of a decoder layer's backward pass: torch.ops.detgemm.{add_rms_norm_backward, rotary_pair_backward}.

Their bits are those of the separate operations that autograd runs in their place. They have no gradient.
"""
import torch

from detgemm.torch.auditing import ROW_LOCAL
from detgemm.torch.derivatives import guard
from detgemm.torch.dispatch import chosen, on_device, refuse
from detgemm.torch.fakes import register_fake

ROW_LOCAL.update(add_rms_norm_backward="lanes ascending, tree over lanes",
                 rotary_pair_backward="elements, then lanes ascending, tree over lanes of a head")

WIDEST = 8192  # elements of a row that a program keeps in registers


@torch.library.custom_op("detgemm::add_rms_norm_backward", mutates_args=())
def add_rms_norm_backward_op(parts: list[torch.Tensor], dtotal: torch.Tensor, total: torch.Tensor, weight: torch.Tensor,
                             eps: float) -> tuple[torch.Tensor, torch.Tensor]:
    """The gradient of total -> (rms_norm(total), total); parts: what is added, from the left, to the first output's. All rows x n."""
    refuse(not 1 <= len(parts) <= 3, f"parts has {len(parts)} tensors: it must have one to three")
    refuse(total.dim() != 2 or any(x.shape != total.shape or x.dtype != total.dtype for x in (*parts, dtotal)),
           f"total has the shape {tuple(total.shape)} of {total.dtype}: parts and dtotal must have it too, rows x n")
    refuse(total.shape[1] > WIDEST, f"total has rows of {total.shape[1]} elements: they may have {WIDEST}")
    with on_device(total):
        return chosen(total, "gradients").add_rms_norm_backward([x.contiguous() for x in parts], dtotal.contiguous(), total.contiguous(),
                                                                weight.contiguous(), eps)


@register_fake(add_rms_norm_backward_op)
def _(parts, dtotal, total, weight, eps):
    return total.new_empty(total.shape), total.new_empty(total.shape, dtype=torch.float32)


@torch.library.custom_op("detgemm::rotary_pair_backward", mutates_args=())
def rotary_pair_backward_op(dq: torch.Tensor, dk: torch.Tensor, q: torch.Tensor, k: torch.Tensor, positions: torch.Tensor,
                            cache: torch.Tensor, q_weight: torch.Tensor | None, k_weight: torch.Tensor | None,
                            eps: float) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """The gradient of rotary_pair. dq, dk: batch x length x heads x d; q, k: tokens x heads x d. With weights also the products whose
    sums over tokens and heads are their gradients, tokens heads x d in fp32."""
    dim = q.shape[-1]
    refuse(dim < 2 or dim & (dim - 1) != 0 or cache.shape[-1] != dim,
           f"q has heads of {dim} elements and cache rows of {cache.shape[-1]}: both must be the same power of two")
    with on_device(q):
        found = chosen(q, "gradients")
        if q.device.type == "cpu":
            dq, dk = dq.reshape(q.shape), dk.reshape(k.shape)
        else:
            dq, dk = (x if x.stride(-1) == 1 else x.contiguous() for x in (dq, dk))
        return found.rotary_pair_backward(dq, dk, q.contiguous(), k.contiguous(), positions.contiguous(), cache.contiguous(), q_weight,
                                          k_weight, eps)


@register_fake(rotary_pair_backward_op)
def _(dq, dk, q, k, positions, cache, q_weight, k_weight, eps):
    rows = (x.shape[0] * x.shape[1] if q_weight is not None else 0 for x in (q, k))
    return q.new_empty(q.shape), k.new_empty(k.shape), *(q.new_empty((n, q.shape[2]), dtype=torch.float32) for n in rows)


for _operator in (add_rms_norm_backward_op, rotary_pair_backward_op):
    guard(_operator)
