# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Which parts of a built model the plugin does not compute. A comparison of requests cannot see a layer whose own kernel
happens not to depend on the batch here; this can."""


def layers(model):
    """Pairs of a hook and a layer that is vLLM's own. Called inside of vLLM's worker."""
    from vllm.model_executor.layers import activation, linear, vocab_parallel_embedding
    from vllm.model_executor.layers.attention import Attention
    from vllm.model_executor.layers.fused_moe.routed_experts import RoutedExperts
    from vllm.model_executor.layers.logits_processor import LogitsProcessor
    from vllm.model_executor.layers.rotary_embedding.base import RotaryEmbeddingBase
    from vllm.platforms import current_platform

    from detgemm.vllm import blocks, config, experts, hooks
    found = []
    for name, layer in model.named_modules():
        kind, method = type(layer), getattr(layer, "quant_method", None)
        if isinstance(layer, linear.LinearBase):
            hook, there = "linear", isinstance(method, (config.DetgemmLinearMethod, blocks.DetgemmScaledLinearMethod))
        elif isinstance(layer, RoutedExperts):
            hook, there = "experts", isinstance(method, experts.DetgemmExpertsMethod)
        elif isinstance(layer, vocab_parallel_embedding.VocabParallelEmbedding):
            hook, there = "head", isinstance(method, config.DetgemmEmbeddingMethod)
        elif isinstance(layer, LogitsProcessor):
            hook, there = "head", kind.__module__.startswith("detgemm.") and hooks.used("head")
        elif kind.__name__.endswith("Norm"):
            hook, there = "norm", getattr(layer, "detgemm", False)
        elif kind.__module__ == activation.__name__ or isinstance(layer, activation.SiluAndMul):
            hook, there = "silu", getattr(layer, "detgemm", False)
        elif isinstance(layer, RotaryEmbeddingBase):
            hook, there = "rotary", getattr(layer, "detgemm", False)
        elif isinstance(layer, Attention):
            backend = layer.get_attn_backend()
            ours = backend.__module__.startswith("detgemm.")
            hook, there = "attention", (ours or current_platform.is_cuda() and backend.supports_batch_invariance()) \
                and hooks.used("attention")
        else:
            continue
        if not there:
            found.append((hook, f"{name} ({kind.__name__.removeprefix('Detgemm')})"))
    return found


def foreign(llm):
    """What is vLLM's own, in words, by hook."""
    from detgemm.vllm import sampling
    found = {}
    for hook, name in llm.apply_model(layers)[0]:
        found.setdefault(hook, []).append(name)
    for hook, there in sampling.replaced().items():
        if not there:
            found[hook] = ["the sampler"]
    return {hook: f"{names[0]} and {len(names) - 1} more" if len(names) > 1 else names[0] for hook, names in found.items()}
