# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Registers gradients of backward passes, and refuses the derivatives that the operators do not have.

Without a kernel that looks, PyTorch drops the tangent of a dual tensor below autograd, and the derivative is zero.
"""
import torch
from torch.autograd import forward_ad

from detgemm import _library as lib


def check_tangents(name, *operands):
    """Refuses dual tensors. Outside of a level of forward-mode AD there are none, so that the check is one comparison."""
    if forward_ad._current_level < 0:
        return
    for operand in operands:
        if isinstance(operand, torch.Tensor) and forward_ad.unpack_dual(operand).tangent is not None:
            raise lib.DetgemmError(f"{name} was called with a dual tensor: it has no forward-mode derivative (jvp); use a "
                                   "backward pass")


def _guarded(name, kernel):
    """The kernel of autograd of an operator, behind the checks."""
    def run(keys, *operands, **options):
        check_tangents(name, *operands)
        if torch._C._are_functorch_transforms_active() and torch.is_grad_enabled() and any(
                isinstance(each, torch.Tensor) and each.requires_grad for each in operands):
            raise lib.DetgemmError(f"{name} was called under a transform of torch.func: it has no gradient there (grad, vjp, "
                                   "jacrev, hessian); use backward() or torch.autograd.grad")
        return kernel(keys, *operands, **options)

    return run


class _Library(torch.library.Library):
    def impl(self, op_name, fn, dispatch_key="", **options):
        super().impl(op_name, _guarded(op_name.rpartition("::")[2], fn), dispatch_key, **options)


_library = _Library("detgemm", "FRAGMENT")


def register_gradient(name, backward, *, setup_context=None):
    """torch.library.register_autograd for an operator written in C++, with the checks."""
    torch.library.register_autograd("detgemm::" + name, backward, setup_context=setup_context, lib=_library)


def guard(operator):
    """Puts the checks before an operator that was made by torch.library.custom_op."""
    overload = operator._opoverload
    for key in ("AutogradCPU", "AutogradCUDA", "AutogradMeta"):
        kernel = torch.library.get_kernel(overload, key)
        _library.impl(operator._name.rpartition("::")[2], kernel.call_boxed, key, with_keyset=True)
