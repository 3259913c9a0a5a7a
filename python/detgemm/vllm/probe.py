# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""One engine of `python -m detgemm.vllm check`: runs requests alone and in company and counts equal answers.

An answer is its token ids and, per position, the log-probabilities of the chosen token and of the five likeliest, as
fp32. Prompts are token ids, so a model needs no tokenizer.
"""
import json
import math
import os
import random
import struct
import sys
import time
import zlib

LENGTHS = (211, 1037, 5, 64, 480, 17, 129, 800)  # of the prompts that are compared
CHUNK = 192                                      # tokens per step where prefill is cut
TOP = 5


def draw_weights(model):
    """Weights whose activations neither vanish nor explode, from the parameters' names. Called inside of vLLM's worker."""
    import torch
    seen = set()
    for name, weight in sorted(model.named_parameters()):
        if weight.data_ptr() in seen:
            continue
        seen.add(weight.data_ptr())
        generator = torch.Generator(device=weight.device).manual_seed(zlib.crc32(name.encode()))
        values = torch.randn(weight.shape, generator=generator, device=weight.device, dtype=torch.float32)
        if weight.dim() == 1:
            # The last norm has signs: with tied embeddings every token would otherwise answer itself.
            values = values.sign() + 0.1 * values if name.endswith("model.norm.weight") else 1 + 0.1 * values
        else:
            values *= (3 if "embed" in name or "lm_head" in name else 1) / math.sqrt(weight.shape[1])
        with torch.inference_mode():
            weight.copy_(values.to(weight.dtype))


def answer(output):
    """The bytes of each position."""
    best = output.outputs[0]
    return [struct.pack("<i", token) + b"".join(struct.pack("<if", *pair) for pair in
                                                ((key, entry.logprob) for key, entry in at.items()))
            for token, at in zip(best.token_ids, best.logprobs, strict=True)]


class Probe:
    def __init__(self, mode, options):
        from vllm import LLM
        more = {name: json.loads(text) for name, text in options["set"].items()}
        if mode == "detgemm":
            more["quantization"] = "detgemm"
        if options["random_weights"]:
            more["load_format"] = "dummy"
        self.llm = LLM(**{"model": options["model"], "skip_tokenizer_init": True, "seed": 0, "max_model_len": 4096,
                          "enforce_eager": options["eager"], "enable_prefix_caching": True, "generation_config": "vllm",
                          "max_num_batched_tokens": 4096, "disable_log_stats": True, **more})
        if options["random_weights"]:
            self.llm.apply_model(draw_weights)
            self.llm.reset_prefix_cache()
        self.tokens, self.mode = options["tokens"], mode
        draw = random.Random(7)
        words = self.llm.llm_engine.vllm_config.model_config.get_vocab_size()
        self.prompt = lambda length: [draw.randrange(10, words) for _ in range(length)]
        self.watched = [self.prompt(length) for length in LENGTHS[:options["requests"]]]
        self.sizes = [int(size) for size in options["batches"].split(",")]
        self.crowd = [self.prompt(draw.randint(1, draw.choice((40, 400, 1200)))) for _ in range(max(self.sizes))]
        self.lengths = [draw.choice((self.tokens, draw.randint(1, self.tokens))) for _ in self.crowd]
        self.equal = self.compared = 0
        self.alone = []

    def generate(self, prompts, tokens, keep_cache=False, **more):
        from vllm import SamplingParams
        if not keep_cache and not self.llm.reset_prefix_cache():
            raise RuntimeError("the prefix cache could not be reset")
        sampling = [SamplingParams(temperature=0, max_tokens=count, min_tokens=count, ignore_eos=True, detokenize=False,
                                   logprobs=TOP, **more) for count in tokens]
        return self.llm.generate([{"prompt_token_ids": each} for each in prompts], sampling, use_tqdm=False)

    def report(self, what, which, found):
        wanted = self.alone[which]
        differing = [at for at, pair in enumerate(zip(wanted, found, strict=True)) if pair[0] != pair[1]]
        self.compared += 1
        self.equal += not differing
        verdict = f"{len(differing)} of {len(wanted)} positions differ, from {differing[0]} on" if differing else "equal"
        print(f"{self.mode}: request {which}, {what}: {verdict}", flush=True)

    def in_company(self, what, size):
        """Every watched request with size - 1 others: first, in the middle, last."""
        for which, prompt in enumerate(self.watched):
            at = (size - 1) * (which % 3) // 2
            prompts = self.crowd[:at] + [prompt] + self.crowd[at:size - 1]
            tokens = self.lengths[:at] + [self.tokens] + self.lengths[at:size - 1]
            self.report(what.format(size), which, answer(self.generate(prompts, tokens)[at]))

    def rescored(self, which, company):
        """The log-probabilities of the tokens that were generated, read from one prefill."""
        prompt, tokens = self.watched[which], [struct.unpack("<i", at[:4])[0] for at in self.alone[which]]
        output = self.generate([prompt + tokens] + company, [1] * (1 + len(company)), prompt_logprobs=TOP)[0]
        return [struct.pack("<i", token) + b"".join(struct.pack("<if", key, entry.logprob) for key, entry in at.items())
                for token, at in zip(tokens, output.prompt_logprobs[len(prompt):], strict=True)]

    def run(self):
        self.generate(self.watched[:1] + self.crowd, [2] * (1 + len(self.crowd)))  # compiles
        self.alone = [answer(self.generate([prompt], [self.tokens])[0]) for prompt in self.watched]
        for which, prompt in enumerate(self.watched):
            self.report("again", which, answer(self.generate([prompt], [self.tokens])[0]))
        for size in self.sizes:
            self.in_company("in a batch of {}", size)
        scheduler = self.llm.llm_engine.engine_core.engine_core.scheduler
        whole, scheduler.max_num_scheduled_tokens = scheduler.max_num_scheduled_tokens, CHUNK
        self.in_company(f"prefill in chunks of {CHUNK}, in a batch of {{}}", self.sizes[0])
        scheduler.max_num_scheduled_tokens = whole
        for which, prompt in enumerate(self.watched):
            self.generate([prompt[:len(prompt) * 2 // 3]], [1])
            for part in ("two thirds", "all"):
                self.report(f"{part} of the prompt cached", which,
                            answer(self.generate([prompt], [self.tokens], keep_cache=True)[0]))
        for which in range(len(self.watched)):
            self.report("rescored by one prefill", which, self.rescored(which, []))
            self.report("rescored in company", which, self.rescored(which, self.crowd[:6]))

    def rate(self, size, generated=128):
        """Tokens per second, the median of five runs."""
        from vllm import SamplingParams
        prompts, seconds = [self.prompt(64) for _ in range(size)], []
        sampling = SamplingParams(temperature=0, max_tokens=generated, min_tokens=generated, ignore_eos=True, detokenize=False)
        for _ in range(6):
            self.llm.reset_prefix_cache()
            start = time.perf_counter()
            self.llm.generate([{"prompt_token_ids": each} for each in prompts], sampling, use_tqdm=False)
            seconds.append(time.perf_counter() - start)
        return generated * size / sorted(seconds[1:])[2]


def main():
    mode, path, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    probe = Probe(mode, options)
    if probe.sizes:
        probe.run()
    rates = [(size, probe.rate(size)) for size in map(int, filter(None, options["speed"].split(",")))]
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"mode": mode, "compared": probe.compared, "equal": probe.equal, "speed": rates}, file)
    sys.stdout.flush()
    os._exit(0)  # the engine's threads need not be joined


if __name__ == "__main__":
    main()
