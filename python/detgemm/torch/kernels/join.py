# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The join of a row's blocks of keys, in attention.py's order: blocks ascending, one after the other.

    top_b = max(top_b-1, m_b)                                      a scan: a maximum has one value in any order
    old_b = exp(top_b-1 - top_b), new_b = exp(m_b - top_b)         SCANNED blocks at once
    acc_b = round(round(acc_b-1 old_b) + round(x_b new_b))         block after block, each thread for its columns

Each step of the last line waits for the one before, so its operands are brought into the first cache before, little enough for
what shared memory of a kernel beside may leave of it. The sum of weights is one more column, in lanes of its own beside those of the
values.
"""
import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from detgemm.torch import order
from detgemm.torch.kernels.arithmetic import exp, rounded
from detgemm.torch.kernels.launch import HIP, TYPES, launch, power_of_2

KEYS = tl.constexpr(order.KEYS)
FEW_COLUMNS = 16    # of values per program where rows are few
PROGRAMS = 1056     # so many programs of few columns run at once
SCANNED = 1024      # blocks whose maxima are scanned at once
TOUCHED = 4096      # lanes times blocks that are in the first cache at once: 16 KB
AHEAD = 16          # steps whose operands are read together
WARPS = 1 if HIP else 4  # AMD's barrier does not wait for what other warps wrote to memory


@triton.jit
def _larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def _weights(tops, pairs, part, first, count, largest, SCANNED: tl.constexpr):
    """Stores both weights of SCANNED steps, each pair in one integer: the old state's below, the block's above. Returns the largest
    maximum until then. Programs of one row store the same."""
    block = first + tl.arange(0, SCANNED)
    valid = block < count
    top = tl.load(tops + part + block, mask=valid, other=float("-inf"))
    before = tl.load(tops + part + block - 1, mask=valid & (block > 0), other=float("-inf"))
    old = tl.maximum(tl.associative_scan(before, 0, _larger), largest)
    new = tl.maximum(old, top)
    of_old = exp(old - new).to(tl.int32, bitcast=True).to(tl.int64) & 0xffffffff
    of_block = exp(top - new).to(tl.int32, bitcast=True).to(tl.int64) << 32
    tl.store(pairs + part + block, of_block | of_old, mask=valid)
    return tl.max(new, axis=0)


@triton.jit(do_not_specialize=["heads", "group", "rows", "blocks", "number"])
def _join_columns(parts, pairs, out, segments, heads, group, rows, blocks, number, DIM: tl.constexpr, WIDTH: tl.constexpr,
                  COLUMNS: tl.constexpr, TYPE: tl.constexpr, SCANNED: tl.constexpr, TOUCHED: tl.constexpr, AHEAD: tl.constexpr,
                  SHORT: tl.constexpr, EARLY: tl.constexpr):
    """parts: maxima, sums of weights and values of all blocks, `number` of each of the first two. Row r of a key head is query
    r // group of head r % group of its group. A segment of SHORT blocks or fewer is left as it is."""
    if EARLY:
        gdc_launch_dependents()
        gdc_wait()
    slabs: tl.constexpr = WIDTH // COLUMNS
    r, slab = tl.program_id(0) // slabs, tl.program_id(0) % slabs
    segment = segments + tl.program_id(2) * 6
    i, q_len, k_len = r // group, tl.load(segment + 2), tl.load(segment + 5)
    if i < q_len and k_len > SHORT * KEYS:
        count = (i + k_len - q_len) // KEYS + 1
        part = ((tl.program_id(2) * tl.num_programs(1) + tl.program_id(1)).to(tl.int64) * rows + r) * blocks
        lane = tl.arange(0, 2 * COLUMNS)
        summed = lane >= COLUMNS
        column = slab * COLUMNS + lane % COLUMNS
        source = parts + number + tl.where(summed, part, number.to(tl.int64) + part * WIDTH + column)
        step = tl.where(summed, 1, WIDTH)
        acc, touched, largest = tl.zeros([2 * COLUMNS], tl.float32), 0.0, float("-inf")
        for first in range(0, count, SCANNED):
            largest = _weights(parts, pairs, part, first, count, largest, SCANNED)
            tl.debug_barrier()  # the pairs are read by other threads below
            for start in range(first, min(first + SCANNED, count), TOUCHED):
                end = min(start + TOUCHED, count)
                near = start + tl.arange(0, TOUCHED)
                there = near < end
                values = tl.load(source[None, :] + near[:, None] * step[None, :], mask=there[:, None], other=0.0)
                weights = tl.load(pairs + part + near, mask=there, other=0)
                if count < 0:  # never: keeps the loads
                    touched += tl.max(tl.max(values, axis=1), axis=0) + tl.max(weights, axis=0).to(tl.float32)
                for block in tl.range(start, end, loop_unroll_factor=AHEAD):
                    pair = tl.load(pairs + part + block)
                    old = (pair & 0xffffffff).to(tl.int32).to(tl.float32, bitcast=True)
                    new = (pair >> 32).to(tl.int32).to(tl.float32, bitcast=True)
                    acc = acc * old + tl.load(source + block * step) * new
        total = tl.sum(tl.where(lane == COLUMNS, acc, 0.0), axis=0)
        y = tl.where(total == 0.0, 0.0, acc * tl.math.div_rn(1.0, total))
        at = ((tl.load(segment + 1) + i).to(tl.int64) * heads + tl.program_id(1) * group + r % group) * DIM + column
        tl.store(out + at, rounded(y, TYPE), mask=(lane < COLUMNS) & (column < DIM) & (touched == 0.0))


def join(parts, pairs, number, out, segments, heads, group, rows, blocks, kv_heads, dim, width, short, early, options):
    """parts: maxima, sums and values of segments x key heads x rows x blocks; pairs: as many integers. out: tokens x heads x dim."""
    count = segments.shape[0]
    # Programs of one row store the same weights, which only NVIDIA's memory model was checked for.
    columns = FEW_COLUMNS if not HIP and rows * kv_heads * count * (width // FEW_COLUMNS) <= PROGRAMS else width
    scanned = min(power_of_2(blocks), SCANNED)
    launch(_join_columns, (rows * (width // columns), kv_heads, count), parts, pairs, out, segments, heads, group, rows, blocks, number,
           DIM=dim, WIDTH=width, COLUMNS=columns, TYPE=TYPES[out.dtype], SCANNED=scanned, TOUCHED=min(scanned, max(1, TOUCHED // (2 * columns))),
           AHEAD=AHEAD, SHORT=short, EARLY=early, num_warps=WARPS, enable_fp_fusion=False, **options)
