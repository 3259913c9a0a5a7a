# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Gradients that are accumulated in fp32, in the attribute `main_grad` of a parameter."""
import torch

from detgemm import _library as lib
from detgemm.contract import contract as parsed
from detgemm.torch.dispatch import check_model


def gradient_of(parameter, name):
    """The parameter's main_grad or None, and whether the parameter has Megatron's flag, which is set."""
    main_grad = getattr(parameter, "main_grad", None)
    if main_grad is None:
        return None, False
    if (main_grad.dtype != torch.float32 or main_grad.shape != parameter.shape
            or main_grad.device != parameter.device or not main_grad.is_contiguous()):
        raise RuntimeError(
            f"detgemm: {name}.main_grad is {main_grad.dtype} of shape {tuple(main_grad.shape)} with strides "
            f"{main_grad.stride()} on {main_grad.device}: it must be contiguous torch.float32 of the "
            f"parameter's shape {tuple(parameter.shape)} on {parameter.device}")
    flagged = hasattr(parameter, "grad_added_to_main_grad")
    if flagged and torch.is_grad_enabled() and not torch.compiler.is_compiling():
        parameter.grad_added_to_main_grad = True
    return main_grad, flagged


def main_grads(model):
    """Gives every parameter of the model's `Linear` layers an fp32 `main_grad` of zeros, and of other layers of
    this package whose backward pass adds there (`accumulates_in_main_grad`).

    Returns a dictionary from parameter names to these tensors. Add to them in backward passes, hand them to the
    optimizer, and set them to zero after each step: `for g in grads.values(): g.zero_()`.
    """
    check_model(model)
    grads = {}
    for prefix, module in model.named_modules():
        if getattr(module, "accumulates_in_main_grad", False):
            for name, parameter in module.named_parameters(recurse=False):
                if getattr(parameter, "main_grad", None) is None:
                    parameter.main_grad = torch.zeros_like(parameter, dtype=torch.float32,
                                                           memory_format=torch.contiguous_format)
                grads[f"{prefix}.{name}" if prefix else name] = parameter.main_grad
    if not grads:
        raise lib.DetgemmError("the model has no layer that adds to main_grad, such as detgemm.torch.Linear: convert it "
                               "first")
    return grads


def check_cuts(lengths, policy):
    """Refuses a list of micro-batch lengths, in rows, whose gradients would not have the uncut batch's bits.

    Every length but the last must be a multiple of the policy's step: LEAF rows under `fold:LEAF`, the k block
    under `chain`. A shorter sample can be padded with rows of zeros.
    """
    if not hasattr(policy, "wgrad"):
        raise lib.DetgemmError(f"policy is {policy!r}: it must be a detgemm.torch.Policy")
    parsed(policy.wgrad).check_cuts(lengths)
