# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""A switch: PyTorch's own matrix products, under contracts, for as long as a scope is entered."""
import collections
import inspect
import sys
import threading
import warnings

import torch

from detgemm import _library as lib
from detgemm.contract import contract as parsed
from detgemm.torch.operators import NAMES, OPS, input_type
from detgemm.torch import switch_scaled, switch_sums
from detgemm.torch.out import into, writable
from detgemm.torch.policy import Policy

_lock = threading.RLock()
_entered = []  # the scopes that are entered, the innermost last
_registered = {}  # device: the torch.library.Library of its overrides


class Used(collections.Counter):
    """Calls that went through the switch, counted by (operator, type, contract); "aten" where it passed one on."""

    def __str__(self):
        return "\n".join(f"{count:8d}  {op:16s} {str(dtype):16s} {text}"
                         for (op, dtype, text), count in sorted(self.items(), key=str))


class aten:  # reads as a statement: with aten({...}) as used
    """Computes aten's mm, addmm, bmm, baddbmm, mv, addmv, dot, vdot, _grouped_mm and scaled products under contracts while
    it is entered.

    contracts  a dictionary from torch types to contracts (texts, or a Policy, whose `forward` is used). The
               contract's output is the type itself: that is what aten returns. For float8_e4m3fn and float8_e5m2 it is
               one of scaled:LEAF, fold:LEAF or chain, with the output type of the call
    devices    "cuda", or a list that may also have "cpu", where products are exact and slow
    others     what happens to types without a contract: "refuse", or "pass", which runs aten's own kernel and
               counts it
    sums       a contract of fp32, such as "ieee_fma/fp32/chain->fp32": sums, means and 2-norms of bf16, fp16 and fp32
               numbers are in its order too, parts of 1024 elements first (switch_sums.py). None leaves them to PyTorch

    Forward and backward, eager and compiled: forms that write into `out` and those with `out_dtype` are covered
    too. `linear`, `matmul` and `einsum` arrive here as the products above, `torch.nn.functional.scaled_mm` as a scaled
    product. Convolutions, attention kernels and grouped scaled products do not; `audit` lists them. The scope holds for all threads; scopes may be
    nested and left in any order, the innermost that is left counts, and what was there before is restored when the last ends.
    """

    def __init__(self, contracts, *, devices="cuda", others="refuse", sums=None):
        if others not in ("refuse", "pass"):
            raise lib.DetgemmError(f'others is {others!r}: it must be "refuse" or "pass"')
        self.devices = [devices] if isinstance(devices, str) else list(devices)
        for device in self.devices:
            if device not in ("cuda", "cpu"):
                raise lib.DetgemmError(f'devices has {device!r}: it must list "cuda" and "cpu"')
        self.others = others
        self.sums = None if sums is None else switch_sums.check_contract(sums)
        self.used = Used()
        self.contracts = {}
        if not isinstance(contracts, dict):
            raise lib.DetgemmError(f"contracts is {contracts!r}: it must be a dictionary from torch types to contracts")
        for dtype, text in contracts.items():
            text = text.forward if isinstance(text, Policy) else text
            if input_type(text) != dtype:
                raise lib.DetgemmError(f"contracts[{dtype}] is {text}: it reads {input_type(text)}")
            switch_scaled.check_contract(dtype, text)
            narrow = dtype in switch_scaled.OUTPUTS
            self.contracts[dtype] = parsed(text).with_output(NAMES[dtype]).text if narrow else parsed(text).text
        self._thread = None

    def __enter__(self):
        inductor = sys.modules.get("torch._inductor.config")
        if inductor is not None and (inductor.max_autotune or inductor.max_autotune_gemm):
            backends = inductor.max_autotune_gemm_backends.upper().replace(" ", "").split(",")
            if backends != ["ATEN"]:
                raise lib.DetgemmError(
                    f'torch._inductor.config.max_autotune_gemm_backends is "{",".join(backends)}" and max_autotune '
                    'is on: compiled products would not reach aten; set it to "ATEN"')
        with _lock:
            here = threading.get_ident()
            if _entered and _entered[-1]._thread != here:
                raise lib.DetgemmError("another thread is inside of detgemm.torch.aten: the switch is the "
                                       "process's, so one thread at a time may enter it")
            if self in _entered:
                raise lib.DetgemmError("this scope is entered already: make another one to nest them")
            self._thread = here
            missing = [device for device in self.devices if device not in _registered]
            try:
                for device in missing:
                    _registered[device] = _register(device)
            except BaseException:
                for device in missing:
                    _unregister(device)
                raise
            _entered.append(self)
        return self.used

    def __exit__(self, *_):
        with _lock:
            if self not in _entered:
                raise lib.DetgemmError("this scope is not entered: it was left already, or never entered")
            _entered.remove(self)
            # Scopes may be left in any order, as generators and fixtures do: what one registered serves those that stay.
            for device in self.devices:
                if not any(device in scope.devices for scope in _entered):
                    _unregister(device)

    def contract_for(self, tensor):
        """The contract that a tensor's products run under here, or None."""
        return self.contracts.get(tensor.dtype) if tensor.device.type in self.devices else None


