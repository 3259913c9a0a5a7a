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

from detgemm.torch.kernels.arithmetic import AMD, INTERPRETED, exp, square_root, tree, widened
from detgemm.torch.kernels.arithmetic import narrowed as rounded
from detgemm.torch.kernels.launch import TYPES, cdiv, launch, rows_per_program, warps
from detgemm.torch.plain.norms import inverse


MOST_HELD = 8    # chunks of a row that a program keeps in registers
NORM_STARTS, SILU_STARTS = 1, 2  # when the next kernel may start: 1 at once, 2 when this one has read its operands
NORM_WARPS, SILU_WARPS = 16, 8   # less code per thread, which is read from memory too (docs/log/vllm.md)
MANY_ROWS, WIDE = 256, 4096      # more rows hide each other's waits; one warp then has a row of so many elements, and no barrier


@functools.cache
def _programmatic(device):
    """Whether kernels on this device may start early; Triton's interpreter runs on CPU tensors, and an MI300X is a (9, 4)."""
    return device.type == "cuda" and torch.version.hip is None and torch.cuda.get_device_capability(device) >= (9, 0)


def _options(early):
    return {"launch_pdl": True} if early else {}


@triton.jit
def _added(x, residual, there, TYPE: tl.constexpr, ADD: tl.constexpr):
    wide = tl.load(x, mask=there, other=0.0).to(tl.float32)
    if ADD:
        wide = rounded(wide + tl.load(residual, mask=there, other=0.0).to(tl.float32), TYPE).to(tl.float32)
    return wide


@triton.jit
def _normed(y, total, wide, w, r, there, TYPE: tl.constexpr, ADD: tl.constexpr):
    if ADD:
        tl.store(total, rounded(wide, TYPE), mask=there)
    normal = rounded(wide * r[:, None], TYPE).to(tl.float32)
    tl.store(y, rounded(normal * w[None, :], TYPE), mask=there)


@triton.jit
def _scale(lanes, eps, inverse_n, ROWS: tl.constexpr, WIDTH: tl.constexpr, LEVELS: tl.constexpr):
    mean = tree(lanes, ROWS, WIDTH, LEVELS) * inverse_n
    return rounded(tl.math.div_rn(1.0, square_root(mean + eps)), tl.float32)


