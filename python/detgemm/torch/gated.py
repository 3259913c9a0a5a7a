# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The gated layer of Llama, Qwen3 and others, with the written order of `silu_mul`."""
import copy

import torch

from detgemm.torch.fused import silu_mul


class GatedMLP(torch.nn.Module):
    """down(silu(gate(x)) up(x)), with the roundings of transformers and the written order of `silu_mul`."""

    def __init__(self, module):
        super().__init__()
        self.gate_proj, self.up_proj, self.down_proj = module.gate_proj, module.up_proj, module.down_proj

    def forward(self, x):
        return self.down_proj(silu_mul(self.gate_proj(x), self.up_proj(x)))


def is_gated(module):
    """Whether a module consists of what GatedMLP has, and computes it: it is tested with small layers and random values."""
    names = {name for name, _ in module.named_children()}
    if names != {"gate_proj", "up_proj", "down_proj", "act_fn"} or dict(module.named_parameters(recurse=False)):
        return False
    generator, twin = torch.Generator().manual_seed(1), copy.copy(module)
    small = {name: torch.nn.Linear(8, 8, bias=False, device="cpu", dtype=torch.float32) for name in sorted(names - {"act_fn"})}
    for layer in small.values():
        layer.weight.data.copy_(torch.randn(8, 8, generator=generator))
    twin._modules = {**small, "act_fn": module.act_fn}
    values = torch.randn(4, 8, generator=generator)
    with torch.no_grad():
        wanted = small["down_proj"](torch.nn.functional.silu(small["gate_proj"](values)) * small["up_proj"](values))
        return torch.allclose(twin(values), wanted)
