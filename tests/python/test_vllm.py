# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The vLLM plugin without vLLM: which settings it refuses, and what a check says. test_vllm_engine.py has an engine."""
import os
import sys
import types

import pytest

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def settings():
    """detgemm.vllm.settings by itself: the package around it imports vLLM when it is used, not before."""
    from detgemm.vllm import settings
    return settings


def config(**changes):
    """As much of a VllmConfig as the check reads."""
    of = types.SimpleNamespace
    text = of(**changes.pop("text", {}))
    hf = of(get_text_config=lambda: text, quantization_config=changes.pop("quantization_config", None))
    head = changes.pop("head_size", 128)
    model = of(hf_config=hf, dtype=torch.bfloat16, head_dtype=changes.pop("head_dtype", torch.bfloat16),
               get_head_size=lambda: head, use_mla=changes.pop("use_mla", False),
               **{name: changes.pop(name) for name in list(changes) if name.startswith("is_")}, runner_type=changes.pop("runner_type", "generate"),
               enable_return_routed_experts=changes.pop("enable_return_routed_experts", False), disable_cascade_attn=changes.pop("disable_cascade_attn", True))
    parallel = {"tensor_parallel_size": 1, "pipeline_parallel_size": 1, "decode_context_parallel_size": 1, "enable_expert_parallel": False,
                "use_ubatching": False, "enable_eplb": False, "expert_placement_strategy": "linear", "data_parallel_size": 1}
    known = {name: changes.pop(name) for name in list(changes) if name in parallel}
    attention = of(backend=changes.pop("backend", None), backend_per_kind=changes.pop("backend_per_kind", None))
    made = of(parallel_config=of(**{**parallel, **known}), model_config=model, lora_config=None, speculative_config=None,
              kv_transfer_config=None, cache_config=of(cache_dtype=changes.pop("cache_dtype", "auto")), attention_config=attention)
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def test_an_ordinary_configuration_passes(settings):
    settings.check(config(text={"layer_types": ["full_attention", "sliding_attention"], "num_experts": 0}), True)
    settings.check(config(head_size=64), False)
    settings.check(config(load_config=types.SimpleNamespace(load_format="sharded_state")), True)
    settings.check(config(head_size=64, backend="TRITON_ATTN"), True)
    settings.check(config(head_size=64, backend="CUSTOM"), True)
    settings.check(config(quantization_config={"quant_method": "detgemm"}), True)
    settings.check(config(tensor_parallel_size=4), True, row_parallel=True)
    settings.check(config(text={"num_experts": 128}), True)
    settings.check(config(text={"n_routed_experts": 256}, quantization_config={"quant_method": "fp8"}), True)
    settings.check(config(text={"num_experts": 128}, tensor_parallel_size=8, enable_expert_parallel=True), True, row_parallel=True)


