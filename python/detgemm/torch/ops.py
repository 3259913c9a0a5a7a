# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The operators as functions, and what the process has counted."""
import ctypes

import torch

from detgemm.torch.derivatives import check_tangents
from detgemm.torch.dispatch import check_contract, check_optional, check_options, check_tensor, check_tensors
from detgemm.torch.operators import MODULE, OPS


def gemm(a, b, contract, *, out=None, c=None, bias=None, **options):
    """act(alpha * A.B + beta * C + bias) under a contract.

    a         M x K, any strides; leading dimensions are rows
    b         K x N, any strides: a transposed weight is `weight.t()`
    contract  text such as "hopper/bf16/chain->bf16"; it decides the type of the result
    out       M x N of the contract's output type; no copy is made of it. Not differentiable
    c, bias   M x N and N elements
    options   alpha, beta, activation ("relu", "gelu", "gelu_tanh", "silu"), continue_from_c (the sum
              starts from fp32 c), stable (1: earlier work on the stream does not write a, 2: nor b),
              backend, variant; a_snapped and b_snapped promise, for contracts of snap alone, that an operand is
              snapped along K for the contract's LEAF (`snap`), which backward passes never assume

    A wrong call raises RuntimeError with a sentence. Gradients of the operator are products under the same
    contract, with the operand's type; `linear` takes a policy with a contract for each.
    """
    check_tensors(a=a, b=b)
    check_optional(c=c, bias=bias)
    check_contract(contract)
    if options:
        check_options(options)
    if out is None:
        return OPS.gemm(a, b, contract, c, bias, **options)
    check_tensor("out", out)
    if out.requires_grad:
        raise RuntimeError("detgemm: out.requires_grad is True: results that are written into a given tensor "
                           "have no gradient")
    check_tangents("gemm.out", a, b, c, bias, out)
    OPS.gemm.out(a, b, contract, c, bias, out=out, **options)
    return out


def prepare(x):
    """x with rows that begin at multiples of 16 bytes, which the fastest kernels of GPUs require: x itself where they do, else a
    copy with zeros between its rows.

    x   [..., K] of any type, in memory that begins at 16 bytes as PyTorch's does: for example the weight N x K of a layer whose
        K is odd. `.t()` of the result is what `gemm` takes as b

    Where rows begin elsewhere, every product copies the operand or loads it more slowly; a prepared weight is copied once. The
    result has x's shape and values, so products have the same bits. Gradients pass through. Later writes to x do not change a
    copy, and `.to()` of PyTorch makes rows without zeros between them again.
    """
    check_tensors(x=x)
    unit = 16 // x.element_size()
    if x.dim() < 2 or (x.stride(-1) == 1 and not any(at % unit for at in (x.storage_offset(), *x.stride()[:-1]))):
        return x
    wide = x.new_zeros((*x.shape[:-1], -(-x.shape[-1] // unit) * unit))
    return wide[..., :x.shape[-1]].copy_(x)


def bmm(a, b, contract, *, out=None, c=None, **options):
    """One product per matrix of two lists, B x M x K and B x K x N: each has the bits that `gemm` gives."""
    check_tensors(a=a, b=b)
    check_optional(c=c)
    check_contract(contract)
    check_options(options)
    if out is None:
        return OPS.bmm(a, b, contract, c, **options)
    check_tensor("out", out)
    check_tangents("bmm.out", a, b, c, out)
    OPS.bmm.out(a, b, contract, c, out=out, **options)
    return out


def sum_rows_(acc, x, contract):
    """Adds the sum of all rows of x, T x N, to fp32 acc, N elements, in the order of a contract.

    It is the product of a row of ones with x, continued from acc: micro-batches that are cut where the
    contract allows it give the bits of the uncut sum. For fp32 x use an `ieee_fma/fp32` contract.
    """
    check_tensors(acc=acc, x=x)
    check_contract(contract)
    if x.dim() < 2 or acc.dim() != 1:
        raise RuntimeError(f"detgemm: acc has the shape {tuple(acc.shape)} and x {tuple(x.shape)}: acc must have one dimension "
                           "and x two or more")
    check_tangents("sum_rows_", acc, x)
    rows = x.flatten(0, -2)
    OPS.accumulate_(acc.view(1, -1), rows.new_ones((1, rows.shape[0])), rows, contract)
    return acc


def stats():
    """Counts of this process: operands that had to be copied (strides that overlap or of which none is 1); plans that
    were found in the cache, made, held, and parked until `clear_plans`; and products (of `gemm` and what calls it, not of
    `bmm`) with an operand whose rows begin at no multiple of 16 bytes: odd_fast with the workspace that is fastest for
    them, odd_slow without room for it."""
    numbers = (ctypes.c_int64 * 7)()
    MODULE.detgemm_torch_counts(numbers)
    return dict(zip(("copies", "hits", "made", "cached", "parked", "odd_fast", "odd_slow"), numbers))


def clear_plans():
    """Forgets every plan. Graphs that were captured before must not be replayed afterwards."""
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        for device in range(torch.cuda.device_count()):
            torch.cuda.synchronize(device)
    MODULE.detgemm_torch_clear_plans()
