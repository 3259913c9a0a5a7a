# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""A decoder layer as one node of autograd has the bits of its separate layers, forward and backward."""
import copy
import pickle
import types

import pytest
import torch

transformers = pytest.importorskip("transformers", reason="transformers is not installed")

import detgemm.torch as dt  # noqa: E402
from detgemm.torch import decoder, same_bits  # noqa: E402
from detgemm.torch import transformers as hooks  # noqa: E402

POLICY = dt.Policy("hopper/bf16/chain->bf16", "hopper/bf16/chain->bf16", "hopper/bf16/fold:32->fp32")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
CONFIGS = {"qwen": transformers.Qwen3Config, "llama": transformers.LlamaConfig}


def model_of(kind, separate=False):
    torch.manual_seed(0)
    made = transformers.AutoModelForCausalLM.from_config(CONFIGS[kind](
        vocab_size=64, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=32,
        max_position_embeddings=64, tie_word_embeddings=False, use_cache=False, initializer_range=0.3), dtype=torch.bfloat16)
    for name, weight in made.named_parameters():
        if "norm" in name:
            weight.data.uniform_(0.5, 1.5)
    hooks.use(made, POLICY)
    for module in made.modules() if separate else ():
        if isinstance(module, decoder.Node):
            module.__class__ = type(module).__mro__[2]
    return made.to(DEVICE)


SHORT = torch.tensor([[1, 2, 3]], device=DEVICE)


@pytest.fixture
def nodes(monkeypatch):
    """How many layers ran as one node."""
    calls, real = [], decoder._Layer
    monkeypatch.setattr(decoder, "_Layer", types.SimpleNamespace(apply=lambda *given: calls.append(1) or real.apply(*given)))
    return calls


def trained(model, main=False, padded=False):
    """Logits, then gradients of two backward passes, by name."""
    if main:
        dt.main_grads(model)
    ids = torch.randint(0, 64, (3, 11), generator=torch.Generator().manual_seed(1)).to(DEVICE)
    mask = torch.ones(3, 11, dtype=torch.long, device=DEVICE)
    if padded:
        mask[0, :3], mask[1, 9:] = 0, 0
    for seed in range(2):
        logits = model(ids, attention_mask=mask).logits
        logits.backward(torch.randn(logits.shape, generator=torch.Generator().manual_seed(seed)).to(logits))
    return {"logits": logits.detach(), **{name: p.main_grad if main else p.grad for name, p in model.named_parameters()}}


def different(found, wanted):
    return [name for name in wanted if not same_bits(found[name], wanted[name])]


@pytest.mark.parametrize("kind, main, padded", [("qwen", True, True), ("qwen", False, False), ("llama", True, False)])
def test_a_node_has_the_bits_of_its_layers(kind, main, padded, nodes):
    wanted = trained(model_of(kind, separate=True), main, padded)
    assert not nodes
    assert different(trained(model_of(kind), main, padded), wanted) == [] and len(nodes) == 4


def test_another_order_of_gradients_is_seen(monkeypatch):
    """The planted fault: gradients that q, k and v pass to their input are added from the first in place of the last."""
    wanted, real = trained(model_of("qwen", separate=True)), decoder.OPS
    reversed_ = types.SimpleNamespace(default=lambda parts, *rest: real.add_rms_norm_backward.default(parts[::-1], *rest))

    class Planted:
        def __getattr__(self, name):
            return reversed_ if name == "add_rms_norm_backward" else getattr(real, name)

    monkeypatch.setattr(decoder, "OPS", Planted())
    assert len(different(trained(model_of("qwen")), wanted)) > 5


def test_copies_are_nodes_of_their_own(nodes):
    """Deep ones, and shallow ones with other weights, as torch.nn.DataParallel makes them."""
    model = model_of("llama")
    assert isinstance(model.model.layers[0], transformers.models.llama.modeling_llama.LlamaDecoderLayer)
    layer, weight = model.model.layers[0]._replicate_for_data_parallel(), torch.ones(64, device=DEVICE, dtype=torch.bfloat16)
    layer._modules["input_layernorm"] = layer.input_layernorm._replicate_for_data_parallel()
    layer.input_layernorm.weight = weight
    assert decoder._parts(layer)[0].weight is weight and decoder._parts(model.model.layers[0])[0].weight is not weight
    for made in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        nodes.clear()
        assert different(trained(made), trained(model_of("llama", separate=True))) == [] and len(nodes) == 4


def test_frozen_weights_and_checkpoints(nodes):
    found = []
    for separate in (True, False):
        model = model_of("qwen", separate)
        model.model.layers[0].requires_grad_(False)
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        model.train()
        found.append({name: grad for name, grad in trained(model).items() if grad is not None})
    assert different(*found) == [] and len(found[0]) == len(found[1]) == len(dict(model.named_parameters())) + 1 - 11 and len(nodes) > 4


class Wrapped(torch.nn.Module):
    """A module around the attention."""
    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, *args, **options):
        return self.module(*args, **options)


# What is changed in a layer, and the reason that an audit reports.
CHANGES = {
    "a wrapped attention": (lambda layer: setattr(layer, "self_attn", Wrapped(layer.self_attn)), "attention or the gated layer is another"),
    "another attention": (lambda layer: setattr(layer.self_attn, "__class__", type("Other", (type(layer.self_attn),), {})),
                          "attention or the gated layer is another"),
    "a hook": (lambda layer: layer.mlp.register_forward_hook(lambda *_: None), "a part has a hook"),
    "another layer": (lambda layer: setattr(layer.self_attn.q_proj, "__class__", torch.nn.Linear), "a part is not what detgemm put there"),
    "one weight": (lambda layer: setattr(layer.post_attention_layernorm, "weight", layer.input_layernorm.weight), "two parts share a weight"),
    "two numbers": (lambda layer: setattr(layer.self_attn.k_norm, "eps", 1e-3), "norms of queries and keys differ in eps"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_a_node_does_not_cover_takes_the_layers_own_pass(change, nodes):
    model, (edit, reason) = model_of("qwen"), CHANGES[change]
    edit(model.model.layers[0])
    with dt.audit() as report:
        model(SHORT)
    assert len(nodes) == 1  # the second layer
    ((name, why), calls), = report.separate.items()
    assert (name, calls) == ("Qwen3DecoderLayer", 1) and reason in why
    assert f"       1  Qwen3DecoderLayer in separate operators, same bits but slower: {why}" in str(report)


def test_an_audit_of_nodes_alone_reports_no_reason():
    with dt.audit() as report:
        trained(model_of("qwen"))
    assert not report.separate and "separate" not in str(report)


def test_a_hook_may_write_to_what_a_layer_returns(nodes):
    model = model_of("qwen")
    model.model.layers[0].register_forward_hook(lambda module, given, output: output.add_(1))
    model(SHORT).logits.sum().backward()
    assert len(nodes) == 2


def test_inference_and_autocast_take_the_layers_own_pass(nodes):
    model = model_of("llama")
    with torch.no_grad():
        model(SHORT, use_cache=True)
    with torch.autocast(DEVICE, torch.bfloat16):
        model(SHORT)
    assert not nodes


def test_derivatives_of_gradients_are_refused():
    model = model_of("llama")
    first = torch.autograd.grad(model(SHORT).logits.sum(), model.model.norm.weight, create_graph=True)
    grads = torch.autograd.grad(model(SHORT).logits.sum(), model.model.layers[0].mlp.up_proj.weight, create_graph=True)
    assert first and grads
    with pytest.raises(RuntimeError, match="twice"):
        grads[0].sum().backward()
