# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""aten's sums, means and 2-norms of bf16, fp16 and fp32 numbers under the switch, for losses, meters and the norm of gradients.

    x of n elements, in fp32    parts of 1024, the last one with zeros behind     each a product with ones under the contract
    sums of parts               parts of 1024 again, until one is left

A row's sum depends on the row alone, whatever the batch.
"""
import math

import torch

from detgemm import _library as lib
from detgemm.contract import contract as parsed
from detgemm.torch.operators import OPS

STEP = 1024
FLOATS = (torch.bfloat16, torch.float16, torch.float32)


def check_contract(text):
    """The contract of sums, as the library writes it."""
    found = parsed(text)
    if found.input != "fp32" or found.output != "fp32":
        raise lib.DetgemmError(f'sums is "{text}": it must read fp32 and have fp32 results, such as ieee_fma/fp32/chain->fp32')
    return found.text


def ordered_sum(rows, text):
    """The sum over the last dimension of fp32 rows."""
    if rows.shape[-1] == 0:
        return rows.new_zeros(rows.shape[:-1])
    while True:  # one element is a product too, so that no result shares memory with x
        n = rows.shape[-1]
        if n > STEP and n % STEP:
            rows = torch.nn.functional.pad(rows, (0, -n % STEP))
        part = min(n, STEP)
        count = rows.shape[-1] // part
        parts = rows.reshape(rows.shape[:-1].numel() * count, part)
        rows = OPS.gemm(parts, parts.new_ones((part, 1)), text).view(*rows.shape[:-1], count)
        if count == 1:
            return rows[..., 0]


def _last(x, dim):
    """x in fp32 with what is added in its last dimension, and the dimensions that are added."""
    dims = None if dim is None or (not isinstance(dim, int) and len(dim) == 0) else [dim] if isinstance(dim, int) else dim
    dims = sorted(torch._prims_common.reduction_dims(x.shape, dims))  # refuses what aten refuses
    dims = dims if x.dim() else []
    kept = [each for each in range(x.dim()) if each not in dims]
    count = math.prod(x.shape[each] for each in dims)
    return x.permute([*kept, *dims]).reshape([*(x.shape[each] for each in kept), count]).float(), dims


def _as_asked(result, x, dims, keepdim, dtype):
    shape = [1 if each in dims else size for each, size in enumerate(x.shape) if keepdim or each not in dims]
    return result.view(shape).to(dtype or x.dtype)


def _sum(text, x, dim=None, keepdim=False, *, dtype=None):
    rows, dims = _last(x, dim)
    return _as_asked(ordered_sum(rows, text), x, dims, keepdim, dtype)


def _mean(text, x, dim=None, keepdim=False, *, dtype=None):
    rows, dims = _last(x, dim)
    return _as_asked(torch.div(ordered_sum(rows, text), float(rows.shape[-1])), x, dims, keepdim, dtype)


def _norm(text, x, ord=2, dim=None, keepdim=False, *, dtype=None):
    rows, dims = _last(x, dim)
    return _as_asked(torch.sqrt(ordered_sum(rows * rows, text)), x, dims, keepdim, dtype)


def _norms(text, tensors, ord=2, dtype=None):
    return [_norm(text, x, dtype=dtype) for x in tensors]


# aten's `sum` and `mean` of whole tensors call the forms with dimensions.
TABLE = {"sum.dim_IntList": _sum, "mean.dim": _mean, "linalg_vector_norm": _norm, "_foreach_norm.Scalar": _norms}
NAMES = {name.partition(".")[0] for name in TABLE}


def serves(name, args, options):
    """Whether a call of the table has a written order here: of floating-point numbers, and norms of order 2. A maximum needs none."""
    first = args[0] if isinstance(args[0], (list, tuple)) else [args[0]]
    types = {each.dtype for each in first} | {options.get("dtype")} - {None}
    if name == "_foreach_norm" and len(args) > 2:
        types |= {args[2]} - {None}
    if not types or not types <= set(FLOATS):
        return False
    order = args[1] if len(args) > 1 else options.get("ord", 2)
    return "norm" not in name or (order == 2 and not isinstance(order, bool) and math.isfinite(order))
