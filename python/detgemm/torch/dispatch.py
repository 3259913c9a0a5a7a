# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Which implementation of a row operation takes a tensor: Triton's kernels, or the plain definition."""
import contextlib
import functools
import importlib

import torch

from detgemm import _library as lib


def refuse(condition, sentence):
    if condition:
        raise lib.DetgemmError(sentence)


def check_tensor(name, x):
    refuse(not isinstance(x, torch.Tensor), f"{name} is a {type(x).__name__}: it must be a tensor")


def check_tensors(**named):
    for name, x in named.items():
        check_tensor(name, x)


def check_options(options):
    """Refuses promises that an operator of PyTorch would take as other ones."""
    for name in ("a_snapped", "b_snapped", "continue_from_c"):
        check_truth(name, options.get(name, False))
    refuse(isinstance(options.get("stable"), bool),
           f"stable is {options.get('stable')}: it must be 0 (no promise), 1 (a) or 2 (b)")


def check_model(model):
    refuse(not isinstance(model, torch.nn.Module), f"model is a {type(model).__name__}: it must be a torch.nn.Module")


def check_truth(name, value):
    """A promise is True or False: what only happens to be true promises nothing."""
    refuse(not isinstance(value, bool), f"{name} is {value!r}: it must be True or False")


def under_autocast(x):
    """Whether autocast holds for a tensor's device. PyTorch has no autocast of meta tensors, and raises for them."""
    kind = x.device.type
    return kind != "meta" and torch.is_autocast_enabled(kind)


# Row operations whose compiled text for AMD GPUs an emulator executed, with the bits of their definitions (docs/python.md). None has
# run on AMD hardware. The others are refused there.
ON_AMD = {"attention", "attention_backward", "combine", "cross_entropy", "embedding", "fused", "log_prob", "norms", "paged", "rotary",
          "softmax"}
CHIPS = ("gfx942", "gfx90a")


@functools.cache
def _chip(device):
    return torch.cuda.get_device_properties(device).gcnArchName.split(":")[0]


def chosen(tensor, name):
    """The module `name` of kernels for CUDA tensors, of plain for CPU tensors."""
    kind = tensor.device.type
    refuse(kind not in ("cpu", "cuda"), f"the tensor is on {tensor.device}: it must be on a CPU or a CUDA device")
    if kind == "cuda" and torch.version.hip is not None:
        refuse(name not in ON_AMD, f"the tensor is on an AMD device: no test executed the row operation {name} there")
        refuse(_chip(tensor.device) not in CHIPS,
               f"the tensor is on {_chip(tensor.device)}: an emulator executed the row operations for {' and '.join(CHIPS)} alone")
    return _module("kernels" if kind == "cuda" else "plain", name)


@functools.cache
def _module(kind, name):
    return importlib.import_module(f"detgemm.torch.{kind}.{name}")


def on_device(tensor):
    """A scope in which kernels are launched on the tensor's device; none is entered where it is the current one."""
    device = tensor.device
    if device.type != "cuda" or (torch.version.hip is None and device.index == torch.cuda.current_device()):
        return contextlib.nullcontext()
    return torch.cuda.device(device)
