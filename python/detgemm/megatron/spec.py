# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Which modules Megatron Core builds a layer of."""
from megatron.core.fusions.fused_bias_dropout import get_bias_dropout_add
from megatron.core.models.backends import BackendSpecProvider
from megatron.core.models.gpt.gpt_layer_specs import get_mlp_module_spec_for_backend
from megatron.core.transformer.attention import SelfAttention, SelfAttentionSubmodules
from megatron.core.transformer.enums import AttnMaskType
from megatron.core.transformer.identity_op import IdentityOp
from megatron.core.transformer.spec_utils import ModuleSpec
from megatron.core.transformer.transformer_layer import TransformerLayer, TransformerLayerSubmodules

from detgemm.megatron.experts import Experts
from detgemm.megatron.layers import DotProductAttention, RMSNorm
from detgemm.megatron.linear import ColumnParallelLinear, Contracts, RowParallelLinear
from detgemm.torch.dispatch import refuse


class SpecProvider(BackendSpecProvider):
    """detgemm's modules under a policy, for what builds specifications from a provider.

    policy        contracts of all products (detgemm.torch.Policy)
    across_ranks  a contract with tree:LEAF for sums over a K that tensor-parallel ranks share: the results of row-parallel layers,
                  and the input gradients of column-parallel ones. Runs with different numbers of ranks that must have equal bits
                  need the same one, also with one rank
    """

    def __init__(self, policy, across_ranks=None):
        self.contracts = Contracts(policy, across_ranks)

    def column_parallel_linear(self):
        return ModuleSpec(module=ColumnParallelLinear, params={"contracts": self.contracts})

    def row_parallel_linear(self):
        return ModuleSpec(module=RowParallelLinear, params={"contracts": self.contracts})

    def fuse_layernorm_and_linear(self):
        return False

    def column_parallel_layer_norm_linear(self):
        return None

    def layer_norm(self, rms_norm=False, for_qk=False):
        refuse(not rms_norm, 'normalization is not "RMSNorm": no other norm has a written order')
        return RMSNorm

    def core_attention(self):
        return DotProductAttention

    def grouped_mlp_modules(self, moe_use_grouped_gemm, moe_use_legacy_grouped_gemm):
        refuse(True, "Megatron's MoELayer adds results of experts in no fixed order: call get_gpt_layer_spec(..., experts=True)")

    def activation_func(self):
        return None


def get_gpt_layer_spec(policy, *, across_ranks=None, qk_layernorm=False, experts=False):
    """The layer of a GPT with RMSNorm on detgemm's modules, for `GPTModel(transformer_layer_spec=...)`.

    policy, across_ranks: as for `SpecProvider`. qk_layernorm: RMSNorm of queries and keys, as Qwen3 has. experts: config's
    num_moe_experts in every layer, by `Experts`. Call `use` on the model afterwards: the embedding, the last norm, the head and the
    loss are not in a layer's specification.
    """
    backend = SpecProvider(policy, across_ranks)
    norm = backend.layer_norm(rms_norm=True)
    of_heads = backend.layer_norm(rms_norm=True, for_qk=True) if qk_layernorm else IdentityOp
    attention = SelfAttentionSubmodules(
        linear_qkv=backend.column_parallel_linear(), core_attention=backend.core_attention(), linear_proj=backend.row_parallel_linear(),
        q_layernorm=of_heads, k_layernorm=of_heads)
    mlp = ModuleSpec(module=Experts, params={"contracts": backend.contracts}) if experts else get_mlp_module_spec_for_backend(backend=backend)
    return ModuleSpec(module=TransformerLayer, submodules=TransformerLayerSubmodules(
        input_layernorm=norm, pre_mlp_layernorm=norm,
        self_attention=ModuleSpec(module=SelfAttention, params={"attn_mask_type": AttnMaskType.causal}, submodules=attention),
        self_attn_bda=get_bias_dropout_add, mlp_bda=get_bias_dropout_add, mlp=mlp))
