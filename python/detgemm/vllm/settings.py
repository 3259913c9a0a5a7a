# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Settings of vLLM under which a row could depend on its batch, or that have not been tried: each is refused."""
import sys

MODE = "VLLM_BATCH_INVARIANT"
# Modules that read the mode when they are imported.
READERS = ("vllm.v1.attention.ops.triton_unified_attention", "vllm.lora.ops.triton_ops.utils")


def choose_invariant_mode(environment, on_gpu):
    """Switches on vLLM's own invariant mode, which selects attention; child processes inherit it.

    It consists of kernels for GPUs. On a CPU it stays off, where it would call Triton.
    """
    if not on_gpu:
        return
    chosen = environment.get(MODE)
    if chosen is not None and chosen.strip() != "1":
        raise ValueError(f"detgemm: {MODE} is {chosen!r}: with quantization=\"detgemm\" it must be 1 or unset, "
                         "since attention is invariant in that mode alone")
    late = [name for name in READERS if name in sys.modules] if chosen is None else []
    if late:
        raise ValueError(f"detgemm: {late[0]} was imported before quantization=\"detgemm\" was chosen: set {MODE}=1 "
                         "in the environment before vLLM is imported")
    environment[MODE] = "1"


def of_attention(head_size, backend):
    """FlashAttention 3 takes another tile of keys for a single query unless a head has 65 to 128 elements, so a decoded
    token has other bits than a prefilled one: seen with 64 on an H100 (docs/vllm.md)."""
    if backend in (None, "FLASH_ATTN") and not 64 < head_size <= 128:
        yield (f"the model's heads have {head_size} elements and the attention backend is {backend or 'automatic'}: FLASH_ATTN "
               "gives a decoded token other bits than a prefilled one there; set attention_backend to TRITON_ATTN")


def refusals(config, on_gpu):
    """A sentence for each setting that is refused. config: vLLM's VllmConfig."""
    parallel, model, cache = config.parallel_config, config.model_config, config.cache_config
    if parallel.tensor_parallel_size != 1:
        yield (f"tensor_parallel_size is {parallel.tensor_parallel_size}: it must be 1, since a sum over ranks has other bits "
               "than one GPU's")
    if parallel.pipeline_parallel_size != 1:
        yield f"pipeline_parallel_size is {parallel.pipeline_parallel_size}: it must be 1, others have not been tested"
    if getattr(parallel, "enable_expert_parallel", False):
        yield "enable_expert_parallel is set: experts are not supported"
    if getattr(parallel, "use_ubatching", False):
        yield "micro-batches of a step (enable_dbo) are set: they have not been tested"
    if config.lora_config is not None:
        yield "enable_lora is set: the products of adapters are not under a contract"
    if config.speculative_config is not None:
        yield "speculative_config is set: drafts change which positions are computed together, which has not been tested"
    if str(getattr(cache, "cache_dtype", "auto")).startswith("fp8"):
        yield f"kv_cache_dtype is {cache.cache_dtype}: it must be auto, or the type of the model"
    if model is not None:
        text = model.hf_config.get_text_config()
        for name in ("linear_num_value_heads", "mamba_d_state", "ssm_state_size"):
            if getattr(text, name, None):
                yield f"the model has recurrent layers ({name} in its config.json): their scan depends on how tokens are cut"
        if getattr(model, "head_dtype", model.dtype) not in (model.dtype, _float32()):
            yield f"head_dtype is {model.head_dtype}: it must be the model's type or float32"
        if on_gpu:
            backend = getattr(config.attention_config, "backend", None)
            yield from of_attention(model.get_head_size(), getattr(backend, "name", backend))


def _float32():
    import torch
    return torch.float32


def check(config, on_gpu):
    """Raises ValueError with all refusals, before a weight is loaded."""
    found = list(refusals(config, on_gpu))
    if found:
        raise ValueError("detgemm: vLLM cannot keep the promise with these settings: " + "; ".join(found))


def check_layer(layer, prefix):
    """Experts have products that are not nn.Linear's; attention and other layers without products get no method."""
    kind = type(layer).__name__
    if "MoE" in kind or "Expert" in kind:
        raise ValueError(f"detgemm: {prefix} is a {kind}: experts are not supported with quantization=\"detgemm\"")
