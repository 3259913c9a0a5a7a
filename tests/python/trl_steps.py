# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""trl_steps.py RESULT RUN...: two steps of TRL's trainers with a tiny Qwen3 of random weights; on a GPU six, wider ones.

RUN: "sft:ours", "sft:sums", "sft:stock", "grpo:ours", "grpo:stock", or with vLLM in the same process, one to a process, "vllm:ours",
"vllm:control", whose engine computes norms as vLLM does, and on a GPU "vllm:stock". (Stock vLLM packs weights on a CPU, and takes
no others from TRL.) RESULT gets, per run, what the trainer logged, the weights' digest and the audit's rows. test_trl.py compares.
"""
import hashlib
import json
import os
import sys
import tempfile

import torch

GPU = torch.cuda.is_available()
VOCABULARY, STEPS, NEW = (4000, 6, 64) if GPU else (200, 2, 8)
SIZES = dict(hidden_size=2048, intermediate_size=6144, num_hidden_layers=4, num_attention_heads=16, num_key_value_heads=8, head_dim=128,
             max_position_embeddings=1024, initializer_range=0.05) if GPU else \
    dict(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=32,
         max_position_embeddings=256, initializer_range=0.2)


def folder():
    """A model and its tokenizer, as a program finds them on disk."""
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers
    path = tempfile.mkdtemp()
    words = Tokenizer(models.WordLevel({"<unk>": 0, "<pad>": 1, "<eos>": 2, **{f"w{each}": each for each in range(3, VOCABULARY)}}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    transformers.PreTrainedTokenizerFast(tokenizer_object=words, unk_token="<unk>", pad_token="<pad>", eos_token="<eos>").save_pretrained(path)
    torch.manual_seed(0)
    config = transformers.Qwen3Config(vocab_size=VOCABULARY, tie_word_embeddings=False, bos_token_id=None, eos_token_id=2, pad_token_id=1, **SIZES)
    transformers.Qwen3ForCausalLM(config).bfloat16().save_pretrained(path)
    return path


def model(path, arm):
    import transformers

    import detgemm.torch as dt
    if arm == "stock":
        return transformers.AutoModelForCausalLM.from_pretrained(path, dtype=torch.bfloat16)
    from detgemm.torch import trl as ours
    policy = dt.Policy("hopper/bf16/chain->bf16", "hopper/bf16/chain->bf16", "hopper/bf16/fold:64->fp32")
    return ours.prepare(path, policy)


def common(**more):
    return {"output_dir": tempfile.mkdtemp(), "max_steps": STEPS, "learning_rate": 1e-3, "bf16": False, "logging_steps": 1, "save_strategy": "no",
            "report_to": [], "use_cpu": not GPU, "seed": 0, "data_seed": 0, "gradient_checkpointing": False, "disable_tqdm": True, **more}


def sft(path, arm):
    from datasets import Dataset
    from trl import SFTConfig, SFTTrainer
    draw = torch.Generator().manual_seed(1)
    rows = [{"input_ids": torch.randint(3, VOCABULARY, (length,), generator=draw).tolist()} for length in (9, 17, 12, 5, 20, 8, 11, 14)]
    config = SFTConfig(**common(per_device_train_batch_size=4, max_length=24, packing=False, remove_unused_columns=False,
                                dataset_kwargs={"skip_prepare_dataset": True}))
    return SFTTrainer(model=model(path, arm), args=config, train_dataset=Dataset.from_list(rows),
                      processing_class=tokenizer(path))


def tokenizer(path):
    import transformers
    return transformers.AutoTokenizer.from_pretrained(path)


def reward(completions, **_):
    return [sum(int(word[1:]) < VOCABULARY // 2 for word in text.split() if word[1:].isdigit()) / 10 for text in completions]


def grpo(path, arm, **more):
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer
    rows = [{"prompt": " ".join(f"w{(7 * at + 3 * each) % 190 + 5}" for each in range(4 + 3 * at))} for at in range(4)]
    config = GRPOConfig(**common(per_device_train_batch_size=4, num_generations=4, max_completion_length=NEW, temperature=1.0, beta=0.0, **more))
    return GRPOTrainer(model=model(path, arm), reward_funcs=reward, args=config, train_dataset=Dataset.from_list(rows), processing_class=tokenizer(path))


def vllm(path, arm):
    import functools

    from trl.generation import vllm_generation
    if arm == "control":
        from detgemm.vllm import hooks
        hooks.leave_out(["norm"])
    # TRL has no argument for it, and compiling for a CPU takes minutes.
    more = {"enforce_eager": True, **({"kv_cache_memory_bytes": 2 << 30} if GPU else {"num_gpu_blocks_override": 64})}
    if GPU and arm != "stock":
        more["attention_backend"] = "CUSTOM"
    vllm_generation.LLM = functools.partial(vllm_generation.LLM, **more)
    return grpo(path, arm, use_vllm=True, vllm_mode="colocate", vllm_gpu_memory_utilization=0.2 if GPU else 0.1, vllm_max_model_length=8 * NEW)


def run(text):
    import contextlib

    import detgemm.torch as dt
    kind, arm = text.split(":")
    if kind == "vllm" and GPU and arm != "stock":
        os.environ["VLLM_BATCH_INVARIANT"] = "1"  # the plugin selects it too; vLLM reads it when it is imported
    trainer = globals()[kind](folder(), arm)
    if arm != "stock":
        from detgemm.torch import trl as ours
        ours.use(trainer)
    # Kernels of vLLM and of generation with dropout masks and counts are no part of the trainer's steps.
    sums = dt.aten({}, devices="cuda" if GPU else "cpu", others="pass", sums="ieee_fma/fp32/chain->fp32") if arm == "sums" else contextlib.nullcontext()
    with sums, dt.audit() if kind == "sft" else contextlib.nullcontext() as report:
        trainer.train()
    weights = hashlib.sha256(b"".join(p.detach().contiguous().view(torch.uint8).cpu().numpy().tobytes() for p in trainer.model.parameters()))
    return {"log": trainer.state.log_history, "digest": weights.hexdigest(), "audit": [list(row) for row in report.rows] if report else []}


def main():
    result, runs = sys.argv[1], sys.argv[2:]
    torch.set_num_threads(1)
    found = {text: run(text) for text in runs}
    with open(result, "w", encoding="utf-8") as file:
        json.dump(found, file)
    sys.stdout.flush()
    os._exit(0)  # an engine's threads need not be joined


if __name__ == "__main__":
    main()
