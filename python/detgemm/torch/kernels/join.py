# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The join of a row's blocks of keys where they are many, in attention.py's order: blocks ascending, one after the other.

    top_b = max(top_b-1, m_b)                                        _weights: a scan; a maximum has one value in any order
    old_b = exp(top_b-1 - top_b), new_b = exp(m_b - top_b)           all blocks at once
    acc_b = round(round(acc_b-1 old_b) + round(x_b new_b))           _join_columns: block after block, few columns per program

Each step of the last line waits for the one before, so its operands are brought near first. The sum of weights is one more
column, in lanes of its own beside those of the values.
"""
import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from detgemm.torch import order
from detgemm.torch.kernels.arithmetic import exp, rounded
from detgemm.torch.kernels.launch import TYPES, launch

KEYS = tl.constexpr(order.KEYS)
COLUMNS = tl.constexpr(16)  # of values per program; as many lanes have the sum of weights
SCANNED, NEAR, TOUCHED, AHEAD = 1024, 512, 128, 16  # blocks


@triton.jit
def _larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def _row(segments, r, group, rows, blocks):
    """Whether query r // group of this program's sequence is there, its token, its blocks, and where its parts are."""
    segment = segments + tl.program_id(2) * 6
    i = r // group
    limit = i + tl.load(segment + 5) - tl.load(segment + 2)
    part = ((tl.program_id(2) * tl.num_programs(1) + tl.program_id(1)).to(tl.int64) * rows + r) * blocks
    return i < tl.load(segment + 2), (tl.load(segment + 1) + i).to(tl.int64), limit // KEYS + 1, part


@triton.jit(do_not_specialize=["group", "rows", "blocks"])
def _weights(tops, pairs, segments, group, rows, blocks, BLOCK: tl.constexpr, EARLY: tl.constexpr):
    """Both weights of a step in one integer of 64 bits: the old state's below, the block's above."""
    if EARLY:
        gdc_launch_dependents()
        gdc_wait()
    there, _, count, part = _row(segments, tl.program_id(0), group, rows, blocks)
    if there:
        largest = float("-inf")
        for start in range(0, count, BLOCK):
            block = start + tl.arange(0, BLOCK)
            valid = block < count
            top = tl.load(tops + part + block, mask=valid, other=float("-inf"))
            before = tl.load(tops + part + block - 1, mask=valid & (block > 0), other=float("-inf"))
            old = tl.maximum(tl.associative_scan(before, 0, _larger), largest)
            new = tl.maximum(old, top)
            of_old = exp(old - new).to(tl.int32, bitcast=True).to(tl.int64) & 0xffffffff
            of_block = exp(top - new).to(tl.int32, bitcast=True).to(tl.int64) << 32
            tl.store(pairs + part + block, of_block | of_old, mask=valid)
            largest = tl.max(new, axis=0)


@triton.jit(do_not_specialize=["heads", "group", "rows", "blocks", "number"])
def _join_columns(parts, pairs, out, segments, heads, group, rows, blocks, number, DIM: tl.constexpr, WIDTH: tl.constexpr,
                  TYPE: tl.constexpr, NEAR: tl.constexpr, TOUCHED: tl.constexpr, AHEAD: tl.constexpr, EARLY: tl.constexpr):
    """parts: maxima, sums of weights and values of all blocks, `number` of each of the first two."""
    if EARLY:
        gdc_launch_dependents()
        gdc_wait()
    slabs: tl.constexpr = WIDTH // COLUMNS
    r, slab = tl.program_id(0) // slabs, tl.program_id(0) % slabs
    here, token, count, part = _row(segments, r, group, rows, blocks)
    if here:
        lane = tl.arange(0, 2 * COLUMNS)
        summed = lane >= COLUMNS
        column = slab * COLUMNS + lane % COLUMNS
        source = parts + number + tl.where(summed, part, number.to(tl.int64) + part * WIDTH + column)
        step = tl.where(summed, 1, WIDTH)
        acc, touched = tl.zeros([2 * COLUMNS], tl.float32), 0.0
        for first in range(0, count, NEAR):
            # All warps ask for many blocks at once, so that each of the steps below finds its own in the first cache.
            for start in range(first, min(first + NEAR, count), TOUCHED):
                block = start + tl.arange(0, TOUCHED)
                there = block < count
                near = tl.load(source[None, :] + block[:, None] * step[None, :], mask=there[:, None], other=0.0)
                beside = tl.load(pairs + part + block, mask=there, other=0)
                if count < 0:  # never: keeps the loads
                    touched += tl.max(tl.max(near, axis=1), axis=0) + tl.max(beside, axis=0).to(tl.float32)
            for block in tl.range(first, min(first + NEAR, count), loop_unroll_factor=AHEAD):
                pair = tl.load(pairs + part + block)
                old = (pair & 0xffffffff).to(tl.int32).to(tl.float32, bitcast=True)
                new = (pair >> 32).to(tl.int32).to(tl.float32, bitcast=True)
                acc = acc * old + tl.load(source + block * step) * new
        total = tl.sum(tl.where(lane == COLUMNS, acc, 0.0), axis=0)
        y = tl.where(total == 0.0, 0.0, acc * tl.math.div_rn(1.0, total))
        head = tl.program_id(1) * group + r % group
        tl.store(out + (token * heads + head) * DIM + column, rounded(y, TYPE), mask=(lane < COLUMNS) & (column < DIM) & (touched == 0.0))


def join(tops, pairs, parts, out, segments, heads, group, rows, blocks, kv_heads, dim, width, early, options):
    """tops, the first numbers of parts: the maxima of segments x key heads x rows x blocks. out: tokens x heads x dim."""
    count, number = segments.shape[0], tops.shape[0]
    launch(_weights, (rows, kv_heads, count), tops, pairs, segments, group, rows, blocks, BLOCK=SCANNED, EARLY=early, num_warps=4,
           enable_fp_fusion=False, **options)
    launch(_join_columns, (rows * (width // COLUMNS.value), kv_heads, count), parts, pairs, out, segments, heads, group, rows, blocks, number,
           DIM=dim, WIDTH=width, TYPE=TYPES[out.dtype], NEAR=NEAR, TOUCHED=TOUCHED, AHEAD=AHEAD,
           EARLY=early, num_warps=4, enable_fp_fusion=False, **options)
