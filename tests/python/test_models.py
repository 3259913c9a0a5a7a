# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Models of transformers on detgemm's operations, and the three programs of examples/python."""
import importlib
import pathlib
import sys

import pytest
import torch

transformers = pytest.importorskip("transformers", reason="transformers is not installed")

import detgemm.torch  # noqa: E402
from detgemm.torch import transformers as hooks  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "python"))
same = detgemm.torch.same_bits
SIZES = dict(vocab_size=256, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, head_dim=16, max_position_embeddings=512)


def model_of(config, **more):
    torch.manual_seed(0)
    made = transformers.AutoModelForCausalLM.from_config(config(**{**SIZES, **more}), dtype=torch.bfloat16)
    return made.eval()


@pytest.mark.parametrize("config", [transformers.LlamaConfig, transformers.Qwen3Config])
def test_padding_caches_and_slots_keep_the_bits(config):
    model, stock = model_of(config), model_of(config)
    done = hooks.use(model, None)
    assert len(done["norms"]) == (9 if config is transformers.Qwen3Config else 5) and len(done["embeddings"]) == 1
    ids, pads = torch.randint(0, 256, (2, 24), generator=torch.Generator().manual_seed(1)), (0, 7)
    mask = torch.tensor([[0] * p + [1] * (24 - p) for p in pads])
    places = (mask.cumsum(1) - 1).clamp(min=0)
    with torch.no_grad():
        alone = [model(ids[i:i + 1, p:]).logits[0] for i, p in enumerate(pads)]
        assert (alone[0] - stock(ids[:1]).logits[0]).abs().max() < 0.05
        whole = model(ids, attention_mask=mask, position_ids=places).logits
        first = model(ids[:, :20], attention_mask=mask[:, :20], position_ids=places[:, :20], use_cache=True)
        step = model(ids[:, 20:21], attention_mask=mask[:, :21], position_ids=places[:, 20:21],
                     past_key_values=first.past_key_values).logits
        slots, found = hooks.Slots(model.config, 3, 32, torch.bfloat16, "cpu"), [[], []]
        for work in ([(0, ids[0, :9])], [(2, ids[1, 7:20]), (0, ids[0, 9:10])], [(0, ids[0, 10:]), (2, ids[1, 20:])]):
            slots.load([(slot, part.tolist()) for slot, part in work])
            logits, at = slots.run(model).logits[0], 0
            for slot, part in work:
                found[slot // 2].append(logits[at:at + len(part)])
                at += len(part)
    for i, p in enumerate(pads):
        assert same(whole[i, p:], alone[i])
        assert same(step[i, 0], alone[i][20 - p])
        assert same(torch.cat(found[i]), alone[i])


def test_padding_on_both_sides(policy):
    """As TRL pads prompts and completions: rows and gradients are those of the sequences alone."""
    model = model_of(transformers.Qwen3Config)
    hooks.use(model, policy)
    ids = torch.randint(0, 256, (2, 20), generator=torch.Generator().manual_seed(1))
    mask = torch.ones(2, 20, dtype=torch.int64)
    mask[0, :3] = mask[1, 16:] = 0
    places = (mask.cumsum(1) - 1).clamp(min=0)
    logits = model(ids, attention_mask=mask, position_ids=places, use_cache=False).logits
    for row, part in ((0, slice(3, 20)), (1, slice(0, 16))):
        assert same(logits[row, part], model(ids[row:row + 1, part], use_cache=False).logits[0])
    with torch.no_grad():
        cache = model(ids[:, :16], attention_mask=mask[:, :16], position_ids=places[:, :16], use_cache=True).past_key_values
        with pytest.raises(RuntimeError, match="right of one while there is a cache"):
            model(ids[:, 16:], attention_mask=mask, position_ids=places[:, 16:], past_key_values=cache)


def test_gated_layers_keep_the_roundings_of_transformers():
    """Names of parameters stay, and another activation is left alone."""
    model, stock = model_of(transformers.LlamaConfig), model_of(transformers.LlamaConfig)
    assert hooks.use(model, None)["mlps"] == ["model.layers.0.mlp", "model.layers.1.mlp"]
    assert list(model.state_dict()) == list(stock.state_dict())
    x = torch.randn(6, 64, generator=torch.Generator().manual_seed(1)).bfloat16().requires_grad_()
    ours, theirs = model.model.layers[0].mlp, stock.model.layers[0].mlp
    y, wanted = ours(x), theirs(x)
    assert (y != wanted).float().mean() < 0.02  # an exp of another polynomial, rounded to bf16
    grads = [torch.autograd.grad(each.float().square().sum(), x)[0].float() for each in (y, wanted)]
    assert (grads[0] - grads[1]).abs().max() <= 0.02 * grads[1].abs().max()
    assert hooks.use(model_of(transformers.LlamaConfig, hidden_act="gelu"), None)["mlps"] == []


@pytest.mark.parametrize("rope", [{"rope_type": "default"}, {"rope_type": "linear", "factor": 2.0},
                                  {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                   "original_max_position_embeddings": 64}])
def test_angles_have_transformers_bits_and_no_product(rope):
    """In any type of the model, also where a program replaces the product of positions and frequencies by a coarse one."""
    model = model_of(transformers.LlamaConfig, rope_parameters={"rope_theta": 10000.0, **rope})
    x, places = torch.empty(1, 1, 1, dtype=torch.bfloat16), torch.tensor([[0, 1, 3, 500], [9, 8, 7, 6]])
    wanted = model.model.rotary_emb(x, places)
    assert hooks.use(model, None)["angles"] == ["model.rotary_emb"]
    angles = model.bfloat16().model.rotary_emb
    assert angles.inv_freq.dtype == torch.float32 and "inv_freq" not in "".join(model.state_dict())
    coarse = torch.library.Library("aten", "IMPL")
    coarse.impl("bmm", lambda a, b: torch.zeros(a.shape[0], a.shape[1], b.shape[2]), "CPU")
    try:
        assert not model_of(transformers.LlamaConfig).model.rotary_emb(x, places)[1].any(), "the control: transformers multiplies"
        found = angles(x, places)
    finally:
        coarse._destroy()
    assert all(same(a, b) for a, b in zip(found, wanted)) and found[1].any()
    assert hooks.use(model, None)["angles"] == [] and hooks.use(model_of(
        transformers.LlamaConfig, rope_parameters={"rope_theta": 1e4, "rope_type": "dynamic", "factor": 2.0}), None)["angles"] == []


@pytest.mark.parametrize("config, more, sentence", [
    (transformers.MixtralConfig, dict(num_local_experts=2), "with a policy"),
    (transformers.DeepseekV3Config, dict(num_key_value_heads=4, n_routed_experts=8, n_group=2, first_k_dense_replace=0),
     "no others"),
    (transformers.GemmaConfig, {}, "another formula"),
    (transformers.Qwen3Config, dict(use_sliding_window=True, sliding_window=8, max_window_layers=1),
     "full_attention alone"),
    (transformers.LlamaConfig, dict(attention_dropout=0.1), "drops attention weights"),
    (transformers.OlmoConfig, {}, "model.layers.0.input_layernorm is a OlmoLayerNorm: it has no row-local form"),
    (transformers.CohereConfig, {}, "is a CohereLayerNorm: it has no row-local form")])
def test_what_is_not_covered_is_refused_before_anything_changes(config, more, sentence):
    model = model_of(config, **more)
    before = [type(module) for module in model.modules()]
    with pytest.raises(RuntimeError, match=sentence):
        hooks.use(model, None)
    assert before == [type(module) for module in model.modules()]


@pytest.mark.parametrize("config, more", [
    (transformers.Qwen2Config, {}), (transformers.Phi3Config, dict(sliding_window=None, pad_token_id=0)), (transformers.Olmo2Config, {}),
    (transformers.Glm4Config, dict(pad_token_id=0)), (transformers.GraniteConfig, dict(embedding_multiplier=3.0, residual_multiplier=0.2))])
def test_other_families_do_not_depend_on_the_batch(config, more, policy):
    """Biases, packed layers, norms behind layers and over all heads, angles of a part of a head, multipliers."""
    model = model_of(config, **more)
    hooks.use(model, policy)
    ids = torch.randint(1, 256, (4, 24), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        whole, alone, short = (model(each, use_cache=False).logits for each in (ids, ids[2:3], ids[2:3, :9]))
    assert same(whole[2:3], alone) and same(whole[2:3, :9], short)
    with detgemm.torch.audit() as found:
        model(ids[:2], use_cache=False).logits.backward(torch.ones_like(whole[:2]))
    found.require_clean()


def test_weights_outside_of_known_layers_are_refused_with_a_policy(policy):
    model = model_of(transformers.LlamaConfig)
    model.model.layers[1].mlp.mixing = torch.nn.Parameter(torch.zeros(4, 4))
    with pytest.raises(RuntimeError, match=r"model.layers.1.mlp is a LlamaMLP with weights of its own \(mixing\): their products"):
        hooks.use(model, policy)
    assert not any(isinstance(module, detgemm.torch.Linear) for module in model.modules())
    hooks.use(model, None)


@pytest.mark.parametrize("config, more", [
    (transformers.MixtralConfig, dict(num_local_experts=4)),
    (transformers.Qwen3MoeConfig, dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32))])
def test_experts_do_not_depend_on_the_batch(config, more, policy):
    model, stock = model_of(config, **more), model_of(config, **more)
    assert len(hooks.use(model, policy)["experts"]) == 4
    ids = torch.randint(0, 256, (4, 9), generator=torch.Generator().manual_seed(1))
    with torch.no_grad(), detgemm.torch.audit() as report:
        whole = model(ids, use_cache=False).logits
        assert (whole - stock(ids, use_cache=False).logits).abs().max() < 0.1
        for i in range(4):
            assert same(model(ids[i:i + 1], use_cache=False).logits[0], whole[i])
    assert any(row[0] == "detgemm.linear" for row in report.rows)
    with pytest.raises(RuntimeError, match="those of experts are not covered"):
        model(ids)


@pytest.mark.parametrize("config, more", [
    (transformers.MixtralConfig, dict(num_local_experts=4)),
    (transformers.Qwen3MoeConfig, dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32))])