@pytest.mark.parametrize("changes, sentence", [
    ({"tensor_parallel_size": 2}, "tensor_parallel_size is 2: it must be 1 unless quantization_config names row_parallel"),
    ({"tensor_parallel_size": 3}, "tensor_parallel_size is 3: it must be a power of two"),
    ({"pipeline_parallel_size": 2}, "pipeline_parallel_size is 2: it must be 1"),
    ({"decode_context_parallel_size": 2}, "decode_context_parallel_size is 2: it must be 1"),
    ({"enable_eplb": True}, "enable_eplb is set"),
    ({"tensor_parallel_size": 2, "text": {"num_experts": 8}}, "the model has 8 experts (num_experts in its config.json) and enable_expert_parallel is not set"),
    ({"tensor_parallel_size": 16, "enable_expert_parallel": True, "text": {"num_experts": 32}}, "it must be at most 8 and divide them"),
    ({"tensor_parallel_size": 4, "enable_expert_parallel": True, "text": {"n_routed_experts": 6}}, "it must be at most 8 and divide them"),
    ({"tensor_parallel_size": 2, "enable_expert_parallel": True, "text": {"num_experts": 8}, "expert_placement_strategy": "round_robin"},
     "expert_placement_strategy is round_robin: it must be linear"),
    ({"data_parallel_size": 2, "text": {"num_local_experts": 8}}, "data_parallel_size is 2: with experts it must be 1"),
    ({"enable_return_routed_experts": True, "text": {"num_experts": 8}}, "enable_return_routed_experts is set"),
    ({"tensor_parallel_size": 2, "quantization_config": {"quant_method": "fp8"}}, "with a checkpoint of e4m3 it must be 1"),
    ({"use_ubatching": True}, "enable_dbo"),
    ({"lora_config": object()}, "enable_lora is set"),
    ({"speculative_config": object()}, "speculative_config is set"),
    ({"kv_transfer_config": object()}, "kv_transfer_config is set"),
    ({"cache_dtype": "fp8_e4m3"}, "kv_cache_dtype is fp8_e4m3"),
    ({"cache_dtype": "nvfp4"}, "kv_cache_dtype is nvfp4"),
    ({"head_dtype": torch.float16}, "head_dtype is torch.float16"),
    ({"text": {"mamba_d_state": 16}}, "recurrent layers (mamba_d_state"),
    ({"text": {"linear_num_value_heads": 32}}, "recurrent layers (linear_num_value_heads"),
    ({"text": {"layer_types": ["full_attention", "linear_attention"]}}, "layers of the type linear_attention"),
    ({"use_mla": True}, "latent attention"),
    ({"is_multimodal_model": True}, "images or sound"),
    ({"runner_type": "pooling"}, "runner is pooling: it must be generate"),
    ({"is_encoder_decoder": True}, "is_encoder_decoder is True: attention to an encoder"),
    ({"is_hybrid": True}, "is_hybrid is True: its recurrent layers"),
    ({"is_attention_free": True}, "is_attention_free is True"),
    ({"is_diffusion": True}, "is_diffusion is True"),
    ({"quantization_config": {"quant_method": "awq"}}, "the checkpoint is quantised (awq)"),
    ({"quantization_config": types.SimpleNamespace(quant_method="gptq")}, "the checkpoint is quantised (gptq)"),
    ({"load_config": types.SimpleNamespace(load_format="tensorizer")}, "load_format is tensorizer: it must be auto, hf, safetensors"),
    ({"load_config": types.SimpleNamespace(load_format="sharded_state"), "quantization_config": {"quant_method": "fp8"}},
     "load_format is sharded_state: with a checkpoint of e4m3 it must be another"),
    ({"disable_cascade_attn": False}, "cascade attention"),
    ({"head_size": 64}, "set attention_backend to TRITON_ATTN"),
    ({"head_size": 256, "backend": "FLASH_ATTN"}, "heads have 256 elements and the attention backend is FLASH_ATTN"),
    ({"backend": "FLASHINFER"}, "the attention backend is FLASHINFER: it must be FLASH_ATTN, TRITON_ATTN"),
    ({"backend": types.SimpleNamespace(name="FLASHINFER_MLA")}, "the attention backend is FLASHINFER_MLA"),
    ({"backend_per_kind": {"full_attention": "TURBOQUANT"}, "backend": "TRITON_ATTN"}, "the attention backend is TURBOQUANT"),
])
def test_settings_without_the_promise_are_refused(settings, changes, sentence):
    with pytest.raises(ValueError) as caught:
        settings.check(config(**changes), True)
    assert str(caught.value).startswith("detgemm: vLLM cannot keep the promise with these settings: ")
    assert sentence in str(caught.value)


def test_other_platforms_are_refused(settings):
    with pytest.raises(ValueError, match='platform is "xpu".*nothing has run there'):
        settings.check_platform("xpu")
    settings.check_platform("cuda")
    settings.check_platform("cpu")
    with pytest.raises(ValueError, match='products_only is True: it is for rocm, and vLLM\'s platform is "cuda"'):
        settings.check_platform("cuda", products_only=True)


ON_ROCM = {"contract": "cdna3/bf16/chain->bf16", "products_only": True}


