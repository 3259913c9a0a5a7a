# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Sums over the rows of one matrix or of two, one addition after the other: acc[j] + x[0, j] + x[1, j] + ...

    thread j    v0 v1 ... v223     rows 0 to 223 of its column, on their way
                acc + v0           then v0 is loaded again, with row 224
                (acc + v0) + v1    then v1, with row 225, ...

Each addition waits for the one before, four cycles. A processor waits for all loads of a loop's pass at once, so that rows are on
their way from memory to the L2 cache before: four threads fetch the four sectors of a row, FETCHED rows ahead. Triton has no array
of registers to write that with, so the loop is PTX.
"""
import functools

import triton
import triton.language as tl

from detgemm.torch.kernels.arithmetic import INTERPRETED
from detgemm.torch.kernels.launch import cdiv, launch

AHEAD = 224    # rows in registers
FETCHED = 1024  # rows on their way to the L2 cache


@functools.cache
def _loop(n):
    """PTX of one thread: $0 = $1 + the numbers at $2, $2 + 4n, ..., $3 of them. Its warp has 32 columns, and they are neighbours."""
    step, each = 4 * n, range(AHEAD)

    def fetch(row):  # 8 rows, where all of them exist; of whole groups of 32 columns alone
        return "" if n % 32 else f"setp.ge.s32 more, left, {row + 8}; @more prefetch.global.L2 [far+{row * step}];"

    lines = ["{ .reg .f32 s; .reg .f32 v<%d>; .reg .b64 p, far, by; .reg .b32 left, lane, part; .reg .pred more;" % AHEAD,
             "mov.f32 s, $1; mov.b64 p, $2;",
             # far = p - 4 lane + (lane / 4) 4n + (lane mod 4) 32
             "mov.u32 lane, %laneid; and.b32 part, lane, 3; shl.b32 part, part, 5; shl.b32 left, lane, 2; sub.s32 part, part, left;",
             f"cvt.s64.s32 by, part; add.s64 far, p, by; shr.u32 lane, lane, 2; mul.wide.u32 by, lane, {step}; add.s64 far, far, by;",
             "mov.b32 left, $3;",
             *(fetch(row) for row in range(0, FETCHED, 8)),
             f"setp.lt.s32 more, left, {AHEAD}; @more bra rest;",
             *(f"ld.global.f32 v{i}, [p+{i * step}];" for i in each),
             f"loop: add.s64 p, p, {AHEAD * step}; add.s64 far, far, {AHEAD * step}; sub.s32 left, left, {AHEAD};",
             f"setp.lt.s32 more, left, {AHEAD}; @more bra last;",
             *((fetch(FETCHED - AHEAD + i) if i % 8 == 0 else "") + f"add.rn.f32 s, s, v{i}; ld.global.f32 v{i}, [p+{i * step}];" for i in each),
             "bra loop; last:",
             *(f"add.rn.f32 s, s, v{i};" for i in each),
             "rest:",
             *(f"setp.gt.s32 more, left, {i}; @more ld.global.f32 v{i}, [p+{i * step}];" for i in each),
             *(f"setp.gt.s32 more, left, {i}; @more add.rn.f32 s, s, v{i};" for i in each),
             "mov.f32 $0, s; }"]
    return "\n".join(lines)


@triton.jit
def _sum(acc, x, rows, block, n, WIDTH: tl.constexpr, LOOP: tl.constexpr):
    column = block * WIDTH + tl.arange(0, WIDTH)
    there = column < n
    total = tl.load(acc + column, mask=there, other=0.0)
    if INTERPRETED:
        for row in range(rows):
            total = total + tl.load(x + row * n + column, mask=there, other=0.0)
    else:
        at = (x + tl.where(there, column, 0)).to(tl.int64)
        total = tl.inline_asm_elementwise(LOOP, "=f,f,l,r", [total, at, rows], dtype=tl.float32, is_pure=False, pack=1)
    tl.store(acc + column, total, mask=there)


@triton.jit(do_not_specialize=["rows", "rows2", "blocks"])
def _sums(acc, x, rows, acc2, x2, rows2, blocks, n, WIDTH: tl.constexpr, LOOP: tl.constexpr):
    if tl.program_id(0) < blocks:
        _sum(acc, x, rows, tl.program_id(0), n, WIDTH, LOOP)
    else:
        _sum(acc2, x2, rows2, tl.program_id(0) - blocks, n, WIDTH, LOOP)


def sum_rows_(acc, x, acc2=None, x2=None):
    """Adds to acc, n elements, the rows of x, T x n; both in fp32, contiguous. acc2, x2: another sum of the same n, in the same launch."""
    n, blocks = acc.shape[0], cdiv(acc.shape[0], 32)
    if acc2 is None:
        launch(_sums, (blocks,), acc, x, x.shape[0], acc, x, x.shape[0], blocks, n, WIDTH=32, LOOP=_loop(n), num_warps=1,
               enable_fp_fusion=False)
    else:
        launch(_sums, (2 * blocks,), acc, x, x.shape[0], acc2, x2, x2.shape[0], blocks, n, WIDTH=32, LOOP=_loop(n), num_warps=1,
               enable_fp_fusion=False)
