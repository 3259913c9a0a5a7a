# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""RMSNorm behind an addition, and silu(gate) * up: definitions."""
import torch

from detgemm.torch.plain import norms
from detgemm.torch.plain.arithmetic import exp, rounded


def rms_norm(x, residual, weight, eps):
    """x: ... x n; residual: as x, or None; weight: n. Returns y and round(x + residual)."""
    total = x if residual is None else rounded(x.float() + residual.float(), x.dtype)
    return norms.rms_norm(total, weight, eps)[0], total


def silu_mul(x):
    """x: rows x 2n; returns round(round(silu(x[:, :n])) * x[:, n:])."""
    gate, up = x.float().chunk(2, dim=-1)
    power = exp(torch.where(gate < 0, gate, -gate))
    sigmoid = torch.div(torch.where(gate < 0, power, torch.ones_like(power)), 1.0 + power)
    silu = rounded(gate * sigmoid, x.dtype).float()
    return rounded(silu * up, x.dtype)