@pytest.mark.parametrize("changes, sentence", [
    ({"VLLM_ROCM_USE_SKINNY_GEMM": None}, "VLLM_ROCM_USE_SKINNY_GEMM is not set, which is on: on rocm it must be 0"),
    ({"VLLM_ROCM_USE_SKINNY_GEMM": "True"}, "VLLM_ROCM_USE_SKINNY_GEMM is 'True'"),
    ({"VLLM_ROCM_USE_AITER_LINEAR": "1"}, "VLLM_ROCM_USE_AITER_LINEAR is '1'"),
    ({"VLLM_ROCM_USE_AITER_LINEAR": None}, "VLLM_ROCM_USE_AITER_LINEAR is not set"),
    ({"VLLM_ROCM_USE_AITER_MOE": "true"}, "VLLM_ROCM_USE_AITER_MOE is 'true'"),
    ({"VLLM_ROCM_USE_AITER_TRITON_GEMM": "1"}, "VLLM_ROCM_USE_AITER_TRITON_GEMM is '1'"),
    ({"contract": None}, "contract is None: on rocm quantization_config must name one"),
    ({"row_parallel": "cdna3/bf16/tree:64->bf16"}, "row_parallel is cdna3/bf16/tree:64->bf16"),
    ({"products_only": False}, "attention, norms and sampling are vLLM's own there"),
    ({"products_only": 1}, "products_only is 1"),
])
def test_what_rocm_is_refused_with(settings, changes, sentence):
    """Each setting alone; with all of them as they must be, ROCm is taken."""
    environment = {"VLLM_ROCM_USE_SKINNY_GEMM": "0", "VLLM_ROCM_USE_AITER": "1", "VLLM_ROCM_USE_AITER_LINEAR": "0",
                   "VLLM_ROCM_USE_AITER_TRITON_GEMM": "False", "VLLM_ROCM_USE_AITER_MOE": "0"}
    settings.check_platform("rocm", environment, **ON_ROCM)
    settings.check_platform("rocm", {"VLLM_ROCM_USE_SKINNY_GEMM": "0"}, **ON_ROCM)  # without AITER its parts do nothing
    given = dict(ON_ROCM)
    for name, value in changes.items():
        if not name.startswith("VLLM"):
            given[name] = value
        elif value is None:
            del environment[name]
        else:
            environment[name] = value
    with pytest.raises(ValueError) as caught:
        settings.check_platform("rocm", environment, **given)
    assert sentence in str(caught.value) and "; " not in str(caught.value)


def test_the_invariant_mode_is_switched_on(settings):
    environment = {}
    settings.choose_invariant_mode(environment, True)
    assert environment == {"VLLM_BATCH_INVARIANT": "1", "VLLM_USE_FLASHINFER_SAMPLER": "0"}
    settings.choose_invariant_mode(environment, True)
    untouched = {}
    settings.choose_invariant_mode(untouched, False)  # on a CPU it would call Triton
    assert untouched == {}
    with pytest.raises(ValueError, match="VLLM_BATCH_INVARIANT is '0'"):
        settings.choose_invariant_mode({"VLLM_BATCH_INVARIANT": "0"}, True)
    with pytest.raises(ValueError, match="VLLM_USE_FLASHINFER_SAMPLER is '1'"):
        settings.choose_invariant_mode({"VLLM_USE_FLASHINFER_SAMPLER": "1"}, True)


def test_a_mode_that_comes_too_late_is_refused(settings, monkeypatch):
    monkeypatch.setitem(sys.modules, settings.READERS[0], types.ModuleType("read_too_early"))
    with pytest.raises(ValueError, match="before vLLM is imported"):
        settings.choose_invariant_mode({}, True)
    settings.choose_invariant_mode({"VLLM_BATCH_INVARIANT": "1"}, True)


@pytest.mark.parametrize("kind, sentence", [("FusedMoE", "experts are not supported"), ("MambaMixer2", "recurrent layers are not supported"),
                                            ("GatedDeltaNetAttention", "recurrent layers are not supported")])
def test_layers_without_a_contract_are_refused(settings, kind, sentence):
    with pytest.raises(ValueError, match=f"model.layers.0.part is a {kind}: {sentence}"):
        settings.check_layer(type(kind, (), {})(), "model.layers.0.part")
    settings.check_layer(type("Attention", (), {})(), "model.layers.0.self_attn.attn")
    settings.check_experts("cuda", "model.layers.0.mlp.experts")
    with pytest.raises(ValueError, match="model.layers.0.mlp.experts is a layer of experts: they are not supported .* on rocm"):
        settings.check_experts("rocm", "model.layers.0.mlp.experts")


