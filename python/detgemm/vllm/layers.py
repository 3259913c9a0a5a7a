# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Norms, gated activations, rotary embedding and heads for vLLM: one order, in eager mode, compiled and in graphs.

vLLM replaces a layer by a class of the same registered name when the model is built. Each class here computes as vLLM
does unless the model's quantization method is ours.
"""
import torch
from vllm.config import get_current_vllm_config
from vllm.model_executor import custom_op
from vllm.model_executor.layers import rotary_embedding
from vllm.model_executor.layers.activation import GeluAndMul, SiluAndMul
from vllm.model_executor.layers.layernorm import GemmaRMSNorm, RMSNorm
from vllm.model_executor.layers.logits_processor import LogitsProcessor
from vllm.model_executor.layers.vocab_parallel_embedding import UnquantizedEmbeddingMethod

from detgemm.contract import contract as parsed
from detgemm.vllm import config, hooks, operators
from detgemm.vllm.parallel import DetgemmRowParallelLinear, RowParallelLinear


def ours(hook):
    """Whether a layer of the model that is being built is ours."""
    return hooks.used(hook) and isinstance(get_current_vllm_config().quant_config, config.DetgemmConfig)


class DetgemmRMSNorm(RMSNorm):
    """y = round(x r) weight; with a residual, x + residual is rounded first, as transformers does."""

    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)
        self.detgemm = ours("norm")
        if self.detgemm and not (self.has_weight and self.variance_size_override is None):
            raise ValueError(f"detgemm: has_weight of a norm is {self.has_weight} and variance_size_override is "
                             f"{self.variance_size_override}: with quantization=\"detgemm\" they must be True and None")

    def _ours(self, x, residual):
        if residual is None:
            return operators.rms_norm(x, self.weight.data, self.variance_epsilon)
        return operators.add_rms_norm(x, residual, self.weight.data, self.variance_epsilon)

    def forward_native(self, x, residual=None):
        return self._ours(x, residual) if self.detgemm else super().forward_native(x, residual)

    def forward_cuda(self, x, residual=None):
        return self._ours(x, residual) if self.detgemm else super().forward_cuda(x, residual)


class DetgemmGemmaRMSNorm(GemmaRMSNorm):
    """y = round(x r (1 + weight)), whose products are fp32; with a residual, x + residual is rounded first, as transformers does."""

    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)
        self.detgemm = ours("norm")

    def forward_native(self, x, residual=None):
        if not self.detgemm:
            return super().forward_native(x, residual)
        if residual is None:
            return operators.gemma_rms_norm(x, self.weight.data, self.variance_epsilon)
        return operators.add_gemma_rms_norm(x, residual, self.weight.data, self.variance_epsilon)

    def forward_cuda(self, x, residual=None):
        return self.forward_native(x, residual)


class DetgemmSiluAndMul(SiluAndMul):
    """round(round(silu(gate)) up): the two roundings of transformers, compiled or not."""

    def __init__(self, **more):
        self.__dict__["detgemm"] = ours("silu")
        if self.detgemm:
            more["compile_native"] = False
        super().__init__(**more)

    def forward_native(self, x):
        return operators.silu_mul(x) if self.detgemm else SiluAndMul.forward_native(x)

    def forward_cuda(self, x):
        return operators.silu_mul(x) if self.detgemm else super().forward_cuda(x)

    def forward_cpu(self, x):
        return operators.silu_mul(x) if self.detgemm else super().forward_cpu(x)


class DetgemmGeluAndMul(GeluAndMul):
    """round(round(gelu(gate)) up): by vLLM's kernel on a GPU, element by element, and by a table of the numbers of 16 bits on a CPU."""

    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)
        self.detgemm = ours("silu")

    def forward_native(self, x):
        return operators.gelu_mul(x, self.approximate) if self.detgemm else super().forward_native(x)

    def forward_cuda(self, x):
        return operators.gelu_mul(x, self.approximate) if self.detgemm else super().forward_cuda(x)

    def forward_cpu(self, x):
        return operators.gelu_mul(x, self.approximate) if self.detgemm else super().forward_cpu(x)


class DetgemmLogitsProcessor(LogitsProcessor):
    """The head's product, whatever layer holds its weights: an embedding that a model ties to it may have another method. An fp32
    head is the same product with an fp32 result; vLLM's would be a product of PyTorch's."""

    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)
        self.detgemm = get_current_vllm_config().quant_config if ours("head") else None

    def _apply_head(self, lm_head, hidden_states, embedding_bias):
        wide = self.head_dtype not in (None, hidden_states.dtype)
        if self.detgemm is None or not isinstance(lm_head.quant_method, UnquantizedEmbeddingMethod) or \
                wide and self.head_dtype != torch.float32:
            return super()._apply_head(lm_head, hidden_states, embedding_bias)
        contract = self.detgemm.contract_for(lm_head.weight.dtype)
        return config.product(hidden_states, lm_head.weight, embedding_bias, parsed(contract).with_output("fp32").text if wide else contract)


