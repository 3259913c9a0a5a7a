# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Registers gradients of backward passes, and refuses the derivatives that the operators do not have.

Without a kernel that looks, PyTorch drops the tangent of a dual tensor below autograd, and the derivative is zero.
"""
import types

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


class _Node(torch.autograd.Function):
    """A call that autograd records; the context is the operator's own."""

    @staticmethod
    def forward(ctx, *given):
        *operands, ctx.call, keys, options = given
        return ctx.call.record(ctx, keys, tuple(operands), options)

    @staticmethod
    def backward(ctx, *grads):
        if torch.is_grad_enabled() or forward_ad._current_level >= 0 or torch._C._are_functorch_transforms_active():
            found = ctx.call.backward(ctx, *grads)
        else:
            # Without a graph of the backward pass its operations go past autograd, which would find nothing to do in each. Saved
            # tensors are read before that: a checkpoint computes a forward pass there, with a graph.
            known = types.SimpleNamespace(**vars(ctx), saved_tensors=ctx.saved_tensors, needs_input_grad=ctx.needs_input_grad)
            with torch._C._AutoDispatchBelowAutograd():
                found = ctx.call.backward(known, *grads)
        return (*found, None, None, None) if isinstance(found, tuple) else (found, None, None, None)


class _Call:
    """The kernel of autograd of one operator: what torch.library makes, at a third of its time, which small products wait for.

    backward, context: as for torch.library.register_autograd. unknown: the kernel that refuses a gradient where there is none.
    """

    def __init__(self, overload, backward, context, unknown=None):
        self.overload, self.backward, self.context, self.unknown = overload, backward, context, unknown
        arguments = overload._schema.arguments
        # PyTorch leaves out arguments that have their defaults.
        self.defaults = tuple(each.default_value for each in arguments if not each.kwarg_only)
        self.options = {each.name: each.default_value for each in arguments if each.kwarg_only}

    def __call__(self, keys, *operands, **options):
        if torch.is_grad_enabled() and torch._C._any_requires_grad(*operands):
            if self.backward is None:
                return self.unknown(keys, *operands, **options)
            return _Node.apply(*operands, *self.defaults[len(operands):], self, keys, options)
        with torch._C._AutoDispatchBelowAutograd():
            return self.overload.redispatch(keys & torch._C._after_autograd_keyset, *operands, **options)

    def record(self, ctx, keys, operands, options):
        with torch._C._AutoDispatchBelowAutograd():
            output = self.overload.redispatch(keys & torch._C._after_autograd_keyset, *operands, **options)
            if self.context is not None:
                more = {"keyword_only_inputs": {**self.options, **options}} if self.options else {}
                self.context(ctx=ctx, inputs=operands, output=output, **more)
        return output


def register_gradient(name, backward, *, setup_context=None):
    """The gradient of an operator written in C++, with the checks; arguments as for torch.library.register_autograd."""
    overload = getattr(torch.ops.detgemm, name).default
    _library.impl(name, _Call(overload, backward, setup_context), "Autograd", with_keyset=True)


def guard(operator):
    """Puts the checks before an operator that was made by torch.library.custom_op, behind its register_autograd."""
    overload = operator._opoverload
    for key in ("AutogradCPU", "AutogradCUDA", "AutogradMeta"):
        unknown = torch.library.get_kernel(overload, key).call_boxed
        kernel = _Call(overload, operator._backward_fn, operator._setup_context_fn, unknown)
        _library.impl(operator._name.rpartition("::")[2], kernel, key, with_keyset=True)