def test_grouped_experts_have_gradients_and_do_not_depend_on_the_batch(config, more, policy):
    model, stock = model_of(config, **more), model_of(config, **more)
    names = hooks.use_experts(model, policy)
    assert len(names) == 2 and model.config._experts_implementation == "detgemm"
    layer, theirs = model.get_submodule(names[0]), stock.get_submodule(names[0])
    source = torch.Generator().manual_seed(1)
    x = torch.randn(9, 64, generator=source).bfloat16()
    index = torch.stack([torch.randperm(4, generator=source)[:2] for _ in range(9)])
    weights = torch.rand(9, 2, generator=source).bfloat16()
    with torch.no_grad(), detgemm.torch.audit() as report:
        whole = layer(x, index, weights)
        report.require_clean()
        assert all(same(layer(x[i:i + 1], index[i:i + 1], weights[i:i + 1]), whole[i:i + 1]) for i in range(9))
        assert (whole - theirs(x, index, weights)).abs().max() < 0.05
        gate, up = detgemm.torch.gemm(x[:1], layer.gate_up_proj[index[0, 0]].t(), policy.forward).chunk(2, -1)
        first = detgemm.torch.gemm(layer.act_fn(gate) * up, layer.down_proj[index[0, 0]].t(), policy.forward)
        weights[0, 1] = 0
        assert same(layer(x[:1], index[:1], weights[:1]), first * weights[0, 0])
    layer.down_proj.main_grad = torch.zeros(layer.down_proj.shape)
    for each in (layer, theirs):
        each(x, index, weights).float().square().sum().backward()
    assert layer.down_proj.grad is None
    for ours, wanted in ((layer.gate_up_proj.grad, theirs.gate_up_proj.grad), (layer.down_proj.main_grad, theirs.down_proj.grad)):
        assert (ours - wanted).abs().max() < 0.02 * wanted.abs().max() and ours.any()


