# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Megatron's norm, attention and vocabulary-parallel embedding in written orders (docs/python-orders.md).

Activations are sequence x batch x ...; gradients of weights take one sequence of the batch after the other.
"""
import torch
from megatron.core.tensor_parallel import layers as theirs
from megatron.core.transformer.enums import AttnMaskType

from detgemm.megatron.linear import finish, sequences
from detgemm.megatron.ranks import only_one
from detgemm.megatron.settings import check_config
from detgemm.torch.attend import attention
from detgemm.torch.dispatch import refuse
from detgemm.torch.embeddings import embedding_accumulate_
from detgemm.torch.main_grad import gradient_of
from detgemm.torch.rows import rms_norm_backward_op, rms_norm_op
from detgemm.torch.sums import SUMS, sum_rows_op


class Norm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, main_grad, flagged, eps):
        y, scale = rms_norm_op(x, weight, None, eps, SUMS, False)
        ctx.save_for_backward(x, weight, scale)
        ctx.main_grad, ctx.flagged = main_grad, flagged
        return y

    @staticmethod
    def backward(ctx, dy):
        x, weight, scale = ctx.saved_tensors
        dx, products = rms_norm_backward_op(dy, x, weight, scale)
        dweight = None
        if ctx.needs_input_grad[1]:
            acc = weight.new_zeros(weight.shape, dtype=torch.float32) if ctx.main_grad is None else ctx.main_grad
            for rows in sequences(products.view(x.shape)):
                sum_rows_op(acc, rows.flatten(0, -2), None, None, SUMS)
            dweight = finish(acc, ctx.main_grad, weight, ctx.flagged)
        return dx, dweight, None, None, None


class RMSNorm(torch.nn.Module):
    """round(x r) weight, over the last dimension; built as Megatron builds its norms."""

    def __init__(self, config, hidden_size, eps=1e-5, **_):
        super().__init__()
        check_config(config)  # every layer has a norm, and it is built first
        self.weight = torch.nn.Parameter(torch.ones(hidden_size, dtype=config.params_dtype))
        self.eps = eps

    def forward(self, x):
        main_grad, flagged = gradient_of(self.weight, "weight")
        return Norm.apply(x, self.weight, main_grad, flagged, self.eps)

    def extra_repr(self):
        return f"{tuple(self.weight.shape)}, eps={self.eps}"


class DotProductAttention(torch.nn.Module):
    """Causal attention of whole sequences, with the heads of this rank."""

    def __init__(self, config, layer_number, attn_mask_type, attention_type, attention_dropout=None, softmax_scale=None, **_):
        super().__init__()
        self.layer_number, self.scale = max(1, layer_number), softmax_scale
        self._causal(attn_mask_type)
        dropout = config.attention_dropout if attention_dropout is None else attention_dropout
        refuse(dropout != 0.0, f"attention_dropout is {dropout}: attention supports none")

    @staticmethod
    def _causal(kind):
        refuse(kind != AttnMaskType.causal, f"attn_mask_type is {kind}: attention supports causal masks alone")

    def _check(self, mask, length):
        """A mask hides later keys and nothing else. All layers get one mask, so the first looks, without waiting for a device."""
        if mask is None or self.layer_number > 1:
            return
        refuse(mask.dtype != torch.bool or mask.shape[-2:] != (length, length),
               f"attention_mask has the shape {tuple(mask.shape)} of {mask.dtype}: it must be None, or bool with {length} x {length} last")
        later = torch.ones((length, length), dtype=torch.bool, device=mask.device).triu(1)
        torch._assert_async((mask == later).all(), "detgemm: attention_mask hides other keys than the later ones: attention supports "
                                                   "causal masks alone")

    def forward(self, query, key, value, attention_mask, attn_mask_type=None, attention_bias=None, packed_seq_params=None):
        """query: S x B x heads x d, key and value: S x B x groups x d. Returns S x B x (heads d)."""
        refuse(attention_bias is not None, "attention_bias is given: attention supports causal masks alone")
        refuse(packed_seq_params is not None, "packed_seq_params is given: packed sequences are not supported")
        if attn_mask_type is not None:
            self._causal(attn_mask_type)
        refuse(query.shape[0] != key.shape[0], f"query has {query.shape[0]} positions and key {key.shape[0]}: whole sequences are "
                                               "supported alone")
        self._check(attention_mask, query.shape[0])
        q, k, v = (x.permute(1, 2, 0, 3) for x in (query, key, value))
        return attention(q, k, v, scale=self.scale).permute(2, 0, 1, 3).flatten(2)


class Lookup(torch.autograd.Function):
    @staticmethod
    def forward(ctx, ids, weight, main_grad, flagged, first, group):
        here = (ids >= first) & (ids < first + weight.shape[0])
        local = (ids - first).clamp(0, weight.shape[0] - 1)
        ctx.save_for_backward(local, here, weight)
        ctx.main_grad, ctx.flagged = main_grad, flagged
        rows = torch.nn.functional.embedding(local, weight)
        if group.size() == 1:
            return rows
        return only_one(torch.where(here[..., None], rows, torch.zeros_like(rows)), group)

    @staticmethod
    def backward(ctx, dy):
        local, here, weight = ctx.saved_tensors
        acc = weight.new_zeros(weight.shape, dtype=torch.float32) if ctx.main_grad is None else ctx.main_grad
        # +0 for a token of another rank: a sum that starts at +0 keeps its bits.
        embedding_accumulate_(acc, local, torch.where(here[..., None], dy, torch.zeros_like(dy)))
        return None, finish(acc, ctx.main_grad, weight, ctx.flagged), None, None, None, None


class VocabParallelEmbedding(theirs.VocabParallelEmbedding):
    """Megatron's layer; rows travel as bytes, and gradients add tokens of a batch x sequence in order."""

    def forward(self, input_):
        main_grad, flagged = gradient_of(self.weight, "weight")
        return Lookup.apply(input_, self.weight, main_grad, flagged, self.vocab_start_index, self.tp_group)
