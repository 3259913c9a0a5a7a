# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Converted models are copied, pickled, saved and loaded, cast, checkpointed and compiled, and stay converted."""
import copy
import io
import pickle

import pytest
import torch
from conftest import bits

import detgemm.torch as dt
from detgemm.torch.embeddings import Embedding
from detgemm.torch.rows import RMSNorm


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed = Embedding.converted(torch.nn.Embedding(16, 32))
        self.norm = RMSNorm(torch.nn.Parameter(torch.ones(32)), 1e-6)
        self.up, self.down = torch.nn.Linear(32, 64), torch.nn.Linear(64, 32, bias=False)

    def forward(self, tokens):
        return self.down(torch.relu(self.up(self.norm(self.embed(tokens)))))


TOKENS = torch.arange(24).reshape(2, 12) % 16


def made(policy, convert=True):
    model = Net().bfloat16()
    if convert:
        dt.convert(model, policy, weights_are_stable=False)
    return model


def gradients(model, run=None):
    model.zero_grad()
    ((run or model)(TOKENS).float() * bits((2, 12, 32), torch.float32, 4)).sum().backward()
    return {name.removeprefix("_orig_mod."): p.grad.clone() for name, p in model.named_parameters()}


def check(found, wanted, policy):
    """The same layers, policy, output and gradients."""
    assert [type(module) for module in found.modules()] == [type(module) for module in wanted.modules()]
    assert isinstance(found.up, dt.Linear) and found.up.policy == policy and found.up.policy.step == policy.step
    assert dt.same_bits(found(TOKENS), wanted(TOKENS))
    ours, theirs = gradients(found), gradients(wanted)
    assert list(ours) == list(theirs) and all(dt.same_bits(ours[name], theirs[name]) for name in ours)


def through_file(model):
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model)), through_file],
                         ids=["deepcopy", "pickle", "torch.save"])
def test_copies_stay_converted(policy, copied):
    model = made(policy)
    twin = copied(model)
    check(twin, model, policy)
    with torch.no_grad():
        twin.up.weight.zero_()
    assert model.up.weight.any(), "a copy shares no memory"


@pytest.mark.parametrize("converted", [(True, True), (True, False), (False, True)], ids=["both", "from", "into"])
def test_state_dicts_fit_both_ways(policy, converted):
    first, second = (made(policy, each) for each in converted)
    state = {name: bits(tensor.shape, tensor.dtype, at) for at, (name, tensor) in enumerate(first.state_dict().items())}
    first.load_state_dict(state, strict=True)
    file = io.BytesIO()
    torch.save(first.state_dict(), file)
    file.seek(0)
    second.load_state_dict(torch.load(file, weights_only=True), strict=True)
    assert all(dt.same_bits(tensor, second.state_dict()[name]) for name, tensor in state.items())
    third = made(policy)
    third.load_state_dict(second.state_dict(), assign=True)
    check(third, first if converted[0] else second, policy)


def test_main_grads_are_copied_as_the_parameter_is(policy):
    """PyTorch copies attributes of a parameter with it: a copy has a main_grad of its own."""
    model = made(policy)
    grads = dt.main_grads(model)
    twin = copy.deepcopy(model)
    there = getattr(twin.up.weight, "main_grad", None)
    if there is not None:
        assert there.data_ptr() != grads["up.weight"].data_ptr()
    dt.main_grads(twin)
    twin(TOKENS).float().sum().backward()
    assert not grads["up.weight"].any() and twin.up.weight.main_grad.any()


def test_autocast_of_fp32_weights(policy):
    """Weights are rounded as a whole model in bf16 has them, biases are not; gradients arrive in fp32."""
    model, low = Net(), Net()
    for each in (model, low.bfloat16()):
        dt.convert(each, policy)
    with torch.no_grad():
        model.up.bias.copy_(low.up.bias)
    with torch.autocast("cpu", torch.bfloat16):
        x = bits((5, 32), torch.float32)
        y = model.down(model.up(x))
    assert dt.same_bits(y, low.down(low.up(x.bfloat16())))
    y.float().sum().backward()
    assert model.up.weight.grad.dtype == torch.float32


@pytest.mark.parametrize("reentrant", [True, False])
def test_gradient_checkpointing(policy, reentrant):
    from torch.utils.checkpoint import checkpoint
    model = made(policy)

    def run(tokens):
        x = model.norm(model.embed(tokens))
        return model.down(torch.relu(checkpoint(model.up, x, use_reentrant=reentrant)))

    wanted, found = gradients(model), gradients(model, run)
    assert all(dt.same_bits(wanted[name], found[name]) for name in wanted)


def test_a_wrapped_layer_of_the_old_class_is_named(policy):
    """What convert cannot see is listed, and a hook or a parametrisation before it stays."""
    model = made(policy, convert=False)
    torch.nn.utils.parametrizations.weight_norm(model.down)
    seen = []
    model.up.register_forward_hook(lambda *_: seen.append(1))
    converted, left = dt.convert(model, policy)
    assert converted == ["up"] and "down" in left
    model(TOKENS)
    assert seen == [1] and not isinstance(model.down, dt.Linear)
