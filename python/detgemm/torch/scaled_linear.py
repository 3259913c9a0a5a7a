# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""A linear layer whose weight is e4m3 with a scale per block: torch.ops.detgemm.scaled_linear, for inference. No gradient.

Its bits are those of `quantize(x, leaf)` and `scaled_gemm`, with the scales of x leaf by leaf in memory, as products read them fastest.
"""
import torch

from detgemm.torch.auditing import ROW_LOCAL
from detgemm.torch.derivatives import guard
from detgemm.torch.dispatch import chosen, on_device
from detgemm.torch.fakes import register_fake
from detgemm.torch.fused import _by_rows
from detgemm.torch.operators import OPS, output_type

ROW_LOCAL["scaled_linear"] = "a contract of scaled:LEAF"
STABLE_WEIGHT = 2  # the operator's value for "earlier work on the stream does not write b"


@torch.library.custom_op("detgemm::scaled_linear", mutates_args=())
def scaled_linear_op(x: torch.Tensor, weight: torch.Tensor, scales: torch.Tensor, bias: torch.Tensor | None, contract: str,
                     leaf: int) -> torch.Tensor:
    """x: ... x K; weight: N x K of e4m3; scales: ceil(N / 128) x ceil(K / leaf) in fp32."""
    with on_device(x):
        codes, of_rows = chosen(x, "routed").quantize(_by_rows(x), leaf)
        y = OPS.scaled_gemm(codes, of_rows, weight.t(), scales.t(), contract, None, bias, stable=STABLE_WEIGHT)
    return y.view(*x.shape[:-1], weight.shape[0])


@register_fake(scaled_linear_op)
def _(x, weight, scales, bias, contract, leaf):
    return x.new_empty((*x.shape[:-1], weight.shape[0]), dtype=output_type(contract))


def _backward(ctx, grad):
    raise RuntimeError("detgemm: scaled_linear has no gradient: write the products of the backward pass yourself, in a "
                       "torch.autograd.Function")


scaled_linear_op.register_autograd(_backward)
guard(scaled_linear_op)
