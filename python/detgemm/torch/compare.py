# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Comparing two runs, byte for byte."""
import contextlib
import math

import torch

from detgemm import arrays
from detgemm.torch.dispatch import check_model, check_tensor, refuse

_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def as_integers(tensor):
    """The tensor's bytes as integers of the same size, so that NaN and the two zeros compare as bits."""
    return tensor.detach().resolve_neg().contiguous().view(_INTEGERS[tensor.element_size()])


def _check_values(name, tensor):
    check_tensor(name, tensor)
    refuse(tensor.device.type == "meta", f"{name} is on meta: it must have values")


def same_bits(x, y):
    """Whether two tensors have the same shape, type and bytes."""
    _check_values("x", x)
    _check_values("y", y)
    return (x.shape == y.shape and x.dtype == y.dtype
            and torch.equal(as_integers(x), as_integers(y.to(x.device))))


def digest(tensor):
    """64 bits, as 16 hexadecimal digits, of a tensor's type, shape and elements; `detgemm run` prints the same."""
    _check_values("tensor", tensor)
    rows = math.prod(tensor.shape[:-1])  # which -1 cannot stand for where rows are empty
    matrix = tensor.detach().reshape(rows, tensor.shape[-1]) if tensor.dim() else tensor.detach().reshape(1, 1)
    return arrays.digest(matrix.resolve_neg().contiguous().cpu())


def _tensors(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _tensors(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _tensors(each)


@contextlib.contextmanager
def _recorded(model, keep):
    """What each module returns, in the order of calls, while this is entered."""
    outputs, handles = [], []
    for name, module in model.named_modules():
        def hook(module, inputs, output, name=name):
            outputs.append((name, type(module).__name__, [keep(t) for t in _tensors(output)]))
        handles.append(module.register_forward_hook(hook))
    try:
        yield outputs
    finally:
        for handle in handles:
            handle.remove()


def bisect(model, first, second, select=lambda tensor: tensor):
    """The first module whose output differs between two runs of a model, or None.

    first, second  functions without arguments that run the model, for example a request alone and the same
                   request in a batch
    select         the part of an output that is compared, applied to both runs: a function of (tensor), for example
                   `lambda t: t[:1]`

    Returns (name, class, number of elements that differ). Modules are compared in the order in which they
    return, so inner ones are before those that hold them. The outputs of the first run are kept in memory.
    """
    check_model(model)
    for name, given in (("first", first), ("second", second), ("select", select)):
        refuse(not callable(given), f"{name} is a {type(given).__name__}: it must be a function")
    with _recorded(model, lambda t: select(t).detach().clone()) as before:
        first()
    with _recorded(model, lambda t: select(t).detach().clone()) as after:
        second()
    for (name, kind, x), (other, _, y) in zip(before, after):
        if name != other:
            return other, "called in another order", 0
        for one, two in zip(x, y):
            if one.shape != two.shape:
                return name, kind, max(one.numel(), two.numel())
            if not same_bits(one, two):
                return name, kind, int((as_integers(one) != as_integers(two)).sum())
    if len(before) != len(after):
        return (before if len(before) > len(after) else after)[min(len(before), len(after))][0], "called again", 0
    return None
