# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Attention layers whose queries and keys have norms of their own: both norms and the rotary embedding in one kernel.

The bits are those of the layers apart. An engine's step has three kernels fewer per layer.
"""
import functools
import sys

# Modules of models and their attention layers. A module that is not loaded is the module of another model.
LAYERS = (("vllm.model_executor.models.qwen3", "Qwen3Attention"), ("vllm.model_executor.models.qwen3_moe", "Qwen3MoeAttention"))
# What vLLM's forward reads, in the order in which it first does: another body is left as it is.
KNOWN = ("qkv_proj", "split", "q_size", "kv_size", "view", "shape", "head_dim", "q_norm", "k_norm", "rotary_emb", "attn", "o_proj")


def ours(layer):
    """Whether both norms and the rotary embedding of a layer are detgemm's, and one kernel has them."""
    of_q, of_k, rotary = layer.q_norm, layer.k_norm, layer.rotary_emb
    return getattr(of_q, "detgemm", False) and getattr(of_k, "detgemm", False) and getattr(rotary, "detgemm", False) and \
        of_q.variance_epsilon == of_k.variance_epsilon and rotary.head_size == layer.head_dim


def replace(owner):
    theirs = owner.forward
    if hasattr(theirs, "detgemm") or theirs.__code__.co_names != KNOWN:
        return

    @functools.wraps(theirs)
    def forward(self, positions, hidden_states):
        if not ours(self):
            return theirs(self, positions, hidden_states)
        q, k, v = self.qkv_proj(hidden_states)[0].split([self.q_size, self.kv_size, self.kv_size], dim=-1)
        q, k = self.rotary_emb._ours(positions, q, k, (self.q_norm.weight.data, self.k_norm.weight.data), self.q_norm.variance_epsilon)
        return self.o_proj(self.attn(q, k, v))[0]

    forward.detgemm = theirs
    owner.forward = forward


def register():
    """Replaces the layers' forward in modules that are loaded; safe to call more than once."""
    for module, name in LAYERS:
        if module in sys.modules:
            replace(getattr(sys.modules[module], name))