def test_hooks_are_left_out_by_name():
    from detgemm.vllm import hooks
    assert all(hooks.used(name) for name in hooks.NAMES)
    hooks.leave_out(["norm"])
    assert not hooks.used("norm") and hooks.used("linear")
    hooks.leave_out([])
    assert hooks.used("norm")
    with pytest.raises(ValueError, match='the hook is "norms": it must be of linear'):
        hooks.leave_out(["norms"])


def test_products_alone(monkeypatch):
    from detgemm.vllm import hooks
    monkeypatch.setattr(hooks, "_chosen", False)
    monkeypatch.setattr(hooks, "_products_only", False)
    hooks.choose(products_only=True)
    assert [name for name in hooks.NAMES if hooks.used(name)] == ["linear", "head"]
    assert hooks.active("linear") and not hooks.active("sampling")
    hooks.choose()
    assert all(hooks.active(name) for name in hooks.NAMES)


def test_functions_are_replaced_while_an_engine_is_ours(monkeypatch):
    from detgemm.vllm import hooks, sampling

    class Sampler:
        @staticmethod
        def compute():
            return "theirs"

    for _ in range(2):  # a second time changes nothing
        sampling.replace(Sampler, "compute", "sampling", lambda: "ours", static=True)
    monkeypatch.setattr(hooks, "_chosen", False)
    assert Sampler.compute() == "theirs"
    monkeypatch.setattr(hooks, "_chosen", True)
    assert Sampler.compute() == "ours" and Sampler.compute.detgemm() == "theirs"
    monkeypatch.setattr(hooks, "_left_out", {"sampling"})
    assert Sampler.compute() == "theirs"


def test_the_order_of_log_probabilities_is_chosen(monkeypatch):
    """As it was by default; with "logsum16", what a trainer's linear_log_prob returns."""
    import detgemm.torch
    from detgemm.vllm import hooks, sampling
    monkeypatch.setattr(hooks, "_chosen", False)
    monkeypatch.setattr(hooks, "_order", "lanes")
    logits = torch.randn(5, 5000, generator=torch.Generator().manual_seed(1)) * 3
    ids = torch.tensor([[0, 7], [1, 2], [4999, 3], [9, 9], [5, 4]])
    hooks.choose()
    lanes = sampling.log_probs(logits)
    assert detgemm.torch.same_bits(lanes, detgemm.torch.log_softmax(logits))
    assert detgemm.torch.same_bits(sampling.token_log_probs(logits, ids.int()), lanes.gather(1, ids))
    hooks.choose("logsum16")
    found = sampling.log_probs(logits)
    assert not detgemm.torch.same_bits(found, lanes) and torch.allclose(found, lanes, atol=1e-5)
    assert detgemm.torch.same_bits(found.gather(1, ids), detgemm.torch.log_probs_of(logits, ids))
    assert detgemm.torch.same_bits(sampling.token_log_probs(logits.bfloat16(), ids), detgemm.torch.log_probs_of(logits.bfloat16(), ids))
    hooks.choose()


def test_every_number_of_rows_has_one_form_of_masks():
    """vLLM takes another one below eight rows on a GPU."""
    from detgemm.vllm import sampling
    forms = types.SimpleNamespace(HAS_TRITON=True, apply_top_k_top_p_triton=lambda logits, k, p: "triton",
                                  apply_top_k_top_p_pytorch=lambda logits, k, p, allow_cpu_sync: "pytorch")
    for rows in (1, 7, 8, 100):
        logits, k = torch.zeros(rows, 4), torch.ones(rows, dtype=torch.int32)
        assert sampling.masks(forms, True)(logits, k, None) == "triton"
        assert sampling.masks(forms, False)(logits, None, k.float()) == "pytorch"
        assert sampling.masks(forms, True)(logits, None, None) is logits


