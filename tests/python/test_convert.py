# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Converting a model, comparing two runs of it, and finding where they part."""
import pytest
import torch
from conftest import BF16, bits

import detgemm
import detgemm.torch as dt


class Adapter(torch.nn.Linear):
    """A subclass, as adapters and quantised layers are."""


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed = torch.nn.Embedding(16, 32)
        self.blocks = torch.nn.ModuleList(torch.nn.ModuleDict({"up": torch.nn.Linear(32, 64), "down": torch.nn.Linear(64, 32)})
                                          for _ in range(2))
        self.adapter = Adapter(32, 32)
        self.lm_head = torch.nn.Linear(32, 16, bias=False)

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = x + block["down"](torch.relu(block["up"](x)))
        return self.lm_head(self.adapter(x))


def test_every_plain_layer_is_converted_and_the_rest_is_listed(policy):
    model = Net().bfloat16()
    names = set(model.state_dict())
    before = [p.data_ptr() for p in model.parameters()]
    converted, left = dt.convert(model, policy, skip=["lm_head"])
    assert converted == ["blocks.0.up", "blocks.0.down", "blocks.1.up", "blocks.1.down"]
    assert left == ["embed", "adapter", "lm_head"]
    assert set(model.state_dict()) == names and [p.data_ptr() for p in model.parameters()] == before
    assert isinstance(model.blocks[0]["up"], torch.nn.Linear) and "forward=hopper/bf16" in repr(model.blocks[0]["up"])
    assert dt.convert(model, policy, skip="lm_*")[0] == []
    other = Net().bfloat16()
    other.load_state_dict(model.state_dict())
    model.load_state_dict(other.state_dict())


@pytest.mark.parametrize("skip", [["lm_haed"], ["adapter"], "embed*"])
def test_a_pattern_that_matches_nothing_is_an_error(policy, skip):
    model = Net()
    with pytest.raises(detgemm.DetgemmError, match="is the name of no linear layer; there are blocks.0.up"):
        dt.convert(model, policy, skip=skip)
    assert type(model.lm_head) is torch.nn.Linear


def test_bits_do_not_depend_on_the_batch(policy):
    model = Net().bfloat16()
    dt.convert(model, policy)
    model.adapter = torch.nn.Identity()
    tokens = torch.arange(48).reshape(8, 6) % 16
    whole = model(tokens)
    assert all(dt.same_bits(model(tokens[i:i + 1]), whole[i:i + 1]) for i in range(8))
    assert dt.bisect(model, lambda: model(tokens[:1]), lambda: model(tokens), lambda t: t[:1]) is None


class RowDependent(torch.nn.Linear):
    """A planted fault: K is split in two where there is more than one row."""

    def forward(self, x):
        if x.numel() == x.shape[-1]:
            return x @ self.weight.t()
        half = x.shape[-1] // 2
        return x[..., :half] @ self.weight[:, :half].t() + x[..., half:] @ self.weight[:, half:].t()


def test_bisect_names_the_first_module_that_differs(policy):
    model = Net().bfloat16()
    dt.convert(model, policy)
    model.adapter = torch.nn.Identity()
    model.blocks[1]["down"].__class__ = RowDependent
    model.blocks[1]["down"].weight.data = bits((32, 64), torch.bfloat16, 3)
    tokens = torch.arange(8).reshape(8, 1)
    name, kind, count = dt.bisect(model, lambda: model(tokens[:1]), lambda: model(tokens), lambda t: t[:1])
    assert (name, kind) == ("blocks.1.down", "RowDependent") and count > 0


def test_bytes_are_compared():
    nan, zero = torch.tensor([float("nan")]), torch.tensor([0.0])
    assert dt.same_bits(nan, nan.clone()) and not dt.same_bits(zero, -zero)
    assert not dt.same_bits(zero, zero.double()) and not dt.same_bits(zero, zero[None])


def test_digests():
    x = bits((3, 5), torch.bfloat16)
    assert dt.digest(x) == dt.digest(x.t().contiguous().t()) != dt.digest(x.t())
    assert dt.digest(x) != dt.digest(x.float()) and dt.digest(torch.ones(3)) == dt.digest(torch.ones(1, 3))
    assert len(dt.digest(torch.arange(3))) == 16 and len(dt.digest(torch.tensor(1.0))) == 16


def test_weights_are_stable_is_passed_on(policy):
    layer = torch.nn.Sequential(torch.nn.Linear(32, 8)).bfloat16()
    dt.convert(layer, policy, weights_are_stable=True)
    x = bits((4, 32), torch.bfloat16)
    assert layer[0].weights_are_stable
    assert dt.same_bits(layer(x), torch.ops.detgemm.gemm(x, layer[0].weight.detach().t(), BF16, None, layer[0].bias.detach()))
