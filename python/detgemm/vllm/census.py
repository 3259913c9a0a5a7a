# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Which parts of a built model the plugin does not compute.

An engine does not start with one, whatever its architecture: a layer that is not known here could sum in an order that depends on
the batch. A check (`python -m detgemm.vllm check`) names them too, since a comparison of requests cannot see a layer whose own
kernel happens not to depend on the batch here.

    linear layers, experts, heads, norms, activations, rotary embeddings, attention    ours, or named
    tables of rows that are gathered, containers                                       no arithmetic
    anything else with weights of its own                                              named
"""
import functools

BIASES = {"e_score_correction_bias", "expert_bias"}  # of a choice of experts, which is the experts' layer's


def judge(layer):
    """The hook that a layer belongs to and whether it is ours; None for a layer without arithmetic."""
    import torch
    from vllm.model_executor.layers import activation, linear, vocab_parallel_embedding
    from vllm.model_executor.layers.attention import Attention
    from vllm.model_executor.layers.attention_layer_base import AttentionLayerBase
    from vllm.model_executor.layers.fused_moe.routed_experts import RoutedExperts
    from vllm.model_executor.layers.logits_processor import LogitsProcessor

    from detgemm.vllm import blocks, config, experts, hooks
    kind, method, marked = type(layer), getattr(layer, "quant_method", None), getattr(layer, "detgemm", False)
    weights = {name: weight for name, weight in layer.named_parameters(recurse=False) if name not in BIASES}
    if isinstance(layer, linear.LinearBase):
        return "linear", isinstance(method, (config.DetgemmLinearMethod, blocks.DetgemmScaledLinearMethod))
    if isinstance(layer, RoutedExperts):
        return "experts", isinstance(method, experts.DetgemmExpertsMethod)
    if isinstance(layer, vocab_parallel_embedding.ParallelLMHead):
        return "head", isinstance(method, config.DetgemmEmbeddingMethod)
    if isinstance(layer, LogitsProcessor):
        return "head", bool(marked) and hooks.used("head")
    if isinstance(layer, (vocab_parallel_embedding.VocabParallelEmbedding, torch.nn.Embedding)):
        return None
    if kind.__name__.endswith("Norm"):
        return "norm", marked
    if isinstance(layer, activation.SiluAndMul) or kind.__module__ in (activation.__name__, "torch.nn.modules.activation", "transformers.activations"):
        return "silu", marked
    if any(word in kind.__name__.lower() for word in ("rotary", "rope")):
        return "rotary", marked
    if isinstance(layer, AttentionLayerBase):
        return "attention", kind is Attention and hooks.used("attention") and attends(layer)
    if weights:
        return "linear" if any(weight.dim() > 1 for weight in weights.values()) else "norm", False
    return None


def attends(layer):
    """Whether an attention layer's backend takes a query's keys in one order."""
    from vllm.platforms import current_platform
    from vllm.v1.attention.backend import AttentionType
    backend = layer.get_attn_backend()
    return layer.attn_type == AttentionType.DECODER and \
        (backend.__module__.startswith("detgemm.") or current_platform.is_cuda() and backend.supports_batch_invariance())


def layers(model):
    """Pairs of a hook and a layer that is vLLM's own. Called inside of vLLM's worker."""
    found, inside = [], "?"  # a rotary embedding that is ours does not call the layers in it
    for name, layer in model.named_modules():
        if name.startswith(inside):
            continue
        hook, there = judge(layer) or (None, True)
        if hook == "rotary" and there:
            inside = name + "."
        if not there:
            found.append((hook, f"{name} ({type(layer).__name__.removeprefix('Detgemm')})"))
    return found


def by_hook(found):
    """Pairs of a hook and a layer in words, by hook."""
    names = {}
    for hook, name in found:
        names.setdefault(hook, []).append(name)
    return {hook: f"{each[0]} and {len(each) - 1} more" if len(each) > 1 else each[0] for hook, each in names.items()}


def foreign(llm):
    """What is vLLM's own, in words, by hook."""
    from detgemm.vllm import sampling
    found = by_hook(llm.apply_model(layers)[0])
    return found | {hook: "the sampler" for hook, there in sampling.replaced().items() if not there}


def check(model):
    """Raises ValueError where a built model has a layer that the plugin should compute and does not."""
    from detgemm.vllm import hooks
    found = by_hook((hook, name) for hook, name in layers(model) if hooks.used(hook))
    if found:
        raise ValueError("detgemm: the model has layers that are not supported with quantization=\"detgemm\", since their sums and "
                         "roundings have no written order: " + "; ".join(f"{hook}: {name}" for hook, name in found.items()))


def register():
    """Has a model looked through when it is built, before a weight is loaded; safe to call more than once."""
    from vllm.model_executor.model_loader import base_loader

    from detgemm.vllm import config
    theirs = base_loader.initialize_model
    if hasattr(theirs, "detgemm"):
        return

    @functools.wraps(theirs)
    def initialize_model(*arguments, **more):
        model = theirs(*arguments, **more)
        given = more.get("vllm_config", arguments[0] if arguments else None)
        if isinstance(given.quant_config, config.DetgemmConfig):
            check(model)
        return model

    initialize_model.detgemm = theirs
    base_loader.initialize_model = initialize_model
