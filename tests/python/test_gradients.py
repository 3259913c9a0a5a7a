# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Gradients are products under contracts: the bits of explicit calls, and right."""
import pytest
import torch
from conftest import BF16, bits, devices

import detgemm.torch as dt

OPS = torch.ops.detgemm
FP32 = "ieee_fma/fp32/chain->fp32"


@pytest.mark.parametrize("device", devices())
def test_linear_has_the_bits_of_three_products(device, policy):
    x, weight = bits((2, 5, 32), torch.bfloat16, 0, device), bits((24, 32), torch.bfloat16, 1, device)
    bias, dy = bits((24,), torch.bfloat16, 2, device), bits((2, 5, 24), torch.bfloat16, 3, device)
    for tensor in (x, weight, bias):
        tensor.requires_grad_()
    y = dt.linear(x, weight, bias, policy)
    y.backward(dy)
    rows, flat = dy.reshape(-1, 24), x.detach().reshape(-1, 32)
    assert dt.same_bits(y, OPS.gemm(x.detach(), weight.detach().t(), BF16, None, bias.detach()))
    assert dt.same_bits(x.grad, OPS.gemm(dy, weight.detach(), BF16))
    assert dt.same_bits(weight.grad, OPS.gemm(rows.t(), flat, policy.wgrad).bfloat16())
    assert dt.same_bits(bias.grad, OPS.gemm(torch.ones_like(rows[:, :1]).t(), rows, policy.wgrad)[0].bfloat16())


def test_gradients_of_the_operator_are_right_and_have_gradients():
    a, b, c, bias = (torch.randn(*s, generator=torch.Generator().manual_seed(4)).requires_grad_()
                     for s in ((3, 5), (5, 4), (3, 4), (4,)))
    operands = (a, b, c, bias)
    ours = OPS.gemm(a, b, FP32, c, bias, alpha=0.5, beta=2.0)
    exact = [t.detach().double().requires_grad_() for t in operands]
    theirs = 0.5 * exact[0] @ exact[1] + 2 * exact[2] + exact[3]
    bound = 16 * 2.0 ** -24
    weights = torch.randn(3, 4, generator=torch.Generator().manual_seed(5))
    first = torch.autograd.grad((ours * weights).square().sum(), operands, create_graph=True)
    truth = torch.autograd.grad((theirs * weights.double()).square().sum(), exact, create_graph=True)
    for x, y in zip(first, truth):
        assert (x.double() - y).abs().max() <= bound * y.abs().max() * 8
    second = torch.autograd.grad(sum(x.square().sum() for x in first), operands)
    truth = torch.autograd.grad(sum(y.square().sum() for y in truth), exact)
    for x, y in zip(second, truth):
        assert (x.double() - y).abs().max() <= bound * y.abs().max() * 32


def test_bmm_gradients_are_products():
    a, b, dy = bits((3, 4, 32), torch.bfloat16), bits((3, 32, 6), torch.bfloat16, 1), bits((3, 4, 6), torch.bfloat16, 2)
    a.requires_grad_(), b.requires_grad_()
    OPS.bmm(a, b, BF16).backward(dy)
    assert dt.same_bits(a.grad, OPS.bmm(dy, b.detach().transpose(1, 2), BF16))
    assert dt.same_bits(b.grad, OPS.bmm(a.detach().transpose(1, 2), dy, BF16))


def test_a_fused_activation_has_no_gradient():
    a, b = bits((3, 32), torch.bfloat16).requires_grad_(), bits((32, 4), torch.bfloat16)
    with pytest.raises(RuntimeError, match="activation is 'silu': a fused activation has no gradient"):
        OPS.gemm(a, b, BF16, activation="silu").sum().backward()


def test_checkpointing_gives_the_same_bits(policy):
    torch.manual_seed(0)
    layers = torch.nn.Sequential(*(torch.nn.Linear(32, 32) for _ in range(3))).bfloat16()
    dt.convert(layers, policy)
    x = bits((4, 32), torch.bfloat16).requires_grad_()

    def gradients(run):
        layers.zero_grad()
        x.grad = None
        run(x).float().square().sum().backward()
        return [x.grad, *(p.grad for p in layers.parameters())]

    plain = gradients(layers)
    again = gradients(lambda x: torch.utils.checkpoint.checkpoint(layers, x, use_reentrant=False))
    assert all(dt.same_bits(p, q) for p, q in zip(plain, again))


def test_autocast_rounds_operands_to_the_policys_type(policy):
    layer = torch.nn.Linear(32, 8)  # fp32 masters
    dt.convert(layer_box := torch.nn.Sequential(layer), policy)
    x = torch.randn(5, 32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = layer_box(x)
    expected = dt.linear(x.bfloat16(), layer.weight.detach().bfloat16(), layer.bias.detach(), policy)
    assert y.dtype == torch.bfloat16 and dt.same_bits(y, expected)
    y.float().sum().backward()
    assert layer.weight.grad.dtype == torch.float32
    # The words of the caller's program, which has no operand "a".
    with pytest.raises(RuntimeError, match=r"^weights are fp32: hopper/bf16/chain->bf16 reads bf16: call \.bfloat16\(\) on "
                                           r"the model, or run the model under torch\.autocast$"):
        layer_box(x)
    with pytest.raises(RuntimeError, match=r"^x is fp32: hopper/bf16/chain->bf16 reads bf16: call \.bfloat16\(\) on it"):
        layer_box.bfloat16()(x)
