# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""RMSNorm, silu * up and an fp32 head for vLLM: one order, in eager mode, compiled and in graphs.

vLLM replaces a layer by a class of the same registered name when the model is built. Each class here computes as vLLM
does unless the model's quantization method is ours.
"""
import torch
from vllm.config import get_current_vllm_config
from vllm.model_executor import custom_op
from vllm.model_executor.layers.activation import SiluAndMul
from vllm.model_executor.layers.layernorm import RMSNorm
from vllm.model_executor.layers.logits_processor import LogitsProcessor

from detgemm.contract import contract as parsed
from detgemm.torch.fused import add_rms_norm_op, inference_rms_norm_op, silu_mul_op
from detgemm.vllm import config


def active():
    """Whether the model that is being built is ours."""
    return isinstance(get_current_vllm_config().quant_config, config.DetgemmConfig)


class DetgemmRMSNorm(RMSNorm):
    """y = round(x r) weight; with a residual, x + residual is rounded first, as transformers does."""

    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)
        self.detgemm = active()
        if self.detgemm and not (self.has_weight and self.variance_size_override is None):
            raise ValueError("detgemm: a norm without weight, or over part of a row, is not supported with "
                             "quantization=\"detgemm\"")

    def _ours(self, x, residual):
        if residual is None:
            return inference_rms_norm_op(x, self.weight.data, self.variance_epsilon)
        return add_rms_norm_op(x, residual, self.weight.data, self.variance_epsilon)

    def forward_native(self, x, residual=None):
        return self._ours(x, residual) if self.detgemm else super().forward_native(x, residual)

    def forward_cuda(self, x, residual=None):
        return self._ours(x, residual) if self.detgemm else super().forward_cuda(x, residual)


class DetgemmSiluAndMul(SiluAndMul):
    """round(round(silu(gate)) up): the two roundings of transformers, compiled or not."""

    def __init__(self, **more):
        self.__dict__["detgemm"] = active()
        if self.detgemm:
            more["compile_native"] = False
        super().__init__(**more)

    def forward_native(self, x):
        return silu_mul_op(x) if self.detgemm else SiluAndMul.forward_native(x)

    def forward_cuda(self, x):
        return silu_mul_op(x) if self.detgemm else super().forward_cuda(x)

    def forward_cpu(self, x):
        return silu_mul_op(x) if self.detgemm else super().forward_cpu(x)


class DetgemmLogitsProcessor(LogitsProcessor):
    """An fp32 head is the same product with an fp32 result; vLLM's would be a product of PyTorch's."""

    def _apply_head(self, lm_head, hidden_states, embedding_bias):
        method = getattr(lm_head, "quant_method", None)
        if self.head_dtype != torch.float32 or hidden_states.dtype == torch.float32 or \
                not isinstance(method, config.DetgemmEmbeddingMethod):
            return super()._apply_head(lm_head, hidden_states, embedding_bias)
        contract = parsed(method.config.contract_for(lm_head.weight.dtype)).with_output("fp32").text
        return config.product(hidden_states, lm_head.weight, embedding_bias, contract)


REPLACED = ((RMSNorm, DetgemmRMSNorm), (SiluAndMul, DetgemmSiluAndMul), (LogitsProcessor, DetgemmLogitsProcessor))


def register():
    for theirs, ours in REPLACED:
        taken = custom_op.op_registry_oot.get(theirs.__name__)
        if taken is None:
            theirs.register_oot(ours)
        elif taken is not ours:
            raise RuntimeError(f"detgemm: {theirs.__name__} of vLLM is replaced by {taken.__module__}.{taken.__name__} already: "
                               "two plugins cannot replace one layer")
