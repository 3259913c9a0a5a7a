# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""How row kernels are launched: shapes of programs, which cannot move a bit."""
import torch
import triton
import triton.language as tl

from detgemm.torch import order

TYPES = {torch.bfloat16: tl.bfloat16, torch.float16: tl.float16, torch.float32: tl.float32}


def rows_per_program(rows, n):
    """WIDTH lanes that can hold something, its levels, rows per program and warps."""
    width = min(order.LANES, triton.next_power_of_2(n))
    together = 1 if width >= 512 else max(1, min(1024 // width, triton.next_power_of_2(rows)))
    warps = max(1, min(8 if n > 8 * order.LANES else 4, width * together // 256))
    return {"WIDTH": width, "LEVELS": width.bit_length() - 1, "ROWS": together,
            "num_warps": warps, "enable_fp_fusion": False}
