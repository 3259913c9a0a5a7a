#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""vllm_turns.py MODEL --json FILE: tokens per second of several engines of vLLM on one GPU, in turns A B C C B A.

All engines are built first, a process each, with random weights; MODEL is a folder with config.json. An engine is a mode of
`python -m detgemm.vllm check` (detgemm, vllm, stock), or vllm-lt: vLLM's invariant mode with torch.nn.functional.linear, so with
cuBLASLt without workspace. A case is a number of requests of 64 + 128 tokens, or REQUESTSxPROMPT+TOKENS.
"""
import argparse
import json
import os
import pathlib
import select
import statistics
import subprocess
import sys
import tempfile
import time

from detgemm.vllm import hooks, probe
from detgemm.vllm.__main__ import MODES


def cublaslt():
    """vLLM's invariant products by torch.nn.functional.linear."""
    import torch
    from vllm.model_executor.layers import linear, vocab_parallel_embedding

    def plain(x, weight, bias=None):
        return torch.nn.functional.linear(x, weight, bias)

    linear.linear_batch_invariant = vocab_parallel_embedding.linear_batch_invariant = plain


def child(mode, pipe, options):
    """One engine: a line of JSON from stdin is a case, a line through the pipe its seconds."""
    hooks.leave_out([])
    if mode == "vllm-lt":
        cublaslt()
    engine = probe.Probe("vllm" if mode == "vllm-lt" else mode, options)
    with os.fdopen(pipe, "w", buffering=1) as out:
        print("[]", file=out)
        for line in sys.stdin:
            requests, prompt, tokens, runs = json.loads(line)
            prompts, seconds = [engine.prompt(prompt) for _ in range(requests)], []
            for _ in range(runs):
                engine.llm.reset_prefix_cache()
                start = time.perf_counter()
                engine.generate(prompts, [engine.sampling(tokens, logprobs=None)] * requests, keep_cache=True)
                seconds.append(time.perf_counter() - start)
            print(json.dumps(seconds), file=out)
    os._exit(0)  # the engine's threads need not be joined


class Engine:
    """A child and its pipe. answer: what it sends next, None where it ended or took too long."""

    def __init__(self, mode, model, settings, folder):
        self.mode, (read, write) = mode, os.pipe()
        options = {"model": model, "random_weights": True, "requests": 1, "tokens": 8, "batches": "", "eager": False, "speed": "",
                   "longest": 200, "without": [], "set": settings}
        environment = {**os.environ, **MODES["vllm" if mode == "vllm-lt" else mode], "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
                       "VLLM_CACHE_ROOT": str(pathlib.Path(folder, mode))}
        self.process = subprocess.Popen([sys.executable, __file__, "--child", mode, str(write), json.dumps(options)], env=environment,
                                        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, pass_fds=[write])
        os.close(write)
        self.pipe = os.fdopen(read)

    def answer(self, seconds):
        line = self.pipe.readline() if select.select([self.pipe], [], [], seconds)[0] else ""
        return json.loads(line) if line else None

    def ask(self, case, seconds):
        self.process.stdin.write(json.dumps(case) + "\n")
        self.process.stdin.flush()
        return self.answer(seconds)


def parsed(case):
    requests, _, rest = case.partition("x")
    return [int(requests), *map(int, (rest or "64+128").split("+"))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--engines", default="detgemm,stock,vllm,vllm-lt")
    parser.add_argument("--cases", default="1,7,33,100,8x4096+1")
    parser.add_argument("--runs", type=int, default=3, help="per turn, after a warm one")
    parser.add_argument("--seconds", type=float, default=600, help="how long an answer may take")
    parser.add_argument("--set", action="append", default=["gpu_memory_utilization=0.1", "kv_cache_memory_bytes=6442450944",
                                                           "max_model_len=4352"], metavar="NAME=JSON", help="an argument of vllm.LLM")
    parser.add_argument("--json", type=pathlib.Path)
    chosen = parser.parse_args()
    settings, results = dict(each.partition("=")[::2] for each in chosen.set), []
    with tempfile.TemporaryDirectory(prefix="turns-") as folder:
        engines = [Engine(mode, chosen.model, settings, folder) for mode in chosen.engines.split(",")]
        if any(engine.answer(chosen.seconds) is None for engine in engines):
            sys.exit("an engine did not start: its own words are above")
        for case in chosen.cases.split(","):
            requests, prompt, tokens = parsed(case)
            samples = {engine.mode: [] for engine in engines}
            for turn, runs in enumerate((1, chosen.runs, chosen.runs)):
                for engine in engines[::-1] if turn == 2 else engines:
                    seconds = engine.ask([requests, prompt, tokens, runs], chosen.seconds)
                    if seconds is None:
                        sys.exit(f"{engine.mode} gave no answer to {case}")
                    samples[engine.mode] += seconds if turn else []
            produced = requests * (tokens if tokens > 1 else prompt)
            rates = {mode: round(produced / statistics.median(each), 1) for mode, each in samples.items()}
            results.append({"case": case, "tokens_per_second": rates, "seconds": samples})
            print(case, rates, flush=True)
        for engine in engines:
            engine.process.kill()
    if chosen.json:
        chosen.json.write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], int(sys.argv[3]), json.loads(sys.argv[4]))
    else:
        main()