@triton.jit(do_not_specialize=["rows"])
def _rms_norm(x, residual, weight, y, total, rows, n, inner, outer_stride, inner_stride, eps, inverse_n,
              TYPE: tl.constexpr, ADD: tl.constexpr, EARLY: tl.constexpr,
              ROWS: tl.constexpr, WIDTH: tl.constexpr, LEVELS: tl.constexpr, HELD: tl.constexpr):
    """Chunks of WIDTH elements ascending, then lanes by halves. HELD chunks stay in registers, so memory is waited for once: the
    weights of a product behind are on their way by then, and each wait is long. HELD = 0: the row is read twice."""
    if EARLY == 1:
        gdc_launch_dependents()
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    lane = tl.arange(0, WIDTH)
    of_x = ((row // inner) * outer_stride + (row % inner) * inner_stride)[:, None] + lane[None, :]
    at = row[:, None] * n + lane[None, :]
    valid = row[:, None] < rows
    lanes = tl.zeros([ROWS, WIDTH], tl.float32)
    if EARLY:
        gdc_wait()
    if HELD:
        held, weights = (), ()
        for chunk in tl.static_range(HELD):
            start = chunk * WIDTH
            there = valid & (start + lane[None, :] < n)
            held = held + (_added(x + of_x + start, residual + at + start, there, TYPE, ADD),)
            weights = weights + (tl.load(weight + start + lane, mask=start + lane < n, other=0.0).to(tl.float32),)
        for chunk in tl.static_range(HELD):
            lanes = lanes + held[chunk] * held[chunk]
        r = _scale(lanes, eps, inverse_n, ROWS, WIDTH, LEVELS)
        if EARLY == 2:
            gdc_launch_dependents()
        for chunk in tl.static_range(HELD):
            start = chunk * WIDTH
            _normed(y + at + start, total + at + start, held[chunk], weights[chunk], r, valid & (start + lane[None, :] < n), TYPE, ADD)
    else:
        for start in range(0, n, WIDTH):
            wide = _added(x + of_x + start, residual + at + start, valid & (start + lane[None, :] < n), TYPE, ADD)
            lanes = lanes + wide * wide
        r = _scale(lanes, eps, inverse_n, ROWS, WIDTH, LEVELS)
        if EARLY == 2:
            gdc_launch_dependents()
        for start in range(0, n, WIDTH):
            there = valid & (start + lane[None, :] < n)
            wide = _added(x + of_x + start, residual + at + start, there, TYPE, ADD)
            w = tl.load(weight + start + lane, mask=start + lane < n, other=0.0).to(tl.float32)
            _normed(y + at + start, total + at + start, wide, w, r, there, TYPE, ADD)


@triton.jit
def _divided(above, below):
    """above / below, rounded to nearest: two steps of Newton's from the GPU's reciprocal, then one of Markstein's.

    For 1 <= below <= 2 and above = 1, or above no smaller than 2^-126 where below is 1 and than 2^-24 elsewhere: nothing
    underflows, so that it has the bits of a division without looking for numbers for which it would not. Compared with one for
    every fp32 number that `sigmoid` takes (docs/log/vllm.md).
    """
    if INTERPRETED or AMD:
        return tl.math.div_rn(above, below)
    else:
        near = tl.inline_asm_elementwise("rcp.approx.ftz.f32 $0, $1;", "=f,f", [below], dtype=tl.float32, is_pure=True, pack=1)
        near = tl.fma(near, tl.fma(-below, near, 1.0), near)
        quotient = above * near
        return tl.fma(tl.fma(-below, quotient, above), near, quotient)


@triton.jit
def sigmoid(gate):
    power = exp(-tl.abs(gate))
    return _divided(tl.where(gate < 0.0, power, 1.0), 1.0 + power)


@triton.jit
def gated(gate, up, TYPE: tl.constexpr):
    """round(round(silu(gate)) * up)."""
    return rounded(widened(rounded(gate * sigmoid(gate), TYPE)) * up, TYPE)


@triton.jit
def _gated(gate, up, TYPE: tl.constexpr):
    """gated, of operands in TYPE. Two products of bf16 are one instruction on compute capability 9.0, rounded once: their product
    in fp32 is exact, or so small that either way it is rounded to zero."""
    wide = widened(gate)
    if INTERPRETED or AMD or TYPE != tl.bfloat16:
        return gated(wide, widened(up), TYPE)
    else:
        return tl.inline_asm_elementwise(
            "{ .reg .b32 t; cvt.rn.bf16x2.f32 t, $2, $1; mul.rn.bf16x2 $0, t, $3; }", "=r,f,f,r", [wide * sigmoid(wide), up],
            dtype=tl.bfloat16, is_pure=True, pack=2)


@triton.jit(do_not_specialize=["rows"])
def _silu_mul(gates, ups, y, rows, n, gate_stride, up_stride, TYPE: tl.constexpr, EARLY: tl.constexpr, BLOCK: tl.constexpr):
    if EARLY == 1:
        gdc_launch_dependents()
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    there = column < n
    if EARLY:
        gdc_wait()
    gate = tl.load(gates + row * gate_stride + column, mask=there, other=0.0)
    up = tl.load(ups + row * up_stride + column, mask=there, other=0.0)
    if EARLY == 2:
        gdc_launch_dependents()
    tl.store(y + row * n + column, _gated(gate, up, TYPE), mask=there)


@triton.jit(do_not_specialize=["rows"])
def _silu_mul_backward(dy, gates, ups, dx, rows, n, dy_stride, gate_stride, up_stride, TYPE: tl.constexpr, BLOCK: tl.constexpr):
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
        width, together, chunks = shape["WIDTH"], shape["ROWS"], cdiv(n, shape["WIDTH"])
        wanted = 1 if rows > MANY_ROWS and n <= WIDE else width * together // 64
        launch(_rms_norm, (cdiv(rows, together),), x, x if residual is None else residual, weight, y, total, rows, n, inner,
               outer_stride, inner_stride, eps, inverse(n), TYPE=TYPES[x.dtype], ADD=residual is not None,
               EARLY=NORM_STARTS if early else 0, ROWS=together, WIDTH=width, LEVELS=shape["LEVELS"],
               HELD=chunks if chunks <= MOST_HELD else 0, num_warps=warps(wanted, NORM_WARPS), enable_fp_fusion=False, **_options(early))
    return y, total


def silu_mul(gate, up):
    """gate, up: rows x n, their last dimensions contiguous; returns rows x n."""
    rows, n = gate.shape
    y = torch.empty((rows, n), dtype=gate.dtype, device=gate.device)
    if rows and n:
        early = _programmatic(gate.device)
        launch(_silu_mul, (rows, cdiv(n, 1024)), gate, up, y, rows, n, gate.stride(0), up.stride(0), TYPE=TYPES[gate.dtype],
               EARLY=SILU_STARTS if early else 0, BLOCK=1024, num_warps=warps(2, SILU_WARPS) if rows > MANY_ROWS else SILU_WARPS,
               enable_fp_fusion=False, **_options(early))
    return y


def silu_mul_backward(dy, gate, up):
    """dy: rows x n, its last dimension contiguous; gate, up: as above; returns rows x 2n."""
    rows, n = dy.shape
    dx = torch.empty((rows, 2 * n), dtype=gate.dtype, device=gate.device)
    if rows and n:
        launch(_silu_mul_backward, (rows, cdiv(n, 1024)), dy, gate, up, dx, rows, n, dy.stride(0), gate.stride(0), up.stride(0),
               TYPE=TYPES[gate.dtype], BLOCK=1024, num_warps=4, enable_fp_fusion=False)
    return dx
