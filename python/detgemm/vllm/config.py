# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The quantization method "detgemm": weights are unchanged, products are computed under a contract."""
import os

import torch
from vllm.model_executor.layers import linear, quantization, vocab_parallel_embedding
from vllm.model_executor.layers.fused_moe.routed_experts import RoutedExperts
from vllm.model_executor.layers.quantization.base_config import QuantizationConfig
from vllm.platforms import current_platform

import detgemm.torch
from detgemm.contract import contract as parsed
from detgemm.vllm import attention, blocks, experts, heads, hooks, parallel, rocm, settings
from detgemm.vllm.products import product

NAME = "detgemm"
CONTRACTS = {torch.bfloat16: "hopper/bf16/chain->bf16", torch.float16: "hopper/fp16/chain->fp16",
             torch.float32: "ieee_fma/fp32/chain->fp32"}
KEYS = ("quant_method", "contract", "row_parallel", "log_probs", "products_only", "scaled")


class DetgemmConfig(QuantizationConfig):
    """Contracts of a model's products. A model may name others in its config.json, or whoever starts the engine in
    hf_overrides:

        "quantization_config": {"quant_method": "detgemm", "contract": "hopper/bf16/fold:1024->bf16",
                                "row_parallel": "hopper/bf16/tree:512->bf16", "log_probs": "logsum16"}

    `log_probs` is the order of log-probabilities: "lanes" (the default) or "logsum16", which a trainer has without storing
    logits. `row_parallel` is the contract of layers whose K is spread over ranks; tensor parallelism needs it. With the same one
    on a single rank, every number of ranks has its bits.

    `products_only` (true or false) is for ROCm, which has products under a contract and nothing else.

    A checkpoint of e4m3 with a scale for each block of 128 x 128 (quant_method "fp8") is taken as it is: `blocks` are the layers
    that it leaves in 16 bits, None for other checkpoints. `scaled` is the contract of its products.
    """

    def __init__(self, contract=None, row_parallel=None, log_probs=hooks.ORDERS[0], products_only=False, scaled=None, left_out=None):
        super().__init__()
        if log_probs not in hooks.ORDERS:
            raise ValueError(f'detgemm: log_probs is {log_probs!r}: it must be "lanes" or "logsum16"')
        self.log_probs = log_probs
        self.contract = contract and parsed(contract).text
        self.row_parallel = parallel.row_parallel_contract(row_parallel)
        self.products_only = products_only
        self.scaled, self.blocks, self.weight_block_size = scaled_contract(scaled), left_out, None if left_out is None else blocks.BLOCK
        self.gates = {}  # of experts, by the prefix that they share
        kind = current_platform._enum.name.lower()
        settings.check_platform(kind, os.environ, self.contract, self.row_parallel, products_only)
        self.choose()
        if hooks.used("attention"):
            settings.choose_invariant_mode(os.environ, current_platform.is_cuda())
        self.checked = False

    def choose(self):
        """In this process, to which the object may have been sent."""
        hooks.choose(self.log_probs, self.products_only)
        rocm.use(self.contract_for)

    @classmethod
    def get_name(cls):
        return NAME

    def get_supported_act_dtypes(self):
        return [detgemm.torch.policy.input_type(self.contract)] if self.contract else list(CONTRACTS)

    @classmethod
    def get_min_capability(cls):
        return 90

    @staticmethod
    def get_config_filenames():
        return []

    @classmethod
    def from_config(cls, config):
        of_blocks = config.get("quant_method") == blocks.METHOD
        unknown = set(config) - set(KEYS) - (set(blocks.KEYS) if of_blocks else set())
        if unknown:
            raise ValueError(f"detgemm: quantization_config has {sorted(unknown)}: it may have {', '.join(KEYS[:-1])} and {KEYS[-1]} alone")
        return cls(config.get("contract"), config.get("row_parallel"), config.get("log_probs", hooks.ORDERS[0]),
                   config.get("products_only", False), config.get("scaled"), blocks.left_out(config) if of_blocks else None)

    @classmethod
    def override_quantization_method(cls, hf_quant_cfg, user_quant, hf_config=None):
        """A checkpoint of fp8 is ours where the engine is started so; from_config says which forms."""
        return NAME if user_quant == NAME and hf_quant_cfg.get("quant_method") == blocks.METHOD else None

    def apply_vllm_mapper(self, hf_to_vllm_mapper):
        if self.blocks is not None:
            self.blocks = hf_to_vllm_mapper.apply_list(self.blocks)

    def scaled_for(self, dtype):
        """The contract of products of e4m3 with results of this type."""
        return self.scaled or blocks.CONTRACTS[dtype]

    def linear_method(self):
        return DetgemmLinearMethod(self)

    def contract_for(self, dtype, row_parallel=False):
        """The contract of products of this type; its output has the type too."""
        return row_parallel and self.row_parallel or self.contract or CONTRACTS[dtype]

    def get_quant_method(self, layer, prefix):
        if not self.checked:
            from vllm.config import get_current_vllm_config
            config, on_gpu = get_current_vllm_config(), current_platform.is_cuda()
            settings.check(config, on_gpu, self.row_parallel is not None)
            self.choose()
            attention.choose(on_gpu, hooks.used("attention"))
            heads.register(config)
            self.checked = True
        if isinstance(layer, linear.LinearBase):
            if blocks.converted(self, prefix):
                return blocks.DetgemmScaledLinearMethod(self)
            return DetgemmLinearMethod(self) if hooks.used("linear") else linear.UnquantizedLinearMethod()
        if isinstance(layer, RoutedExperts):
            settings.check_experts(current_platform._enum.name.lower(), prefix)
            return experts.DetgemmExpertsMethod(self, layer, blocks.converted(self, prefix)) if hooks.used("experts") else None
        if isinstance(layer, vocab_parallel_embedding.VocabParallelEmbedding):  # ParallelLMHead is one
            return DetgemmEmbeddingMethod(self) if hooks.used("head") else None
        settings.check_layer(layer, prefix)
        return None


