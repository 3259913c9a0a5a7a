# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The quantiser of docs/scaled.md with fp32 scales of one row and one leaf, behind a gather or silu(gate) * up: definitions."""
import torch

from detgemm.torch.plain import fused


def e4m3(v):
    """fp32 to the bytes of e4m3, to nearest even; 448 with v's sign beyond that, 7f for NaN and Inf."""
    bits = v.view(torch.int32)
    magnitude = bits & 0x7fffffff
    # Below 2^-6, v + 2^14 has e4m3's unit in the last place, 2^-9: the addition rounds.
    small = (magnitude.view(torch.float32) + 2.0 ** 14).view(torch.int32) - 0x46800000
    large = ((magnitude + 0x7ffff + ((magnitude >> 20) & 1)) >> 20) - (120 << 3)
    code = torch.where(magnitude < 0x3c800000, small, large).clamp(max=0x7e) | ((bits >> 24) & 0x80)
    return torch.where(magnitude >= 0x7f800000, 0x7f, code).to(torch.uint8)


def quantize(x, leaf):
    """x: rows x n. Returns e4m3, rows x n, and fp32 scales, rows x ceil(n / leaf)."""
    rows, n = x.shape
    leaves = -(-n // leaf)
    values = torch.nn.functional.pad(x.float(), (0, leaves * leaf - n)).view(rows, leaves, leaf)
    finite = torch.where(values.isfinite(), values.abs(), torch.zeros_like(values))
    scales = finite.amax(-1).clamp(min=1e-4) / 448.0
    codes = e4m3(values * (1.0 / scales)[..., None]).view(rows, leaves * leaf)[:, :n]
    return codes.contiguous().view(torch.float8_e4m3fn), scales


def silu_mul_quantize(x, leaf):
    return quantize(fused.silu_mul(*x.chunk(2, dim=-1)), leaf)


def gather_quantize(x, index, copies, leaf):
    rows = x[index.clamp(min=0) // copies] if len(x) else x.new_zeros((len(index), x.shape[1]))
    return quantize(torch.where((index >= 0)[:, None], rows, torch.zeros_like(rows)), leaf)
