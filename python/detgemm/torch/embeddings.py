# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Embedding whose gradient adds rows in token order, in fp32."""
import torch

from detgemm.torch.auditing import ROW_LOCAL
from detgemm.torch.derivatives import guard
from detgemm.torch.dispatch import check_tensors, chosen, on_device, refuse
from detgemm.torch.fakes import register_fake
from detgemm.torch.main_grad import gradient_of

ROW_LOCAL["embedding"] = "copies rows"
ROW_LOCAL["embedding_accumulate_"] = "rows in token order"


@torch.library.custom_op("detgemm::embedding_accumulate_", mutates_args=("acc",))
def embedding_accumulate_(acc: torch.Tensor, ids: torch.Tensor, dy: torch.Tensor) -> None:
    """acc[ids[t]] += dy[t], t ascending. acc: vocabulary x n fp32; ids: any shape; dy: ids' x n."""
    refuse(acc.dtype != torch.float32 or not acc.is_contiguous(),
           f"acc.dtype is {acc.dtype}: it must be float32 and contiguous")
    with on_device(acc):
        chosen(acc, "embedding").embedding_accumulate_(
            acc, ids.reshape(-1), dy.reshape(-1, acc.shape[1]).contiguous())


@register_fake(embedding_accumulate_)
def _(acc, ids, dy):
    return None


@torch.library.custom_op("detgemm::embedding", mutates_args=())
def embedding_op(ids: torch.Tensor, weight: torch.Tensor, main_grad: torch.Tensor | None,
                 padding: int, zero_gradient: bool) -> torch.Tensor:
    return torch.nn.functional.embedding(ids, weight)


@register_fake(embedding_op)
def _(ids, weight, main_grad, padding, zero_gradient):
    return weight.new_empty((*ids.shape, weight.shape[1]))


def _context(ctx, inputs, output):
    ids, weight, main_grad, ctx.padding, ctx.flagged = inputs
    ctx.of_weight, ctx.shape = weight.dtype, weight.shape
    ctx.save_for_backward(ids, main_grad)


def _backward(ctx, dy):
    ids, main_grad = ctx.saved_tensors
    if not ctx.needs_input_grad[1]:
        return None, None, None, None, None
    if ctx.padding >= 0:
        dy = torch.where((ids == ctx.padding)[..., None], torch.zeros_like(dy), dy)
    if main_grad is not None:
        embedding_accumulate_(main_grad, ids, dy)
        zeros = torch.zeros(ctx.shape, dtype=ctx.of_weight, device=dy.device) if ctx.flagged else None
        return None, zeros, None, None, None
    acc = torch.zeros(ctx.shape, dtype=torch.float32, device=dy.device)
    embedding_accumulate_(acc, ids, dy)
    return None, acc.to(ctx.of_weight), None, None, None


embedding_op.register_autograd(_backward, setup_context=_context)
guard(embedding_op)
guard(embedding_accumulate_)


def embedding(ids, weight, padding_idx=None):
    """weight[ids]. The gradient goes to weight.main_grad (fp32) where that exists.

    ids: integers of any shape; weight: vocabulary x n. Row `padding_idx` gets no gradient; negative numbers count from the end.
    """
    check_tensors(ids=ids, weight=weight)
    refuse(ids.dtype not in (torch.int64, torch.int32), f"ids.dtype is {ids.dtype}: it must be int64 or int32")
    refuse(weight.dim() != 2, f"weight has {weight.dim()} dimensions: it must have two")
    refuse(not weight.is_floating_point(), f"weight.dtype is {weight.dtype}: it must be a floating-point type")
    rows = weight.shape[0]
    refuse(padding_idx is not None and not -rows <= padding_idx < rows,
           f"padding_idx is {padding_idx}: weight has {rows} rows")
    padding = -1 if padding_idx is None else padding_idx % weight.shape[0]
    main_grad, flagged = gradient_of(weight, "weight")
    return embedding_op(ids, weight, main_grad, padding, flagged)


class Embedding(torch.nn.Embedding):
    """torch.nn.Embedding with this gradient; made from one by `converted`."""

    accumulates_in_main_grad = True

    def forward(self, ids):
        return embedding(ids, self.weight, self.padding_idx)

    @classmethod
    def converted(cls, module):
        refuse(not isinstance(module, torch.nn.Embedding),
               f"module is a {type(module).__name__}: it must be a torch.nn.Embedding")
        refuse(module.max_norm is not None or module.scale_grad_by_freq or module.sparse,
               "the embedding has max_norm, scale_grad_by_freq or sparse: these are not supported")
        made = cls(module.num_embeddings, module.embedding_dim, module.padding_idx, _weight=module.weight,
                   _freeze=not module.weight.requires_grad)
        made.weight = module.weight
        return made
