# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Masters and gradients in fp32 for bf16 weights, with Adam; what rl.py and train.py share."""
import torch

import detgemm.torch


class Trainer:
    """Gradients of detgemm's layers arrive in main_grad; those of PyTorch's layers are added to it."""

    def __init__(self, model, rate, ours, head="logits"):
        self.model, self.ours, self.fused = model, ours, ours and head == "fused"
        self.parameters = dict(model.named_parameters())
        if ours:
            detgemm.torch.main_grads(model)
        self.grads = {}
        for name, parameter in self.parameters.items():
            given = getattr(parameter, "main_grad", None)
            self.grads[name] = torch.zeros_like(parameter, dtype=torch.float32) if given is None else given
        self.masters = {name: p.detach().float().clone() for name, p in self.parameters.items()}
        # By element, so the same bits for equal gradients; fused, it keeps no lists of results between.
        self.adam = torch.optim.Adam(list(self.masters.values()), lr=rate, betas=(0.9, 0.99), fused=model.device.type == "cuda")

    def log_probs(self, logits, tokens):
        """Log-probabilities of tokens, in fp32; with a fused head in its order, logsum16."""
        if self.fused:
            return detgemm.torch.log_probs_of(logits, tokens)
        if self.ours:
            return detgemm.torch.token_log_probs(logits, tokens)
        return torch.log_softmax(logits.float(), -1).gather(-1, tokens[..., None])[..., 0]

    def backward(self, values, weights):
        """Adds the gradients of the sum of values * weights."""
        values.backward(weights)
        for name, parameter in self.parameters.items():
            if parameter.grad is not None:
                self.grads[name].add_(parameter.grad)
                parameter.grad = None

    @torch.no_grad()
    def step(self):
        for name, master in self.masters.items():
            master.grad = self.grads[name]
        self.adam.step()
        torch._foreach_copy_(list(self.parameters.values()), list(self.masters.values()))
        torch._foreach_zero_(list(self.grads.values()))
