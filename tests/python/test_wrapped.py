# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Converted models inside of Accelerate, transformers' Trainer and PyTorch's wrappers. The stage `trainers` of run.py."""
import importlib.util
import json
import pathlib
import subprocess
import sys

import pytest
import torch

import detgemm.torch as dt
from detgemm.torch import transformers as hooks

if importlib.util.find_spec("accelerate") is None:
    pytest.skip("Accelerate is not installed here: the stage trainers of run.py installs it", allow_module_level=True)

import transformers

GPU = torch.cuda.is_available()
DEVICE = "cuda" if GPU else "cpu"
pytestmark = pytest.mark.long
PROGRAM = pathlib.Path(__file__).with_name("wrapped_ranks.py")
POLICY = dt.Policy("hopper/bf16/chain->bf16", "hopper/bf16/chain->bf16", "hopper/bf16/fold:32->fp32")
SIZES = dict(vocab_size=128, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=16,
             max_position_embeddings=64, tie_word_embeddings=False)


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    path = tmp_path_factory.mktemp("ranks") / "result"
    done = subprocess.run([sys.executable, "-W", "ignore", PROGRAM, path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          timeout=200)
    assert done.returncode == 0, done.stdout[-3000:]
    return torch.load(path)


@pytest.mark.parametrize("way", ["distributed", "fully_shard", "mixed"])
def test_wrappers_keep_the_layers(ranks, way):
    plain, wrapped = ranks["unwrapped"], ranks[way]
    assert wrapped["layers"] == [True, True] and dt.same_bits(wrapped["output"], plain["output"])
    for what in ("grads", "state"):
        assert list(wrapped[what]) == list(plain[what])
        assert all(dt.same_bits(wrapped[what][name], plain[what][name]) for name in plain[what]), what


def model(dtype=torch.float32):
    torch.manual_seed(0)
    return transformers.AutoModelForCausalLM.from_config(transformers.Qwen3Config(**SIZES), dtype=dtype)


def ours(dtype=torch.float32):
    made = model(dtype)
    hooks.use(made, POLICY)
    return made


ROWS = [{"input_ids": row, "labels": row} for row in torch.randint(0, 128, (8, 32), generator=torch.Generator().manual_seed(1)).tolist()]


def train(folder, made, steps=2, resume=None, callbacks=(), **more):
    arguments = transformers.TrainingArguments(
        output_dir=str(folder), max_steps=steps, learning_rate=1e-3, logging_steps=1, save_steps=1, report_to=[],
        use_cpu=not GPU, seed=0, disable_tqdm=True, **{"bf16": True, "gradient_checkpointing": True, "per_device_train_batch_size": 4, **more})
    arguments._n_gpu = min(arguments.n_gpu, 1)    # the Trainer takes all that are visible, and copies the model to each
    trainer = transformers.Trainer(model=made, args=arguments, train_dataset=ROWS, callbacks=list(callbacks))
    trainer.train(resume_from_checkpoint=resume)
    assert all(isinstance(trainer.model.get_submodule(name), dt.Linear) for name in ("lm_head", "model.layers.1.mlp.down_proj"))
    return {name: p.detach().cpu() for name, p in trainer.model.named_parameters()}


def test_the_trainer_of_transformers(tmp_path):
    """fp32 weights under bf16 autocast, with gradient checkpointing and without: one end, also through a checkpoint on disk."""
    first = train(tmp_path / "first", ours())
    plain = train(tmp_path / "plain", ours(), gradient_checkpointing=False)
    resumed = train(tmp_path / "second", ours(), resume=str(tmp_path / "first" / "checkpoint-1"))
    stock = train(tmp_path / "stock", stock_with_a_converted_head())
    for other in (plain, resumed):
        assert all(dt.same_bits(first[name], other[name]) for name in first)
    assert not all(dt.same_bits(first[name], stock[name]) for name in first), "the control: PyTorch's other layers end elsewhere"
    loaded = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "first" / "checkpoint-2")
    hooks.use(loaded, POLICY)
    assert all(dt.same_bits(p.detach(), first[name]) for name, p in loaded.named_parameters())


