# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Operators of the plugin's layers: torch.ops.detgemm_vllm. A compiler sees into none of them.

Most are operators of detgemm.torch, registered as vLLM registers its own: an engine computes no gradient, and what PyTorch's
custom_op does for one is half of a call's time on the host, which steps without CUDA graphs wait for.
"""
import functools

import torch
from vllm.utils.torch_utils import direct_register_custom_op

from detgemm.torch import fused, rotary as turning
from detgemm.torch.auditing import ROW_LOCAL

ROW_LOCAL.update(dict.fromkeys(("gemma_rms_norm", "add_gemma_rms_norm"), "lanes ascending, tree over lanes"), gelu_mul="elements",
                 turn_and_store=ROW_LOCAL["rotary_pair"])
library = torch.library.Library("detgemm_vllm", "FRAGMENT")


def register(name, function, shapes):
    """torch.ops.detgemm_vllm.<name>. shapes: the function for tensors without numbers."""
    direct_register_custom_op(name, function, fake_impl=shapes, target_lib=library)
    return getattr(torch.ops.detgemm_vllm, name).default


def _direct(operator):
    return register(operator._name.rpartition("::")[2], operator._init_fn, operator._abstract_fn)


add_rms_norm, rms_norm, silu_mul, rotary, rotary_pair = map(_direct, (
    fused.add_rms_norm_op, fused.inference_rms_norm_op, fused.silu_mul_op, turning.rotary_op, turning.rotary_pair_op))


def _gemma_rms_norm(x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
    """The order of a row is that of rms_norm in fp32, whose result is rounded here."""
    return fused.inference_rms_norm_op._init_fn(x.float(), 1 + weight.float(), eps).to(x.dtype)


def _add_gemma_rms_norm(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, eps: float) -> tuple[torch.Tensor, torch.Tensor]:
    """The norm and the sum that it is of."""
    total = x + residual
    return _gemma_rms_norm(total, weight, eps), total


@functools.cache
def _gelus(approximate, dtype):
    """gelu of every number of 16 bits, by its bits as a signed integer, from the least on: a function of one number has one result
    wherever the number is, and PyTorch's on a CPU has two, for whole vectors and for what is left over."""
    every = torch.arange(-2**15, 2**15, dtype=torch.int16).view(dtype)
    return torch.nn.functional.gelu(every.double(), approximate=approximate).to(dtype)


def _gelu_mul(x: torch.Tensor, approximate: str) -> torch.Tensor:
    if x.is_cuda:
        y = x.new_empty(*x.shape[:-1], x.shape[-1] // 2)
        getattr(torch.ops._C, "gelu_and_mul" if approximate == "none" else "gelu_tanh_and_mul")(y, x)
        return y
    gate, up = x.chunk(2, dim=-1)
    if x.element_size() != 2:
        raise ValueError(f"detgemm: gelu(gate) * up of {x.dtype} is not supported on a CPU: it must be torch.bfloat16 or torch.float16")
    return _gelus(approximate, x.dtype)[gate.contiguous().view(torch.int16).int() + 2**15] * up


gemma_rms_norm = register("gemma_rms_norm", _gemma_rms_norm, lambda x, weight, eps: torch.empty_like(x))
add_gemma_rms_norm = register("add_gemma_rms_norm", _add_gemma_rms_norm,
                              lambda x, residual, weight, eps: (torch.empty_like(x), torch.empty_like(x)))
gelu_mul = register("gelu_mul", _gelu_mul, lambda x, approximate: x.new_empty(*x.shape[:-1], x.shape[-1] // 2))
