# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Causal attention of segments; prefill, chunk and decode give a query the same bits.

A segment is a row of six int32: q_batch, q_first, q_len, k_batch, k_first, k_len. Its queries are
q[q_batch, :, q_first : q_first + q_len], its keys k[k_batch, :, k_first : k_first + k_len], and query i
sees the keys j <= i + k_len - q_len. Padding is what no segment names; its outputs are zero.
"""
import torch

from detgemm.torch.auditing import ROW_LOCAL
from detgemm.torch.derivatives import guard
from detgemm.torch.dispatch import check_factor, check_tensor, chosen, on_device, refuse
from detgemm.torch.fakes import register_fake

ROW_LOCAL["attention"] = "blocks of 128 keys from the sequence's own start"
ROW_LOCAL["attention_backward"] = "keys and queries from the sequence's own start"

# Handed through a model of transformers to its attention: the most queries that a segment has. A name of our own, since
# transformers' max_length_q bounds segments that are not ours, and a bound too small leaves queries out.
MOST_QUERIES = "detgemm_most_queries"


def _unit(x):
    return x if x.stride(-1) == 1 else x.contiguous()


def _as_output(x):
    """Bq x Hq x Tq x D with the memory of Bq x Tq x Hq x D."""
    return x.transpose(1, 2).contiguous().transpose(1, 2)


@torch.library.custom_op("detgemm::attention", mutates_args=())
def attention_op(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, segments: torch.Tensor, scale: float,
                 max_q: int, max_k: int, want_stats: bool) -> tuple[torch.Tensor, torch.Tensor]:
    with on_device(q):
        if q.device.type == "cuda":
            return chosen(q, "attention").attention(
                _unit(q), _unit(k), _unit(v), segments.contiguous(), scale, max_q, max_k, want_stats)
        out, stats = chosen(q, "attention").attention(q, k, v, segments, scale)
        return _as_output(out), stats if want_stats else stats.new_empty(0)


@register_fake(attention_op)
def _(q, k, v, segments, scale, max_q, max_k, want_stats):
    batch, heads, queries, dim = q.shape
    stats = (2, batch, heads, queries) if want_stats else (0,)
    return (q.new_empty((batch, queries, heads, dim)).transpose(1, 2),
            q.new_empty(stats, dtype=torch.float32))


@torch.library.custom_op("detgemm::attention_backward", mutates_args=())
def attention_backward_op(dout: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor,
                          out: torch.Tensor, stats: torch.Tensor, segments: torch.Tensor, scale: float,
                          max_q: int, max_k: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    with on_device(q):
        if q.device.type == "cuda":
            return chosen(q, "attention_backward").attention_backward(
                _unit(dout), _unit(q), _unit(k), _unit(v), _unit(out), stats, segments.contiguous(), scale,
                max_q, max_k)
        dq, dk, dv = chosen(q, "attention").attention_backward(dout, q, k, v, out, stats, segments, scale)
        return tuple(map(_as_output, (dq, dk, dv)))


@register_fake(attention_backward_op)
def _(dout, q, k, v, out, stats, segments, scale, max_q, max_k):
    return tuple(x.new_empty((x.shape[0], x.shape[2], x.shape[1], x.shape[3])).transpose(1, 2) for x in (q, k, v))


def _context(ctx, inputs, output):
    q, k, v, segments, ctx.scale, ctx.max_q, ctx.max_k, ctx.with_stats = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(q, k, v, *output, segments)


def _backward(ctx, dout, _):
    refuse(not ctx.with_stats, "want_stats is False: the gradient of attention needs the stats")
    q, k, v, out, stats, segments = ctx.saved_tensors
    dq, dk, dv = attention_backward_op(dout, q, k, v, out, stats, segments, ctx.scale, ctx.max_q, ctx.max_k)
    return dq, dk, dv, None, None, None, None, None


attention_op.register_autograd(_backward, setup_context=_context)
guard(attention_op)
guard(attention_backward_op)


def dense(batch, queries, keys, device):
    """Segments of a batch without padding, whose queries are the last of the keys."""
    table = torch.tensor([0, 0, queries, 0, 0, keys], dtype=torch.int32, device=device).repeat(batch, 1)
    number = torch.arange(batch, dtype=torch.int32, device=device)
    table[:, 0], table[:, 3] = number, number
    return table


def attention(q, k, v, segments=None, *, scale=None, max_q=0, max_k=0):
    """Causal attention. q: Bq x Hq x Tq x D; k, v: Bk x Hkv x Tk x D; bf16 or fp16; Hkv divides Hq.

    segments: S x 6 int32 on q's device, not read by the host; by default one per batch entry, its
    queries the last of its keys. scale: 1 / sqrt(D) by default. max_q, max_k: bounds of q_len and
    k_len, which size the launch and no bit. Returns Bq x Hq x Tq x D in q's type.

    A query's bits do not depend on the batch, on padding, on the place of its sequence, or on how the
    sequence is cut into calls. v must be finite. Gradients need every key in one segment at most.
    """
    for name, x in (("q", q), ("k", k), ("v", v)):
        check_tensor(name, x)
        refuse(x.dim() != 4, f"{name} has {x.dim()} dimensions: it must have four")
        refuse(x.dtype not in (torch.bfloat16, torch.float16) or x.dtype != q.dtype,
               f"{name}.dtype is {x.dtype}: q, k and v must all be bfloat16 or all float16")
        refuse(x.device != q.device, f"{name} is on {x.device} and q is on {q.device}")
    refuse(k.shape != v.shape, f"v has the shape {tuple(v.shape)}: it must be k's, {tuple(k.shape)}")
    refuse(q.shape[3] != k.shape[3] or not 1 <= q.shape[3] <= 256,
           f"q has heads of {q.shape[3]} elements: k has {k.shape[3]}, and there may be 1 to 256")
    refuse(k.shape[1] < 1 or q.shape[1] % max(1, k.shape[1]) != 0,
           f"q has {q.shape[1]} heads: k's {k.shape[1]} must divide them")
    if segments is None:
        refuse(q.shape[0] != k.shape[0] or q.shape[2] > k.shape[2],
               f"q has the shape {tuple(q.shape)}: without segments it must have k's batch and no more "
               f"queries than there are keys, {tuple(k.shape)}")
        segments = dense(q.shape[0], q.shape[2], k.shape[2], q.device)
    check_tensor("segments", segments)
    refuse(segments.dim() != 2 or segments.shape[1] != 6 or segments.dtype != torch.int32,
           f"segments has the shape {tuple(segments.shape)} of {segments.dtype}: it must be S x 6 int32")
    refuse(segments.device != q.device, f"segments is on {segments.device} and q is on {q.device}")
    needed = torch.is_grad_enabled() and any(x.requires_grad for x in (q, k, v))
    if scale is None:
        scale = q.shape[3] ** -0.5  # a symbol where an export has no shape
    else:
        check_factor("scale", scale)
    return attention_op(q, k, v, segments, float(scale), max_q, max_k, needed)[0]
