# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Tensors and weights rounded once for contracts of `snap`."""
import torch

from detgemm import _library as lib
from detgemm import snapping
from detgemm.contract import contract as parsed
from detgemm.torch.dispatch import check_model, check_tensors
from detgemm.torch.operators import OPS


def snap(x, leaf, k="cols"):
    """A bf16 tensor rounded as a contract `snap/bf16/fold:LEAF` or `tree:LEAF` rounds its operands.

    x     [..., K] with k = "cols" (activations, a layer's weight N x K), or K x N with k = "rows"
    leaf  the contract's LEAF

    The result is bf16, and snapping it again changes nothing. `gemm` takes it with `a_snapped` or `b_snapped`, with the
    bits that the contract gives for x itself. Its gradient is passed on as it is, as that of every rounding here.
    """
    check_tensors(x=x)
    return OPS.snap(x, leaf, k)


def is_snapped(x, leaf, k="cols"):
    """Whether `snap` would change no value. It waits for the device, and is meant for checks."""
    if not isinstance(x, torch.Tensor):
        raise lib.DetgemmError(f"x is a {type(x).__name__}: it must be a tensor")
    if k == "cols" and x.dim() > 2:
        x = x.flatten(0, -2)
    if x.dim() == 2:  # as for products, what has no layout of the library's is copied
        (rows, cols), (down, along) = x.shape, x.stride()
        x = x if (along == 1 and down >= cols) or (down == 1 and along >= rows) else x.contiguous()
    stream = torch.cuda.current_stream(x.device).cuda_stream if x.is_cuda else None
    return snapping.is_snapped(x.detach(), leaf, k=k, stream=stream)


def check_can_snap(layers, text):
    """Refuses weights that cannot be snapped for a forward contract; layers by their names. Returns the contract's LEAF."""
    contract = parsed(text)
    if contract.arithmetic != "snap":
        raise lib.DetgemmError(f'policy.forward is "{text}": weights are snapped for contracts of snap alone')
    for name, layer in layers.items():
        if layer.weight.dtype != torch.bfloat16:
            raise lib.DetgemmError(f'the weight of layer "{name}" is {layer.weight.dtype}: snap is defined for torch.bfloat16')
    return contract.leaf_k


def snap_weights(model):
    """Rounds the weights of a model's `Linear` layers once, in place, for the forward contract of each, which must be
    one of snap. Returns the names of the layers.

    Forward passes then promise that the weight is snapped, and have the bits that they had before. A layer whose weight
    was written since, by an optimiser or by loading another checkpoint, refuses to run until this is called again.
    `check_snapped` finds what writes through `.data` changed.
    """
    check_model(model)
    layers = {name: module for name, module in model.named_modules() if hasattr(module, "weight_snapped_at")}
    if not layers:
        raise lib.DetgemmError("the model has no detgemm.torch.Linear: convert it first")
    weights = {}
    for name, layer in layers.items():
        leaf = check_can_snap({name: layer}, layer.policy.forward)
        if weights.setdefault(layer.weight, leaf) != leaf:
            raise lib.DetgemmError(f'the weight of layer "{name}" is shared by layers with LEAF {weights[layer.weight]} and '
                                   f"{leaf}: it can be snapped for one")
    with torch.no_grad():
        for weight, leaf in weights.items():
            weight.copy_(snap(weight, leaf))
    for layer in layers.values():
        layer.weight_snapped_at = _state(layer)
    return list(layers)


def check_snapped(model):
    """Checks every element of the weights that a model's `Linear` layers promise as snapped; returns the names of these
    layers. It waits for the device. Call it, or `snap_weights`, after weights were written in a way that PyTorch does not
    count: `param.data.copy_()`, NumPy, other processes."""
    check_model(model)
    layers = {name: module for name, module in model.named_modules()
              if getattr(module, "weight_snapped_at", None) is not None}
    broken = [name for name, layer in layers.items() if not _whole(layer)]
    if broken:
        raise lib.DetgemmError(f"the weights of {len(broken)} layers were written after they were snapped: "
                               f"{', '.join(broken[:8])}: call detgemm.torch.snap_weights(model) again")
    return list(layers)


# On a CPU, this many rows are looked at in each forward pass; passes go round all of them.
SAMPLE = 16


def _leaf(layer):
    return parsed(layer.policy.forward).leaf_k


def _state(layer):
    """What changes when a weight is written, moved or replaced, or the policy is: its address, PyTorch's count of writes, and
    the LEAF. Writes through `.data` and NumPy change none of them."""
    weight = layer.weight
    return weight.data_ptr(), 0 if weight.is_inference() else weight._version, _leaf(layer)


def _whole(layer):
    return layer.weight.dtype == torch.bfloat16 and is_snapped(layer.weight, _leaf(layer))


def _rows(layer):
    """Whether the next rows of a weight in a CPU's memory are snapped."""
    count = layer.weight.shape[0]
    start = getattr(layer, "_snapped_row", 0)
    if start >= count:
        start = 0
    layer._snapped_row = start + SAMPLE
    return is_snapped(layer.weight[start:start + SAMPLE], _leaf(layer))


def check_weight(layer):
    """Refuses a weight that is no longer snapped: the promise would be broken, and the products would depend on the hardware.

    A weight whose state is another (a copy, a move, a loaded checkpoint, an optimiser) is looked at whole, once; one that is
    still snapped goes on. In the same state, a CPU looks at some rows, and a device at nothing, since that would wait for it.
    """
    state = _state(layer)
    if layer.weight.device.type == "meta":
        return
    if state == layer.weight_snapped_at:
        kept = layer.weight.device.type != "cpu" or _rows(layer)  # a device's host time is two comparisons
    elif layer.weight.is_cuda and torch.cuda.is_current_stream_capturing():
        kept = False  # nothing may wait here
    else:
        kept = _whole(layer)
        layer.weight_snapped_at = state if kept else layer.weight_snapped_at
    if not kept:
        raise lib.DetgemmError(f"the weight of a layer of {layer.in_features} inputs and {layer.out_features} outputs was written "
                               "or moved after it was snapped: call detgemm.torch.snap_weights(model) again")
