# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Cosines and sines of a rotary embedding, with the bits of vLLM's table on the same device.

transformers multiplies positions with frequencies by a batched product of K = 1. It adds nothing, but it is in the hands of
whoever replaces that product: a mode of an engine in the same process may round its operands to TF32. Here it is by element.
Frequencies are computed on the device that uses them, as vLLM computes them, since pow of a CPU and of a GPU may differ in a
last bit.
"""
import copy

import torch

STATIC = ("default", "linear", "llama3", "yarn")  # frequencies that do not depend on the length of a call


class Angles(torch.nn.Module):
    """In the place of a rotary embedding of transformers: (x, positions) -> cos, sin of batch x length x head size."""

    def __init__(self, theirs):
        super().__init__()
        self.config, self.rope_type, self.attention_scaling = theirs.config, theirs.rope_type, theirs.attention_scaling
        self.default = getattr(theirs, "compute_default_rope_parameters", None) if theirs.rope_type == "default" else None
        self.register_buffer("inv_freq", theirs.inv_freq.detach().float(), persistent=False)
        self._computed()

    def _computed(self):
        if self.default is not None and self.inv_freq.device.type != "meta":
            with torch.device(self.inv_freq.device):
                self.inv_freq = self.default(self.config)[0].float()

    def _apply(self, fn, recurse=True):
        kept, device = self.inv_freq, self.inv_freq.device
        super()._apply(fn, recurse)
        self.inv_freq = kept.to(self.inv_freq.device)  # fp32 where the model is cast
        if self.inv_freq.device != device:
            self._computed()
        return self

    @torch.no_grad()
    def forward(self, x, position_ids):
        angles = position_ids[..., None].float() * self.inv_freq.to(x.device)
        angles = torch.cat((angles, angles), dim=-1)
        cos, sin = ((turn(angles) * self.attention_scaling).to(x.dtype) for turn in (torch.cos, torch.sin))
        if not torch.compiler.is_compiling():
            cos.detgemm_halves = {}  # both halves are equal; decoder.py keeps its table there, for all layers of a pass
        return cos, sin


def find_angles(model):
    """Names and modules of the rotary embeddings that `Angles` can replace: it is tested on a few positions, on a CPU."""
    x, positions = torch.empty(1, 3, 1, device="cpu"), torch.tensor([[0, 1, 1000]], device="cpu")
    found = []
    for name, module in model.named_modules():
        frequencies = getattr(module, "inv_freq", None)
        if (isinstance(module, Angles) or getattr(module, "rope_type", None) not in STATIC or not isinstance(frequencies, torch.Tensor)
                or frequencies.device.type == "meta"):
            continue
        twin = copy.deepcopy(module).cpu()
        ours, theirs = Angles(twin)(x, positions), twin(x, positions)
        if isinstance(theirs, tuple) and all(a.shape == b.shape and torch.allclose(a, b, atol=1e-3) for a, b in zip(ours, theirs)):
            found.append((name, module))
    return found
