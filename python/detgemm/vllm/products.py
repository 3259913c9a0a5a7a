# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The product of a layer."""
import torch

import detgemm.torch  # noqa: F401 - registers torch.ops.detgemm

STABLE_WEIGHTS = 2  # the operator's value for "earlier work on the stream does not write b"


def product(x, weight, bias, contract):
    """x.W^T + bias, x: ... x K, weight: N x K. The kernel is chosen inside the operator, so a compiled graph has none in it."""
    return torch.ops.detgemm.gemm(x, weight.t(), contract, None, bias, stable=STABLE_WEIGHTS)
