# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Attention whose keys and values are in pages: the definition gathers them and is plain/attention.py."""
import torch

from detgemm.torch.plain import attention


def paged_attention(q, k, v, table, segments, scale, max_q, max_k, out=None):
    """q: T x Hq x D; k, v: pages x page x Hkv x D; table: rows x P; segments: S x 6. Returns T x Hq x D, or writes it to out."""
    page = k.shape[1]
    lengths = torch.zeros(table.shape[0], dtype=torch.int64)
    lengths[segments[:, 3].long().cpu()] = segments[:, 5].long().cpu()
    count = -(-int(lengths.max()) // page) if len(lengths) else 0
    # What no segment needs may be any number.
    valid = torch.arange(count)[None, :] * page < lengths[:, None]
    pages = torch.where(valid.to(table.device), table[:, :count].long(), 0)
    keys, values = (x[pages].flatten(1, 2).transpose(1, 2) for x in (k, v))
    found = attention.attention(q.transpose(0, 1)[None], keys, values, segments, scale)[0][0].transpose(0, 1)
    return found if out is None else out.copy_(found)


def write_segments(segments, starts, lengths):
    """Writes where each segment's queries start, how many there are, and how many keys. starts: S + 1, lengths: S, contiguous."""
    segments[:, 1], segments[:, 2], segments[:, 5] = starts[:-1], starts[1:] - starts[:-1], lengths
