# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of e4m3 with a scale for each block of 128 x 128, as DeepSeek-V3's: linear layers, and what is read of config.json.

    x -> a scale for each row and 128 numbers -> e4m3      product under scaled:128 with the checkpoint's unchanged numbers and scales
"""
import torch
from vllm.model_executor.layers import linear
from vllm.model_executor.layers.quantization.utils import fp8_utils
from vllm.model_executor.layers.quantization.utils.quant_utils import is_layer_skipped
from vllm.model_executor.parameter import BlockQuantScaleParameter

from detgemm.torch.scaled_linear import scaled_linear_op

BLOCK = [128, 128]
LEAF = 128
METHOD = "fp8"  # the checkpoint's quant_method
# Keys of the checkpoint's quantization_config, and what each may be.
KEYS = {"activation_scheme": ("dynamic",), "fmt": (None, "e4m3"), "weight_block_size": (BLOCK,), "scale_fmt": (None, "float"),
        "modules_to_not_convert": None, "ignored_layers": None}
CONTRACTS = {torch.bfloat16: "hopper/e4m3/scaled:128->bf16", torch.float16: "hopper/e4m3/scaled:128->fp16"}


def left_out(config):
    """Names of layers that the checkpoint leaves in 16 bits; refuses other forms of fp8 in a sentence."""
    for name, allowed in KEYS.items():
        found = config.get(name)
        if allowed is not None and found not in allowed:
            raise ValueError(f"detgemm: {name} is {found!r} in the checkpoint's quantization_config: it must be "
                             f"{' or '.join(map(repr, allowed))}: e4m3 with a scale for each block of 128 x 128 of a weight, and one for "
                             "each row and 128 numbers of what it is multiplied with")
    return list(config.get("ignored_layers") or config.get("modules_to_not_convert") or [])


def converted(config, prefix):
    """Whether the checkpoint has this layer in e4m3."""
    return config.blocks is not None and not is_layer_skipped(prefix, config.blocks, config.packed_modules_mapping)


class DetgemmScaledLinearMethod(linear.LinearMethodBase):
    """vLLM's own parameters and loaders of such a layer; the quantiser and the product are ours."""

    def __init__(self, config):
        self.config = config

    def create_weights(self, layer, input_size_per_partition, output_partition_sizes, input_size, output_size, params_dtype,
                       weight_loader=None, **more):
        if params_dtype not in CONTRACTS:
            raise ValueError(f"detgemm: the model's type is {params_dtype}: with weights of e4m3 it must be torch.bfloat16 or torch.float16")
        layer.weight_block_size = BLOCK
        layer.logical_widths, layer.orig_dtype = output_partition_sizes, params_dtype
        layer.input_size_per_partition, layer.output_size_per_partition = input_size_per_partition, sum(output_partition_sizes)
        fp8_utils.validate_fp8_block_shape(layer, input_size, output_size, input_size_per_partition, output_partition_sizes, BLOCK)
        layer.register_parameter("weight", fp8_utils.create_fp8_weight_parameter(
            sum(output_partition_sizes), input_size_per_partition, weight_loader))
        layer.register_parameter("weight_scale_inv", fp8_utils.create_fp8_scale_parameter(
            BlockQuantScaleParameter, output_partition_sizes, input_size_per_partition, BLOCK, weight_loader))

    def process_weights_after_loading(self, layer):
        """Keeps numbers and scales unchanged."""

    def apply(self, layer, x, bias=None):
        return scaled_linear_op(x, layer.weight, layer.weight_scale_inv, bias, self.config.scaled_for(x.dtype), LEAF)

    def root(self, layer, x):
        raise ValueError("detgemm: tensor parallelism of layers in e4m3 is not supported: the sum over K under scaled:128 has no tree")
