# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""fp32 gradients that are accumulated: micro-batches against the uncut batch, over many steps."""
import pytest
import torch
from conftest import BF16, bits, devices

import detgemm
import detgemm.torch as dt

CHAIN = dt.Policy(BF16, BF16, "hopper/bf16/chain->fp32")
FOLD = dt.Policy(BF16, BF16, "hopper/bf16/fold:32->fp32")


class Model(torch.nn.Module):
    def __init__(self, width, device):
        super().__init__()
        torch.manual_seed(0)
        self.up = torch.nn.Linear(width, 2 * width, dtype=torch.bfloat16, device=device)
        self.down = torch.nn.Linear(2 * width, width, bias=False, dtype=torch.bfloat16, device=device)

    def forward(self, x):
        return x + self.down(torch.nn.functional.silu(self.up(x)))


def train(cuts, policy, device, steps, width=32, ours=True):
    """The weights after some steps of Adam on 128 rows, cut into micro-batches of these lengths."""
    model = Model(width, device)
    if ours:
        dt.convert(model, policy)
        grads = dt.main_grads(model)
    else:
        grads = {name: torch.zeros_like(p, dtype=torch.float32) for name, p in model.named_parameters()}
    masters = {name: p.detach().float().requires_grad_() for name, p in model.named_parameters()}
    adam = torch.optim.Adam(masters.values(), lr=1e-2)
    x, target = bits((128, width), torch.bfloat16, 5, device), torch.randn(128, width).to(device)
    for _ in range(steps):
        for grad in grads.values():
            grad.zero_()
        for part, wanted in zip(x.split(cuts), target.split(cuts)):
            ((model(part).float() - wanted).square().sum() / 128).backward()
            for name, parameter in model.named_parameters():
                if ours:
                    assert parameter.grad is None
                else:
                    grads[name] += parameter.grad
                    parameter.grad = None
        for name, master in masters.items():
            master.grad = grads[name]
        adam.step()
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                parameter.copy_(masters[name])
    return [p.detach().clone() for p in masters.values()]


def equal(x, y):
    return all(dt.same_bits(p, q) for p, q in zip(x, y))


@pytest.mark.parametrize("device", devices())
def test_micro_batches_train_to_the_same_weights(device):
    steps = 10 if device == "cpu" else 50
    whole = train([128], FOLD, device, steps)
    assert not equal(whole, train([128], FOLD, device, steps - 1))
    for cuts in ([64, 64], [32] * 4, [32, 96]):
        dt.check_cuts(cuts, FOLD)
        assert equal(train(cuts, FOLD, device, steps), whole), cuts
    assert equal(train([16] * 8, CHAIN, device, 3), train([128], CHAIN, device, 3))


def test_the_controls_differ():
    whole = train([128], FOLD, "cpu", 3)
    assert not equal(train([8] * 16, FOLD, "cpu", 3), whole)  # cut inside of a leaf
    with pytest.raises(detgemm.DetgemmError, match=r"lengths\[0\] is 8"):
        dt.check_cuts([8] * 16, FOLD)
    assert not equal(train([32] * 4, None, "cpu", 3, ours=False), train([128], None, "cpu", 3, ours=False))


def test_padding_rows_of_zeros_change_nothing():
    x, dy = bits((128, 32), torch.bfloat16), bits((128, 16), torch.bfloat16, 1)
    lengths = [37, 64, 5, 22]

    def sample(pad):
        acc = torch.zeros(16, 32)
        for part, grad in zip(x.split(lengths), dy.split(lengths)):
            rows = -len(part) % 32 if pad else 0
            part, grad = (torch.nn.functional.pad(t, (0, 0, 0, rows)) for t in (part, grad))
            torch.ops.detgemm.accumulate_(acc, grad.t(), part, FOLD.wgrad)
        return acc

    padded = torch.cat([torch.nn.functional.pad(t, (0, 0, 0, -len(t) % 32)) for t in x.split(lengths)])
    grads = torch.cat([torch.nn.functional.pad(t, (0, 0, 0, -len(t) % 32)) for t in dy.split(lengths)])
    assert dt.same_bits(sample(True), torch.ops.detgemm.gemm(grads.t(), padded, FOLD.wgrad))
    assert not dt.same_bits(sample(False), torch.ops.detgemm.gemm(dy.t(), x, FOLD.wgrad))


def test_two_forward_passes_before_two_backward_passes():
    layer = dt.Linear(32, 16, dtype=torch.bfloat16, policy=FOLD)
    grads = dt.main_grads(layer)
    x = bits((64, 32), torch.bfloat16)
    outputs = [layer(part) for part in x.split(32)]
    for y in outputs:
        y.float().sum().backward()
    joined = torch.zeros(16, 32)
    for part in x.split(32):
        torch.ops.detgemm.accumulate_(joined, torch.ones(32, 16, dtype=torch.bfloat16).t(), part, FOLD.wgrad)
    assert dt.same_bits(grads["weight"], joined) and grads["bias"].eq(64).all()


def test_megatrons_protocol():
    layer = dt.Linear(32, 16, bias=False, dtype=torch.bfloat16, policy=FOLD)
    layer.weight.main_grad = torch.zeros(16, 32)
    x = bits((32, 32), torch.bfloat16)
    for flag in (False, True):  # the flag is never read: both micro-batches are added
        layer.weight.grad_added_to_main_grad = flag
        seen = []
        hook = layer.weight.register_post_accumulate_grad_hook(
            lambda p, seen=seen: seen.append((p.grad.abs().sum().item(), p.grad_added_to_main_grad)))
        layer(x).float().sum().backward()
        hook.remove()
        assert seen == [(0.0, True)]
        layer.weight.grad = None
    once = torch.zeros(16, 32)
    torch.ops.detgemm.accumulate_(once, torch.ones(32, 16, dtype=torch.bfloat16).t(), x, FOLD.wgrad)
    torch.ops.detgemm.accumulate_(once, torch.ones(32, 16, dtype=torch.bfloat16).t(), x, FOLD.wgrad)
    assert dt.same_bits(layer.weight.main_grad, once)


@pytest.mark.parametrize("wrong", [torch.zeros(16, 31), torch.zeros(16, 32, dtype=torch.bfloat16), torch.zeros(32, 16).t(),
                                   torch.zeros(16, 32, device="meta")])
def test_a_main_grad_that_does_not_fit_is_refused(wrong):
    layer = dt.Linear(32, 16, bias=False, dtype=torch.bfloat16, policy=FOLD)
    layer.weight.main_grad = wrong
    with pytest.raises(RuntimeError, match="weight.main_grad is .* it must be contiguous torch.float32"):
        layer(bits((4, 32), torch.bfloat16))


def test_sums_of_rows_continue():
    x = bits((96, 24), torch.float32)
    contract = "ieee_fma/fp32/fold:16->fp32"
    whole = dt.sum_rows_(torch.zeros(24), x, contract)
    parts = torch.zeros(24)
    for part in x.split([16, 48, 32]):
        dt.sum_rows_(parts, part, contract)
    assert dt.same_bits(whole, parts) and (whole.double() - x.double().sum(0)).abs().max() < 1e-3
    other = torch.zeros(24)
    for part in x.split(8):
        dt.sum_rows_(other, part, contract)
    assert not dt.same_bits(whole, other)
