# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The gradient of an embedding: rows are added to their token's row in token order."""
import torch


def embedding_accumulate_(acc, ids, dy):
    """acc[ids[t]] += dy[t] for t ascending; acc: vocabulary x n in fp32, ids: tokens, dy: tokens x n."""
    sorted_ids, position = torch.sort(ids, stable=True)
    first = torch.searchsorted(sorted_ids, sorted_ids)      # where this token's run starts
    rank = torch.arange(len(ids), device=ids.device) - first
    for turn in range(int(rank.max()) + 1 if len(ids) else 0):
        chosen = rank == turn                                # no token twice in one turn
        rows = sorted_ids[chosen]
        acc[rows] = acc[rows] + dy[position[chosen]].float()
