# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""A tiny GPT of Megatron Core on a CPU: cuts into micro-batches, ranks, the loss, refusals. The stage `trainers` of run.py."""
import importlib.util
import pathlib
import subprocess
import sys

import pytest
import torch

import detgemm.torch as dt

if importlib.util.find_spec("megatron") is None:
    pytest.skip("Megatron Core is not installed here: the stage trainers of run.py installs it", allow_module_level=True)

PROGRAM = pathlib.Path(__file__).with_name("megatron_gpt.py")
same = dt.same_bits


def run(folder, ranks, *runs):
    """What each rank wrote."""
    done = subprocess.run([sys.executable, "-W", "ignore", PROGRAM, folder / str(ranks), str(ranks), *runs], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, timeout=400)
    assert done.returncode == 0, done.stdout[-4000:]
    return [torch.load(folder / f"{ranks}.{rank}") for rank in range(ranks)]


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    return run(tmp_path_factory.mktemp("one"), 1, "ours:8", "ours:4", "ours:1", "ddp:2", "faulty:8", "faulty:1", "stock:8", "stock:4",
               "stock:1", "moe:8", "moe:4", "moe:1", "mixed:8", "mixed:1", "head:8", "head:1", "plain:8", "loss:ours", "loss:stock", "refused",
               "outer", "audit")[0]


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    return run(tmp_path_factory.mktemp("two"), 2, "ours:8", "ours:2", "stock:8", "head:8", "loss:ours", "loss:stock")


def share(name, whole, rank):
    """A rank's part of a weight of one rank."""
    if "norm" in name or name == "losses":
        return whole
    if "linear_fc1" in name:  # gate and up, each spread over ranks
        return torch.cat([part.chunk(2)[rank] for part in whole.chunk(2)])
    return whole.chunk(2, 1 if "linear_proj" in name or "linear_fc2" in name else 0)[rank]


def other(first, second):
    return [name for name in first if not same(first[name], second[name])]


@pytest.mark.parametrize("micro", [4, 1])
def test_weights_do_not_depend_on_the_cut(alone, micro):
    """1 x 8, 2 x 4 and 8 x 1 micro-batches; Megatron's own layers, and a fault in the order of rows, end in other weights."""
    ours = alone["ours:8"]
    assert len(ours) == 2 * 15 + 1 and other(ours, alone[f"ours:{micro}"]) == []
    stock = other(alone["stock:8"], alone[f"stock:{micro}"])
    assert len([name for name in stock if name.endswith("grad")]) >= 8 and len([name for name in stock if name.endswith("weight")]) >= 8
    assert (ours["losses"] - alone["stock:8"]["losses"]).abs().max() < 0.02


def test_experts_do_not_depend_on_the_cut(alone):
    """Routers and experts of two layers; sequences in another order within a micro-batch end in other weights."""
    moe = alone["moe:8"]
    assert {"decoder.layers.0.mlp.router", "decoder.layers.1.mlp.gate_up", "decoder.layers.1.mlp.down.main_grad"} <= set(moe)
    assert all(moe[f"decoder.layers.{layer}.mlp.{name}.main_grad"].any() for layer in (0, 1) for name in ("router", "gate_up", "down"))
    assert other(moe, alone["moe:4"]) == [] and other(moe, alone["moe:1"]) == []
    assert "decoder.layers.0.mlp.down" in other(alone["mixed:8"], alone["mixed:1"])


def test_gradients_of_whole_steps_are_one_product(alone):
    """With the bits of one sequence after the other; a leaf of more than a sequence is another contract."""
    found = alone["outer"]
    assert same(found["whole"], found["parts"]) and not same(found["whole"], found["other"])


def test_megatrons_own_buffers_are_continued(alone):
    """DistributedDataParallel gives main_grad, and its hooks add nothing to what the layers have added."""
    assert other(alone["ours:8"], alone["ddp:2"]) == []


def test_the_order_of_rows_counts(alone):
    assert "decoder.layers.0.mlp.linear_fc1.weight" in other(alone["faulty:8"], alone["faulty:1"])


@pytest.mark.long
def test_two_ranks_have_the_bits_of_one(alone, two):
    for rank in range(2):
        for name, whole in alone["ours:8"].items():
            assert same(share(name, whole, rank).contiguous(), two[rank]["ours:8"][name]), (rank, name)
        assert other(two[rank]["ours:8"], two[rank]["ours:2"]) == []
    stock = [name for name, whole in alone["stock:8"].items() if not same(share(name, whole, 0).contiguous(), two[0]["stock:8"][name])]
    assert "losses" in stock and len(stock) >= 8


