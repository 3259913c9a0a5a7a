# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Shapes of operators' results, for torch.compile, torch.export and meta tensors."""
import functools

import torch


def _tensors(given):
    for value in given:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from _tensors(value)


def _check_places(arguments, named):
    """PyTorch runs a shape function where any operand is a meta tensor: beside operands that hold values, its results would be
    uninitialised memory."""
    kinds = {tensor.device.type for tensor in _tensors((*arguments, *named.values()))}
    if "meta" in kinds and len(kinds) > 1:
        raise RuntimeError(f"detgemm: operands are on {' and on '.join(sorted(kinds))}: all operands must be on one device")


def register_fake(operator):
    """torch.library.register_fake of an operator or its name, for a function that meta tensors alone, or no meta tensor, reaches."""
    def decorate(shape_of):
        @functools.wraps(shape_of)
        def checked(*arguments, **named):
            _check_places(arguments, named)
            return shape_of(*arguments, **named)
        torch.library.register_fake(operator, checked)
        return shape_of
    return decorate