def scaled_contract(text):
    """A contract of products with a scale per leaf of 128, as text, or None."""
    if text is None:
        return None
    found = parsed(text)
    if found.reduction != "scaled" or found.input != "e4m3" or found.leaf_k != blocks.LEAF:
        raise ValueError(f'detgemm: scaled is "{text}": it must be a contract of e4m3 with scaled:{blocks.LEAF}')
    return found.text


class DetgemmLinearMethod(linear.UnquantizedLinearMethod):
    """vLLM's own weights and loaders; the product is ours."""

    def __init__(self, config):
        self.config = config

    def process_weights_after_loading(self, layer):
        """Keeps the weight as it is: on a CPU vLLM would pack it and drop it."""

    def apply(self, layer, x, bias=None):
        return product(x, layer.weight, bias,
                       self.config.contract_for(layer.weight.dtype, isinstance(layer, linear.RowParallelLinear)))

    def root(self, layer, x):
        """This rank's share of a sum over ranks, in fp32."""
        return product(x, layer.weight, None, parallel.root_contract(self.config.row_parallel))


class DetgemmEmbeddingMethod(vocab_parallel_embedding.UnquantizedEmbeddingMethod):
    """The embedding gathers rows, as before; a head is a product."""

    def __init__(self, config):
        self.config = config

    def process_weights_after_loading(self, layer):
        """Keeps the weight as it is, as DetgemmLinearMethod does."""

    def apply(self, layer, x, bias=None):
        return product(x, layer.weight, bias, self.config.contract_for(layer.weight.dtype))


def register():
    known = quantization._CUSTOMIZED_METHOD_TO_QUANT_CONFIG
    if known.get(NAME) is not DetgemmConfig:
        quantization.register_quantization_config(NAME)(DetgemmConfig)
        for method in (DetgemmLinearMethod, blocks.DetgemmScaledLinearMethod):
            linear.register_weight_loader_v2_supported_method(method)
