# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The vLLM plugin: which settings it refuses, without vLLM; and an engine with it, where vLLM is installed."""
import importlib.util
import json
import os
import subprocess
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
    hf = of(get_text_config=lambda: text)
    head = changes.pop("head_size", 128)
    model = of(hf_config=hf, dtype=torch.bfloat16, head_dtype=changes.pop("head_dtype", torch.bfloat16),
               get_head_size=lambda: head)
    parallel = {"tensor_parallel_size": 1, "pipeline_parallel_size": 1, "enable_expert_parallel": False, "use_ubatching": False}
    known = {name: changes.pop(name) for name in list(changes) if name in parallel}
    made = of(parallel_config=of(**{**parallel, **known}), model_config=model, lora_config=None, speculative_config=None,
              cache_config=of(cache_dtype=changes.pop("cache_dtype", "auto")), attention_config=of(backend=changes.pop("backend", None)))
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def test_an_ordinary_configuration_passes(settings):
    settings.check(config(), True)
    settings.check(config(head_size=64), False)
    settings.check(config(head_size=64, backend="TRITON_ATTN"), True)


@pytest.mark.parametrize("changes, sentence", [
    ({"tensor_parallel_size": 2}, "tensor_parallel_size is 2: it must be 1"),
    ({"pipeline_parallel_size": 2}, "pipeline_parallel_size is 2: it must be 1"),
    ({"enable_expert_parallel": True}, "experts are not supported"),
    ({"use_ubatching": True}, "enable_dbo"),
    ({"lora_config": object()}, "enable_lora is set"),
    ({"speculative_config": object()}, "speculative_config is set"),
    ({"cache_dtype": "fp8_e4m3"}, "kv_cache_dtype is fp8_e4m3"),
    ({"head_dtype": torch.float16}, "head_dtype is torch.float16"),
    ({"text": {"mamba_d_state": 16}}, "recurrent layers (mamba_d_state"),
    ({"head_size": 64}, "set attention_backend to TRITON_ATTN"),
    ({"head_size": 256, "backend": "FLASH_ATTN"}, "heads have 256 elements and the attention backend is FLASH_ATTN"),
])
def test_settings_without_the_promise_are_refused(settings, changes, sentence):
    with pytest.raises(ValueError) as caught:
        settings.check(config(**changes), True)
    assert str(caught.value).startswith("detgemm: vLLM cannot keep the promise with these settings: ")
    assert sentence in str(caught.value)


def test_the_invariant_mode_is_switched_on(settings):
    environment = {}
    settings.choose_invariant_mode(environment, True)
    assert environment == {"VLLM_BATCH_INVARIANT": "1"}
    settings.choose_invariant_mode(environment, True)
    untouched = {}
    settings.choose_invariant_mode(untouched, False)  # on a CPU it would call Triton
    assert untouched == {}
    with pytest.raises(ValueError, match="VLLM_BATCH_INVARIANT is '0'"):
        settings.choose_invariant_mode({"VLLM_BATCH_INVARIANT": "0"}, True)


def test_a_mode_that_comes_too_late_is_refused(settings, monkeypatch):
    monkeypatch.setitem(sys.modules, settings.READERS[0], types.ModuleType("read_too_early"))
    with pytest.raises(ValueError, match="before vLLM is imported"):
        settings.choose_invariant_mode({}, True)
    settings.choose_invariant_mode({"VLLM_BATCH_INVARIANT": "1"}, True)


def test_experts_are_refused(settings):
    with pytest.raises(ValueError, match="experts are not supported"):
        settings.check_layer(type("FusedMoE", (), {})(), "model.layers.0.mlp.experts")
    settings.check_layer(type("Attention", (), {})(), "model.layers.0.self_attn.attn")


needs_vllm = pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="vLLM is not installed")


@needs_vllm
def test_requests_are_equal_in_any_company(tmp_path):
    """An engine on the CPU with a tiny model: every comparison is equal, and both layers and products are ours."""
    model = {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "dtype": "bfloat16", "vocab_size": 512, "hidden_size": 128,
             "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 64,
             "max_position_embeddings": 8192, "rms_norm_eps": 1e-6, "tie_word_embeddings": True, "bos_token_id": 1, "eos_token_id": 2}
    (tmp_path / "config.json").write_text(json.dumps(model))
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_HOST_IP": "127.0.0.1", "GLOO_SOCKET_IFNAME": "lo"}
    environment.pop("TRITON_INTERPRET", None)
    done = subprocess.run([sys.executable, "-m", "detgemm.vllm", "check", str(tmp_path), "--random-weights", "--modes", "detgemm", "--requests",
                           "2", "--tokens", "6", "--batches", "3", "--eager", "--json", str(tmp_path / "record.json")],
                          env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout[-3000:]
    record = json.loads((tmp_path / "record.json").read_text())["detgemm"]
    assert record["equal"] == record["compared"] > 10
