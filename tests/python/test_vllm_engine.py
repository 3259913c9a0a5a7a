# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""vLLM's engine on a CPU with the plugin, end to end: tiny models with random weights. The stage `vllm` of run.py.

What is compared is what `python -m detgemm.vllm check` compares. Each hook is taken away by itself in a control.
"""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import pytest

if importlib.util.find_spec("vllm") is None:
    pytest.skip("vLLM is not installed here: the stage vllm of run.py installs it", allow_module_level=True)

import vllm_names

from detgemm.vllm import hooks

HERE = pathlib.Path(__file__).parent
MODEL = {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "dtype": "bfloat16", "vocab_size": 512, "hidden_size": 128,
         "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32,
         "max_position_embeddings": 4096, "rms_norm_eps": 1e-6, "tie_word_embeddings": False, "bos_token_id": 1, "eos_token_id": 2}
# The hooks that are taken away where tests marked long are left out.
SHORT = ["norm", "sampling"]
LONG = pytest.mark.long
# Changes of newer releases that the plugin does not follow yet; docs/vllm.md names them.
KNOWN = set()
ENVIRONMENT = {**{name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}, "HF_HUB_OFFLINE": "1",
               "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_HOST_IP": "127.0.0.1", "GLOO_SOCKET_IFNAME": "lo", "VLLM_NO_USAGE_STATS": "1",
               "VLLM_ENABLE_V1_MULTIPROCESSING": "0", "TORCHDYNAMO_DISABLE": "1", "VLLM_MLA_DISABLE": "1",
               "VLLM_LOGGING_LEVEL": "WARNING", "VLLM_CPU_OMP_THREADS_BIND": "nobind"}


def run(*command, seconds=400, **more):
    return subprocess.run([sys.executable, *map(str, command)], env={**ENVIRONMENT, **more}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, timeout=seconds)


def folder(path, **changes):
    (path / "config.json").write_text(json.dumps({**MODEL, **changes}))
    return path


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    """The record of a check, and what it said."""
    path = folder(tmp_path_factory.mktemp("model"))
    done = run("-m", "detgemm.vllm", "check", path, "--random-weights", "--modes", "detgemm,vllm,stock", "--requests", 3, "--tokens", 6,
               "--batches", "3,9", "--longest", 200, "--eager", "--set", "block_size=16", "--set", "max_num_batched_tokens=1024", "--set",
               "max_model_len=1024", "--json", path / "record.json")
    assert done.returncode == 0, done.stdout[-4000:]
    return json.loads((path / "record.json").read_text()), done.stdout


@LONG
def test_requests_are_equal_in_any_company(checked):
    """Alone, in batches of mixed lengths, cut, cached, evicted, preempted, rescored, and drawn by seeds."""
    record, said = checked
    ours = record["detgemm"]
    assert ours["equal"] == ours["compared"] == 3 + 6 + 3 + 9 + 3 + 6 + 12 and not ours["foreign"]
    assert ours["preempted"] > 0 and ours["cached"] > 400, "nothing was preempted, or cached"
    for words in ("in a batch of 9", "in chunks", "all of the prompt cached", "eviction of half left cached", "preempt each other",
                  "rescored in company", "with a seed and temperature 1.0, top_k 40, top_p 0.9"):
        assert f"{words}" in said


@LONG
def test_the_verdict_has_the_others_beside_it(checked):
    record, said = checked
    assert record["vllm"]["left_out"] == "vLLM's own mode is for GPUs" and "left out: vLLM's own mode is for GPUs" in said
    assert record["stock"]["compared"] == record["detgemm"]["compared"]
    # A control of the comparisons themselves: on a CPU vLLM as it is forgets seeds in company.
    assert record["stock"]["equal"] < record["stock"]["compared"]
    assert record["stock"]["digest"] != record["detgemm"]["digest"]


@pytest.fixture(scope="module")
def controls(tmp_path_factory, pytestconfig):
    path = folder(tmp_path_factory.mktemp("controls"))
    few = ["nothing", *SHORT] if pytestconfig.option.markexpr == "not long" else []
    done = run(HERE / "vllm_controls.py", path, path / "controls.json", *few)
    assert (path / "controls.json").exists(), done.stdout[-4000:]
    return json.loads((path / "controls.json").read_text())


def test_nothing_is_foreign_with_all_hooks(controls):
    complete = controls["nothing"]
    assert complete["foreign"] == {} and complete["answers"][0] == complete["answers"][1] and complete["seeded"][0] == complete["seeded"][1]


@LONG
def test_norms_and_rotary_in_one_kernel_have_the_bits_of_layers_apart(controls):
    assert controls["together"] and controls["apart"]["answers"] == controls["nothing"]["answers"]


@LONG
def test_a_layer_that_the_plugin_does_not_replace_is_named(controls):
    """Its bits are those of layers apart, so nothing else would show it."""
    found = controls["unknown layer"]
    assert found["left"] and len(found["said"]) == 1 and "Attention.forward of this vLLM is not the one" in found["said"][0]


@pytest.mark.parametrize("model", ["nothing", *(pytest.param(each, marks=LONG) for each in ("mixture", "blocks", "gemma", "phi3"))])
def test_the_likeliest_tokens_are_the_same_where_others_want_more(controls, model):
    assert controls[model]["wider"][0] == controls[model]["wider"][1] == controls[model]["answers"][0]


@LONG
def test_the_likeliest_tokens_are_others_without_the_hook(controls):
    assert controls["logprobs"]["wider"][0] != controls["logprobs"]["wider"][1]


@pytest.mark.parametrize("hook", [each if each in SHORT else pytest.param(each, marks=LONG) for each in hooks.NAMES])
def test_a_hook_that_is_taken_away_is_missed(controls, hook):
    """The census names it, and it alone."""
    assert list(controls[hook]["foreign"]) == [hook]


@LONG
@pytest.mark.parametrize("model", ["mixture", "blocks", "gemma", "phi3"])
def test_other_models_have_the_same_answers_in_company(controls, model):
    """Experts of bf16 as in Qwen3-30B-A3B, and of e4m3 with block scales as in DeepSeek-V3; Gemma; Phi-3 with long contexts."""
    found = controls[model]
    assert found["foreign"] == {} and found["answers"][0] == found["answers"][1] and found["seeded"][0] == found["seeded"][1]


@LONG
def test_experts_of_vllm_have_other_answers(controls):
    assert controls["experts"]["answers"][0] != controls["mixture"]["answers"][0]


@pytest.mark.parametrize("hook", ["norm", *(pytest.param(each, marks=LONG) for each in ("linear", "head", "rotary", "attention", "logprobs"))])
def test_a_hook_that_is_taken_away_changes_bits(controls, hook):
    """Other answers than with all hooks: what they replace is computed in another order, or rounded otherwise. vLLM's SiLU
    has the same roundings in eager mode, and what `sampling` changes needs a seed and company."""
    assert controls[hook]["answers"][0] != controls["nothing"]["answers"][0]


def test_seeds_are_lost_in_company_without_the_hook(controls):
    assert controls["sampling"]["seeded"][0] != controls["sampling"]["seeded"][1]


@LONG
def test_a_check_without_a_hook_fails(tmp_path):
    done = run("-m", "detgemm.vllm", "check", folder(tmp_path), "--random-weights", "--modes", "detgemm", "--requests", 1, "--tokens", 4,
               "--batches", "2", "--longest", 200, "--eager", "--set", "block_size=16", "--set", "max_model_len=512", "--without", "norm")
    assert done.returncode == 1 and "without norm, norm is vLLM's own in model.layers.0" in done.stdout, done.stdout[-3000:]


@LONG
def test_two_ranks_have_the_bits_of_one(tmp_path):
    """Tensor parallelism, and of experts in the second layer: processes that gloo and shared memory connect, each with its slices
    of the same weights and its experts."""
    import transformers
    from vllm_controls import MIXTURES
    shape = {name: value for name, value in {**MODEL, **MIXTURES["mixture"], "mlp_only_layers": [0]}.items()
             if name not in ("architectures", "model_type", "dtype")}
    transformers.set_seed(1)
    model = transformers.Qwen3MoeForCausalLM(transformers.Qwen3MoeConfig(**shape, initializer_range=0.3))
    model.bfloat16().save_pretrained(tmp_path)
    answers = []
    for ranks in (1, 2):
        done = run(HERE / "vllm_ranks.py", tmp_path, ranks, tmp_path / "answers.json")
        assert done.returncode == 0, done.stdout[-4000:]
        answers.append(json.loads((tmp_path / "answers.json").read_text()))
        (tmp_path / "answers.json").unlink()
    assert answers[0] == answers[1]


@LONG
@pytest.mark.parametrize("name, sentence", [
    ("an unknown key", "quantization_config has ['leaf']: it may have quant_method, contract, row_parallel, log_probs, products_only and scaled"),
    ("ranks without a tree", "it must be a contract with tree:LEAF"),
    ("fp8 without blocks", "weight_block_size is None in the checkpoint's quantization_config: it must be [128, 128]"),
    ("fp8 with static scales", "activation_scheme is 'static' in the checkpoint's quantization_config: it must be 'dynamic'"),
    ("a norm with a mean", "norm: model.layers.0.input_layernorm (LayerNorm) and 4 more"),
    ("a pooler", "runner is pooling: it must be generate"),
    ("another router", "linear: model.layers.1.mlp.gate (Linear)"),
    ("a quantised checkpoint", "does not match the quantization method specified"),  # vLLM's own sentence
])
def test_an_engine_does_not_start_without_the_promise(controls, name, sentence):
    assert sentence in controls["refused"][name]


def test_the_names_of_this_release_are_there():
    assert vllm_names.changes(pathlib.Path(importlib.util.find_spec("vllm").origin).parents[1]) == []


@LONG
@pytest.mark.skipif("DETGEMM_VLLM_SOURCES" not in os.environ, reason="DETGEMM_VLLM_SOURCES names no sources of a newer vLLM")
def test_the_names_of_the_newest_release_are_known():
    """A change that is not in KNOWN is new: follow it, or add it to KNOWN and to docs/vllm.md."""
    assert set(vllm_names.changes(os.environ["DETGEMM_VLLM_SOURCES"])) <= KNOWN


@LONG
@pytest.mark.skipif("DETGEMM_VLLM_SOURCES" not in os.environ, reason="DETGEMM_VLLM_SOURCES names no sources of a newer vLLM")
def test_the_newest_release_is_imported_and_configured(tmp_path):
    """Its sources beside the PyTorch that is here. A quantization method that it does not take, or a setting that the check reads and
    that is gone, ends in an exception."""
    sources = os.environ["DETGEMM_VLLM_SOURCES"]
    done = run(HERE / "vllm_configured.py", folder(tmp_path), PYTHONPATH=os.pathsep.join([sources, *filter(None, [os.environ.get("PYTHONPATH")])]))
    assert done.returncode == 0 and f"configured: {sources}" in done.stdout, done.stdout[-4000:]
