# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Which implementation of a row operation takes a tensor: Triton's kernels, or the plain definition."""
import contextlib
import functools
import importlib
from numbers import Real

import torch

from detgemm import _library as lib


def refuse(condition, sentence):
    if condition:
        raise lib.DetgemmError(sentence)


def check_tensor(name, x):
    # Sentences are made where they are said: small products wait for these lines.
    if not isinstance(x, torch.Tensor):
        raise lib.DetgemmError(f"{name} is a {type(x).__name__}: it must be a tensor")
    if x.layout is not torch.strided or x.is_nested:
        kind = "nested" if x.is_nested else f"of the layout {x.layout}"
        raise lib.DetgemmError(f"{name} is {kind}: it must be a tensor with strides, torch.strided")


def check_tensors(**named):
    for name, x in named.items():
        check_tensor(name, x)


def check_factor(name, value):
    """Refuses a factor that is no number, is not finite in fp32, or that fp32 makes 0. Made of comparisons, which a compiler traces."""
    if isinstance(value, bool) or not (isinstance(value, (int, float)) or isinstance(value, Real)):
        raise lib.DetgemmError(f"{name} is {value!r}: it must be a number")
    if not abs(value) < 2.0**128 - 2.0**103 or not (value == 0 or abs(value) > 2.0**-150):
        raise lib.DetgemmError(f"{name} is {value!r}: it must be 0, or a finite number that fp32 holds")


def check_count(name, value, start=0):
    """Refuses what is no integer from `start` on, below 2^31, where an index of a kernel would end."""
    if isinstance(value, (bool, float, complex, torch.Tensor)) or not hasattr(value, "__index__"):
        raise lib.DetgemmError(f"{name} is {value!r}: it must be an integer")
    if value < start:
        raise lib.DetgemmError(f"{name} is {value}: it must {'not be negative' if start == 0 else 'be positive'}")
    if value >= 2**31:
        raise lib.DetgemmError(f"{name} is {value}: it must be less than 2^31")


def check_contract(contract):
    """An operator of PyTorch refuses another type with a list of its schemas."""
    if not isinstance(contract, str):
        raise lib.DetgemmError(f'contract is {contract!r}: it must be text such as "hopper/bf16/chain->bf16"')


def check_optional(**named):
    for name, x in named.items():
        if x is not None:
            check_tensor(name, x)


OPTIONS = ("alpha", "beta", "activation", "continue_from_c", "stable", "backend", "variant", "a_snapped", "b_snapped")


def check_options(options):
    """Refuses promises that an operator of PyTorch would take as other ones, and options of the wrong kind or name."""
    for name in options:
        if name not in OPTIONS:
            raise lib.DetgemmError(f"{name} is no option: there are {', '.join(OPTIONS)}")
    for name in ("activation", "backend", "variant"):
        value = options.get(name)
        if value is not None and not isinstance(value, str):
            raise lib.DetgemmError(f"{name} is {value!r}: it must be text or None")
    for name in ("alpha", "beta"):
        value = options.get(name, 1.0)
        if isinstance(value, torch.Tensor):
            refuse(value.requires_grad, f"{name} is a tensor that requires a gradient: it has none here; multiply the result by it")
        elif not isinstance(value, (Real, torch.SymFloat, torch.SymInt)):
            raise lib.DetgemmError(f"{name} is {value!r}: it must be a number")
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
