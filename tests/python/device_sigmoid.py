# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Compares the sigmoid of the row kernels with one by a division, for every fp32 number, on a CUDA device."""
import torch
import triton
import triton.language as tl

from detgemm.torch.kernels.arithmetic import exp
from detgemm.torch.kernels.fused import sigmoid


@triton.jit
def _compare(first, other, BLOCK: tl.constexpr):
    at = first + tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    gate = at.to(tl.int32).to(tl.float32, bitcast=True)
    power = exp(tl.where(gate < 0.0, gate, -gate))
    wanted = tl.math.div_rn(tl.where(gate < 0.0, power, 1.0), 1.0 + power)
    found = sigmoid(gate)
    differ = (wanted.to(tl.int32, bitcast=True) != found.to(tl.int32, bitcast=True)) & ((wanted == wanted) | (found == found))
    tl.atomic_add(other, tl.sum(differ.to(tl.int32)))


def others():
    """How many numbers have another sigmoid; NaN equals NaN."""
    count = torch.zeros(1, dtype=torch.int32, device="cuda")
    for chunk in range(64):
        _compare[(2**16,)](chunk * 2**26, count, BLOCK=1024, enable_fp_fusion=False)
    return int(count)