@pytest.mark.long
def test_a_fused_head_depends_on_neither_cut_nor_ranks(alone, two):
    """Head and loss as one operation, in another order than that of stored logits: near it, and not equal."""
    head, plain = alone["head:8"], alone["plain:8"]
    assert other(head, alone["head:1"]) == []
    for rank in range(2):
        assert [name for name, whole in head.items() if not same(share(name, whole, rank).contiguous(), two[rank]["head:8"][name])] == []
    assert (head["losses"] - plain["losses"]).abs().max() < 1e-5 and "losses" in other(head, plain)


@pytest.mark.long
def test_the_loss_of_shards_has_the_bits_of_one(alone, two):
    """Infinities, a NaN, subnormals and cancellation; PyTorch's order of the sum is the control."""
    whole = alone["loss:ours"]
    assert same(torch.cat([each["loss:ours"]["logits"] for each in two], -1), whole["logits"])
    for rank in range(2):
        assert same(two[rank]["loss:ours"]["losses"], whole["losses"])
    assert same(torch.cat([each["loss:ours"]["grad"] for each in two], -1), whole["grad"])
    wide = torch.nn.functional.cross_entropy(whole["logits"].double().flatten(0, 1), whole["labels"].flatten(), reduction="none").view(40, 16)
    finite = wide.isfinite()
    assert 600 <= finite.sum() < 640 and (whole["losses"].double() - wide)[finite].abs().max() < 1e-4
    assert torch.equal(whole["losses"].isnan(), wide.isnan())
    assert not same(alone["loss:stock"]["losses"], two[0]["loss:stock"]["losses"])


EXAMPLE = PROGRAM.parents[2] / "examples/python/train_megatron.py"


@pytest.mark.long
def test_data_parallel_ranks_have_the_bits_of_one(tmp_path):
    """Four slices on one rank and on two; two slices are another sum. Masters are compared, in fp32."""
    def train(ranks, *options):
        return subprocess.run([sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(ranks), "--rdzv-backend", "c10d",
                               "--rdzv-endpoint", "127.0.0.1:0", "--local-addr", "127.0.0.1", EXAMPLE, "--device", "cpu", "--data", str(ranks),
                               "--layers", "1", "--steps", "2", "--arms", "ours", *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False, timeout=200)
    one = tmp_path / "one.json"
    done = train(1, "--slices", "4", "--cuts", "4x2,8x1", "--record", one)
    assert done.returncode == 0 and "ours: 1 different digests of 2 cuts" in done.stdout, done.stdout[-3000:]
    done = train(2, "--slices", "4", "--cuts", "2x2,4x1", "--same-as", one)
    assert done.returncode == 0 and "ours: 1 different digests of 2 cuts and" in done.stdout, done.stdout[-3000:]
    done = train(2, "--slices", "2", "--cuts", "1x4", "--same-as", one)
    assert done.returncode != 0 and "ours: 2 different digests of 1 cuts and" in done.stdout and "FAILED" in done.stdout, done.stdout[-3000:]


def test_nothing_is_outside(alone):
    rows = alone["audit"]
    # Positions times frequencies: K is 1, so nothing is added.
    left = {row[0] for row in rows if row[2] in ("outside", "unknown")}
    assert left <= set() and {row[2] for row in rows} == {"contract", "row-local"}, left
    assert any("tree:64" in row[3] for row in rows) and any(row[0] == "detgemm.attention_backward" for row in rows)


@pytest.mark.parametrize("name, sentence", [
    ("LayerNorm", "normalization is 'LayerNorm' and must be 'RMSNorm'"), ("biases", "add_bias_linear is True and must be False"),
    ("dropout", "hidden_dropout is 0.1 and must be 0.0, since what is dropped depends on the cut"),
    ("fusion", "bias_dropout_fusion is True and must be False"), ("no tree", "it must be a contract with tree:LEAF"),
    ("leaves", "so it must be a multiple of 96"), ("type", "it must read bf16 and give bf16"),
    ("no experts", "num_moe_experts is 4 and the model has no experts of detgemm"),
    ("auxiliary loss", "moe_aux_loss_coeff is 0.01 and must be 0.0"),
    ("buffers", "it must be contiguous torch.float32"), ("slices", "slices is 0: it must be an integer, 1 or more"),
    ("slice", "2 slices of this rank are closed, which are all of them"),
    ("no slice", "3 slices of this rank are closed: they must be 4, 4 by 1 ranks"), ("gelu", "activation_func is gelu: experts have silu"),
    ("stock", "build the model with detgemm.megatron.get_gpt_layer_spec"),
    ("head", "megatron.core.tensor_parallel.layers: policy.input is torch.float16: gradients of logits are bf16"),
    ("length", "sequences have 24 tokens: with fused_head they must have a multiple of 16"), ("mask", "attention_mask hides other keys"),
    ("shape", r"it must be None, or bool with 24 x 24 last")])
def test_what_is_not_covered_is_refused(alone, name, sentence):
    assert sentence in alone["refused"][name]
