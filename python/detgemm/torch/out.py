# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Aten's rules for `out`: the tensor that receives the result of a call."""
from torch.autograd import forward_ad


def into(out, result):
    """The result in `out`, which is resized, and must have the type of the result."""
    if out.dtype != result.dtype:
        raise RuntimeError(f"detgemm: out.dtype is {out.dtype}: the product has {result.dtype}")
    if out.shape != result.shape:
        out.resize_(result.shape)
    return out.copy_(result)


def writable(out, shape, dtype):
    """Whether the operator may write straight into `out`, which it refuses to inside a level of forward-mode derivatives."""
    if forward_ad._current_level >= 0 or out is None or out.dtype != dtype or tuple(out.shape) != tuple(shape):
        return False
    strides, sizes = out.stride(), out.shape
    return (strides[-1] == 1 and strides[-2] >= sizes[-1]) or (strides[-2] == 1 and strides[-1] >= sizes[-2])
