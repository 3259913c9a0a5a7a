# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Linear layers under a policy."""
import fnmatch

import torch

from detgemm import _library as lib
from detgemm.torch.dispatch import check_model, check_tensors, check_truth, under_autocast
from detgemm.torch.main_grad import gradient_of
from detgemm.torch.operators import NAMES, OPS
from detgemm.torch.policy import Policy
from detgemm.torch.snapping import check_can_snap, check_weight
from detgemm.torch.snapping import snap_weights as snap_all


def _cast(tensor, dtype):
    return tensor if tensor is None or tensor.dtype == dtype else tensor.to(dtype)


def _check_policy(policy):
    if not isinstance(policy, Policy):
        raise lib.DetgemmError(f"policy is {policy!r}: it must be a detgemm.torch.Policy; there is no default")


# How a model's weights get the type that a policy reads.
_CASTS = {torch.bfloat16: ".bfloat16()", torch.float16: ".half()", torch.float32: ".float()"}


def _check_types(x, weight, policy):
    """Refuses types that the policy does not read, in words of the caller's program, where no operand is called a."""
    for what, tensor, where in (("weights are", weight, "the model"), ("x is", x, "it")):
        if isinstance(tensor, torch.Tensor) and tensor.dtype != policy.input:
            cast = _CASTS.get(policy.input, f".to({policy.input})")
            raise lib.DetgemmError(f"{what} {NAMES.get(tensor.dtype, tensor.dtype)}: {policy.forward} reads "
                                   f"{NAMES.get(policy.input, policy.input)}: call {cast} on {where}, or run the model "
                                   "under torch.autocast")


def linear(x, weight, bias=None, policy=None, *, stable=False, weight_snapped=False):
    """Y = X.W^T + bias, with gradients, under the contracts of a policy.

    x is [..., K], weight N x K, bias N elements, the result [..., N] of the type of `policy.forward`. x and weight
    have the type that the policy reads. The bias is added in fp32 before the only rounding. Under autocast, x and weight are first rounded to the policy's
    input type. `stable` promises that earlier work on the stream does not write the weight, and `weight_snapped`, for a
    forward contract of snap, that it is snapped along K for that contract's LEAF.

    A parameter that has an fp32 `main_grad` gets its gradient there: it is added, always, and whoever keeps
    `main_grad` sets it to zero. The parameter's own gradient is then None, or zeros where the parameter has
    Megatron's flag `grad_added_to_main_grad`, which is set and never read.
    """
    _check_policy(policy)
    check_tensors(x=x, weight=weight)
    check_truth("stable", stable)
    check_truth("weight_snapped", weight_snapped)
    main_grad, flagged = gradient_of(weight, "weight")
    bias_main_grad, _ = gradient_of(bias, "bias")
    if under_autocast(x):
        x, weight = _cast(x, policy.input), _cast(weight, policy.input)
    _check_types(x, weight, policy)
    return OPS.linear(x, weight, bias, main_grad, bias_main_grad, policy.forward, policy.dgrad,
                      policy.wgrad, zero_gradient=flagged, stable=2 if stable else 0,
                      weight_snapped=weight_snapped)


class Linear(torch.nn.Linear):
    """torch.nn.Linear under a policy: the same parameters and names, so checkpoints fit both ways.

    `weights_are_stable` passes the promise of `linear`'s argument `stable` in forward passes. Once `snap_weights` has
    rounded the weight for a contract of snap, forward passes promise that too, and refuse a weight that is
    no longer snapped; copies and moves of it are looked at once, and go on.
    """

    accumulates_in_main_grad = True
    weight_snapped_at = None  # the state of the weight when it was last seen to be snapped

    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None, *, policy,
                 weights_are_stable=False):
        _check_policy(policy)
        check_truth("weights_are_stable", weights_are_stable)
        super().__init__(in_features, out_features, bias, device, dtype)
        self.policy = policy
        self.weights_are_stable = weights_are_stable

    def forward(self, input):
        snapped = self.weight_snapped_at is not None
        if snapped and not torch.compiler.is_compiling():
            check_weight(self)
        return linear(input, self.weight, self.bias, self.policy, stable=self.weights_are_stable,
                      weight_snapped=snapped)

    def extra_repr(self):
        return f"{super().extra_repr()}, forward={self.policy.forward}"


def convert(model, policy, skip=(), *, weights_are_stable=False, snap_weights=False):
    """Makes every torch.nn.Linear of a model a `Linear` under a policy, in place.

    skip      names of layers, or patterns such as "*.router", that are not converted. One that matches no
              linear layer is an error

    snap_weights
              for inference under a forward contract of snap: rounds the weights once, in place, so that products need not.
              Products keep their bits, and so does a checkpoint that was snapped already. A weight that is also an
              embedding's is rounded there too

    Returns two lists of names: the layers that were converted, and other modules with a two-dimensional
    weight, which compute as before (subclasses of Linear such as quantised or adapter layers, embeddings).
    """
    _check_policy(policy)
    check_model(model)
    check_truth("weights_are_stable", weights_are_stable)
    check_truth("snap_weights", snap_weights)
    plain = {name: module for name, module in model.named_modules() if type(module) is torch.nn.Linear}
    skipped = set()
    for pattern in [skip] if isinstance(skip, str) else skip:
        matched = fnmatch.filter(plain, pattern)
        if not matched:
            raise lib.DetgemmError(f'skip has "{pattern}", which is the name of no linear layer; there are '
                                   + (", ".join(list(plain)[:8]) or "none"))
        skipped.update(matched)
    if snap_weights:
        check_can_snap({name: module for name, module in plain.items() if name not in skipped}, policy.forward)
    converted = []
    for name, module in plain.items():
        if name not in skipped:
            module.__class__ = Linear
            module.policy = policy
            module.weights_are_stable = weights_are_stable
            converted.append(name)
    if snap_weights:
        snap_all(model)
    left = [name for name, module in model.named_modules()
            if not isinstance(module, Linear) and isinstance(getattr(module, "weight", None), torch.Tensor)
            and module.weight.dim() == 2]
    return converted, left