def contract_now(tensor):
    """The contract under which the switch would multiply this tensor now, or None."""
    for scope in reversed(_entered):
        if tensor.device.type in scope.devices:
            return scope.contract_for(tensor)
    return None


def sums_now(name, args, options):
    """The contract under which the switch would compute this call of a sum, a mean or a norm now, or None."""
    first = args[0][0] if isinstance(args[0], (list, tuple)) and args[0] else args[0]
    for scope in reversed(_entered):
        if isinstance(first, torch.Tensor) and first.device.type in scope.devices:
            return scope.sums if scope.sums and switch_sums.serves(name, args, options) else None
    return None


def _matrix(text, a, b, c, beta, alpha, out):
    """alpha * a.b + beta * c, of two or three dimensions."""
    output = input_type(text) if parsed(text).output != "fp32" else torch.float32
    bias = None
    shape = (*a.shape[:-1], b.shape[-1])
    if beta == 0 or c is None:
        c, beta = None, 0.0
    elif a.dim() == 2 and beta == 1 and c.dim() == 1 and c.shape[0] == shape[-1]:
        bias, c, beta = c, None, 0.0
    else:
        c = c.expand(shape)
        c = c if c.dtype == output else c.to(output)
    options = {"alpha": float(alpha), "beta": float(beta)}
    direct = writable(out, shape, output) and a.data_ptr() != out.data_ptr() and b.data_ptr() != out.data_ptr()
    if direct and c is not None and c.data_ptr() == out.data_ptr() and c.stride() != out.stride():
        direct = False
    if a.dim() == 3:
        if direct:
            OPS.bmm.out(a, b, text, c, out=out, **options)
            return out
        result = OPS.bmm(a, b, text, c, **options)
    else:
        if direct:
            OPS.gemm.out(a, b, text, c, bias, out=out, **options)
            return out
        result = OPS.gemm(a, b, text, c, bias, **options)
    return result if out is None else into(out, result)


def _mm(text, a, b, *, out=None):
    return _matrix(text, a, b, None, 0, 1, out)


def _addmm(text, c, a, b, *, beta=1, alpha=1, out=None):
    return _matrix(text, a, b, c, beta, alpha, out)


def _column(text, c, a, x, beta, alpha, out):
    c = None if c is None or beta == 0 else c.expand(a.shape[0]).unsqueeze(1)
    result = _matrix(text, a, x.unsqueeze(1), c, beta, alpha, None).squeeze(1)
    return result if out is None else into(out, result)


def _mv(text, a, x, *, out=None):
    return _column(text, None, a, x, 0, 1, out)


def _addmv(text, c, a, x, *, beta=1, alpha=1, out=None):
    return _column(text, c, a, x, beta, alpha, out)


def _dot(text, x, y, *, out=None):
    result = _matrix(text, x.unsqueeze(0), y.unsqueeze(1), None, 0, 1, None).reshape(())
    return result if out is None else into(out, result)


def _grouped(text, a, b, offs=None, bias=None, out_dtype=None):
    return OPS.grouped_gemm(a, b, offs, text, bias)


