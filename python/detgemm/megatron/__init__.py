# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Megatron Core on detgemm, by its local layer specification: no Transformer Engine, no Apex. See docs/trainers.md.

    spec = detgemm.megatron.get_gpt_layer_spec(policy, across_ranks="hopper/bf16/tree:512->bf16")
    model = GPTModel(config, transformer_layer_spec=spec, position_embedding_type="rope", ...)
    detgemm.megatron.use(model, policy, across_ranks="hopper/bf16/tree:512->bf16")
"""
from detgemm.megatron.experts import Experts
from detgemm.megatron.loss import vocab_parallel_cross_entropy
from detgemm.megatron.model import use
from detgemm.megatron.spec import SpecProvider, get_gpt_layer_spec
from detgemm.torch.gradient_tree import GradientTree

__all__ = ["Experts", "GradientTree", "SpecProvider", "get_gpt_layer_spec", "use", "vocab_parallel_cross_entropy"]
