# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Row operations of an inference engine: RMSNorm behind an addition, and silu(gate) * up, which has a gradient.

On compute capability 9.0 they are launched with programmatic dependent launch: each kernel lets the next one start
at once and waits for the one before it before it touches memory that another kernel writes. A product behind it loads its
weights meanwhile.
"""
import functools

import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from detgemm.torch.kernels.arithmetic import exp, rounded, tree, widened
from detgemm.torch.kernels.launch import TYPES, rows_per_program
from detgemm.torch.plain.norms import inverse


@functools.cache
def _programmatic(device):
    """Whether kernels on this device may start early; Triton's interpreter runs on CPU tensors."""
    return device.type == "cuda" and torch.cuda.get_device_capability(device) >= (9, 0)


@triton.jit(do_not_specialize=["rows"])
def _rms_norm(x, residual, weight, y, total, rows, n, inner, outer_stride, inner_stride, eps, inverse_n,
              TYPE: tl.constexpr, ADD: tl.constexpr, EARLY: tl.constexpr,
              ROWS: tl.constexpr, WIDTH: tl.constexpr, LEVELS: tl.constexpr):
    if EARLY:
        gdc_launch_dependents()
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    lane = tl.arange(0, WIDTH)
    of_x = ((row // inner) * outer_stride + (row % inner) * inner_stride)[:, None] + lane[None, :]
    at = row[:, None] * n + lane[None, :]
    lanes = tl.zeros([ROWS, WIDTH], tl.float32)
    if EARLY:
        gdc_wait()
    for start in range(0, n, WIDTH):
        there = (row[:, None] < rows) & (start + lane[None, :] < n)
        wide = tl.load(x + of_x + start, mask=there, other=0.0).to(tl.float32)
        if ADD:
            added = rounded(wide + tl.load(residual + at + start, mask=there, other=0.0).to(tl.float32), TYPE)
            tl.store(total + at + start, added, mask=there)
            wide = added.to(tl.float32)
        lanes = lanes + wide * wide
    mean = tree(lanes, ROWS, WIDTH, LEVELS) * inverse_n
    r = rounded(tl.math.div_rn(1.0, tl.math.sqrt_rn(mean + eps)), tl.float32)
    for start in range(0, n, WIDTH):
        there = (row[:, None] < rows) & (start + lane[None, :] < n)
        wide = tl.load(x + of_x + start, mask=there, other=0.0).to(tl.float32)
        if ADD:  # once more, since another thread may have stored what this one would load
            wide = rounded(wide + tl.load(residual + at + start, mask=there, other=0.0).to(tl.float32),
                           TYPE).to(tl.float32)
        w = tl.load(weight + start + lane, mask=start + lane < n, other=0.0).to(tl.float32)
        normal = rounded(wide * r[:, None], TYPE).to(tl.float32)
        tl.store(y + at + start, rounded(normal * w[None, :], TYPE), mask=there)


@triton.jit
def sigmoid(gate):
    power = exp(tl.where(gate < 0.0, gate, -gate))
    return tl.math.div_rn(tl.where(gate < 0.0, power, 1.0), 1.0 + power)


@triton.jit
def gated(gate, up, TYPE: tl.constexpr):
    """round(round(silu(gate)) * up)."""
    return rounded(widened(rounded(gate * sigmoid(gate), TYPE)) * up, TYPE)


@triton.jit(do_not_specialize=["rows"])
def _silu_mul(gates, ups, y, rows, n, gate_stride, up_stride, TYPE: tl.constexpr, EARLY: tl.constexpr, BLOCK: tl.constexpr):
    if EARLY:
        gdc_launch_dependents()
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    there = column < n
    if EARLY:
        gdc_wait()
    gate = widened(tl.load(gates + row * gate_stride + column, mask=there, other=0.0))
    up = widened(tl.load(ups + row * up_stride + column, mask=there, other=0.0))
    tl.store(y + row * n + column, gated(gate, up, TYPE), mask=there)


@triton.jit(do_not_specialize=["rows"])
def _silu_mul_backward(dy, gates, ups, dx, rows, n, dy_stride, gate_stride, up_stride, TYPE: tl.constexpr, BLOCK: tl.constexpr):
    """Not run on a GPU yet: tested in Triton's interpreter."""
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    there = column < n
    gate = widened(tl.load(gates + row * gate_stride + column, mask=there, other=0.0))
    up = widened(tl.load(ups + row * up_stride + column, mask=there, other=0.0))
    gradient = widened(tl.load(dy + row * dy_stride + column, mask=there, other=0.0))
    s = sigmoid(gate)
    dsilu = widened(rounded(gradient * up, TYPE))
    dgate = dsilu * (s * (gate * (1.0 - s) + 1.0))
    dup = gradient * widened(rounded(gate * s, TYPE))
    tl.store(dx + row * 2 * n + column, rounded(dgate, TYPE), mask=there)
    tl.store(dx + row * 2 * n + n + column, rounded(dup, TYPE), mask=there)


def rms_norm(x, residual, weight, eps):
    """x: ... x n, its last dimension contiguous; residual: as x, contiguous, or None; weight: n. Returns y and the sum."""
    n = x.shape[-1]
    rows = x.numel() // n
    if x.dim() == 3 and x.stride(2) == 1:
        inner, outer_stride, inner_stride = x.shape[1], x.stride(0), x.stride(1)
    elif x.dim() == 2 and x.stride(1) == 1:
        inner, outer_stride, inner_stride = 1, x.stride(0), 0
    else:
        x = x.contiguous()
        inner, outer_stride, inner_stride = 1, n, 0
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    total = y if residual is None else torch.empty_like(y)
    if rows:
        shape, early = rows_per_program(rows, n), _programmatic(x.device)
        if early:
            shape["launch_pdl"] = True
        _rms_norm[(triton.cdiv(rows, shape["ROWS"]),)](
            x, x if residual is None else residual, weight, y, total, rows, n, inner, outer_stride, inner_stride, eps,
            inverse(n), TYPE=TYPES[x.dtype], ADD=residual is not None, EARLY=early, **shape)
    return y, total


def silu_mul(gate, up):
    """gate, up: rows x n, their last dimensions contiguous; returns rows x n."""
    rows, n = gate.shape
    y = torch.empty((rows, n), dtype=gate.dtype, device=gate.device)
    if rows and n:
        early = _programmatic(gate.device)
        more = {"launch_pdl": True} if early else {}
        _silu_mul[(rows, triton.cdiv(n, 1024))](gate, up, y, rows, n, gate.stride(0), up.stride(0), TYPE=TYPES[gate.dtype],
                                                EARLY=early, BLOCK=1024, num_warps=4, enable_fp_fusion=False, **more)
    return y


def silu_mul_backward(dy, gate, up):
    """dy: rows x n, its last dimension contiguous; gate, up: as above; returns rows x 2n."""
    rows, n = dy.shape
    dx = torch.empty((rows, 2 * n), dtype=gate.dtype, device=gate.device)
    if rows and n:
        _silu_mul_backward[(rows, triton.cdiv(n, 1024))](
            dy, gate, up, dx, rows, n, dy.stride(0), gate.stride(0), up.stride(0), TYPE=TYPES[gate.dtype], BLOCK=1024, num_warps=4,
            enable_fp_fusion=False)
    return dx