# Operator: how to compute it and which argument has the type that decides. Forms with "dtype" take the type
# of the result as their last positional argument.
_TABLE = {
    "mm": (_mm, 0), "mm.out": (_mm, 0), "mm.dtype": (_mm, 0), "mm.dtype_out": (_mm, 0),
    "bmm": (_mm, 0), "bmm.out": (_mm, 0), "bmm.dtype": (_mm, 0), "bmm.dtype_out": (_mm, 0),
    "addmm": (_addmm, 1), "addmm.out": (_addmm, 1), "addmm.dtype": (_addmm, 1),
    "addmm.dtype_out": (_addmm, 1), "addmm_": (_addmm, 1),
    "baddbmm": (_addmm, 1), "baddbmm.out": (_addmm, 1), "baddbmm.dtype": (_addmm, 1),
    "baddbmm.dtype_out": (_addmm, 1), "baddbmm_": (_addmm, 1),
    "mv": (_mv, 0), "mv.out": (_mv, 0),
    "addmv": (_addmv, 1), "addmv.out": (_addmv, 1), "addmv_": (_addmv, 1),
    "dot": (_dot, 0), "dot.out": (_dot, 0), "vdot": (_dot, 0), "vdot.out": (_dot, 0),
    "_grouped_mm": (_grouped, 0),
    "_scaled_mm": (switch_scaled.scaled_mm, 0), "_scaled_mm.out": (switch_scaled.scaled_mm, 0),
    "_scaled_mm_v2": (switch_scaled.scaled_mm_v2, 0), "_scaled_mm_v2.out": (switch_scaled.scaled_mm_v2, 0),
}


def covered():
    """The operators of aten that the switch computes, by name."""
    return sorted(_TABLE)


def _override(name, device, original):
    compute, which = _TABLE[name]
    takes_type = ".dtype" in name
    in_place = name.endswith("_")

    def run(keys, *args, **options):
        scope = next((each for each in reversed(_entered) if device in each.devices), None)
        deciding = args[which]
        text = scope.contracts.get(deciding.dtype) if scope is not None else None
        if text is None:
            if scope is not None and scope.others == "refuse":
                raise RuntimeError(
                    f"detgemm: aten::{name} was called with {deciding.dtype}: the switch has contracts for "
                    + ", ".join(str(dtype) for dtype in scope.contracts)
                    + '; add one, or pass others="pass" to leave such calls to PyTorch')
            if original is None:
                raise RuntimeError(f"detgemm: aten::{name} was called with {deciding.dtype}: the switch has no contract for "
                                   f"it, and PyTorch has no kernel for it on {device}")
            if scope is not None:
                scope.used[name, deciding.dtype, "aten"] += 1
            return original.call_boxed(keys, *args, **options)
        operands = list(args)
        if name.startswith("_scaled"):
            text = switch_scaled.contract_of(text, name, args, options)
        if takes_type:
            result_type = options.pop("out_dtype", None)
            if result_type is None:
                result_type = operands.pop(which + 2)
            text = parsed(text).with_output(NAMES.get(result_type, str(result_type))).text
        elif name == "_grouped_mm" and (args[4:] or options.get("out_dtype")):
            result_type = args[4] if args[4:] else options["out_dtype"]
            if result_type is not None:
                text = parsed(text).with_output(NAMES.get(result_type, str(result_type))).text
        if in_place:
            options["out"] = operands[0]
        scope.used[name, deciding.dtype, text] += 1
        return compute(text, *operands, **options)

    return run


def _sums_override(name, original):
    compute, base = switch_sums.TABLE[name], name.partition(".")[0]

    def run(keys, *args, **options):
        text = sums_now(base, args, options)
        if text is None:
            return original.call_boxed(keys, *args, **options)
        first = args[0][0] if isinstance(args[0], (list, tuple)) else args[0]
        scope = next(each for each in reversed(_entered) if first.device.type in each.devices)
        scope.used[name, first.dtype, text] += 1
        return compute(text, *args, **options)

    return run


def _register(device):
    key = device.upper()
    library = torch.library.Library("aten", "IMPL")
    override = {"allow_override": True} if "allow_override" in inspect.signature(library.impl).parameters else {}
    try:
        for name in (*_TABLE, *switch_sums.TABLE):
            base, _, overload = name.partition(".")
            found = getattr(getattr(torch.ops.aten, base), overload or "default", None)
            if found is None:
                continue  # a form that this release of PyTorch does not have
            try:
                original = torch.library.get_kernel(found, key)
            except RuntimeError:
                if not base.startswith("_scaled"):
                    continue  # and one that it does not have on this device
                original = None  # scaled products by recipe are for CUDA alone, and on a CPU the reference computes them
            with warnings.catch_warnings():  # torch says that a kernel is replaced, which is what is wanted
                warnings.simplefilter("ignore", UserWarning)
                run = _sums_override(name, original) if name in switch_sums.TABLE else _override(name, device, original)
                library.impl(name, run, key, with_keyset=True, **override)
    except BaseException:
        library._destroy()
        raise
    return library


def _unregister(device):
    library = _registered.pop(device, None)
    if library is not None:
        library._destroy()
