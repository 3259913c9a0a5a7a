# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Rows to e4m3 with a scale per leaf in one pass, behind what makes them: torch.ops.detgemm.{silu_mul_quantize, gather_quantize}.

Their bits are those of the separate operations, whose last is `quantize`. A row's bits depend on the row alone. No gradient.
"""
import torch

from detgemm.torch.auditing import ROW_LOCAL
from detgemm.torch.derivatives import guard
from detgemm.torch.dispatch import check_tensors, chosen, on_device, refuse
from detgemm.torch.fakes import register_fake
from detgemm.torch.fused import _by_rows
from detgemm.torch.rows import _check

ROW_LOCAL.update(silu_mul_quantize="elements, and the largest of a leaf", gather_quantize="elements, and the largest of a leaf")


@torch.library.custom_op("detgemm::silu_mul_quantize", mutates_args=())
def silu_mul_quantize_op(x: torch.Tensor, leaf: int) -> tuple[torch.Tensor, torch.Tensor]:
    with on_device(x):
        codes, scales = chosen(x, "quantize").silu_mul_quantize(_by_rows(x), leaf)
    return codes.view(*x.shape[:-1], codes.shape[1]), scales.view(*x.shape[:-1], scales.shape[1])


@torch.library.custom_op("detgemm::gather_quantize", mutates_args=())
def gather_quantize_op(x: torch.Tensor, index: torch.Tensor, copies: int, leaf: int) -> tuple[torch.Tensor, torch.Tensor]:
    with on_device(x):
        return chosen(x, "quantize").gather_quantize(_by_rows(x), index.contiguous(), copies, leaf)


def _like(x, shape, leaf):
    return x.new_empty(shape, dtype=torch.float8_e4m3fn), x.new_empty((*shape[:-1], -(-shape[-1] // leaf)), dtype=torch.float32)


@register_fake(silu_mul_quantize_op)
def _(x, leaf):
    return _like(x, (*x.shape[:-1], x.shape[-1] // 2), leaf)


@register_fake(gather_quantize_op)
def _(x, index, copies, leaf):
    return _like(x, (index.shape[0], x.shape[1]), leaf)


def _backward(ctx, *grads):
    raise RuntimeError("detgemm: an operation that quantises has no gradient: detach x, or call it inside of a "
                       "torch.autograd.Function that defines the gradient")


for _operator in (silu_mul_quantize_op, gather_quantize_op):
    _operator.register_autograd(_backward)
    guard(_operator)


def _check_leaf(leaf):
    refuse(not isinstance(leaf, int) or isinstance(leaf, bool) or not 1 <= leaf <= 8192,
           f"leaf is {leaf!r}: it must be a whole number from 1 to 8192")


def silu_mul_quantize(x, leaf=128):
    """(q, scales) of `quantize(silu_mul(x), leaf)`, and its bits, in one pass; no gradient.

    x: ... x 2n in bf16, fp16 or fp32, gate, then up. q: ... x n in e4m3. scales: ... x ceil(n / leaf) in fp32.
    """
    _check("x", x)
    _check_leaf(leaf)
    refuse(x.shape[-1] % 2 != 0, f"x has rows of {x.shape[-1]} elements: gate and up need an even number")
    return silu_mul_quantize_op(x, leaf)


def gather_quantize(x, index, leaf=128, *, copies=1):
    """(q, scales) of `quantize(gather_rows(x, index, places, copies), leaf)`, and its bits, in one pass; no gradient.

    x: rows x n in bf16, fp16 or fp32. index: as `segments` returns it; row index[i] // copies of x is at place i, and zeros where
    it is -1. It is not checked on the host. q: places x n in e4m3. scales: places x ceil(n / leaf) in fp32.
    """
    _check("x", x)
    check_tensors(index=index)
    _check_leaf(leaf)
    refuse(x.dim() != 2, f"x has {x.dim()} dimensions: it must have two, rows x n")
    refuse(index.dim() != 1 or index.dtype not in (torch.int32, torch.int64),
           f"index has the shape {tuple(index.shape)} of {index.dtype}: it must have one dimension of int32 or int64")
    refuse(index.device != x.device, f"index is on {index.device} and x is on {x.device}")
    refuse(not isinstance(copies, int) or isinstance(copies, bool) or copies < 1, f"copies is {copies!r}: it must be a positive whole number")
    return gather_quantize_op(x, index, copies, leaf)
