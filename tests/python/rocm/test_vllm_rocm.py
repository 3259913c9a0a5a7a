# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The vLLM plugin's product on an emulated MI300X, with vLLM's own function stubbed. Which settings are refused is tested
by test_vllm.py. Emulated; not run on AMD hardware."""
import sys
import types

import fake_rocm
import pytest
import torch

import detgemm.torch as dt
from detgemm.vllm import hooks
from detgemm.vllm import rocm as plugin

CHAIN = "cdna3/bf16/chain->bf16"
ROWS = (1, 4, 5, 16, 64, 128)  # on both sides of vLLM's limits between its kernels


@pytest.fixture
def utils(monkeypatch):
    """As much of vllm.model_executor.layers.utils as a layer without a quantization method calls."""
    made, theirs = types.ModuleType(plugin.UTILS), []

    def rocm_unquantized_gemm(layer, x, weight, bias=None):
        theirs.append(x.shape)
        return x

    made.rocm_unquantized_gemm, made.theirs = rocm_unquantized_gemm, theirs
    made.dispatch_unquantized_gemm = lambda: made.rocm_unquantized_gemm
    name = ""
    for part in plugin.UTILS.split(".")[:-1]:
        name = f"{name}.{part}" if name else part
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setitem(sys.modules, plugin.UTILS, made)
    monkeypatch.setattr(hooks, "_chosen", False)
    monkeypatch.setattr(hooks, "_products_only", False)
    plugin.register()
    plugin.register()  # a second time changes nothing
    return made


def model(rocm_device):
    """Layers of a small model: the weights, N x K, and a bias or none."""
    generator = torch.Generator().manual_seed(5)
    for n, k in ((96, 64), (64, 64), (192, 64), (64, 96)):
        weight = torch.randn(n, k, generator=generator).bfloat16()
        bias = torch.randn(n, generator=generator).bfloat16() if n == 96 else None
        yield weight, bias, rocm_device.put(weight), None if bias is None else rocm_device.put(bias)


def test_every_product_is_ours_and_every_row_has_the_bits_of_its_batch(rocm, utils):
    hooks.choose(products_only=True)
    plugin.use(lambda dtype: CHAIN)
    calls = 0
    for weight, bias, on_gpu, bias_on_gpu in model(rocm):
        x = torch.randn(max(ROWS), weight.shape[1], generator=torch.Generator().manual_seed(6)).bfloat16()
        expected = torch.ops.detgemm.gemm(x, weight.t(), CHAIN, None, bias)
        for rows in ROWS:
            got = utils.dispatch_unquantized_gemm()(None, rocm.put(x[:rows]), on_gpu, bias_on_gpu)
            assert got.device == fake_rocm.GPU and dt.same_bits(fake_rocm.on_cpu(got), expected[:rows])
            calls += 1
    assert calls == 4 * len(ROWS) and not utils.theirs


def test_another_engine_keeps_its_function(rocm, utils):
    x, weight = rocm.put(torch.zeros(2, 64).bfloat16()), rocm.put(torch.zeros(8, 64).bfloat16())
    utils.dispatch_unquantized_gemm()(None, x, weight)
    assert utils.theirs == [torch.Size([2, 64])]
