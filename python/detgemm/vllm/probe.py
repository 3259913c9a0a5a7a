# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""One engine of `python -m detgemm.vllm check`: runs requests alone and in company and counts equal answers.

An answer is its token ids and, per position, the log-probabilities of the chosen token and of the five likeliest, as
fp32. Prompts are token ids, so a model needs no tokenizer.
"""
import contextlib
import hashlib
import json
import math
import os
import random
import struct
import sys
import time
import zlib

LENGTHS = (211, 1037, 5, 8000, 480, 17, 129, 800)  # of the prompts that are compared, where --longest allows
CROWD = (40, 40, 400, 400, 400, 1200, 1200)        # bounds of the lengths of others, and --longest
CHUNK = 192                                        # tokens per step where prefill is cut
TOP = 5
ONE_IN_E4M3 = 64                                   # the standard deviation of weights drawn in e4m3
# What a request that draws its tokens asks for, besides a seed.
DRAWN = ({"temperature": 0.8}, {"temperature": 1.0, "top_k": 40, "top_p": 0.9})


def draw_weights(model):
    """Weights whose activations neither vanish nor explode, from the parameters' names. Called inside of vLLM's worker."""
    import torch
    seen = set()
    for name, weight in sorted(model.named_parameters()):
        if weight.data_ptr() in seen:
            continue
        seen.add(weight.data_ptr())
        generator = torch.Generator(device=weight.device).manual_seed(zlib.crc32(name.encode()))
        for part in weight.unbind() if weight.dim() == 3 else [weight]:  # an expert at a time
            values = torch.randn(part.shape, generator=generator, device=weight.device, dtype=torch.float32)
            if weight.dim() == 1:
                # The last norm has signs: with tied embeddings every token would otherwise answer itself.
                values = values.sign() + 0.1 * values if name.endswith("model.norm.weight") else 1 + 0.1 * values
            elif name.endswith("_scale_inv"):  # of blocks of 128 x 128
                values = (1 + 0.1 * values) / (ONE_IN_E4M3 * math.sqrt(128 * part.shape[-1]))
            elif part.dtype == torch.float8_e4m3fn:
                values *= ONE_IN_E4M3
            else:
                values *= (3 if "embed" in name or "lm_head" in name else 1) / math.sqrt(part.shape[-1])
            with torch.inference_mode():
                part.copy_(values.to(part.dtype))


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
        longest = options["longest"]
        self.llm = LLM(**{"model": options["model"], "skip_tokenizer_init": True, "seed": 0, "max_model_len": max(4096, longest + 512),
                          "enforce_eager": options["eager"], "enable_prefix_caching": True, "generation_config": "vllm",
                          "max_num_batched_tokens": 4096, "disable_log_stats": True, **more})
        if options["random_weights"]:
            self.llm.apply_model(draw_weights)
            self.llm.reset_prefix_cache()
        self.tokens, self.mode = options["tokens"], mode
        core = getattr(self.llm.llm_engine.engine_core, "engine_core", None)  # None: in a process of its own, which times alone
        self.scheduler = core and core.scheduler
        self.pool = core and self.scheduler.kv_cache_manager.block_pool
        self.page = self.llm.llm_engine.vllm_config.cache_config.block_size
        self.groups = core and len(self.scheduler.kv_cache_config.kv_cache_groups)  # of layers, each with blocks of its own
        draw = random.Random(7)
        words = self.llm.llm_engine.vllm_config.model_config.get_vocab_size()
        self.prompt = lambda length: [draw.randrange(10, words) for _ in range(length)]
        self.watched = [self.prompt(min(length, longest)) for length in LENGTHS[:options["requests"]]]
        self.sizes = [int(size) for size in filter(None, options["batches"].split(","))]
        self.crowd = [self.prompt(draw.randint(1, min(longest, draw.choice((*CROWD, longest))))) for _ in range(max(self.sizes, default=0))]
        self.lengths = [draw.choice((self.tokens, draw.randint(1, self.tokens))) for _ in self.crowd]
        self.equal = self.compared = self.cached = self.preempted = 0
        self.alone = []

    def sampling(self, count, **more):
        from vllm import SamplingParams
        return SamplingParams(**{"temperature": 0, "max_tokens": count, "min_tokens": count, "ignore_eos": True, "detokenize": False,
                                 "logprobs": TOP, **more})

    def generate(self, prompts, sampling, keep_cache=False):
        """Outputs in order. sampling: per request, a number of tokens or what `sampling` makes."""
        if not keep_cache and not self.llm.reset_prefix_cache():
            raise RuntimeError("the prefix cache could not be reset")
        return self.llm.generate([{"prompt_token_ids": each} for each in prompts],
                                 [self.sampling(each) if isinstance(each, int) else each for each in sampling], use_tqdm=False)

    def report(self, what, found, wanted):
        differing = [at for at, pair in enumerate(zip(wanted, found, strict=True)) if pair[0] != pair[1]]
        self.compared += 1
        self.equal += not differing
        verdict = f"{len(differing)} of {len(wanted)} positions differ, from {differing[0]} on" if differing else "equal"
        print(f"{self.mode}: {what}: {verdict}", flush=True)

    def in_company(self, what, size, wanted, **more):
        """Watched requests in batches of a size, spread from the first place to the last; one in each batch of few."""
        together = len(self.watched) if size > 2 * len(self.watched) else 1
        for first in range(0, len(self.watched), together):
            prompts, sampling = self.crowd[:size - together], self.lengths[:size - together]
            places = [(size - 1) * (first % 3) // 2] if together == 1 else \
                [which * (size - 1) // max(1, together - 1) for which in range(together)]
            for which, at in enumerate(places, first):
                prompts = prompts[:at] + [self.watched[which]] + prompts[at:]
                mine = self.sampling(self.tokens, **{**more, **({"seed": which} if more else {})})
                sampling = sampling[:at] + [mine] + sampling[at:]
            outputs = self.generate(prompts, sampling)
            for which, at in enumerate(places, first):
                self.report(f"request {which}, {what}", answer(outputs[at]), wanted[which])

    def cut(self):
        """A prompt in chunks, and with a prefix cached: a part, all of it, what is left when the rest was evicted."""
        whole, self.scheduler.max_num_scheduled_tokens = self.scheduler.max_num_scheduled_tokens, CHUNK
        self.in_company(f"prefill in chunks of {CHUNK}, in a batch of {self.sizes[0]}", self.sizes[0], self.alone)
        self.scheduler.max_num_scheduled_tokens = whole
        for which, prompt in enumerate(self.watched):
            self.generate([prompt[:len(prompt) * 2 // 3]], [1])
            for part in ("two thirds of the prompt", "all of the prompt", "what an eviction of half left"):
                if part.endswith("left"):
                    keep = len(prompt) // self.page // 2 * self.groups
                    self.pool.free_blocks(self.pool.get_new_blocks(self.pool.get_num_free_blocks() - keep))
                output = self.generate([prompt], [self.tokens], keep_cache=True)[0]
                self.cached += output.num_cached_tokens
                self.report(f"request {which}, {part} cached ({output.num_cached_tokens} tokens)", answer(output), self.alone[which])

    @contextlib.contextmanager
    def blocks(self, count):
        """Leaves so many blocks of the cache for requests, and counts requests that lose theirs meanwhile."""
        held, preempt = self.pool.get_new_blocks(self.pool.get_num_free_blocks() - count), self.scheduler._preempt_request

        def counted(*arguments, **more):
            self.preempted += 1
            return preempt(*arguments, **more)

        self.scheduler._preempt_request = counted
        yield
        self.scheduler._preempt_request = preempt
        self.pool.free_blocks(held)

    def resumed(self):
        """Three requests whose prompts fill the cache: each needs one more block per group of layers for its third token, so one has to
        wait."""
        pages = 1 + -(-self.tokens // self.page)
        prompts = [self.prompt(pages * self.page - 1) for _ in range(3)]
        wanted = [answer(self.generate([prompt], [self.tokens])[0]) for prompt in prompts]
        if not self.llm.reset_prefix_cache():
            raise RuntimeError("the prefix cache could not be reset")
        with self.blocks(3 * pages * self.groups):
            found = self.generate(prompts, [self.tokens] * 3, keep_cache=True)
        if not self.preempted:
            raise RuntimeError("no request was preempted, so none could be compared after it")
        for which, output in enumerate(found):
            self.report(f"request {which} of three that preempt each other", answer(output), wanted[which])

    def drawn(self):
        """Requests that draw their tokens by a seed, among others that do not."""
        for more in DRAWN:
            words = ", ".join(f"{name} {value}" for name, value in more.items())
            wanted = [answer(self.generate([prompt], [self.sampling(self.tokens, seed=which, **more)])[0])
                      for which, prompt in enumerate(self.watched)]
            for size in self.sizes:
                self.in_company(f"with a seed and {words}, in a batch of {size}", size, wanted, **more)

    def rescored(self, which, company):
        """The log-probabilities of the tokens that were generated, read from one prefill."""
        prompt, tokens = self.watched[which], [struct.unpack("<i", at[:4])[0] for at in self.alone[which]]
        sampling = [self.sampling(1, prompt_logprobs=TOP)] * (1 + len(company))
        output = self.generate([prompt + tokens] + company, sampling)[0]
        return [struct.pack("<i", token) + b"".join(struct.pack("<if", key, entry.logprob) for key, entry in at.items())
                for token, at in zip(tokens, output.prompt_logprobs[len(prompt):], strict=True)]

    def run(self):
        self.generate(self.watched[:1] + self.crowd, [2] * (1 + len(self.crowd)))  # compiles
        self.alone = [answer(self.generate([prompt], [self.tokens])[0]) for prompt in self.watched]
        for which, prompt in enumerate(self.watched):
            self.report(f"request {which}, again", answer(self.generate([prompt], [self.tokens])[0]), self.alone[which])
        for size in self.sizes:
            self.in_company(f"in a batch of {size}", size, self.alone)
        self.cut()
        self.resumed()
        for which in range(len(self.watched)):
            self.report(f"request {which}, rescored by one prefill", self.rescored(which, []), self.alone[which])
            self.report(f"request {which}, rescored in company", self.rescored(which, self.crowd[:6]), self.alone[which])
        self.drawn()

    def rate(self, size, generated=128):
        """Tokens per second, the median of five runs."""
        prompts, seconds = [self.prompt(64) for _ in range(size)], []
        for _ in range(6):
            self.llm.reset_prefix_cache()
            start = time.perf_counter()
            self.generate(prompts, [self.sampling(generated, logprobs=None)] * size, keep_cache=True)
            seconds.append(time.perf_counter() - start)
        return generated * size / sorted(seconds[1:])[2]


def record(mode, options):
    from vllm.platforms import current_platform
    if mode == "vllm" and not current_platform.is_cuda():
        return {"mode": mode, "left_out": "vLLM's own mode is for GPUs"}
    from detgemm.vllm import census, hooks
    hooks.leave_out(options["without"])
    probe = Probe(mode, options)
    foreign = census.foreign(probe.llm) if mode == "detgemm" else {}
    for hook, name in foreign.items():
        print(f"{mode}: {hooks.NAMES[hook]}: vLLM's own in {name}", flush=True)
    if probe.sizes:
        probe.run()
    rates = [(size, probe.rate(size)) for size in map(int, filter(None, options["speed"].split(",")))]
    digest = hashlib.sha256(b"".join(b"".join(each) for each in probe.alone)).hexdigest()
    return {"mode": mode, "without": options["without"], "compared": probe.compared, "equal": probe.equal, "foreign": foreign,
            "cached": probe.cached, "preempted": probe.preempted, "digest": digest, "speed": rates}


def main():
    mode, path, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    found = record(mode, options)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(found, file)
    sys.stdout.flush()
    os._exit(0)  # the engine's threads need not be joined


if __name__ == "__main__":
    main()