def test_the_likeliest_tokens_do_not_depend_on_how_many_are_wanted():
    """vLLM takes as many for every request as one of the step has. PyTorch's own choice among equal values depends on that."""
    from detgemm.vllm import sampling
    generator = torch.Generator().manual_seed(2)
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        x = torch.randn(7, 5003, generator=generator).mul(4).round().to(dtype)  # some twenty values
        x[0], x[1, ::3], x[2, ::2], x[3, 5] = 0, -float("inf"), -0.0, float("nan")
        whole = sampling.topk(x, x.shape[-1])
        order = torch.tensor([sorted(range(x.shape[-1]), key=lambda i, row=row: (-row[i], i)) for row in x[[0, 1, 2, 4]].float().tolist()])
        assert torch.equal(whole.indices[[0, 1, 2, 4]], order) and whole.indices[3, 0] == 5
        for k in (0, 1, 5, 6, 20, 100):
            found = sampling.topk(x, k)
            assert torch.equal(found.indices, whole.indices[:, :k]) and found.values.dtype == dtype
            assert torch.equal(found.values.nan_to_num(9e9), torch.topk(x, k).values.nan_to_num(9e9))
    # The fault that this is for: equal values in the other order.
    last_first = x.shape[-1] - 1 - torch.sort(x.flip(-1), descending=True, stable=True).indices
    assert not torch.equal(last_first[:, :5], whole.indices[:, :5])


@pytest.mark.skipif(os.environ.get("TRITON_INTERPRET") != "1", reason="Triton's interpreter is not switched on (TRITON_INTERPRET=1)")
def test_a_kernel_puts_the_likeliest_tokens_in_this_order(monkeypatch):
    """Whatever places PyTorch took among equal values, here the last ones."""
    pytest.importorskip("triton", reason="Triton is not installed")
    from detgemm.torch.kernels import likeliest
    from detgemm.vllm import sampling
    theirs = torch.topk

    def last_first(x, k, dim):
        found = theirs(x.flip(-1), k, dim=dim)
        return torch.return_types.topk((found.values, x.shape[-1] - 1 - found.indices))

    monkeypatch.setattr(likeliest, "BLOCK", 256)
    for dtype in (torch.float32, torch.bfloat16):
        x = torch.randn(6, 503, generator=torch.Generator().manual_seed(4)).mul(4).round().to(dtype)
        x[0], x[1, ::3], x[2, ::2], x[3, 5], x[3, 400] = 0, -float("inf"), -0.0, float("nan"), -float("nan")
        for k in (1, 5, 100):
            wanted = sampling._topk(x, k)
            monkeypatch.setattr(torch, "topk", last_first)
            assert not torch.equal(torch.topk(x, k, -1).indices, wanted[1])
            values, indices = likeliest.topk(x, k)
            monkeypatch.setattr(torch, "topk", theirs)
            assert torch.equal(indices, wanted[1]) and torch.equal(values.nan_to_num(9e9), wanted[0].nan_to_num(9e9))
        assert torch.equal(likeliest.topk(torch.stack((x, x), dim=-1)[..., 0], 5)[1], sampling._topk(x, 5)[1])


def test_rows_are_taken_in_parts(monkeypatch):
    from detgemm.vllm import sampling
    x = torch.randn(9, 100, generator=torch.Generator().manual_seed(3)).round()
    whole = sampling.topk(x, 4)
    monkeypatch.setattr(sampling, "MAX_KEYS", 250)
    parts = sampling.topk(x, 4)
    assert torch.equal(whole.indices, parts.indices) and torch.equal(whole.values, parts.values)
    monkeypatch.setattr(sampling, "_topk", None)  # no keys for none
    assert sampling.topk(x, 0).indices.shape == (9, 0)


def test_a_module_has_this_order_while_an_engine_is_ours(monkeypatch):
    from detgemm.vllm import hooks, sampling
    module = sampling.Torch()
    monkeypatch.setattr(hooks, "_chosen", False)
    assert module.topk is torch.topk and module.int64 is torch.int64
    monkeypatch.setattr(hooks, "_chosen", True)
    assert module.topk is sampling.topk and module.cat is torch.cat
    monkeypatch.setattr(hooks, "_left_out", {"logprobs"})
    assert module.topk is torch.topk


