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


def silu_mul(x):
    """x: rows x 2n; returns round(round(silu(x[:, :n])) * x[:, n:])."""
    gate, up = x.float().chunk(2, dim=-1)
    silu = rounded(gate * _sigmoid(gate), x.dtype).float()
    return rounded(silu * up, x.dtype)


def silu_mul_backward(dy, x):
    """dy: rows x n; returns the gradients of gate and of up, rows x 2n."""
    (gate, up), dy = x.float().chunk(2, dim=-1), dy.float()
    s = _sigmoid(gate)
    dsilu = rounded(dy * up, x.dtype).float()
    dgate = dsilu * (s * (gate * (1.0 - s) + 1.0))
    return torch.cat((rounded(dgate, x.dtype), rounded(dy * rounded(gate * s, x.dtype).float(), x.dtype)), dim=-1)
