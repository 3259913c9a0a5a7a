# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The functions that programs import under the name `batch_invariant_ops`, computed under contracts.

The name belongs to another package, so nothing here takes it unless it is told to, in one of two ways:

    detgemm.torch.batch_invariant_ops.register()             # in the program, before it imports batch_invariant_ops
    python -m detgemm.torch.batch_invariant_ops FOLDER       # FOLDER/batch_invariant_ops.py, for PYTHONPATH and programs of others

The mode is `detgemm.torch.aten`, and beside products _log_softmax with its gradient and mean.dim.
"""
import argparse
import collections
import contextlib
import importlib.machinery
import pathlib
import sys

import torch

from detgemm.torch.dispatch import check_tensors, refuse
from detgemm.torch.operators import NAMES, OPS
from detgemm.torch.rows import FLOATS
from detgemm.torch.rows import log_softmax as rows_log_softmax
from detgemm.torch.sums import SUMS
from detgemm.torch.switch import aten, covered

NAME = "batch_invariant_ops"
# What a product of a type is computed under; `register` takes others. The functions of that name have no argument for it.
CONTRACTS = {torch.bfloat16: "hopper/bf16/chain->bf16", torch.float16: "hopper/fp16/chain->fp16",
             torch.float32: "ieee_fma/fp32/chain->fp32"}
AttentionBlockSize = collections.namedtuple("AttentionBlockSize", ["block_m", "block_n"])
_now = None  # the switch and the library of overrides while the mode is on, and the switch's counts


def device():
    """The device type whose operators the mode replaces: cuda, or cpu where there is no GPU."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def matmul_persistent(a, b, bias=None):
    """a.b + bias. a: M x K, b: K x N, bias: N or None."""
    check_tensors(a=a, b=b)
    text = CONTRACTS.get(a.dtype)
    refuse(text is None, f"a.dtype is {a.dtype}: there are contracts for {', '.join(NAMES[each] for each in CONTRACTS)}")
    return OPS.gemm(a, b, text, None, bias)


def mm_batch_invariant(a, b):
    """a.b."""
    return matmul_persistent(a, b)


def addmm_batch_invariant(bias, a, b):
    """a.b + bias."""
    return matmul_persistent(a, b, bias)


def log_softmax(input, dim=-1):
    """log-softmax in the type of the input."""
    return rows_log_softmax(input, dim, input.dtype)


def mean_dim(input, dim, keepdim=False, dtype=None):
    """The mean over one dimension or several, or over all (None or ()): one fp32 addition after the other, then one division."""
    check_tensors(input=input)
    dtype = dtype or input.dtype
    refuse(input.dtype not in FLOATS or dtype not in FLOATS,
           f"input.dtype is {input.dtype} and dtype is {dtype}: both must be bfloat16, float16 or float32")
    dims = [dim] if isinstance(dim, int) else list(dim or range(input.dim()))
    refuse(any(not -input.dim() <= each < input.dim() for each in dims), f"dim is {dim}: input has {input.dim()} dimensions")
    dims = sorted({each % input.dim() for each in dims})
    kept = [each for each in range(input.dim()) if each not in dims]
    rows = input.permute(*kept, *dims).reshape(*(input.shape[each] for each in kept), -1).float()
    n = rows.shape[-1]
    total = OPS.gemm(rows.reshape(-1, n), rows.new_ones((n, 1)), SUMS)
    mean = torch.div(total, float(n)).to(dtype)
    return mean.view([1 if each in dims else size for each, size in enumerate(input.shape) if keepdim or each not in dims])


def _log_softmax(input, dim, half_to_float):
    return rows_log_softmax(input, dim, torch.float32 if half_to_float else input.dtype)


def _log_softmax_backward(grad, output, dim, input_dtype):
    last = torch.ops.detgemm.log_softmax_backward(grad.transpose(dim, -1), output.transpose(dim, -1), input_dtype)
    return last.transpose(dim, -1)


def _overrides():
    library = torch.library.Library("aten", "IMPL")
    for name, kernel in (("_log_softmax", _log_softmax), ("_log_softmax_backward_data", _log_softmax_backward), ("mean.dim", mean_dim)):
        library.impl(name, kernel, device().upper(), allow_override=True)
    return library


def _leave_open():
    """Lets a program put a kernel of its own over an operator that the package of this name leaves to PyTorch, such as bmm in
    torchtitan's generator; PyTorch refuses a second one for a name that it has noted."""
    noted = getattr(torch.library, "_impls", set())
    noted.difference_update(f"aten/{name}/{device().upper()}" for name in covered() if name not in ("mm", "addmm"))


def is_batch_invariant_mode_enabled():
    return _now is not None


def enable_batch_invariant_mode():
    """Puts products, log-softmax and means of the process under contracts until `disable_batch_invariant_mode`."""
    global _now
    if _now is None:
        switch = aten(CONTRACTS, devices=device())
        used = switch.__enter__()
        _now = switch, _overrides(), used
        _leave_open()


def disable_batch_invariant_mode():
    global _now
    if _now is not None:
        switch, library, _ = _now
        _now = None
        library._destroy()
        switch.__exit__()


@contextlib.contextmanager
def set_batch_invariant_mode(enabled=True):
    """The mode on, or off, for the extent of a `with` statement."""
    before = is_batch_invariant_mode_enabled()
    (enable_batch_invariant_mode if enabled else disable_batch_invariant_mode)()
    try:
        yield
    finally:
        (enable_batch_invariant_mode if before else disable_batch_invariant_mode)()


def used():
    """What the mode computed since it was enabled: (operator, type, contract) and calls (`detgemm.torch.aten`)."""
    return _now[2] if _now else collections.Counter()


def get_batch_invariant_attention_block_size():
    """Tiles for a flex attention of the program's own. detgemm.torch.attention has a written order and needs none."""
    return AttentionBlockSize(block_m=16, block_n=16)


def register(contracts=None):
    """Answers `import batch_invariant_ops` in this process with this module.

    contracts: texts by type in place of CONTRACTS; types without one are refused when they are multiplied.
    """
    ours, there = sys.modules[__name__], sys.modules.get(NAME)
    refuse(there not in (None, ours), f"{NAME} is imported already, from {getattr(there, '__file__', '?')}: call register() before it")
    refuse(is_batch_invariant_mode_enabled(), "the mode is enabled: call register() before that")
    if contracts is not None:
        aten(contracts)  # whose checks these are
        CONTRACTS.clear()
        CONTRACTS.update(contracts)
    sys.modules[NAME] = sys.modules[f"{NAME}.{NAME}"] = ours
    if ours.__spec__ is None:  # run as a program
        ours.__spec__ = importlib.machinery.ModuleSpec(NAME, None)


FORWARD = f'''"""{NAME} by detgemm; written by python -m detgemm.torch.{NAME}."""
import detgemm.torch.{NAME} as ours

ours.register_file(__name__)
'''


def register_file(name):
    """What a file that `main` wrote calls: the module of that name becomes this one."""
    del sys.modules[name]
    register()


def main():
    parser = argparse.ArgumentParser(prog=f"python -m detgemm.torch.{NAME}", description=f"Writes FOLDER/{NAME}.py, which forwards to detgemm.")
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{NAME}.py").write_text(FORWARD, encoding="utf-8")
    print(f"PYTHONPATH={folder.resolve()}")


if __name__ == "__main__":
    main()
