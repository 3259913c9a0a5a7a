# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""vLLM on ROCm: the function through which its layers of 16-bit weights go there.

vLLM 0.26 (model_executor/layers/utils.py) shares out its products by the number of rows:

    rows 1..5        wvSplitK, LLMM1            VLLM_ROCM_USE_SKINNY_GEMM
    rows 10..128     wvSplitKrc (gfx950)        VLLM_ROCM_USE_SKINNY_GEMM
    certain shapes   AITER's Triton products    VLLM_ROCM_USE_AITER with ..._TRITON_GEMM
    all on gfx950    AITER's table of kernels   VLLM_ROCM_USE_AITER with ..._LINEAR
    the rest         torch.nn.functional.linear

Layers with a quantization method, as those of detgemm, do not call it; routers and single models do. Emulated; not run on
AMD hardware.
"""
import importlib

from detgemm.vllm import sampling
from detgemm.vllm.products import product

UTILS = "vllm.model_executor.layers.utils"
_contract_for = None


def use(contract_for):
    """contract_for(dtype): the contract of the products of this process's engine."""
    global _contract_for
    _contract_for = contract_for


def register():
    """Replaces the function while an engine of this process is ours; safe to call more than once."""
    def rocm_unquantized_gemm(layer, x, weight, bias=None):
        return product(x, weight, bias, _contract_for(weight.dtype))

    sampling.replace(importlib.import_module(UTILS), "rocm_unquantized_gemm", "linear", rocm_unquantized_gemm)