def test_min_p_of_a_row_is_that_of_the_row_alone():
    from detgemm.vllm import sampling
    logits = torch.randn(6, 999, generator=torch.Generator().manual_seed(4)) * 3
    bounds = torch.tensor([[0.0], [0.1], [0.5], [1.0], [0.02], [0.3]])
    of = types.SimpleNamespace(min_p_count=5, min_p=bounds)
    found = sampling.min_p(of, logits.clone())
    for row in range(6):
        alone = sampling.min_p(types.SimpleNamespace(min_p_count=1, min_p=bounds[row:row + 1]), logits[row:row + 1].clone())
        assert torch.equal(found[row], alone[0])
    probs = torch.softmax(logits.double(), -1)
    kept = probs >= probs.amax(-1, keepdim=True) * bounds.double()
    assert torch.equal(found.isfinite(), kept) and found[3].isfinite().sum() == 1 and found[0].isfinite().all()
    untouched = logits.clone()
    assert sampling.min_p(types.SimpleNamespace(min_p_count=0), untouched) is untouched


def test_a_row_is_drawn_with_the_noise_of_its_own_generator():
    from detgemm.vllm import sampling

    def random_sample(probs, generators, _):
        noise = torch.ones_like(probs)
        for row, generator in generators.items():
            noise[row].exponential_(generator=generator)
        return (probs / noise).argmax(dim=-1)

    module = types.SimpleNamespace(random_sample=random_sample)
    of = types.SimpleNamespace(logprobs_mode="processed_logprobs", use_fp64_gumbel=False)
    forward = sampling.draw(module, lambda logits, k, p: logits)
    logits = torch.randn(5, 64, generator=torch.Generator().manual_seed(1))
    alone, log_probs = forward(of, logits[2:3], {0: torch.Generator().manual_seed(7)}, None, None)
    together, of_all = forward(of, logits, {2: torch.Generator().manual_seed(7)}, None, None)
    assert together[2] == alone[0] and torch.equal(of_all[2], log_probs[0])


def test_the_exit_status_of_a_check():
    from detgemm.vllm.__main__ import status
    good = {"compared": 9, "equal": 9, "foreign": {}}
    assert status({"detgemm": good}) == 0
    assert status({"detgemm": good, "vllm": {"left_out": "for GPUs"}, "stock": {**good, "equal": 2}}) == 0
    assert status({"detgemm": {**good, "equal": 8}}) == 1
    assert status({"detgemm": {**good, "foreign": {"norm": "model.norm"}}}) == 1
    assert status({"detgemm": good, "stock": None}) == 2
    assert status({"detgemm": {**good, "compared": 0, "equal": 0}}) == 2
    assert status({"vllm": {"left_out": "for GPUs"}}) == 2


def test_names_that_are_not_there_are_found(tmp_path):
    """The check of a release's sources, on a package with one function whose parameters changed and nothing else."""
    sys.path.insert(0, os.path.dirname(__file__))
    import vllm_names
    path = tmp_path / "vllm/v1/sample/sampler.py"
    path.parent.mkdir(parents=True)
    path.write_text("class Sampler:\n    def compute_logprobs(logits): pass\n")
    found = vllm_names.changes(tmp_path)
    assert len(found) == len(vllm_names.USED) - 1 and any("there is no such file" in line for line in found)
    path.write_text("class Sampler:\n    def compute_logprobs(logits, temperature): pass\n")
    assert any("Sampler.compute_logprobs takes logits, temperature; the plugin uses logits" in line for line in vllm_names.changes(tmp_path))


def test_the_page_has_the_table_of_models():
    """vllm_models.py starts an engine for each."""
    import pathlib

    import vllm_architectures
    page = (pathlib.Path(__file__).parents[2] / "docs/vllm.md").read_text(encoding="utf-8")
    missing = [row for row in vllm_architectures.table() if row not in page]
    assert not missing and len(set(vllm_architectures.MODELS)) >= 70
    assert vllm_architectures.config("GPT-2")["n_embd"] == 128 and "head_dim" not in vllm_architectures.config("GPT-2")
