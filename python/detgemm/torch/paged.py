# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Causal attention over a paged cache of keys and values: torch.ops.detgemm.paged_attention, in the order of `attention`.

Blocks of 128 keys are counted from the sequence's own start whatever the size of a page, so a query has the same bits in
a prompt, a chunk and a decode step, for any batch and any pages. No gradient.
"""
import torch

from detgemm.torch.auditing import ROW_LOCAL
from detgemm.torch.derivatives import guard
from detgemm.torch.dispatch import check_tensors, chosen, on_device, refuse
from detgemm.torch.fakes import register_fake

ROW_LOCAL["paged_attention"] = "blocks of 128 keys from the sequence's own start"


@torch.library.custom_op("detgemm::paged_attention", mutates_args=())
def paged_attention_op(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, table: torch.Tensor, segments: torch.Tensor,
                       scale: float, max_q: int, max_k: int) -> torch.Tensor:
    if q.stride(-1) != 1:
        q = q.contiguous()
    with on_device(q):
        return chosen(q, "paged").paged_attention(q, k, v, table.contiguous(), segments.contiguous(), scale, max_q,
                                                  max_k).contiguous()


@register_fake(paged_attention_op)
def _(q, k, v, table, segments, scale, max_q, max_k):
    return q.new_empty(q.shape)


guard(paged_attention_op)


def segments_of(starts, lengths):
    """Segments of sequences whose queries start at `starts` (S + 1) and whose keys, in row s of the table, are `lengths`."""
    number, zero = torch.arange(len(lengths), dtype=torch.int32, device=lengths.device), torch.zeros_like(lengths)
    return torch.stack((zero, starts[:-1], starts[1:] - starts[:-1], number, zero, lengths), dim=1).to(torch.int32)


def paged_attention(q, k, v, table, segments, *, scale=None, max_q, max_k):
    """Causal attention. q: T x Hq x D; k, v: pages x page x Hkv x D; bf16 or fp16; Hkv divides Hq. Returns T x Hq x D.

    table: rows x P int32, the pages of each sequence in order. segments: S x 6 int32 as `attention` takes them, with 0 for
    q_batch and k_first, and a row of the table for k_batch; neither is read by the host on a GPU. max_q, max_k: bounds of
    q_len and k_len, which size the launch and no bit.
    """
    check_tensors(q=q, k=k, v=v, table=table, segments=segments)
    refuse(q.dim() != 3 or k.dim() != 4, f"q has {q.dim()} dimensions and k {k.dim()}: they must have three and four")
    refuse(q.dtype not in (torch.bfloat16, torch.float16) or k.dtype != q.dtype or v.dtype != q.dtype,
           f"the types are {q.dtype}, {k.dtype} and {v.dtype}: q, k and v must all be bfloat16 or all float16")
    refuse(k.shape != v.shape, f"v has the shape {tuple(v.shape)}: it must be k's, {tuple(k.shape)}")
    refuse(k.stride(-1) != 1 or v.stride(-1) != 1, "k or v has a head whose elements are not next to each other")
    refuse(q.shape[2] != k.shape[3] or not 1 <= q.shape[2] <= 256,
           f"q has heads of {q.shape[2]} elements: k has {k.shape[3]}, and there may be 1 to 256")
    refuse(k.shape[2] < 1 or q.shape[1] % max(1, k.shape[2]) != 0, f"q has {q.shape[1]} heads: k's {k.shape[2]} must divide them")
    refuse(table.dim() != 2 or table.dtype != torch.int32, f"table has the shape {tuple(table.shape)} of {table.dtype}: it must "
                                                           "be rows x pages in int32")
    refuse(segments.dim() != 2 or segments.shape[1] != 6 or segments.dtype != torch.int32,
           f"segments has the shape {tuple(segments.shape)} of {segments.dtype}: it must be S x 6 int32")
    for name, x in (("k", k), ("v", v), ("table", table), ("segments", segments)):
        refuse(x.device != q.device, f"{name} is on {x.device} and q is on {q.device}")
    refuse(not 0 <= max_q <= q.shape[0] or max_k < 0,
           f"max_q is {max_q} and max_k is {max_k}: they must be bounds of q_len, at most {q.shape[0]}, and of k_len")
    scale = q.shape[2] ** -0.5 if scale is None else scale
    return paged_attention_op(q, k, v, table, segments, float(scale), max_q, max_k)
