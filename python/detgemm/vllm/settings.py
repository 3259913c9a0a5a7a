# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Settings of vLLM under which a row could depend on its batch, or that have not been tried: each is refused."""
import sys

MODE = "VLLM_BATCH_INVARIANT"
# Modules that read the mode when they are imported.
READERS = ("vllm.v1.attention.ops.triton_unified_attention", "vllm.lora.ops.triton_ops.utils")


SAMPLER = "VLLM_USE_FLASHINFER_SAMPLER"
# Attention that takes a query's keys in one order, as vLLM declares it or as ours is; None is vLLM's own choice among them.
INVARIANT_ATTENTION = (None, "FLASH_ATTN", "TRITON_ATTN", "FLEX_ATTENTION", "CUSTOM")
# Words of a config.json that has layers whose state runs through the sequence, or experts.
RECURRENT = ("linear_num_value_heads", "mamba_d_state", "ssm_state_size", "mamba_num_heads", "conv_L_cache")
# Properties of vLLM's ModelConfig that must be False.
KINDS = (("is_encoder_decoder", "attention to an encoder has not been tested"),
         ("is_attention_free", "layers without attention have no contract"), ("is_hybrid", "its recurrent layers depend on how tokens are cut"),
         ("is_diffusion", "tokens that are drawn together depend on each other"))
# Loaders that fill a model which vLLM's base class builds, so that it is looked through first (census.py), with weights as they are stored.
LOADERS = ("auto", "hf", "safetensors", "fastsafetensors", "instanttensor", "mistral", "npcache", "pt", "runai_streamer", "dummy")
SHARDED = ("sharded_state", "runai_streamer_sharded")  # parameters as an engine had them
EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")


# Variables of vLLM 0.26 (envs.py) that give products on ROCm to kernels chosen by the number of rows: the variable, whether
# it is on where it is not set, and the variable without which it does nothing.
AITER = "VLLM_ROCM_USE_AITER"
ROCM = (("VLLM_ROCM_USE_SKINNY_GEMM", True, None), (AITER + "_LINEAR", True, AITER), (AITER + "_TRITON_GEMM", True, AITER),
        (AITER + "_MOE", True, AITER))


def switched_on(environment, name, otherwise=False):
    """As vLLM reads a variable."""
    return environment[name].lower() in ("true", "1") if name in environment else otherwise


def of_rocm(environment, contract, row_parallel, products_only):
    """A sentence for each setting under which products on ROCm could depend on the batch, or that promises more than they."""
    if products_only is not True:
        yield (f"products_only is {products_only!r}: on rocm it must be True in quantization_config, since attention, norms and "
               "sampling are vLLM's own there, and a request's answer may depend on its batch through them")
    if contract is None:
        yield "contract is None: on rocm quantization_config must name one, such as cdna3/bf16/chain->bf16 on an MI300X"
    if row_parallel is not None:
        yield f"row_parallel is {row_parallel}: on rocm it must be left out, since sums over ranks have no order there"
    for name, otherwise, needs in ROCM:
        if switched_on(environment, name, otherwise) and (needs is None or switched_on(environment, needs)):
            state = f"{name} is {environment[name]!r}" if name in environment else f"{name} is not set, which is on"
            yield f"{state}: on rocm it must be 0, since its kernels are chosen by the number of rows"


def check_platform(kind, environment=(), contract=None, row_parallel=None, products_only=False):
    """kind: "cuda", "cpu" or another of vLLM's platforms, such as "rocm". Raises ValueError for what is refused there."""
    if kind == "rocm":
        found = list(of_rocm(dict(environment), contract, row_parallel, products_only))
        if found:
            raise ValueError("detgemm: vLLM cannot keep the promise with these settings: " + "; ".join(found))
        return
    if products_only is not False:
        raise ValueError(f"detgemm: products_only is {products_only!r}: it is for rocm, and vLLM's platform is \"{kind}\"")
    if kind not in ("cuda", "cpu"):
        raise ValueError(f'detgemm: vLLM\'s platform is "{kind}": quantization="detgemm" is for cuda, cpu and rocm: nothing has '
                         "run there")


