# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""What a GPTModel builds beside its layers: embedding, last norm, head and loss."""
from megatron.core import tensor_parallel
from megatron.core.models.gpt.gpt_model import GPTModel
from megatron.core.transformer import TransformerLayer
from megatron.core.transformer.dot_product_attention import DotProductAttention

from detgemm.megatron.experts import Experts
from detgemm.megatron.layers import RMSNorm, VocabParallelEmbedding
from detgemm.megatron.linear import ColumnParallelLinear, Contracts, RowParallelLinear
from detgemm.megatron.loss import check_fused, fused_loss, vocab_parallel_cross_entropy
from detgemm.megatron.settings import check_config
from detgemm.torch.dispatch import check_truth, refuse

class CoveredGPTModel(GPTModel):
    """GPTModel whose loss has a written order."""

    def compute_language_model_loss(self, labels, logits):
        """labels: B x S, logits: S x B x share of the vocabulary. Returns B x S in fp32."""
        loss = vocab_parallel_cross_entropy(logits, labels.transpose(0, 1).contiguous(), self.tp_group)
        return loss.transpose(0, 1).contiguous()


class FusedGPTModel(CoveredGPTModel):
    """The same, whose head and loss are one operation."""

    def _postprocess(self, hidden_states, input_ids, position_ids, labels, *given, **options):
        if labels is None:
            return super()._postprocess(hidden_states, input_ids, position_ids, labels, *given, **options)
        return fused_loss(hidden_states, labels, self.output_layer)


def _foreign(model):
    """Names of modules that add over a dimension and are Megatron's own."""
    kinds = (tensor_parallel.ColumnParallelLinear, tensor_parallel.RowParallelLinear, DotProductAttention)
    return [name for name, module in model.named_modules()
            if isinstance(module, kinds) and not isinstance(module, (ColumnParallelLinear, RowParallelLinear))]


def use(model, policy, *, across_ranks=None, fused_head=False):
    """Puts what a GPTModel of `get_gpt_layer_spec` builds beside its layers on detgemm, in place: embedding, last norm, head, loss.

    policy, across_ranks: as for the layers. fused_head: whether the losses of labels are computed by `linear_log_prob`, in the
    order logsum16; it keeps logits of at most 2 GiB, on several ranks none, and sequences then have whole steps of the policy's
    `wgrad`. What is not supported is refused in a sentence before anything is changed. Call it before the model is wrapped
    (Float16Module, DistributedDataParallel).
    """
    refuse(type(model) is not GPTModel, f"model is a {type(model).__name__}: it must be a GPTModel that is not wrapped yet")
    check_truth("fused_head", fused_head)
    contracts, config = Contracts(policy, across_ranks), model.config
    check_config(config)
    refuse(model.share_embeddings_and_output_weights, "the embedding is tied to the head: both would add to one gradient, in an order "
                                                      "that the cut decides; set share_embeddings_and_output_weights to False")
    refuse(model.position_embedding_type not in ("rope", "none"),
           f'position_embedding_type is "{model.position_embedding_type}": it must be rope or none')
    ranks = model.tp_group.size()
    if fused_head:
        check_fused(contracts, ranks)
    head = {id(model.output_layer)}
    refuse(config.num_moe_experts is not None and not any(isinstance(module, Experts) for module in model.modules()),
           f"num_moe_experts is {config.num_moe_experts} and the model has no experts of detgemm: call get_gpt_layer_spec(..., experts=True)")
    left = [name for name in _foreign(model) if id(model.get_submodule(name)) not in head]
    refuse(left, f"{', '.join(left[:4])} are Megatron's own: build the model with detgemm.megatron.get_gpt_layer_spec(policy)")
    norms = [name for name, module in model.named_modules() if isinstance(module, TransformerLayer)
             and ranks > 1 and isinstance(module.self_attention.q_layernorm, RMSNorm)]
    refuse(norms, f"{norms[0] if norms else ''} has norms of queries and keys on {ranks} ranks: their gradients are summed over ranks "
                  "without a contract")
    contracts.check("the head", model.vocab_size, model.tp_group)
    model.output_layer.__class__ = ColumnParallelLinear
    model.output_layer.adopt(contracts, 1)
    model.embedding.word_embeddings.__class__ = VocabParallelEmbedding
    old = model.decoder.final_layernorm
    new = RMSNorm(config, config.hidden_size, config.layernorm_epsilon)
    new.weight = old.weight
    new.weight.data = new.weight.data.to(config.params_dtype)
    model.decoder.final_layernorm = new
    model.__class__ = FusedGPTModel if fused_head else CoveredGPTModel
