# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Operators that an inference engine has in one kernel: torch.ops.detgemm.{add_rms_norm, silu_mul}, the second with a gradient.

Their bits are those of the separate operations: an addition rounded to x's type and `rms_norm`; silu rounded to
x's type and a product rounded again. docs/python-orders.md writes the order down.
"""
import torch

from detgemm.torch.auditing import ROW_LOCAL
from detgemm.torch.derivatives import guard
from detgemm.torch.dispatch import check_tensor, chosen, on_device, refuse
from detgemm.torch.fakes import register_fake
from detgemm.torch.rows import _check

ROW_LOCAL.update(add_rms_norm="lanes ascending, tree over lanes", inference_rms_norm="lanes ascending, tree over lanes",
                 silu_mul="elements", silu_mul_backward="elements")


@torch.library.custom_op("detgemm::add_rms_norm", mutates_args=())
def add_rms_norm_op(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor,
                    eps: float) -> tuple[torch.Tensor, torch.Tensor]:
    with on_device(x):
        return chosen(x, "fused").rms_norm(x, residual.contiguous(), weight.contiguous(), eps)


@torch.library.custom_op("detgemm::inference_rms_norm", mutates_args=())
def inference_rms_norm_op(x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
    with on_device(x):
        return chosen(x, "fused").rms_norm(x, None, weight.contiguous(), eps)[0]


def _by_rows(x):
    flat = x.reshape(-1, x.shape[-1])
    return flat if flat.stride(-1) == 1 else flat.contiguous()


def _gate_and_up(x, up):
    return _by_rows(x).chunk(2, dim=-1) if up is None else (_by_rows(x), _by_rows(up))


@torch.library.custom_op("detgemm::silu_mul", mutates_args=())
def silu_mul_op(x: torch.Tensor, up: torch.Tensor | None = None) -> torch.Tensor:
    with on_device(x):
        y = chosen(x, "fused").silu_mul(*_gate_and_up(x, up))
        return y.view(*x.shape[:-1], y.shape[-1])


@torch.library.custom_op("detgemm::silu_mul_backward", mutates_args=())
def silu_mul_backward_op(dy: torch.Tensor, x: torch.Tensor, up: torch.Tensor | None = None) -> torch.Tensor:
    """The gradient of gate, then of up, in one tensor: ... x 2n."""
    with on_device(x):
        return chosen(x, "fused").silu_mul_backward(_by_rows(dy), *_gate_and_up(x, up)).view(*dy.shape[:-1], 2 * dy.shape[-1])


@register_fake(add_rms_norm_op)
def _(x, residual, weight, eps):
    return x.new_empty(x.shape), x.new_empty(x.shape)


@register_fake(inference_rms_norm_op)
def _(x, weight, eps):
    return x.new_empty(x.shape)


@register_fake(silu_mul_op)
def _(x, up=None):
    return x.new_empty((*x.shape[:-1], x.shape[-1] // 2) if up is None else x.shape)


@register_fake(silu_mul_backward_op)
def _(dy, x, up=None):
    return x.new_empty((*dy.shape[:-1], 2 * dy.shape[-1]))


def _silu_mul_backward(ctx, dy):
    x, up = ctx.saved_tensors
    both = silu_mul_backward_op(dy, x, up)
    return (both, None) if up is None else both.chunk(2, dim=-1)  # views: a product reads rows of any stride


silu_mul_op.register_autograd(_silu_mul_backward, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
for _operator in (add_rms_norm_op, inference_rms_norm_op, silu_mul_op, silu_mul_backward_op):
    guard(_operator)


def _check_weight(x, weight):
    refuse(weight.shape != x.shape[-1:], f"weight has the shape {tuple(weight.shape)}: x has rows of "
                                         f"{x.shape[-1]} elements")


def add_rms_norm(x, residual, weight, eps=1e-6):
    """(rms_norm(s), s) with s = round(x + residual), in one kernel; no gradient.

    x, residual: ... x n in bf16, fp16 or fp32; weight: n. residual None: rms_norm(x) alone is returned.
    """
    _check("x", x)
    _check_weight(x, weight)
    if residual is None:
        return inference_rms_norm_op(x, weight, eps)
    refuse(residual.shape != x.shape or residual.dtype != x.dtype,
           f"residual has the shape {tuple(residual.shape)} of {residual.dtype}: it must have x's, "
           f"{tuple(x.shape)} of {x.dtype}")
    return add_rms_norm_op(x, residual, weight, eps)


def silu_mul(x, up=None):
    """round(round(silu(gate)) * up). x: gate, then up, ... x 2n in bf16, fp16 or fp32; with `up`, ... x n each. Returns ... x n."""
    _check("x", x)
    if up is None:
        refuse(x.shape[-1] % 2 != 0, f"x has rows of {x.shape[-1]} elements: gate and up need an even number")
        return silu_mul_op(x)
    check_tensor("up", up)
    refuse(up.shape != x.shape or up.dtype != x.dtype or up.device != x.device,
           f"up has the shape {tuple(up.shape)} of {up.dtype} on {up.device}: it must have x's, {tuple(x.shape)} of {x.dtype} on {x.device}")
    return silu_mul_op(x, up)
