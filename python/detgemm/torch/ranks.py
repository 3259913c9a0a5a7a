# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""A product whose K is spread over ranks, joined with the bits of one rank: torch.ops.detgemm.join.

Under `tree:LEAF` every rank computes the root of its own leaves in fp32. Collectives only move roots; the additions are
those of the contract's tree, made here. For 2^r ranks with equal numbers of leaves the tree over ranks is by halves.
"""
import torch

from detgemm.contract import contract as parsed
from detgemm.torch.derivatives import guard
from detgemm.torch.dispatch import check_tensors, on_device, refuse
from detgemm.torch.fakes import register_fake
from detgemm.torch.plain.arithmetic import rounded

OUTPUTS = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}


def check_ranks(contract, k, ranks):
    """Refuses, in a sentence, a contract or a K that cannot be spread over so many ranks by halves."""
    chosen = parsed(contract)
    refuse(chosen.reduction != "tree", f'the contract is "{contract}": the sum over K of one rank alone can be joined to others '
                                       "under tree:LEAF")
    refuse(ranks < 1 or ranks & (ranks - 1) != 0, f"there are {ranks} ranks: they must be a power of two")
    step = chosen.leaf_k * ranks
    refuse(k % step != 0, f"K is {k}: {ranks} ranks need whole leaves of {chosen.leaf_k}, so it must be a multiple of {step}")


@torch.library.custom_op("detgemm::join", mutates_args=())
def join_op(roots: torch.Tensor, bias: torch.Tensor | None, dtype: torch.dtype) -> torch.Tensor:
    with on_device(roots):
        while roots.shape[0] > 1:
            roots = roots[0::2] + roots[1::2]
        total = roots[0] if bias is None else roots[0] + bias.float()
        return rounded(total, dtype)


@register_fake(join_op)
def _(roots, bias, dtype):
    return roots.new_empty(roots.shape[1:], dtype=dtype)


guard(join_op)


def join(roots, bias=None, *, dtype):
    """The root of all ranks, plus the bias, rounded once. roots: ranks x ... x N in fp32, in rank order; bias: N."""
    check_tensors(roots=roots)
    ranks = roots.shape[0] if roots.dim() else 0
    refuse(roots.dtype != torch.float32 or roots.dim() < 2, f"roots has the shape {tuple(roots.shape)} of {roots.dtype}: it must be "
                                                            "ranks x ... x N in float32")
    refuse(ranks < 1 or ranks & (ranks - 1) != 0, f"roots are those of {ranks} ranks: they must be a power of two")
    refuse(dtype not in OUTPUTS.values(), f"dtype is {dtype}: it must be bfloat16, float16 or float32")
    if bias is not None:
        check_tensors(bias=bias)
        refuse(bias.shape != roots.shape[-1:], f"bias has the shape {tuple(bias.shape)}: it must be ({roots.shape[-1]},)")
    return join_op(roots, bias, dtype)
