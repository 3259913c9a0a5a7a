#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""GRPO on a toy reward: vLLM samples, transformers trains. Do the trainer's log-probabilities equal the engine's?

    examples/python/rl_vllm.py --model tiny --device cpu
    examples/python/rl_vllm.py --model qwen3-1.7b --steps 20 --prompts 8 --group 8 --prompt 400 --new 128 --micro 4 --budget 2048
    examples/python/rl_vllm.py --head fused         # log-probabilities in the order logsum16; the trainer stores no logits
    examples/python/rl_vllm.py --control            # without the norm's hook in vLLM: it must end with 1

vLLM samples a group of completions per prompt at temperature 1, each with a seed, with a prefix cache and prompts in chunks.
The trainer scores the same tokens in micro-batches and takes one step of Adam; the engine gets the new weights before the next
step. Per step: the largest difference of log-probabilities, the divergence k3, the ratio's extremes, and how many
log-probabilities have other bytes. Arms, each in a process of its own: "stock" is vLLM and PyTorch as they are, "invariant"
vLLM's own mode (on a GPU) and PyTorch, "ours" detgemm in both. Ends with 1 where a byte of "ours" differs.
"""
import argparse
import contextlib
import functools
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

MODELS = {  # Qwen3 with random weights; the embedding is not tied to the head
    "tiny": dict(vocab_size=256, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                 head_dim=32, max_position_embeddings=1024),
    "qwen3-1.7b": dict(vocab_size=151936, hidden_size=2048, intermediate_size=6144, num_hidden_layers=28, num_attention_heads=16,
                       num_key_value_heads=8, head_dim=128, max_position_embeddings=4096),
}
ARMS = {"stock": "vLLM and PyTorch as they are", "invariant": "vLLM's invariant mode, PyTorch as it is", "ours": "detgemm in both",
        "control": "ours, without the norm's hook in vLLM", "stale": "ours, whose engine keeps its first weights"}
OURS = ("ours", "control", "stale")
COLUMNS = (5, 8, 22, 14, 24, 24, 8, 26)
HEAD = ("step", "reward", "max |logp difference|", "k3 divergence", "ratio", "logps with other bytes", "seconds", "sample + learn + load")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=MODELS, default="tiny")
    parser.add_argument("--device", choices=["cuda", "cpu"])
    parser.add_argument("--arms", help="some of " + ", ".join(ARMS))
    parser.add_argument("--control", action="store_true", help="the arm control alone")
    parser.add_argument("--head", choices=["logits", "fused"], default="logits", help="fused: detgemm.torch.heads in the trainer, and its order "
                        "of log-probabilities in vLLM")
    parser.add_argument("--json", help="writes the rows of every arm there")
    for name, value in {"steps": 3, "prompts": 2, "group": 3, "prompt": 40, "new": 12, "micro": 2, "budget": 32, "seed": 0, "rate": 1e-3,
                        "memory": 0.15, "cache": 0}.items():
        parser.add_argument("--" + name, type=type(value), default=value)
    parser.add_argument("--turn", type=pathlib.Path, help="a file: of several runs on one GPU that name it, all start their engines and take "
                        "the first step, which compiles; one at a time takes the others")
    parser.add_argument("--eager", action="store_true", help="without torch.compile and CUDA graphs in vLLM")
    parser.add_argument("--attention", default="CUSTOM", help="vLLM's backend in the arm ours on a GPU: detgemm's own, as in the trainer")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.device is None:
        import torch
        options.device = "cuda" if torch.cuda.is_available() else "cpu"
    default = "stock,ours" if options.device == "cpu" else "stock,invariant,ours"
    options.arms = "control" if options.control else options.arms or default
    unknown = [arm for arm in options.arms.split(",") if arm not in ARMS]
    if unknown:
        parser.error(f"--arms names {unknown[0]}: it must name some of {', '.join(ARMS)}")
    return options


def load(weights, model):
    """Runs inside of vLLM's worker, which is in this process; vLLM packs q, k, v and gate, up itself."""
    return len(model.load_weights(iter(weights)))


