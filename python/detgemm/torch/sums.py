# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Sums over tokens: the product of a row of ones and the tokens' rows, under a contract."""
import torch

from detgemm.torch.derivatives import guard
from detgemm.torch.dispatch import chosen, on_device, refuse
from detgemm.torch.fakes import register_fake
from detgemm.torch.operators import OPS

# One product per step, in fp32 and in token order: micro-batches may be cut at any token.
SUMS = "ieee_fma/fp32/chain->fp32"


@torch.library.custom_op("detgemm::sum_rows_", mutates_args=("acc", "acc2"))
def sum_rows_op(acc: torch.Tensor, x: torch.Tensor, acc2: torch.Tensor | None, x2: torch.Tensor | None, contract: str) -> None:
    """Adds the rows of x, T x n, to acc, n elements, in order; and those of x2 to acc2, at the same time. All fp32, contiguous."""
    refuse((acc2 is None) != (x2 is None), f"{'x2' if x2 is None else 'acc2'} is None: acc2 and x2 must be given together")
    for name, tensor, dims, rule in (("acc", acc, 1, "n elements"), ("x", x, 2, "T x n"), ("acc2", acc2, 1, "n elements"),
                                     ("x2", x2, 2, "T x n")):
        if tensor is not None and (tensor.dtype != torch.float32 or tensor.dim() != dims or tensor.shape[-1] != acc.shape[0]):
            refuse(True, f"{name} has the shape {tuple(tensor.shape)} of {tensor.dtype}: it must be {rule} of torch.float32, with the n of "
                         f"acc, whose shape is {tuple(acc.shape)}")
    if acc.device.type == "cuda" and torch.version.hip is None and contract == SUMS and acc.is_contiguous() and (
            acc2 is None or acc2.is_contiguous()):
        with on_device(acc):
            chosen(acc, "sums").sum_rows_(acc, x.contiguous(), acc2, None if x2 is None else x2.contiguous())
        return
    for total, rows in ((acc, x), (acc2, x2)):
        if total is not None:
            OPS.accumulate_(total.view(1, -1), rows.new_ones((1, rows.shape[0])), rows, contract)


@register_fake(sum_rows_op)
def _(acc, x, acc2, x2, contract):
    return None


guard(sum_rows_op)


def sum_into(main_grad, rows, contract, weight, flagged):
    """The gradient of weight, n, from rows, tokens x n in fp32: added to main_grad, or returned.

    With main_grad nothing is returned, or zeros where Megatron's flag requires a gradient.
    """
    if main_grad is None and contract != SUMS:  # such as a tree, which cannot be continued
        return OPS.gemm(rows.new_ones((1, rows.shape[0])), rows, contract)[0].to(weight.dtype)
    acc = rows.new_zeros(weight.shape) if main_grad is None else main_grad
    sum_rows_op(acc, rows, None, None, contract)
    return gradient_after(main_grad, acc, weight, flagged)


def gradient_after(main_grad, acc, weight, flagged):
    """What a backward pass returns for a weight whose gradient was added to acc, which is its main_grad where it has one."""
    if main_grad is None:
        return acc.to(weight.dtype)
    return torch.zeros_like(weight) if flagged else None
