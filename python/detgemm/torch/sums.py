# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Sums over tokens: the product of a row of ones and the tokens' rows, under a contract."""
import torch

from detgemm.torch.operators import OPS
from detgemm.torch.ops import sum_rows_

# One product per step, in fp32 and in token order: micro-batches may be cut at any token.
SUMS = "ieee_fma/fp32/chain->fp32"


def sum_into(main_grad, rows, contract, weight, flagged):
    """The gradient of weight, n, from rows, tokens x n in fp32: added to main_grad, or returned.

    With main_grad nothing is returned, or zeros where Megatron's flag requires a gradient.
    """
    if main_grad is None:
        return OPS.gemm(rows.new_ones((1, rows.shape[0])), rows, contract)[0].to(weight.dtype)
    sum_rows_(main_grad, rows, contract)
    return torch.zeros_like(weight) if flagged else None
