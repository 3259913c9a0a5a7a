# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Operators of the plugin's layers: torch.ops.detgemm_vllm. A compiler sees into none of them.

Most are operators of detgemm.torch, registered as vLLM registers its own: an engine computes no gradient, and what PyTorch's
custom_op does for one is half of a call's time on the host, which steps without CUDA graphs wait for.
"""
import torch
from vllm.utils.torch_utils import direct_register_custom_op

from detgemm.torch import fused, rotary as turning

library = torch.library.Library("detgemm_vllm", "FRAGMENT")


def register(name, function, shapes):
    """torch.ops.detgemm_vllm.<name>. shapes: the function for tensors without numbers."""
    direct_register_custom_op(name, function, fake_impl=shapes, target_lib=library)
    return getattr(torch.ops.detgemm_vllm, name).default


def _direct(operator):
    return register(operator._name.rpartition("::")[2], operator._init_fn, operator._abstract_fn)


add_rms_norm, rms_norm, silu_mul, rotary, rotary_pair = map(_direct, (
    fused.add_rms_norm_op, fused.inference_rms_norm_op, fused.silu_mul_op, turning.rotary_op, turning.rotary_pair_op))
