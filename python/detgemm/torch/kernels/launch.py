# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""How row kernels are launched: shapes of programs, which cannot move a bit."""
import functools

import torch
import triton
import triton.language as tl

from detgemm.torch import order

TYPES = {torch.bfloat16: tl.bfloat16, torch.float16: tl.float16, torch.float32: tl.float32}
HIP = torch.version.hip is not None
# Options of kernels with products. On AMD hardware one matrix instruction, 16x16x16, then serves every tile, and with it one
# order of k: by default Triton takes 32x32x8 for large tiles, and prefill and decode would rest on different instructions.
PRODUCTS = {"matrix_instr_nonkdim": 16, "kpack": 1} if HIP else {}


_compiled = {}


@functools.cache
def _ignored(kernel):
    """By parameter, whether the kernel's code is the same for all its numbers of 32 bits."""
    return tuple(bool(each.do_not_specialize) for each in kernel.params)


# Triton's own functions of these names take two microseconds each.
def cdiv(a, b):
    return -(-a // b)


def power_of_2(n):
    """The smallest power of two that is n or more."""
    return 1 << max(0, n - 1).bit_length()


def launch(kernel, grid, *arguments, **constants):
    """kernel[grid](*arguments, **constants), constants being all of the kernel's, in its order, then Triton's own options.

    Triton looks at each argument of each launch, writes options as text and looks each address up in the driver, for tens of
    microseconds. Here a compiled kernel is found by what its code depends on: constants, types, whether addresses are multiples
    of 16, and integers. A number among them that changes from call to call must be one that the kernel does not specialise.
    """
    if not isinstance(kernel, triton.JITFunction):  # Triton's interpreter
        kernel[grid](*arguments, **constants)
        return
    device, given, seen = torch.cuda.current_device(), list(arguments), []
    for at, (each, ignored) in enumerate(zip(arguments, _ignored(kernel))):
        kind = type(each)
        if kind is int:
            seen.append(-0x80000000 <= each < 0x80000000 if ignored else each)
        elif kind is float:
            seen.append(None)
        else:
            given[at] = address = each.data_ptr()
            seen += each.dtype, address % 16 == 0
    key = kernel, device, tuple(seen), tuple(constants.values())
    kept = _compiled.get(key)
    if kept is None:
        made = kernel[grid](*arguments, **constants)
        _compiled[key] = made, made.run, made.function, made.packed_metadata, [constants[name] for name in kernel.arg_names[len(arguments):]]
        return
    made, run, function, packed, values = kept
    width, height, depth = (*grid, 1, 1)[:3]
    if _watched(triton.knobs.runtime.launch_enter_hook) or _watched(triton.knobs.runtime.launch_exit_hook):
        made[width, height, depth](*arguments, *values)
    else:
        run(width, height, depth, torch._C._cuda_getCurrentRawStream(device), function, packed, None, None, None, *given, *values)


def _watched(hook):
    """Whether a profiler looks at launches: a hook of Triton's is None, a function, or a chain of functions."""
    return hook is not None and bool(getattr(hook, "calls", True))


def warps(wanted, most):
    """A number of warps from 1 to `most`; on AMD hardware not two, which race in what Triton compiles for gfx950 (ROCm/triton 953)."""
    number = max(1, min(most, wanted))
    return 4 if HIP and number == 2 else number


def rows_per_program(rows, n):
    """WIDTH lanes that can hold something, its levels, rows per program and warps."""
    width = min(order.LANES, power_of_2(n))
    together = 1 if width >= 512 else max(1, min(1024 // width, power_of_2(rows)))
    return {"WIDTH": width, "LEVELS": width.bit_length() - 1, "ROWS": together,
            "num_warps": warps(width * together // 256, 8 if n > 8 * order.LANES else 4), "enable_fp_fusion": False}