def choose_invariant_mode(environment, on_gpu):
    """Switches on vLLM's own invariant mode, which selects attention, and off a sampler that draws by a request's place
    in the batch; child processes inherit both.

    They consist of kernels for GPUs. On a CPU this changes nothing: the mode would call Triton there.
    """
    if not on_gpu:
        return
    chosen = environment.get(MODE)
    if chosen is not None and chosen.strip() != "1":
        raise ValueError(f"detgemm: {MODE} is {chosen!r}: with quantization=\"detgemm\" it must be 1 or unset, "
                         "since attention is invariant in that mode alone")
    if environment.get(SAMPLER, "0").strip() != "0":
        raise ValueError(f"detgemm: {SAMPLER} is {environment[SAMPLER]!r}: with quantization=\"detgemm\" it must be 0 or unset, "
                         "since that sampler draws by a request's place in the batch")
    late = [name for name in READERS if name in sys.modules] if chosen is None else []
    if late:
        raise ValueError(f"detgemm: {late[0]} was imported before quantization=\"detgemm\" was chosen: set {MODE}=1 "
                         "in the environment before vLLM is imported")
    environment[MODE], environment[SAMPLER] = "1", "0"


def name_of(backend):
    return getattr(backend, "name", backend)


def of_attention(head_size, backend):
    """FlashAttention 3 takes another tile of keys for a single query unless a head has 65 to 128 elements, so a decoded
    token has other bits than a prefilled one: seen with 64 on an H100 (docs/vllm.md)."""
    if backend not in INVARIANT_ATTENTION:
        yield (f"the attention backend is {backend}: it must be {', '.join(INVARIANT_ATTENTION[1:])}, since others take a "
               "query's keys in an order that depends on the batch, or have not been tested")
    elif backend in (None, "FLASH_ATTN") and not 64 < head_size <= 128:
        yield (f"the model's heads have {head_size} elements and the attention backend is {backend or 'automatic'}: FLASH_ATTN "
               "gives a decoded token other bits than a prefilled one there; set attention_backend to TRITON_ATTN")


def of_parallelism(parallel, row_parallel):
    """row_parallel: whether a contract for layers whose K is spread over ranks is given."""
    ranks = parallel.tensor_parallel_size
    if ranks != 1 and not row_parallel:
        yield (f"tensor_parallel_size is {ranks}: it must be 1 unless quantization_config names row_parallel, a contract with "
               "tree:LEAF, since any other sum over ranks has other bits than one rank's")
    if ranks & (ranks - 1) != 0:
        yield f"tensor_parallel_size is {ranks}: it must be a power of two, since ranks are joined by halves"
    for name in ("pipeline_parallel_size", "prefill_context_parallel_size", "decode_context_parallel_size"):
        if getattr(parallel, name, 1) != 1:
            yield f"{name} is {getattr(parallel, name)}: it must be 1, others have not been tested"
    if getattr(parallel, "enable_eplb", False):
        yield "enable_eplb is set: experts that move between ranks have not been tested"
    if getattr(parallel, "use_ubatching", False):
        yield "micro-batches of a step (enable_dbo) are set: they have not been tested"


def of_experts(model, parallel):
    """Experts belong to ranks whole, and every rank has all tokens: their roots are joined as those of a row-parallel layer."""
    text = model.hf_config.get_text_config()
    counts = [(name, getattr(text, name)) for name in EXPERTS if isinstance(getattr(text, name, None), int) and getattr(text, name) > 1]
    ranks = parallel.tensor_parallel_size
    if counts and ranks > 1:
        name, count = counts[0]
        if not getattr(parallel, "enable_expert_parallel", False):
            yield (f"tensor_parallel_size is {ranks}, the model has {count} experts ({name} in its config.json) and enable_expert_parallel is not "
                   "set: it must be, since an expert's own sum over K has no order over ranks")
        if ranks > 8 or count % ranks != 0:
            yield (f"tensor_parallel_size is {ranks} and the model has {count} experts ({name} in its config.json): it must be at most 8 and "
                   "divide them, since they are summed by eighths")
        if getattr(parallel, "expert_placement_strategy", "linear") != "linear":
            yield f"expert_placement_strategy is {parallel.expert_placement_strategy}: it must be linear, so that a rank has neighbours"
    if counts and getattr(parallel, "data_parallel_size", 1) != 1:
        yield f"data_parallel_size is {parallel.data_parallel_size}: with experts it must be 1, others have not been tested"
    if counts and getattr(model, "enable_return_routed_experts", False):
        yield "enable_return_routed_experts is set: the choice is not vLLM's, which would be returned"
    if ranks > 1 and _method(model) == "fp8":
        yield f"tensor_parallel_size is {ranks}: with a checkpoint of e4m3 it must be 1, since sums under scaled:128 have no tree over ranks"


def _method(model):
    weights = getattr(model.hf_config, "quantization_config", None)
    return weights.get("quant_method") if isinstance(weights, dict) else getattr(weights, "quant_method", None)


