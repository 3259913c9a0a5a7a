# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Gradients that do not depend on the number of data-parallel ranks.

The global batch is a power of two of slices, such as 4, of whole sequences each. Inside of a slice gradients are continued in
main_grad; slices are joined by halves, on a rank and then over ranks, in the order of the batch:

    slices      s0   s1   s2   s3      1 rank: all of them; 2 ranks: s0 s1 | s2 s3; 4 ranks: one each
                  \\  /     \\  /
                   +         +         each + is one fp32 addition per element
                     \\     /
                        +

Collectives move bytes; the additions are made here. A rank keeps the logarithm of its slices in copies of the gradients.
"""
import torch

from detgemm.megatron.ranks import gather
from detgemm.torch.dispatch import check_tensors, refuse
from detgemm.torch.ranks import join_op

PIECE = 1 << 26  # elements that travel at a time: a rank holds that many of every rank


class GradientTree:
    """Joins gradients of slices: `close_slice` after the last backward pass of each, `finish` after the last slice.

    buffers: contiguous fp32 tensors in which gradients are continued, such as `[b.grad_data for b in ddp.buffers]` of Megatron's
    DistributedDataParallel, whose own reduction (start_grad_sync, finish_grad_sync) is then left out. group: the data-parallel
    ranks, a power of two; rank r has the r-th part of the slices. Losses are divided by a constant of the global batch.
    """

    def __init__(self, buffers, group):
        for at, buffer in enumerate(buffers):
            check_tensors(**{f"buffers[{at}]": buffer})
            refuse(buffer.dtype != torch.float32 or not buffer.is_contiguous(),
                   f"buffers[{at}] is {buffer.dtype} with strides {buffer.stride()}: it must be contiguous torch.float32")
        ranks = group.size()
        refuse(ranks & (ranks - 1) != 0, f"there are {ranks} data-parallel ranks: they must be a power of two")
        self.buffers, self.group, self.closed = list(buffers), group, []  # pairs: how often it was joined, tensors

    @torch.no_grad()
    def close_slice(self):
        """Takes the sums of a slice out of the buffers, which are zeros afterwards."""
        joined, sums = 0, [buffer.clone() for buffer in self.buffers]
        while self.closed and self.closed[-1][0] == joined:
            _, before = self.closed.pop()
            sums = [a.add_(b) for a, b in zip(before, sums)]
            joined += 1
        self.closed.append((joined, sums))
        for buffer in self.buffers:
            buffer.zero_()

    @torch.no_grad()
    def finish(self):
        """Puts the sums over all slices of all ranks into the buffers."""
        refuse(len(self.closed) != 1, f"slices of this rank are joined into {len(self.closed)} parts: their number must be a power of two, "
                                      "1 or more")
        _, sums = self.closed.pop()
        for buffer, total in zip(self.buffers, sums):
            for piece, mine in zip(buffer.view(-1).split(PIECE), total.view(-1).split(PIECE)):
                piece.copy_(join_op(gather(mine, self.group), None, torch.float32) if self.group.size() > 1 else mine)
