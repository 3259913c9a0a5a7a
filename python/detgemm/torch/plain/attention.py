# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Causal attention of segments: definitions of the forward and the backward pass.

A segment is one sequence's share of a call: queries q_first .. q_first + q_len of row q_batch of q,
and keys k_first .. k_first + k_len of row k_batch of k. Query i sees keys j <= i + k_len - q_len.
Segments are gathered side by side with padding; what is padded is masked and reaches no sum.
"""
import torch

from detgemm.torch import order
from detgemm.torch.plain.arithmetic import exp, rounded, tree


def products(a, b):
    """a: ... x m x d, b: ... x n x d; sums over d ascending from +0, one rounding per operation."""
    total = torch.zeros((*a.shape[:-1], b.shape[-2]), dtype=torch.float32, device=a.device)
    for d in range(a.shape[-1]):
        total = total + a[..., :, None, d] * b[..., None, :, d]
    return total


class Gathered:
    """Operands of all segments: queries S x Hkv x G x Q x D, keys S x Hkv x 1 x K x D, in fp32."""

    def __init__(self, q, k, segments):
        table = segments.long().cpu()
        self.q_batch, self.q_first, self.q_len, self.k_batch, self.k_first, self.k_len = table.t()
        self.queries = torch.arange(int(self.q_len.max()) if len(table) else 0)
        self.keys = torch.arange(int(self.k_len.max()) if len(table) else 0)
        self.heads, self.group = k.shape[1], q.shape[1] // k.shape[1]
        limit = self.queries + (self.k_len - self.q_len)[:, None]
        self.here = self.queries < self.q_len[:, None]                      # S x Q
        seen = (self.keys <= limit[..., None]) & self.here[..., None]       # S x Q x K
        self.seen = seen[:, None, None].to(q.device)

    def take_q(self, x):
        """Bq x Hq x Tq x D to S x Hkv x G x Q x D."""
        index = (self.q_first[:, None] + self.queries).clamp(max=x.shape[2] - 1)
        taken = x[self.q_batch[:, None], :, index].float()                  # S x Q x Hq x D
        taken = taken * self.here[..., None, None].to(x.device)
        return taken.unflatten(2, (self.heads, self.group)).permute(0, 2, 3, 1, 4)

    def take_k(self, x):
        index = (self.k_first[:, None] + self.keys).clamp(max=x.shape[2] - 1)
        taken = x[self.k_batch[:, None], :, index].float()                  # S x K x Hkv x D
        return taken.permute(0, 2, 1, 3)[:, :, None]

    def put_q(self, out, x):
        """S x Hkv x G x Q x D into out, Bq x Hq x Tq x D, where queries are."""
        for s in range(len(self.q_len)):
            n, first = int(self.q_len[s]), int(self.q_first[s])
            out[self.q_batch[s], :, first:first + n] = x[s, :, :, :n].flatten(0, 1).to(out.dtype)

    def put_k(self, out, x):
        for s in range(len(self.k_len)):
            n, first = int(self.k_len[s]), int(self.k_first[s])
            out[self.k_batch[s], :, first:first + n] = x[s, :, :n].to(out.dtype)


def attention(q, k, v, segments, scale, dot=products):
    """Returns out, Bq x Hq x Tq x D, and the stats 2 x Bq x Hq x Tq: maximum and sum."""
    out, stats = torch.zeros_like(q, memory_format=torch.contiguous_format), torch.zeros(
        (2, *q.shape[:3]), dtype=torch.float32, device=q.device)
    if segments.shape[0] == 0:
        return out, stats
    g = Gathered(q, k, segments)
    wide_q, wide_k, wide_v = g.take_q(q), g.take_k(k), g.take_k(v)
    shape = wide_q.shape[:-1]
    top = torch.full(shape, -float("inf"), device=q.device)
    total, acc = torch.zeros(shape, device=q.device), torch.zeros(wide_q.shape, device=q.device)
    for start in range(0, len(g.keys), order.KEYS):
        keys = slice(start, start + order.KEYS)
        seen = g.seen[..., keys]
        some = seen.any(-1)
        t = torch.where(seen, dot(wide_q, wide_k[..., keys, :]) * scale, -float("inf"))
        m = t.amax(-1)
        p = torch.where(seen, exp(t - torch.where(some, m, 0.0)[..., None]), 0.0)
        p = rounded(p, q.dtype).float()
        columns = torch.where(seen.any(-2)[..., None], wide_v[..., keys, :], 0.0)
        part = dot(p, columns.transpose(-1, -2))
        ones = torch.ones((*p.shape[:2], 1, 1, p.shape[-1]), device=q.device)
        part_total = dot(p, ones)[..., 0]
        new = torch.maximum(top, m)
        old_weight = exp(torch.where(some, top - new, 0.0))
        weight = exp(torch.where(some, m - new, 0.0))
        total = torch.where(some, total * old_weight + part_total * weight, total)
        acc = torch.where(some[..., None],
                          acc * old_weight[..., None] + part * weight[..., None], acc)
        top = torch.where(some, new, top)
    inverse = torch.div(torch.ones_like(total), total)
    y = torch.where((total == 0)[..., None], torch.zeros_like(acc), acc * inverse[..., None])
    g.put_q(out, rounded(y, q.dtype))
    g.put_q(stats[0][..., None], top[..., None])
    g.put_q(stats[1][..., None], total[..., None])
    return out, stats


def attention_backward(dout, q, k, v, out, stats, segments, scale, dot=products):
    """Returns dq, dk and dv in the types of q, k and v. No key may belong to two segments."""
    dq, dk, dv = (torch.zeros_like(x, memory_format=torch.contiguous_format) for x in (q, k, v))
    if segments.shape[0] == 0:
        return dq, dk, dv
    g = Gathered(q, k, segments)
    wide_q, wide_k, wide_v = g.take_q(q), g.take_k(k), g.take_k(v)
    do, o = g.take_q(dout), g.take_q(out)
    top, total = g.take_q(stats[0][..., None])[..., 0], g.take_q(stats[1][..., None])[..., 0]
    inverse = torch.div(torch.ones_like(total), torch.where(total == 0, 1.0, total))
    width = 1 << (q.shape[-1] - 1).bit_length()
    delta = tree(torch.nn.functional.pad(do * o, (0, width - q.shape[-1])))
    t = dot(wide_q, wide_k) * scale
    p = torch.where(g.seen, exp(torch.where(g.seen, t - top[..., None], 0.0)) * inverse[..., None], 0.0)
    ds = torch.where(g.seen, p * (dot(do, wide_v) - delta[..., None]), 0.0)
    p, ds = rounded(p, q.dtype).float(), rounded(ds, q.dtype).float()
    # A head of keys serves a group of query heads: its sums run over the group, then its queries.
    def over_queries(weights, x):                          # S x Hkv x G x Q x K, S x Hkv x G x Q x D
        return dot(weights.flatten(2, 3).transpose(-1, -2), x.flatten(2, 3).transpose(-1, -2))
    g.put_q(dq, rounded(dot(ds, wide_k.transpose(-1, -2)) * scale, q.dtype))
    g.put_k(dk, rounded(over_queries(ds, wide_q) * scale, k.dtype))
    g.put_k(dv, rounded(over_queries(p, do), v.dtype))
    return dq, dk, dv
