# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""What is between the product of q, k and v and attention: norms of heads where a model has them, the rotary embedding and the
write to the cache, in one kernel. The bits are those of the layers apart; an engine's step has fewer kernels per layer.
"""
import functools
import sys

from vllm.logger import init_logger

from detgemm.vllm import store

# What vLLM's forward reads, in the order in which it first does.
NORMED = ("qkv_proj", "split", "q_size", "kv_size", "view", "shape", "head_dim", "q_norm", "k_norm", "rotary_emb", "attn", "o_proj")
# Modules of models, their attention layers, and the forward of those. A module that is not loaded is the module of another model.
LAYERS = {
    ("vllm.model_executor.models.qwen3", "Qwen3Attention"): NORMED,
    ("vllm.model_executor.models.qwen3_moe", "Qwen3MoeAttention"): NORMED,
    ("vllm.model_executor.models.llama", "LlamaAttention"): ("qkv_proj", "split", "q_size", "kv_size", "rotary_emb", "attn", "o_proj"),
}
logger = init_logger("vllm.detgemm")


def ours(layer, normed):
    """Whether the rotary embedding of a layer and its norms, where it has them, are detgemm's, and one kernel has them."""
    norms, rotary = (layer.q_norm, layer.k_norm) if normed else (), layer.rotary_emb
    return all(getattr(each, "detgemm", False) for each in (*norms, rotary)) and hasattr(rotary, "_ours") and \
        rotary.head_size == layer.head_dim and \
        len({each.variance_epsilon for each in norms}) <= 1


def replace(owner, known):
    """owner.forward with one kernel in place of its layers. Another body than the known one is left as it is, in words."""
    theirs = owner.forward
    if hasattr(theirs, "detgemm"):
        return
    if theirs.__code__.co_names != known:
        logger.warning_once("detgemm: %s.forward of this vLLM is not the one that the plugin was written for: its norms, rotary embedding "
                            "and write to the cache stay kernels apart, with the same bits and less speed", owner.__name__)
        return
    normed = "q_norm" in known

    @functools.wraps(theirs)
    def forward(self, positions, hidden_states):
        if not ours(self, normed):
            return theirs(self, positions, hidden_states)
        q, k, v = self.qkv_proj(hidden_states)[0].split([self.q_size, self.kv_size, self.kv_size], dim=-1)
        weights = (self.q_norm.weight.data, self.k_norm.weight.data) if normed else (None, None)
        eps = self.q_norm.variance_epsilon if normed else 0.0
        if store.serves(self.attn):
            return self.o_proj(store.attended(self.attn, self.rotary_emb, positions, q, k, v, weights, eps))[0]
        q, k = self.rotary_emb._ours(positions, q, k, weights, eps)
        return self.o_proj(self.attn(q, k, v))[0]

    forward.detgemm = theirs
    owner.forward = forward


def register(config):
    """Replaces the layers' forward in modules that are loaded; safe to call more than once. config: vLLM's VllmConfig."""
    store.register(config.compilation_config)
    for (module, name), known in LAYERS.items():
        if module in sys.modules:
            replace(getattr(sys.modules[module], name), known)