class Engine:
    """vLLM with prefix cache, prompts in chunks, and requests with seeds."""

    def __init__(self, options, arm, folder):
        from vllm import LLM
        ours, self.options, self.folder = arm in OURS, options, folder
        # Stock vLLM packs its weights on a CPU and then takes others from a checkpoint alone.
        self.from_disk = options.device == "cpu" and not ours
        more = {"quantization": "detgemm"} if ours else {}
        if ours and options.head == "fused":
            more["hf_overrides"] = {"quantization_config": {"quant_method": "detgemm", "log_probs": "logsum16"}}
        if arm == "control":
            from detgemm.vllm import hooks
            hooks.leave_out(["norm"])
        if options.device == "cuda":
            if options.cache:
                more["kv_cache_memory_bytes"] = options.cache << 30
            more.update({"gpu_memory_utilization": options.memory, **({"attention_backend": options.attention} if ours else {})})
        else:
            more["num_gpu_blocks_override"] = 256
        most = min(options.budget, options.prompts * options.group)
        if options.device == "cuda" and not options.eager:
            more["cudagraph_capture_sizes"] = sorted({most, *(1 << each for each in range(most.bit_length()))})
        self.llm = LLM(model=str(folder), skip_tokenizer_init=True, seed=options.seed, max_model_len=options.prompt + options.new + 1,
                       enforce_eager=options.eager or options.device == "cpu", enable_prefix_caching=True, generation_config="vllm",
                       max_num_batched_tokens=options.budget, max_num_seqs=most,
                       block_size=16, disable_log_stats=True, **more)

    def update(self, model):
        """The trainer's weights, and no keys of older ones."""
        if self.from_disk:
            save(model, self.folder)
            self.llm.collective_rpc("reload_weights", kwargs={"weights_path": str(self.folder)})
        else:
            self.llm.apply_model(functools.partial(load, [(name, p.detach()) for name, p in model.named_parameters()]))
        if not self.llm.reset_prefix_cache():
            raise RuntimeError("the prefix cache could not be reset")

    def sample(self, prompts, step):
        """Tokens and their log-probabilities, count x new, and how many prompt tokens were read from the cache."""
        import torch
        from vllm import SamplingParams
        # vLLM 0.26 stops on a CPU where a prompt of a request with a seed is cut into chunks (a generator without an offset).
        seeds = [None if self.options.device == "cpu" else 1000 * step + at for at in range(len(prompts))]
        wanted = [SamplingParams(temperature=1.0, max_tokens=self.options.new, min_tokens=self.options.new, ignore_eos=True, detokenize=False,
                                 logprobs=0, seed=seed) for seed in seeds]
        outputs = self.llm.generate([{"prompt_token_ids": each} for each in prompts], wanted, use_tqdm=False)
        tokens = torch.tensor([list(each.outputs[0].token_ids) for each in outputs])
        values = torch.tensor([[at[token].logprob for token, at in zip(each.outputs[0].token_ids, each.outputs[0].logprobs)] for each in outputs],
                              dtype=torch.float64)
        if (values.float().double() != values).any():
            raise RuntimeError("vLLM returned log-probabilities that are no fp32 numbers")
        return tokens, values.float(), sum(each.num_cached_tokens or 0 for each in outputs)


def build(options, arm):
    import torch
    import transformers

    import common
    torch.manual_seed(options.seed)
    config = transformers.Qwen3Config(**MODELS[options.model], rms_norm_eps=1e-6, tie_word_embeddings=False, use_cache=False,
                                      bos_token_id=1, eos_token_id=2, initializer_range=0.02 if options.device == "cuda" else 0.2)
    with torch.device(options.device):
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16, attn_implementation="sdpa").eval()
    if arm in OURS:
        common.hooks.use(model, common.policy(1024 if options.device == "cuda" else 64))
    return model


