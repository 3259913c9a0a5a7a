# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""accelerate_ranks.py RESULT WAY: Accelerate with bf16 on two processes, WAY "ddp", or on GPUs "fsdp" (FSDP 2); one GPU has one process.

RESULT gets, without and with gradient checkpointing: the wrapper, how many linear layers in it are detgemm's, whether its output has the
bits of the model alone, and digests of the weights after three steps, and after the third again from the state of the second.
"""
import hashlib
import json
import os
import sys

import torch
import transformers
from accelerate import Accelerator, FullyShardedDataParallelPlugin

import detgemm.torch as dt
from detgemm.torch import transformers as hooks

GPU = torch.cuda.is_available()
RANKS = min(2, torch.cuda.device_count()) if GPU else 2
POLICY = dt.Policy("hopper/bf16/chain->bf16", "hopper/bf16/chain->bf16", "hopper/bf16/fold:32->fp32")


def model():
    torch.manual_seed(0)
    made = transformers.AutoModelForCausalLM.from_config(transformers.Qwen3Config(
        vocab_size=128, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=32,
        max_position_embeddings=64, tie_word_embeddings=False, use_cache=False), dtype=torch.float32)
    hooks.use(made, POLICY)
    return made


def alone(way, device, ids):
    """Logits of the model by itself. Under autocast each layer casts; FSDP 2 gives every layer its weights in bf16."""
    made = model().to(device)
    if way == "fsdp":
        for weight in made.parameters():
            weight.data = weight.data.bfloat16()
    with torch.no_grad(), torch.autocast(device.type, torch.bfloat16, enabled=way == "ddp"):
        return made(ids).logits.bfloat16()


def digest(prepared):
    total = hashlib.sha256()
    for _, weight in sorted(prepared.state_dict().items()):
        weight = weight.full_tensor() if hasattr(weight, "full_tensor") else weight
        total.update(weight.detach().float().cpu().numpy().tobytes())
    return total.hexdigest()


def one(accelerator, ids, wanted, checkpoints, folder):
    made = model()
    if checkpoints:
        made.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    made.train()
    prepared, optimizer = accelerator.prepare(made, torch.optim.AdamW(made.parameters(), lr=1e-3))
    found = {"wrapper": type(prepared).__name__, "layers": sum(isinstance(each, dt.Linear) for each in prepared.modules()),
             "same": dt.same_bits(prepared(ids).logits.detach().bfloat16(), wanted)}

    def step():
        accelerator.backward(prepared(ids, labels=ids).loss)
        optimizer.step()
        optimizer.zero_grad()
        return digest(prepared)

    step()
    step()
    accelerator.save_state(folder)
    found["end"] = step()
    accelerator.load_state(folder)
    found["again"] = step()
    accelerator.free_memory()
    return found


def work(rank, result, way, port):
    torch.set_num_threads(1)
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(RANKS), LOCAL_WORLD_SIZE=str(RANKS), MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
    plugin = {} if way == "ddp" else {"fsdp_plugin": FullyShardedDataParallelPlugin(
        fsdp_version=2, auto_wrap_policy="transformer_based_wrap", transformer_cls_names_to_wrap=["Qwen3DecoderLayer"],
        state_dict_type="SHARDED_STATE_DICT", cpu_ram_efficient_loading=False)}
    accelerator = Accelerator(cpu=not GPU, mixed_precision="bf16", **plugin)
    ids = torch.randint(0, 128, (2, 32), generator=torch.Generator().manual_seed(1 + rank)).to(accelerator.device)
    wanted = alone(way, accelerator.device, ids)
    found = [one(accelerator, ids, wanted, each, f"{result}.{each}") for each in (False, True)]
    if rank == 0:
        with open(result, "w", encoding="utf-8") as file:
            json.dump(found, file)
    if torch.distributed.is_initialized():
        torch.distributed.barrier()
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    import socket
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number = free.getsockname()[1]
    torch.multiprocessing.spawn(work, (*sys.argv[1:3], str(number)), nprocs=RANKS)