def of_model(model):
    """What a model's own configuration says."""
    text = model.hf_config.get_text_config()
    for name in RECURRENT:
        if getattr(text, name, None):
            yield f"the model has recurrent layers ({name} in its config.json): their scan depends on how tokens are cut"
    kinds = {str(kind) for kind in getattr(text, "layer_types", None) or ()} - {"full_attention", "sliding_attention", "attention"}
    if kinds:
        yield (f"the model has layers of the type {', '.join(sorted(kinds))}: they must be full_attention or sliding_attention, since others "
               "depend on how tokens are cut, or have not been tested")
    for name, why in KINDS:
        if getattr(model, name, False):
            yield f"the model's {name} is True: {why}"
    runner = getattr(model, "runner_type", "generate")
    if runner != "generate":
        yield f"runner is {runner}: it must be generate, since poolers add up tokens in an order of their own"
    if getattr(model, "use_mla", False):
        yield "the model has latent attention (MLA): it has not been tested"
    if getattr(model, "is_multimodal_model", False):
        yield "the model takes images or sound: the layers that read them are not under a contract"
    method = _method(model)
    if method not in (None, "detgemm", "fp8"):  # blocks.py says which fp8
        yield f"the checkpoint is quantised ({method}): the products of such weights are not under a contract"
    if getattr(model, "head_dtype", model.dtype) not in (model.dtype, _float32()):
        yield f"head_dtype is {model.head_dtype}: it must be the model's type or float32"


def of_loading(kind, method):
    """kind: vLLM's load_format; method: the checkpoint's quant_method."""
    if kind not in (*LOADERS, *SHARDED):
        yield (f"load_format is {kind}: it must be {', '.join(LOADERS + SHARDED)}, since other loaders build a model themselves or change its "
               "weights")
    if kind in SHARDED and method == "fp8":
        yield f"load_format is {kind}: with a checkpoint of e4m3 it must be another, since an engine stores its scales in forms of its own"


def refusals(config, on_gpu, row_parallel=False):
    """A sentence for each setting that is refused. config: vLLM's VllmConfig."""
    model, cache = config.model_config, config.cache_config
    yield from of_parallelism(config.parallel_config, row_parallel)
    if config.lora_config is not None:
        yield "enable_lora is set: the products of adapters are not under a contract"
    if config.speculative_config is not None:
        yield "speculative_config is set: drafts change which positions are computed together, which has not been tested"
    if getattr(config, "kv_transfer_config", None) is not None:
        yield "kv_transfer_config is set: keys and values that another engine computed have not been tested"
    kind = str(getattr(cache, "cache_dtype", "auto"))
    if kind not in ("auto", "bfloat16", "float16"):
        yield f"kv_cache_dtype is {kind}: it must be auto, or the type of the model"
    if model is None:
        return
    yield from of_loading(str(getattr(getattr(config, "load_config", None), "load_format", "auto")), _method(model))
    yield from of_model(model)
    yield from of_experts(model, config.parallel_config)
    if on_gpu:
        attention = config.attention_config
        for backend in {name_of(each) for each in (attention.backend, *(getattr(attention, "backend_per_kind", None) or {}).values())}:
            yield from of_attention(model.get_head_size(), backend)
        if not getattr(model, "disable_cascade_attn", True):
            yield "disable_cascade_attn is False: cascade attention cuts a query's keys by what requests share"


def _float32():
    import torch
    return torch.float32


def check(config, on_gpu, row_parallel=False):
    """Raises ValueError with all refusals, before a weight is loaded."""
    found = list(refusals(config, on_gpu, row_parallel))
    if found:
        raise ValueError("detgemm: vLLM cannot keep the promise with these settings: " + "; ".join(found))


def check_experts(kind, prefix):
    if kind == "rocm":
        raise ValueError(f"detgemm: {prefix} is a layer of experts: they are not supported with quantization=\"detgemm\" on rocm")


def check_layer(layer, prefix):
    """Other kinds of experts have products that are not nn.Linear's; attention and other layers without products get no method."""
    kind = type(layer).__name__
    if "MoE" in kind or "Expert" in kind:
        raise ValueError(f"detgemm: {prefix} is a {kind}: experts are not supported with quantization=\"detgemm\"")
    if any(word in kind for word in ("Mamba", "GatedDelta", "ShortConv")):
        raise ValueError(f"detgemm: {prefix} is a {kind}: recurrent layers are not supported with quantization=\"detgemm\"")