def turn(options):
    """Waits until no other run that names the same file takes steps; the file is released when this process ends."""
    if options.turn:
        import fcntl
        fcntl.flock(os.open(options.turn, os.O_CREAT | os.O_RDWR), fcntl.LOCK_EX)


def save(model, folder):
    """A checkpoint in transformers' format, as vLLM reads it."""
    from safetensors.torch import save_file
    model.config.to_json_file(folder / "config.json")
    config = json.loads((folder / "config.json").read_text())
    config.update(architectures=["Qwen3ForCausalLM"], dtype="bfloat16")
    (folder / "config.json").write_text(json.dumps(config))
    save_file({name: tensor.contiguous().cpu() for name, tensor in model.state_dict().items()}, folder / "model.safetensors",
              metadata={"format": "pt"})


def wait(options):
    import torch
    if options.device == "cuda":
        torch.cuda.synchronize()


def memory(options):
    """What engine and trainer have of the device, in GiB."""
    import torch
    free, total = torch.cuda.mem_get_info() if options.device == "cuda" else (0, 0)
    return (total - free) / 2**30


def tensors(options):
    """The most that tensors of engine and trainer had at one time, in GiB."""
    import torch
    return torch.cuda.max_memory_allocated() / 2**30 if options.device == "cuda" else 0.0


