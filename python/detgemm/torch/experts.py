# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Mixtures of experts of transformers (Mixtral, Qwen3-MoE), forward passes: one product per expert.

A token's result depends on the token alone: its experts are the largest probabilities, of equal ones
the first; its row is multiplied with each under the policy; and their results are added in the order
of choice (`combine_experts`). The host reads how many tokens an expert has, so this cannot be captured in a CUDA graph.
`grouped_experts` is another way, with gradients and no wait: grouped products.
"""
import torch

from detgemm.torch.combining import combine_experts
from detgemm.torch.dispatch import refuse
from detgemm.torch.grouped import grouped_linear
from detgemm.torch.layers import linear
from detgemm.torch.mixture import top_experts
from detgemm.torch.routing import gather_rows, segments
from detgemm.torch.rows import softmax


def grouped_experts(self, hidden_states, top_k_index, top_k_weights):
    """What transformers calls for a layer of experts that has a policy. Tokens sent to no expert here get zeros."""
    slots = top_k_index.shape[-1]
    turn = (lambda weight: weight.mT) if self.is_transposed else (lambda weight: weight)
    offs, index, places = segments(top_k_index.reshape(-1), self.num_experts)
    x = gather_rows(hidden_states, index, places, slots)
    x = grouped_linear(x, turn(self.gate_up_proj if self.has_gate else self.up_proj), offs, self.policy)
    x = self._apply_gate(x) if self.has_gate else self.act_fn(x)
    x = grouped_linear(x, turn(self.down_proj), offs, self.policy)
    return combine_experts(x, places, top_k_weights, dtype=hidden_states.dtype)


class Router:
    """Probabilities by detgemm's softmax; a stable sort, so that ties have one answer."""

    def forward(self, hidden_states):
        x = hidden_states.reshape(-1, self.hidden_dim)
        logits = linear(x, self.weight, None, self.policy)
        values, places = top_experts(softmax(logits, dtype=torch.float32), self.top_k, norm=getattr(self, "norm_topk_prob", True))
        return logits, values.to(logits.dtype) if hasattr(self, "norm_topk_prob") else values, places


class Experts:
    """Weights E x N x K, of which each multiplies the tokens that chose it."""

    def forward(self, hidden_states, top_k_index, top_k_weights):
        refuse(torch.is_grad_enabled() and self.gate_up_proj.requires_grad,
               "gradients are enabled: those of experts are not covered; use torch.no_grad()")
        count, slots = top_k_index.shape
        chosen, order = torch.sort(top_k_index.reshape(-1), stable=True)
        ends = torch.searchsorted(chosen, torch.arange(self.num_experts, device=chosen.device), right=True).tolist()
        found = hidden_states.new_empty((count * slots, hidden_states.shape[-1]))
        for expert, (start, end) in enumerate(zip([0, *ends], ends)):
            if start < end:
                rows = order[start:end]
                both = linear(hidden_states[rows // slots], self.gate_up_proj[expert], None, self.policy)
                gate, up = both.chunk(2, dim=-1)
                found[rows] = linear(self.act_fn(gate) * up, self.down_proj[expert], None, self.policy)
        return combine_experts(found, torch.arange(len(found), device=found.device), top_k_weights, dtype=hidden_states.dtype)


KINDS = {"MixtralTopKRouter": Router, "Qwen3MoeTopKRouter": Router, "MixtralExperts": Experts,
         "Qwen3MoeExperts": Experts}


def convert_experts(model, policy):
    """Makes every known router and every known set of experts ours, in place; returns their names."""
    names = []
    for name, module in model.named_modules():
        ours = KINDS.get(type(module).__name__)
        if ours is not None:
            module.__class__ = type("Detgemm" + type(module).__name__, (ours, type(module)), {})
            module.policy = policy
            names.append(name)
    return names