@pytest.mark.parametrize("callback", [True, False])
def test_the_cut_into_micro_batches(tmp_path, callback):
    """2 x 4, 4 x 2 and 8 x 1 sequences of one leaf each, gradients continued in fp32; added by PyTorch, the control, weights depend
    on the cut."""
    from detgemm.torch.trainer import MainGrads
    ends = [train(tmp_path / str(micro), ours(), callbacks=[MainGrads()] if callback else [], max_grad_norm=0, save_strategy="no",
                  per_device_train_batch_size=micro, gradient_accumulation_steps=8 // micro) for micro in (4, 2, 1)]
    equal = [all(dt.same_bits(ends[0][name], end[name]) for name in end) for end in ends[1:]]
    assert equal == [callback, callback]
    start = dict(ours().named_parameters())
    assert not any(dt.same_bits(ends[0][name], start[name].detach()) for name in start), "a weight was not trained"


@pytest.mark.parametrize("more, made, sentence", [
    ({}, lambda: ours(), "max_grad_norm is 1.0: it must be 0"), (dict(max_grad_norm=0), lambda: ours(torch.bfloat16), "are not fp32"),
    (dict(max_grad_norm=0), lambda: stock_with_a_converted_head(), "have no main_grad")])
def test_what_gradients_in_fp32_need(tmp_path, more, made, sentence):
    from detgemm.torch.trainer import MainGrads
    with pytest.raises(RuntimeError, match=sentence):
        train(tmp_path, made(), callbacks=[MainGrads()], **more)


def test_gradients_in_fp32_need_one_gpu(tmp_path):
    from detgemm.torch.trainer import MainGrads
    arguments = transformers.TrainingArguments(output_dir=str(tmp_path), max_grad_norm=0, use_cpu=not GPU, report_to=[])
    arguments._n_gpu = max(arguments.n_gpu, 2)
    with pytest.raises(RuntimeError, match="one process has"):
        MainGrads().on_train_begin(arguments, None, None, model=ours())


def stock_with_a_converted_head():
    """Only what the assertion in `train` looks at is converted."""
    made = model()
    dt.convert(made, POLICY, skip=[name for name, each in made.named_modules() if type(each) is torch.nn.Linear
                                   and name not in ("lm_head", "model.layers.1.mlp.down_proj")])
    return made


def test_accelerate(tmp_path):
    from accelerate import Accelerator
    made, accelerator = ours().to(DEVICE), Accelerator(cpu=not GPU, mixed_precision="bf16")
    ids = torch.tensor([ROWS[0]["input_ids"]], device=DEVICE)
    with torch.autocast(DEVICE, torch.bfloat16):
        wanted = made(ids).logits
    prepared, optimizer = accelerator.prepare(made, torch.optim.AdamW(made.parameters(), lr=1e-3))
    assert dt.same_bits(prepared(ids).logits.bfloat16(), wanted)
    accelerator.save_state(tmp_path)
    accelerator.backward(prepared(ids, labels=ids).loss)
    optimizer.step()
    assert not dt.same_bits(prepared(ids).logits.bfloat16(), wanted), "a step changes the model"
    accelerator.load_state(tmp_path)
    assert dt.same_bits(prepared(ids).logits.bfloat16(), wanted)
    assert isinstance(accelerator.unwrap_model(prepared).lm_head, dt.Linear)


@pytest.mark.parametrize("way", ["ddp", *(["fsdp"] if torch.cuda.is_available() else [])])
def test_accelerate_on_ranks(tmp_path, way):
    """The model's output alone; with checkpoints, without, and from a saved state one end."""
    done = subprocess.run([sys.executable, "-W", "ignore", PROGRAM.with_name("accelerate_ranks.py"), tmp_path / "result", way],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout[-3000:]
    found = json.loads((tmp_path / "result").read_text())
    assert [(each["layers"], each["same"]) for each in found] == [(15, True)] * 2
    assert len({each[name] for each in found for name in ("end", "again")}) == 1
    wrapper = "FSDPQwen3ForCausalLM" if way == "fsdp" else "Qwen3ForCausalLM" if torch.cuda.device_count() == 1 else "DistributedDataParallel"
    assert {each["wrapper"] for each in found} == {wrapper}


def test_compiled(tmp_path):
    """One graph of a converted bf16 model has the eager bits."""
    made = ours(torch.bfloat16).to(DEVICE)
    ids = torch.tensor([ROWS[0]["input_ids"]], device=DEVICE)
    mask = hooks.table([[0, 0, 32, 0, 0, 32]], DEVICE)
    places = torch.arange(32, device=DEVICE)[None]
    run = lambda each: each(ids, attention_mask=mask, position_ids=places, use_cache=False).logits
    wanted, compiled = run(made), torch.compile(made, backend="aot_eager")
    assert dt.same_bits(run(compiled), wanted)
