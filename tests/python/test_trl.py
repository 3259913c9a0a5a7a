# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Two steps of TRL's SFT and GRPO on a CPU, GRPO with vLLM in its process as well. The stage `trainers` of run.py."""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import types

import pytest

import detgemm.torch  # noqa: F401 - this file is not collected without PyTorch

if importlib.util.find_spec("trl") is None:
    pytest.skip("TRL is not installed here: the stage trainers of run.py installs it", allow_module_level=True)

PROGRAM = pathlib.Path(__file__).with_name("trl_steps.py")
ENVIRONMENT = {**{name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}, "HF_HUB_OFFLINE": "1",
               "WANDB_DISABLED": "true", "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_HOST_IP": "127.0.0.1", "GLOO_SOCKET_IFNAME": "lo",
               "VLLM_NO_USAGE_STATS": "1", "VLLM_ENABLE_V1_MULTIPROCESSING": "0", "TORCHDYNAMO_DISABLE": "1", "VLLM_LOGGING_LEVEL": "ERROR",
               "VLLM_CPU_OMP_THREADS_BIND": "nobind"}
LARGEST = "sampling/sampling_logp_difference/max"
# What stays PyTorch's in a step of SFT: the clipped norm of the gradient, the loss and meters.
OUTSIDE = {"aten.linalg_vector_norm", "aten.mean", "aten.sum", "aten.sum.dim_IntList"}


def run(folder, *runs):
    done = subprocess.run([sys.executable, "-W", "ignore", PROGRAM, folder / "result", *runs], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False, timeout=400, env=ENVIRONMENT)
    assert done.returncode == 0, done.stdout[-4000:]
    return json.loads((folder / "result").read_text())


@pytest.fixture(scope="module")
def steps(tmp_path_factory):
    return run(tmp_path_factory.mktemp("steps"), "sft:ours", "sft:sums", "sft:stock", "grpo:ours")


def losses(found):
    return [each["loss"] for each in found["log"] if "loss" in each]


@pytest.mark.long
def test_supervised_steps(steps, tmp_path):
    """Near to PyTorch's losses, other weights than PyTorch's, the same in another process; what is outside is named."""
    ours, stock = steps["sft:ours"], steps["sft:stock"]
    assert len(losses(ours)) == 2 and all(abs(a - b) < 0.01 for a, b in zip(losses(ours), losses(stock)))
    assert ours["digest"] != stock["digest"] == run(tmp_path, "sft:stock")["sft:stock"]["digest"]
    outside = {row[0] for row in ours["audit"] if row[2] in ("outside", "unknown")}
    assert outside <= OUTSIDE, outside - OUTSIDE
    assert {"aten.mm", "aten.embedding_dense_backward"} <= {row[0] for row in stock["audit"] if row[2] == "outside"}


def test_nothing_is_outside_where_sums_have_a_contract(steps):
    """Of all steps: the loss, meters and the norm of gradients too."""
    found = {row[0]: row[2] for row in steps["sft:sums"]["audit"]}
    assert OUTSIDE & set(found) and set(found.values()) == {"row-local", "contract"}
    assert all(abs(a - b) < 1e-3 for a, b in zip(losses(steps["sft:sums"]), losses(steps["sft:ours"])))


def test_policy_steps(steps):
    assert len(losses(steps["grpo:ours"])) == 2


@pytest.mark.parametrize("arm", ["ours", "control"])
def test_the_meter_of_trl_prints_zero(tmp_path, arm):
    """TRL's own meter of vLLM's and the trainer's log-probabilities; without one hook of the plugin it is not 0."""
    found = [each[LARGEST] for each in run(tmp_path, f"vllm:{arm}")[f"vllm:{arm}"]["log"] if LARGEST in each]
    assert len(found) == 2
    assert found == [0.0, 0.0] if arm == "ours" else found[0] > 1e-3


class Trainer:
    """What `use` looks at of one of TRL's."""

    def __init__(self, model, **args):
        self.model, self.args = model, types.SimpleNamespace(**args)


@pytest.mark.parametrize("converted, args, sentence", [
    (False, {}, "the head is a Linear: call detgemm.torch.transformers.use"), (True, {"temperature": 0.7}, "temperature is 0.7: it must be 1.0"),
    (True, {"entropy_coef": 0.1}, "entropy_coef is 0.1: it must be 0.0"), (True, {"cast_lm_head_to_fp32": True}, "cast_lm_head_to_fp32 is True")])
def test_what_trl_may_not_be_told(policy, converted, args, sentence):
    import transformers

    from detgemm.torch import transformers as hooks
    from detgemm.torch import trl
    model = transformers.Qwen3ForCausalLM(transformers.Qwen3Config(
        vocab_size=32, hidden_size=32, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1, head_dim=16))
    if converted:
        hooks.use(model, policy)
    before = model.forward
    with pytest.raises(RuntimeError, match=sentence):
        trl.use(Trainer(model, **args))
    assert model.forward == before


def test_a_folder_names_the_plugin_once(tmp_path):
    from detgemm.torch import trl
    with pytest.raises(RuntimeError, match="it has no config.json"):
        trl.name_plugin(tmp_path)
    (tmp_path / "config.json").write_text('{"vocab_size": 32}')
    for _ in range(2):
        trl.name_plugin(tmp_path, row_parallel="hopper/bf16/tree:64->bf16")
    wanted = {"vocab_size": 32, "quantization_config": {"quant_method": "detgemm", "row_parallel": "hopper/bf16/tree:64->bf16"}}
    assert json.loads((tmp_path / "config.json").read_text()) == wanted
    (tmp_path / "config.json").write_text('{"quantization_config": {"quant_method": "fp8"}}')
    with pytest.raises(RuntimeError, match='names quant_method "fp8": quantised weights are not supported'):
        trl.name_plugin(tmp_path)
