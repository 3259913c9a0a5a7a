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


def _sigmoid(gate):
    power = exp(torch.where(gate < 0, gate, -gate))
    return torch.div(torch.where(gate < 0, power, torch.ones_like(power)), 1.0 + power)


def silu_mul(gate, up):
    """gate, up: rows x n; returns round(round(silu(gate)) * up)."""
    gate, up, dtype = gate.float(), up.float(), gate.dtype
    silu = rounded(gate * _sigmoid(gate), dtype).float()
    return rounded(silu * up, dtype)


def silu_mul_backward(dy, gate, up):
    """dy: rows x n; returns the gradients of gate and of up, rows x 2n."""
    gate, up, dy, dtype = gate.float(), up.float(), dy.float(), gate.dtype
    s = _sigmoid(gate)
    dsilu = rounded(dy * up, dtype).float()
    dgate = dsilu * (s * (gate * (1.0 - s) + 1.0))
    return torch.cat((rounded(dgate, dtype), rounded(dy * rounded(gate * s, dtype).float(), dtype)), dim=-1)
