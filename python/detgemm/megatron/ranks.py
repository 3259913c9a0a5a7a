# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Tensors of all tensor-parallel ranks. Collectives move bytes here, or add integers; no rank adds a float to another's."""
import torch

from detgemm.torch.dispatch import refuse


def gather(x, group):
    """ranks x ..., in rank order."""
    out = x.new_empty((group.size(), *x.shape))
    torch.distributed.all_gather_into_tensor(out.view(-1), x.contiguous().view(-1), group=group)
    return out


def only_one(x, group):
    """The sum over ranks of which one at most has other bytes than zero, by integers, so that -0 and NaN keep their bits."""
    refuse(x.shape[-1] * x.element_size() % 4 != 0,
           f"rows have {x.shape[-1]} elements of {x.element_size()} bytes: ranks exchange words of 4 bytes, so rows must consist of them")
    x = x.contiguous()
    torch.distributed.all_reduce(x.view(torch.int32), group=group)
    return x
