# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Log-probabilities and sampling in one order for every batch.

vLLM's samplers are in no registry, so functions of theirs are replaced by ones that compute as before unless an engine of
this process is ours:

    runner V1  Sampler.compute_logprobs, TopKTopPSampler.forward_*   log-softmax, softmax and masks
               MinPLogitsProcessor.apply                             softmax
    runner V2  logprob.compute_token_logprobs                         log-softmax; its draw is keyed by seed and position
    both       apply_top_k_top_p                                      one form of masks; vLLM's choice depends on the batch
               torch.topk of these modules                            the likeliest tokens; vLLM takes as many for every request as
                                                                      one of the step has, and which of equal ones depends on that
"""
import functools
import importlib

import torch

from detgemm.torch.dispatch import on_device
from detgemm.torch.log_prob import log_probs_of
from detgemm.torch.rows import log_softmax_op, softmax_op
from detgemm.vllm import hooks

V1 = "vllm.v1.sample.sampler"
MASKS = "vllm.v1.sample.ops.topk_topp_sampler"
V2 = "vllm.v1.worker.gpu.sample.logprob"
V2_MASKS = ("vllm.v1.worker.gpu.sample.states", "vllm.v1.worker.gpu.sample.sampler")
MIN_P = "vllm.v1.sample.logits_processor.builtin"
MAX_KEYS = 2**24  # int64 numbers that `topk` has at a time


def token_log_probs(logits, token_ids):
    """fp32 log-probabilities of some tokens per row, in the order that the engine's configuration names."""
    token_ids = token_ids.to(torch.int64)
    if hooks.order() == "logsum16":
        return log_probs_of(logits if logits.dtype == torch.bfloat16 else logits.float(), token_ids)
    return log_softmax_op(logits, torch.float32).gather(-1, token_ids)


def log_probs(logits):
    """fp32 log-probabilities of all tokens."""
    if hooks.order() == "logsum16":
        return token_log_probs(logits, torch.arange(logits.shape[-1], device=logits.device).expand(logits.shape))
    return log_softmax_op(logits, torch.float32)


def replace(owner, name, hook, ours, static=False):
    """owner.name = ours while the hook is active, else what was there; once."""
    theirs = getattr(owner, name)
    if hasattr(theirs, "detgemm"):
        return

    @functools.wraps(theirs)
    def either(*arguments, **more):
        return (ours if hooks.active(hook) else theirs)(*arguments, **more)

    either.detgemm = theirs
    setattr(owner, name, staticmethod(either) if static else either)


def topk(x, k, dim=-1):
    """As torch.topk over the last dimension; of equal values the one with the lesser index is first, for every k."""
    if k == 0:  # runner 1 calls so at every step of a request that takes its own tokens' log-probabilities alone
        return torch.topk(x, 0, dim=-1)
    if x.is_cuda and x.dim() == 2:
        from detgemm.torch.kernels import likeliest
        if k <= likeliest.MOST:
            with on_device(x):
                return torch.return_types.topk(likeliest.topk(x, k))
    return torch.return_types.topk(tuple(map(torch.cat, zip(*(_topk(rows, k) for rows in x.split(max(1, MAX_KEYS // x.shape[-1]))),
                                                            strict=True))))


def _topk(x, k):
    """By keys of which no two are equal: the value's bits, in an order that integers have, then the index, from the last on."""
    x32 = x.float()
    bits = (x32 + 0.0).view(torch.int32)  # -0 is 0
    keys = torch.where(x32.isnan(), 0x7fffffff, torch.where(bits < 0, bits ^ 0x7fffffff, bits)).long().bitwise_left_shift_(32)
    keys += 0x7fffffff - torch.arange(x.shape[-1], device=x.device)
    index = 0x7fffffff - (keys.topk(k, dim=-1).values & 0x7fffffff)
    return x.gather(-1, index), index


class Torch:
    """torch for a module of vLLM, with this `topk` while an engine of the process is ours."""
    detgemm = True

    def __getattr__(self, name):
        return topk if name == "topk" and hooks.active("logprobs") else getattr(torch, name)


def min_p(processor, logits):
    """Takes out tokens less likely than the likeliest one times min_p of their request."""
    if not processor.min_p_count:
        return logits
    probs = softmax_op(logits, torch.float32)
    return logits.masked_fill_(probs < probs.amax(dim=-1, keepdim=True) * processor.min_p, -float("inf"))


def masks(module, on_gpu):
    """vLLM's masks of top-k and top-p by one form: its Triton kernel on a GPU, whose programs take whole rows, and
    PyTorch on a CPU. vLLM takes PyTorch below eight rows on a GPU, whose cumulative sum may depend on the rows."""
    def apply(logits, k, p):
        if k is None and p is None:
            return logits
        if on_gpu and module.HAS_TRITON:
            return module.apply_top_k_top_p_triton(logits, k, p)
        return module.apply_top_k_top_p_pytorch(logits, k, p, allow_cpu_sync=True)
    return apply


def draw(module, masked):
    """TopKTopPSampler.forward_*: every row has noise of its own generator where it has one. vLLM's form for a CPU
    forgets the seeds of all requests where one has none."""
    def forward(self, logits, generators, k, p):
        logits = masked(logits, k, p)
        returned = None
        if self.logprobs_mode == "processed_logits":
            returned = logits
        elif self.logprobs_mode == "processed_logprobs":
            returned = log_probs(logits)
        return module.random_sample(softmax_op(logits, torch.float32), generators, self.use_fp64_gumbel), returned
    return forward


def register(on_gpu):
    """Replaces the functions; safe to call more than once."""
    sampler, module = importlib.import_module(V1), importlib.import_module(MASKS)
    replace(sampler.Sampler, "compute_logprobs", "logprobs", log_probs, static=True)
    masked = masks(module, on_gpu)
    for name in ("forward_native", "forward_cuda", "forward_cpu"):
        replace(module.TopKTopPSampler, name, "sampling", draw(module, masked))
    replace(importlib.import_module(MIN_P).MinPLogitsProcessor, "apply", "sampling", min_p)
    sampler.torch = Torch()
    if on_gpu:
        importlib.import_module(V2).torch = Torch()
        replace(importlib.import_module(V2), "compute_token_logprobs", "logprobs", token_log_probs)
        for name in V2_MASKS:
            replace(importlib.import_module(name), "apply_top_k_top_p", "sampling", masked)


def replaced():
    """Which functions are ours now, by hook; for checks."""
    sampler, module = importlib.import_module(V1), importlib.import_module(MASKS)
    return {"logprobs": hasattr(sampler.Sampler.compute_logprobs, "detgemm") and isinstance(sampler.torch, Torch) and hooks.active("logprobs"),
            "sampling": all(hasattr(getattr(module.TopKTopPSampler, name), "detgemm")
                            for name in ("forward_native", "forward_cuda", "forward_cpu")) and hooks.active("sampling")}
