# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""How row kernels are launched: shapes of programs, which cannot move a bit."""
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


def launch(kernel, grid, *arguments, **constants):
    """kernel[grid](*arguments, **constants), constants being all of the kernel's, in its order, then Triton's own options.

    Triton looks at each argument of each launch and writes options as text, for tens of microseconds. Here a compiled kernel is
    found by what its code depends on: constants, types, whether addresses are multiples of 16, and integers. A number among them
    that changes from call to call must be one that the kernel does not specialise.
    """
    if not isinstance(kernel, triton.JITFunction):  # Triton's interpreter
        kernel[grid](*arguments, **constants)
        return
    seen = tuple([(each.dtype, each.data_ptr() % 16 == 0) if isinstance(each, torch.Tensor) else
                  None if isinstance(each, float) else each if kind.do_not_specialize is False else each.bit_length() > 31
                  for each, kind in zip(arguments, kernel.params)])
    key = kernel, torch.cuda.current_device(), seen, tuple(constants.values())
    kept = _compiled.get(key)
    if kept is None:
        made = kernel[grid](*arguments, **constants)
        _compiled[key] = made, [constants[name] for name in kernel.arg_names[len(arguments):]]
        return
    made, values = kept
    made[(*grid, 1, 1)](*arguments, *values)


def warps(wanted, most):
    """A number of warps from 1 to `most`; on AMD hardware not two, which race in what Triton compiles for gfx950 (ROCm/triton 953)."""
    number = max(1, min(most, wanted))
    return 4 if HIP and number == 2 else number


def rows_per_program(rows, n):
    """WIDTH lanes that can hold something, its levels, rows per program and warps."""
    width = min(order.LANES, triton.next_power_of_2(n))
    together = 1 if width >= 512 else max(1, min(1024 // width, triton.next_power_of_2(rows)))
    return {"WIDTH": width, "LEVELS": width.bit_length() - 1, "ROWS": together,
            "num_warps": warps(width * together // 256, 8 if n > 8 * order.LANES else 4), "enable_fp_fusion": False}