def learn(options, trainer, prompts, tokens, sampled, watch):
    """One step in micro-batches; returns the reward and the trainer's log-probabilities."""
    import torch

    from rl import inputs_of, score
    device, count = trainer.model.device, len(prompts)
    reward = (tokens < trainer.model.config.vocab_size // 2).double().mean(1)
    groups = reward.view(-1, options.group)
    gain = ((groups - groups.mean(1, keepdim=True)) / (groups.std(1, keepdim=True) + 1e-4)).flatten().float()
    parts = [slice(at, at + options.micro) for at in range(0, count, options.micro)]
    work = [inputs_of(trainer, prompts[part], tokens[part]) for part in parts]
    there, weights, scored = sampled.to(device), (-gain[:, None] / (count * options.new)).to(device), []
    for part, inputs in zip(parts, work):
        with watch if not scored else contextlib.nullcontext():
            values = score(trainer, *inputs)
            # The gradient of -gain * ratio: the ratio is 1 where both sides have the same bits.
            trainer.backward(values, (weights[part] * (values.detach() - there[part]).exp()).contiguous())
        scored.append(values.detach())
    trainer.step()
    return reward.mean().item(), torch.cat(scored).cpu()


def run(options, arm):
    """All steps of one arm, in this process."""
    import common
    from training import Trainer
    rows, watch = [], common.Watch()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model = build(options, arm)
        save(model, folder)
        engine, source = Engine(options, arm, folder), random.Random(options.seed)
        learner = Trainer(model, options.rate, arm in OURS, options.head)
        vocabulary = model.config.vocab_size
        for step in range(options.steps):
            if step == 1:
                turn(options)
            start = time.perf_counter()
            asked = [[source.randrange(3, vocabulary) for _ in range(source.randint(options.prompt // 2, options.prompt))]
                     for _ in range(options.prompts)]
            prompts = [prompt for prompt in asked for _ in range(options.group)]
            tokens, sampled, cached = engine.sample(prompts, step)
            drawn = time.perf_counter()
            reward, scored = learn(options, learner, prompts, tokens, sampled, watch if step == 0 else contextlib.nullcontext())
            learned = time.perf_counter()
            if arm != "stale":
                engine.update(model)
            wait(options)
            end = time.perf_counter()
            difference = scored.double() - sampled.double()
            ratio = difference.exp()
            rows.append({"reward": reward, "largest": difference.abs().max().item(), "k3": (ratio - 1 - difference).mean().item(),
                         "ratio": [ratio.min().item(), ratio.max().item()], "other": common.differing(scored, sampled),
                         "of": sampled.numel(), "cached": cached, "seconds": end - start,
                         "split": [drawn - start, learned - drawn, end - learned], "GiB": memory(options), "tensors": tensors(options)})
            print(json.dumps(rows[-1]), flush=True)
    if arm in OURS:
        print(watch)
    sys.stdout.flush()
    os._exit(0)  # the engine's threads need not be joined


def environment(options, arm):
    more = {"VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_LOGGING_LEVEL": "ERROR", "VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1",
            "PYTHONUNBUFFERED": "1"}
    if options.device == "cpu":
        more.update({"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_HOST_IP": "127.0.0.1", "GLOO_SOCKET_IFNAME": "lo", "TORCHDYNAMO_DISABLE": "1",
                     "VLLM_CPU_OMP_THREADS_BIND": "nobind"})
    if arm == "invariant" or arm in OURS and options.device == "cuda":
        more["VLLM_BATCH_INVARIANT"] = "1"  # ours selects it too; vLLM reads it when it is imported
    return {**{name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}, **more}


def say(row):
    print("  ".join(f"{text!s:{width}}" for text, width in zip(row, COLUMNS)).rstrip(), flush=True)


def main():
    options = arguments()
    if options.run:
        run(options, options.run)
    print(f"Random weights, a toy reward, one device: this shows equality, not quality. {options.model} on {options.device}: "
          f"{options.prompts} prompts, {options.group} completions each of {options.new} tokens; chunks of {options.budget} tokens; "
          f"micro-batches of {options.micro}")
    found, failed = {}, False
    for arm in options.arms.split(","):
        print(f"{arm}: {ARMS[arm]}")
        say(HEAD)
        command = [sys.executable, "-W", "ignore", __file__, *sys.argv[1:], "--device", options.device, "--run", arm]
        done = subprocess.Popen(command, env=environment(options, arm), stdout=subprocess.PIPE, text=True)
        rows, other = [], []
        for line in done.stdout:
            if line.startswith("{"):
                rows.append(json.loads(line))
                row = rows[-1]
                say((len(rows) - 1, f"{row['reward']:.3f}", f"{row['largest']:.3e}", f"{row['k3']:.3e}",
                     f"{row['ratio'][0]:.6f} to {row['ratio'][1]:.6f}", f"{row['other']} of {row['of']}", f"{row['seconds']:.2f}",
                     " + ".join(f"{part:.2f}" for part in row["split"])))
            else:
                other.append(line)
        if done.wait() or len(rows) != options.steps:
            raise SystemExit(f"the arm {arm} ended with {done.returncode} after {len(rows)} of {options.steps} steps:\n" + "".join(other[-30:]))
        print("".join(other), end="")
        found[arm] = rows
        if arm in OURS:
            failed |= any(row["other"] or row["ratio"] != [1.0, 1.0] for row in rows)
            failed |= not any(row["cached"] for row in rows)
    for arm, rows in found.items():
        print(f"{arm}: {sum(row['other'] for row in rows)} of {sum(row['of'] for row in rows)} log-probabilities with other bytes, largest "
              f"difference {max(row['largest'] for row in rows):.3e}, {sum(row['cached'] for row in rows)} prompt tokens from the cache, "
              f"{sorted(row['seconds'] for row in rows[1:] or rows)[len(rows[1:] or rows) // 2]:.2f} s per step after the first"
              + (f", {max(row['GiB'] for row in rows):.1f} GiB, of tensors at most {max(row['tensors'] for row in rows):.2f}"
                 if options.device == "cuda" else ""))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(found))
    if not set(found) & set(OURS):
        print("no arm of detgemm ran, so nothing is compared")
        raise SystemExit(0)
    print(f"{'FAILED' if failed else 'passed'}: the trainer's log-probabilities are the engine's, so the divergence is exactly 0")
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
