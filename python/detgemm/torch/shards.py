# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Columns of a vocabulary in stripes and on ranks: which nodes of logsum16's tree they make, and how these join.

A stripe gives nodes of BLOCK columns, or leaves where a rank owns a part of such a block alone. A rank joins what it has
to the fewest nodes of the tree, `aligned` ones; all ranks gather them and join the rest in the same tree. Collectives move
bytes, and add nothing.

    columns   0      4096     8192     12288   |  a rank's border, a multiple of 16
    nodes     [------8------][------8------][--7--][5][4]  levels above leaves
"""
import torch
import torch.distributed as dist

from detgemm.torch.dispatch import refuse
from detgemm.torch.plain.log_prob import BLOCK, LEAF, LEVELS, Node, join, up


def stripes(begin, end, width, whole):
    """(first column, last column + 1, level of nodes) of [begin, end), which are cut at multiples of `width`, one of BLOCK.

    whole: the columns are all there are, so that a block at the end may be shorter."""
    while begin < end:
        block = begin // BLOCK * BLOCK
        if begin != block or (block + BLOCK > end and not whole):
            stop, level = min(block + BLOCK, end), 0
        else:
            stop, level = min(begin // width * width + width, end if whole else end // BLOCK * BLOCK), LEVELS
        yield begin, stop, level
        begin = stop


def aligned(begin, end):
    """(level, index) of the fewest nodes that leaves [begin, end) make, ascending."""
    found = []
    while begin < end:
        level = min((begin & -begin).bit_length() - 1 if begin else 62, (end - begin).bit_length() - 1)
        found.append((level, begin >> level))
        begin += 1 << level
    return found


def pieces(level, first, node):
    """Slots x T from index `first` of a level as (level, index, node of T), ascending, the fewest."""
    left, right = [], []
    while node.k.shape[0]:
        if first % 2:
            left.append((level, first, node.each(lambda part: part[0])))
            node, first = node.each(lambda part: part[1:]), first + 1
        if node.k.shape[0] % 2:
            right.append((level, first + node.k.shape[0] - 1, node.each(lambda part: part[-1])))
            node = node.each(lambda part: part[:-1])
        node, level, first = up(node), level + 1, first // 2
    return left + right[::-1]


def merged(parts):
    """Neighbours joined to the fewest pieces. parts: ascending, without a gap."""
    stack = []
    for part in parts:
        stack.append(part)
        while len(stack) > 1 and stack[-1][0] == stack[-2][0] and stack[-1][1] % 2 and stack[-2][1] == stack[-1][1] - 1:
            (level, index, left), (_, _, right) = stack[-2:]
            stack[-2:] = [(level + 1, index // 2, join(left, right))]
    return stack


def top(parts):
    """The root of pieces that begin at leaf 0: a piece without a neighbour on the right passes unchanged."""
    stack = merged(parts)
    while len(stack) > 1:
        level, index, node = stack.pop()  # the index is even: an odd one's neighbour would be here
        stack = merged([*stack, (level + 1, index // 2, node)])
    return stack[0][2].each(lambda part: part[None])


class Borders:
    """Which columns each rank of a group owns. Gathers them, so that the host waits once for a device."""

    def __init__(self, name, begin, width, valid, tokens, device):
        from torch.distributed.distributed_c10d import _resolve_process_group  # not there in a PyTorch without collectives
        self.group = _resolve_process_group(name)
        self.rank, self.ranks = dist.get_rank(self.group), dist.get_world_size(self.group)
        mine = torch.tensor([begin, begin + width, valid, tokens], device=device)
        found = [torch.empty_like(mine) for _ in range(self.ranks)]
        dist.all_gather(found, mine, group=self.group)
        rows = [each.tolist() for each in found]
        refuse(len({row[3] for row in rows}) > 1, f"the ranks have {[row[3] for row in rows]} tokens: all must have the same")
        refuse(len({row[2] for row in rows}) > 1, f"valid is {[row[2] for row in rows]} on the ranks: it must be the same on all")
        last = rows[-1][1]
        for rank, row in enumerate(rows):
            before = rows[rank - 1][1] if rank else 0
            refuse(row[0] != before, f"rank {rank} begins at column {row[0]}: the ranks before it end at {before}; vocab_start "
                                     "must be that in rank order")
            refuse(row[0] % LEAF != 0, f"rank {rank} begins at column {row[0]}: it must be a multiple of {LEAF}")
        self.valid = last if valid < 0 else valid
        refuse(self.valid > last, f"valid is {self.valid}: the ranks have {last} columns")
        self.spans = [(min(row[0], self.valid), min(row[1], self.valid)) for row in rows]

    def gathered(self, tensor):
        found = [torch.empty_like(tensor) for _ in range(self.ranks)]
        dist.all_gather(found, tensor.contiguous(), group=self.group)
        return found

    def joined(self, parts, x, targets, entropy):
        """The root, 1 x T, and the targets' x, from this rank's pieces, and the x of the targets that it owns, both T."""
        layouts = [aligned(begin // LEAF, -(-end // LEAF)) for begin, end in self.spans]
        most, planes = max(map(len, layouts)), 3 if entropy else 2
        words = x.new_zeros((most * planes + 1, x.shape[0]), dtype=torch.int32)
        for slot, (_, _, node) in enumerate(merged(parts)):
            for plane, part in enumerate(node[:planes]):
                words[slot * planes + plane] = part.view(torch.int32)
        words[-1] = x.view(torch.int32)
        every = []
        for rank, (got, layout) in enumerate(zip(self.gathered(words), layouts)):
            for slot, (level, index) in enumerate(layout):
                k, *sums = got[slot * planes:(slot + 1) * planes]
                every.append((level, index, Node(k, *(part.view(torch.float32) for part in sums), *([None] * (3 - planes)))))
            begin, end = self.spans[rank]
            x = torch.where((targets >= begin) & (targets < end), got[-1].view(torch.float32), x)
        return top(every), x