def test_experts_that_cannot_be_grouped_are_refused(policy):
    for config, more, said in ((transformers.GptOssConfig, dict(num_local_experts=4, num_experts_per_tok=2), "with biases"),
                               (transformers.LlamaConfig, {}, "no layer of experts")):
        with pytest.raises(RuntimeError, match=said):
            hooks.use_experts(model_of(config, **more), policy)
    with pytest.raises(RuntimeError, match="it must be a detgemm.torch.Policy"):
        hooks.use_experts(model_of(transformers.MixtralConfig, num_local_experts=4), None)


def test_masks_that_are_not_causal_are_refused():
    model = model_of(transformers.LlamaConfig)
    hooks.use(model, None)
    ids = torch.zeros(1, 6, dtype=torch.int64)
    with pytest.raises(RuntimeError, match="padding inside of a sequence"):
        model(ids, attention_mask=torch.tensor([[1, 1, 0, 1, 1, 1]]))
    with pytest.raises(RuntimeError, match="other than the causal one"):
        model(ids, position_ids=torch.tensor([[0, 1, 2, 0, 1, 2]]), use_cache=False)


SMALL = {"generate": ["--sequences", "3", "--prompt", "14", "--new", "3", "--some", "1"],
         "rl": ["--sequences", "4", "--new", "4", "--steps", "2"],
         "rl fused": ["--sequences", "4", "--new", "4", "--steps", "1", "--head", "fused"],
         "train": ["--sequences", "4", "--length", "16", "--steps", "2"]}


def uncovered(said):
    """Lines of the audit that name a reduction outside."""
    return [line for line in said.splitlines() if " outside " in line or " unknown " in line]


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("extra, status", [(["--arms", "all"], 0), (["--control"], 1)])
def test_programs_prove_it_and_their_control_fails(name, extra, status, monkeypatch, capsys):
    program = importlib.import_module(name.partition(" ")[0])
    monkeypatch.setattr(sys, "argv", [name, "--device", "cpu", *SMALL[name], *extra])
    with pytest.raises(SystemExit) as ended:
        program.main()
    said = capsys.readouterr().out
    assert ended.value.code == status, said
    assert ("passed:" if status == 0 else "FAILED:") in said
    assert status or not uncovered(said), said
    assert ("detgemm.linear_log_prob_backward" in said) == ("fused" in name)


def test_experts_generate_the_same(monkeypatch, capsys):
    program = importlib.import_module("generate")
    monkeypatch.setattr(sys, "argv", ["generate", "--device", "cpu", "--model", "tiny-moe", *SMALL["generate"],
                                      "--arms", "all"])
    with pytest.raises(SystemExit) as ended:
        program.main()
    said = capsys.readouterr().out
    assert ended.value.code == 0 and not uncovered(said), said