class Rotary:
    """Before one of vLLM's classes: products and sums are rounded as transformers rounds them."""

    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)
        self.detgemm = ours("rotary")

    def _ours(self, positions, query, key=None, weights=(None, None), eps=0.0):
        """weights: of norms that query and key have before they are turned."""
        given = positions.flatten(), self._match_cos_sin_cache_dtype(query), not self.is_neox_style
        query_heads = query.view(positions.numel(), -1, self.head_size)
        if key is None:
            return operators.rotary(query_heads, *given).view(query.shape), None
        q, k = operators.rotary_pair(query_heads, key.view(positions.numel(), -1, self.head_size), *given, *weights, eps)
        return q.view(query.shape), k.view(key.shape)

    def forward_native(self, positions, query, key=None):
        return self._ours(positions, query, key) if self.detgemm else super().forward_native(positions, query, key)

    def forward_cuda(self, positions, query, key=None):
        return self._ours(positions, query, key) if self.detgemm else super().forward_cuda(positions, query, key)

    def forward_cpu(self, positions, query, key=None):
        return self._ours(positions, query, key) if self.detgemm else super().forward_cpu(positions, query, key)


class OtherRotary:
    """Before a class of vLLM whose formula is another one, such as positions in three dimensions."""

    def __init__(self, *arguments, **more):
        if ours("rotary"):
            raise ValueError(f"detgemm: {type(self).__mro__[2].__name__} is not supported with quantization=\"detgemm\": its rotary "
                             "embedding has another formula")
        super().__init__(*arguments, **more)


class DetgemmLongRotary(rotary_embedding.Phi3LongRoPEScaledRotaryEmbedding):
    """As Phi-3 has it: one table for short contexts and one for long ones, of which an engine uses one. vLLM's class is in no registry."""

    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)
        self.detgemm = ours("rotary")

    def forward(self, positions, query, key=None, offsets=None):
        if not self.detgemm:
            return super().forward(positions, query, key, offsets)
        if key is None or offsets is not None:
            raise ValueError("detgemm: a rotary embedding of long contexts without key, or with offsets, is not supported with "
                             "quantization=\"detgemm\"")
        rows = positions.flatten() + (self.original_max_position_embeddings if self.use_long_rope else 0)
        query_heads, key_heads = (query.view(rows.numel(), -1, self.head_size), key.view(rows.numel(), -1, self.head_size))
        q, k = operators.rotary_pair(query_heads, key_heads, rows, self.long_short_cos_sin_cache, False, None, None, 0.0)
        return q.view(query.shape), k.view(key.shape)


def rotary_classes():
    """Pairs of vLLM's classes of rotary embedding and ours. Those that change frequencies alone share one formula."""
    plain, yarn = rotary_embedding.RotaryEmbedding, rotary_embedding.DeepseekScalingRotaryEmbedding
    for name, theirs in sorted(vars(rotary_embedding).items()):
        if isinstance(theirs, type) and issubclass(theirs, custom_op.CustomOp):
            same = theirs is yarn or issubclass(theirs, plain) and all(getattr(theirs, each) is getattr(plain, each)
                                                                       for each in ("forward_native", "forward_cuda", "forward_cpu"))
            yield theirs, type(f"Detgemm{name}", (Rotary if same else OtherRotary, theirs), {"__module__": __name__})


REPLACED = [(RMSNorm, DetgemmRMSNorm), (GemmaRMSNorm, DetgemmGemmaRMSNorm), (SiluAndMul, DetgemmSiluAndMul), (GeluAndMul, DetgemmGeluAndMul),
            (LogitsProcessor, DetgemmLogitsProcessor), (RowParallelLinear, DetgemmRowParallelLinear), *rotary_classes()]


def register():
    from detgemm.vllm import experts
    rotary_embedding.Phi3LongRoPEScaledRotaryEmbedding = DetgemmLongRotary
    for theirs, replacement in REPLACED + experts.REPLACED:
        taken = custom_op.op_registry_oot.get(theirs.__name__)
        if taken is None:
            theirs.register_oot(replacement)
        elif taken is not replacement:
            raise RuntimeError(f"detgemm: {theirs.__name__} of vLLM is replaced by {taken.__module__}.{taken.__name__} already: "
                               "two plugins cannot replace one layer")
