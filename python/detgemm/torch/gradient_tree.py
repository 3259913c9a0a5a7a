# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Sums of gradients that do not depend on the number of data-parallel ranks.

The global batch is a number of slices, of whole sequences each, in the order of the batch; rank r has the r-th part of them.
Gradients of a slice are computed on one rank. Slices are joined by a binary tree, on a rank as far as it has both halves, and
then over ranks; a part whose right half does not exist passes unchanged:

    slices      s0   s1   s2   s3   s4   s5      1 rank: all; 2 ranks: s0 s1 s2 | s3 s4 s5; 3: s0 s1 | s2 s3 | s4 s5; 6: one each
                  \\  /     \\  /     \\  /
                   +         +         +         each + is one fp32 addition per element, left + right
                     \\     /           |
                        +              |
                           \\          /
                                 +

Collectives move bytes; the additions are made here.
"""
import functools

import torch
import torch.distributed as dist

from detgemm.torch.dispatch import check_tensors, refuse

PIECE = 1 << 26  # elements of a buffer that travel at a time


class Tree:
    """Sums of slices by their place (level, index): the node of level l and index i has the slices i 2^l to (i + 1) 2^l - 1."""

    def __init__(self, slices):
        self.slices, self.nodes = slices, {}

    def add(self, level, index, sums):
        """Takes a node, a list of tensors that it may overwrite, and joins what has both halves now."""
        while 1 << level < self.slices:
            left_is_last = index % 2 == 0 and (index + 1) << level >= self.slices
            if not left_is_last:
                other = self.nodes.pop((level, index ^ 1), None)
                if other is None:
                    break
                left, right = (other, sums) if index % 2 else (sums, other)
                sums = [a.add_(b) for a, b in zip(left, right, strict=True)]
            level, index = level + 1, index // 2
        self.nodes[level, index] = sums


@functools.cache
def cover(slices, ranks, rank):
    """The nodes that a rank's slices make, as (level, index)."""
    tree, own = Tree(slices), slices // ranks
    for each in range(rank * own, (rank + 1) * own):
        tree.add(0, each, [])
    return tuple(sorted(tree.nodes))


def check_slices(slices, ranks):
    refuse(not isinstance(slices, int) or isinstance(slices, bool) or slices < 1, f"slices is {slices!r}: it must be an integer, 1 or more")
    refuse(slices % ranks != 0, f"slices is {slices}: each of {ranks} ranks must have the same number of them, so it must be a multiple "
                                f"of {ranks}")


def over_ranks(nodes, slices, group):
    """The sum over all slices. nodes: of this rank's slices, by place, fp32 of one shape each; a new tensor of that shape.

    Each rank joins its part of the elements: as many bytes travel as in a reduce-scatter and an all-gather, where ranks have one
    node each.
    """
    ranks, rank = group.size(), group.rank()
    if ranks == 1:
        (total,) = nodes.values()
        return total
    covers = [cover(slices, ranks, each) for each in range(ranks)]
    like = nodes[covers[rank][0]]
    part = -(-like.numel() // ranks)
    sent = like.new_zeros((len(covers[rank]), ranks * part))
    for row, place in zip(sent, covers[rank]):
        row[:like.numel()] = nodes[place].flatten()
    sent = sent.view(-1, ranks, part).transpose(0, 1).contiguous()
    got = like.new_empty((sum(map(len, covers)), part))
    dist.all_to_all_single(got.view(-1), sent.view(-1), [len(each) * part for each in covers], [len(covers[rank]) * part] * ranks, group=group)
    tree = Tree(slices)
    for place, row in zip([place for each in covers for place in each], got, strict=True):
        tree.add(*place, [row])
    ((total,),) = tree.nodes.values()
    whole = like.new_empty(ranks * part)
    dist.all_gather_into_tensor(whole, total.contiguous(), group=group)
    return whole[:like.numel()].view(like.shape)


class GradientTree:
    """Joins gradients of slices that are in buffers: `close_slice` after the last backward pass of each, `finish` after the last.

    buffers: contiguous fp32 tensors in which gradients are continued, such as the values of `main_grads(model)`, or
    `[b.grad_data for b in ddp.buffers]` of Megatron's DistributedDataParallel, whose own reduction (start_grad_sync,
    finish_grad_sync) is then left out. group: the data-parallel ranks, torch.distributed.group.WORLD for all. slices: of the global
    batch, a multiple of the ranks. Losses are divided by a constant of the global batch.
    """

    def __init__(self, buffers, group, slices):
        for at, buffer in enumerate(buffers):
            check_tensors(**{f"buffers[{at}]": buffer})
            refuse(buffer.dtype != torch.float32 or not buffer.is_contiguous(),
                   f"buffers[{at}] is {buffer.dtype} with strides {buffer.stride()}: it must be contiguous torch.float32")
        check_slices(slices, group.size())
        self.buffers, self.group, self.slices, self.own = list(buffers), group, slices, slices // group.size()
        self.tree, self.closed = Tree(slices), 0

    @torch.no_grad()
    def close_slice(self):
        """Takes the sums of a slice out of the buffers, which are zeros afterwards."""
        refuse(self.closed == self.own, f"{self.closed} slices of this rank are closed, which are all of them: call finish()")
        self.tree.add(0, self.group.rank() * self.own + self.closed, [buffer.clone() for buffer in self.buffers])
        self.closed += 1
        for buffer in self.buffers:
            buffer.zero_()

    @torch.no_grad()
    def finish(self):
        """Puts the sums over all slices of all ranks into the buffers."""
        refuse(self.closed != self.own, f"{self.closed} slices of this rank are closed: they must be {self.own}, {self.slices} by "
                                        f"{self.group.size()} ranks")
        for at, buffer in enumerate(self.buffers):
            pieces = {place: sums[at].view(-1).split(PIECE) for place, sums in self.tree.nodes.items()}
            for number, piece in enumerate(buffer.view(-1).split(PIECE)):
                piece.copy_(over_ranks({place: each[number] for place, each in pieces.items()}, self.slices, self.group))
        self.tree, self.closed = Tree(self.slices), 0
