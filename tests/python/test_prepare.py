# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Operands whose rows are moved to multiples of 16 bytes once: the same values, shape and bits."""
import pytest
import torch
from conftest import bits

import detgemm.torch as dt

CHAIN, FOLD = "hopper/bf16/chain->bf16", "hopper/bf16/fold:64->fp32"
TYPES = {torch.bfloat16: 8, torch.float16: 8, torch.float32: 4, torch.float8_e4m3fn: 16}


def is_prepared(x, unit):
    return x.stride(-1) == 1 and x.storage_offset() % unit == 0 and all(at % unit == 0 for at in x.stride()[:-1])


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("k", [1, 7, 15, 16, 17, 95])
def test_rows_begin_at_16_bytes_and_hold_the_same_values(dtype, k):
    kind = torch.uint8 if dtype is torch.float8_e4m3fn else torch.int32 if dtype is torch.float32 else torch.int16
    low, high = torch.iinfo(kind).min, torch.iinfo(kind).max
    x = torch.randint(low, high, (2, 5, k), dtype=kind).view(dtype)  # all patterns: NaN with any payload, subnormals
    for of in (x, x[0], x[:, 1:], x.transpose(0, 1), x[..., k // 2:]):
        made = dt.prepare(of)
        assert made.shape == of.shape and made.dtype == dtype and is_prepared(made, TYPES[dtype])
        assert torch.equal(made.contiguous().view(kind), of.contiguous().view(kind))
        assert dt.prepare(made) is made


def test_what_is_prepared_is_no_copy_and_a_vector_neither():
    for x in (torch.zeros(3, 16).bfloat16(), torch.zeros(3, 24).bfloat16()[:, 8:13], torch.zeros(7).bfloat16()):
        assert dt.prepare(x) is x


@pytest.mark.parametrize("contract", [CHAIN, FOLD])
@pytest.mark.parametrize("k", [1, 63, 129, 255])
def test_products_have_the_same_bits_and_copy_nothing(contract, k):
    a, w = bits((9, k), torch.bfloat16), bits((5, k), torch.bfloat16, 1)
    copies = dt.stats()["copies"]
    want = dt.gemm(a, w.t(), contract)
    for left, right in ((a, dt.prepare(w)), (dt.prepare(a), w), (dt.prepare(a), dt.prepare(w))):
        assert dt.same_bits(dt.gemm(left, right.t(), contract), want)
    assert dt.stats()["copies"] == copies


def test_a_layer_keeps_its_bits_and_its_gradients():
    policy = dt.Policy(CHAIN, CHAIN, "hopper/bf16/fold:64->fp32")
    x, w = torch.randn(6, 65).bfloat16(), torch.randn(10, 65).bfloat16()
    found = []
    for make in (lambda t: t, dt.prepare):
        inputs, weight = x.clone().requires_grad_(), w.clone().requires_grad_()
        y = dt.linear(make(inputs), make(weight), None, policy)
        y.float().square().sum().backward()
        found.append((y, inputs.grad, weight.grad))
    assert all(dt.same_bits(*pair) for pair in zip(*found))
    layer = dt.Linear(65, 10, policy=policy, dtype=torch.bfloat16)
    before = layer(x)
    layer.weight = torch.nn.Parameter(dt.prepare(layer.weight.detach()))
    assert is_prepared(layer.weight, 8) and dt.same_bits(layer(x), before)
    layer.load_state_dict({name: value + 1 for name, value in layer.state_dict().items()})
    assert is_prepared(layer.weight, 8)  # a checkpoint is copied into the same rows
