# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Attention whose keys and values are in pages. A row's blocks of keys are joined in ascending order, in one of two forms:

    one program per tile of rows and key head    all blocks of keys, ascending         (prefill, many requests)
    so many programs per request and key head    each every so many blocks; join.py    (decode)

In the second form a request of few blocks is one program's, as in the first. Row r of a key head is query r // group of head r %
group of its group. The number of programs of the second form depends on no length, so a graph that is captured for the longest
sequence serves shorter ones.

Tested in Triton's interpreter; on a GPU whole requests were compared (docs/vllm.md).
"""
import torch
import triton
import triton.language as tl

from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from detgemm.torch import order
from detgemm.torch.kernels import join
from detgemm.torch.kernels.attention import FEW_ROWS, KEYS, _finish, _join, _of_keys
from detgemm.torch.kernels.fused import _options, _programmatic
from detgemm.torch.kernels.launch import HIP, PRODUCTS, TYPES, cdiv, launch, power_of_2

PROGRAMS = 1056  # of a launch that shares blocks of keys: enough for all processors of a GPU
FILLING = 132    # programs with all blocks of a request each that are enough where the longest has FEW blocks
FEW = 64
SHORT = 1, 4     # blocks of a request that one program takes where others share theirs: of few requests, and of many
QUERIES = {"rows": 128, "num_warps": 8, "num_stages": 2}  # a tile of queries
NARROW = 128     # rows of keys and values up to which two stages of them fit into a processor's shared memory
WIDE = {"rows": 64, "num_warps": 4 if HIP else 8, "num_stages": 1}  # of wider ones: a block of each is 128 KB of 227
# Forms of programs of few rows: of a block or two each, of a few blocks each, of many blocks or many requests (docs/log/vllm.md).
BRIEF, FEW_EACH, MANY = ({"num_warps": warps, "num_stages": stages} for warps, stages in ((4 if HIP else 8, 1), (4 if HIP else 8, 2), (4, 2)))


@triton.jit
def _block(q, k, v, table, k_page, k_row, v_page, v_row, k_at, v_at, block, limit, k_len, scale,
           PAGE: tl.constexpr, DIM: tl.constexpr, WIDTH: tl.constexpr, MASKED: tl.constexpr):
    """MASKED = False: every row sees all keys of the block."""
    key = block * KEYS + tl.arange(0, KEYS)
    d = tl.arange(0, WIDTH)
    there = (d < DIM)[None, :]
    if MASKED:
        there = (key < k_len)[:, None] & there
        page = tl.load(table + key // PAGE, mask=key < k_len, other=0).to(tl.int64)
    else:
        page = tl.load(table + key // PAGE).to(tl.int64)
    of_k, of_v = page * k_page + (key % PAGE) * k_row, page * v_page + (key % PAGE) * v_row
    if MASKED or DIM != WIDTH:
        keys = tl.load(k + k_at + of_k[:, None] + d[None, :], mask=there, other=0.0)
        values = tl.load(v + v_at + of_v[:, None] + d[None, :], mask=there, other=0.0)
    else:
        keys = tl.load(k + k_at + of_k[:, None] + d[None, :])
        values = tl.load(v + v_at + of_v[:, None] + d[None, :])
    return _of_keys(q, keys, values, block, limit, scale, MASKED)


@triton.jit
def _tile(q, segment, tile, kv_head, group, qt, qh, DIM: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr):
    """A tile's rows of q, their tokens, heads, last keys, and which there are."""
    q_first, q_len, k_len = tl.load(segment + 1), tl.load(segment + 2), tl.load(segment + 5)
    r = tile * ROWS + tl.arange(0, ROWS)
    i = r // group
    valid = i < q_len
    d = tl.arange(0, WIDTH)
    token, head = (q_first + i).to(tl.int64), kv_head * group + r % group
    rows = tl.load(q + (head * qh + token * qt)[:, None] + d[None, :], mask=valid[:, None] & (d < DIM)[None, :], other=0.0)
    return rows, token, head, tl.where(valid, i + k_len - q_len, -1), valid


@triton.jit
def _all_blocks(q, k, v, table, out, segment, scale, heads, group, pages, tile, kv_head, qt, qh, kp, kr, kh, vp, vr, vh,
                PAGE: tl.constexpr, DIM: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr, TYPE: tl.constexpr):
    """A tile of rows: blocks that all of its rows see, then those behind, of which some see a part."""
    q_len, k_len, of_table = tl.load(segment + 2), tl.load(segment + 5), tl.load(segment + 3).to(tl.int64) * pages
    rows, token, head, limit, valid = _tile(q, segment, tile, kv_head, group, qt, qh, DIM, WIDTH, ROWS)
    top = tl.full([ROWS], float("-inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    acc = tl.zeros([ROWS, WIDTH], tl.float32)
    seen = tile * ROWS // group + k_len - q_len + 1  # keys of the first row
    last = tl.minimum((tile * ROWS + ROWS - 1) // group + 1, q_len) + k_len - q_len
    for block in range(0, seen // KEYS):
        block_top, block_total, block_acc, some = _block(rows, k, v, table + of_table, kp, kr, vp, vr, kv_head * kh, kv_head * vh, block,
                                                         limit, k_len, scale, PAGE, DIM, WIDTH, False)
        top, total, acc = _join(top, total, acc, block_top, block_total, block_acc, some, False)
    for block in range(seen // KEYS, (last + KEYS - 1) // KEYS):
        block_top, block_total, block_acc, some = _block(rows, k, v, table + of_table, kp, kr, vp, vr, kv_head * kh, kv_head * vh, block,
                                                         limit, k_len, scale, PAGE, DIM, WIDTH, True)
        top, total, acc = _join(top, total, acc, block_top, block_total, block_acc, some, True)
    _finish(out, out, 0, token, (token * heads + head) * DIM, top, total, acc, valid, DIM, WIDTH, TYPE, False)


@triton.jit(do_not_specialize=["heads", "group", "pages"])
def _by_rows(q, k, v, table, out, segments, scale, heads, group, pages, qt, qh, kp, kr, kh, vp, vr, vh,
             PAGE: tl.constexpr, DIM: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr, TYPE: tl.constexpr, EARLY: tl.constexpr):
    if EARLY:
        gdc_launch_dependents()
        gdc_wait()
    tile = tl.num_programs(0) - 1 - tl.program_id(0)  # the longest first
    segment = segments + tl.program_id(2) * 6
    if tile * ROWS < tl.load(segment + 2) * group:
        _all_blocks(q, k, v, table, out, segment, scale, heads, group, pages, tile, tl.program_id(1), qt, qh, kp, kr, kh, vp, vr, vh, PAGE,
                    DIM, WIDTH, ROWS, TYPE)


@triton.jit(do_not_specialize=["heads", "group", "rows", "blocks", "pages"])
def _by_keys(q, k, v, table, tops, totals, accs, out, segments, scale, heads, group, rows, blocks, pages, qt, qh, kp, kr, kh, vp, vr, vh,
             PAGE: tl.constexpr, DIM: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr, TYPE: tl.constexpr, SHORT: tl.constexpr,
             EARLY: tl.constexpr):
    """A block's maxima, sums of weights and values, for the join. A request of SHORT blocks or fewer is written as it will be."""
    if EARLY:
        gdc_launch_dependents()
        gdc_wait()
    kv_head = tl.program_id(1)
    segment = segments + tl.program_id(2) * 6
    q_len, k_len = tl.load(segment + 2), tl.load(segment + 5)
    last = tl.where(q_len > 0, (k_len + KEYS - 1) // KEYS, 0)
    if last <= SHORT:
        if tl.program_id(0) == 0 and last > 0:
            _all_blocks(q, k, v, table, out, segment, scale, heads, group, pages, 0, kv_head, qt, qh, kp, kr, kh, vp, vr, vh, PAGE, DIM, WIDTH,
                        ROWS, TYPE)
    elif tl.program_id(0) < last:
        of_table = tl.load(segment + 3).to(tl.int64) * pages
        tile_q, _, _, limit, valid = _tile(q, segment, 0, kv_head, group, qt, qh, DIM, WIDTH, ROWS)
        of_rows = ((tl.program_id(2) * tl.num_programs(1) + kv_head).to(tl.int64) * rows + tl.arange(0, ROWS)) * blocks
        for block in range(tl.program_id(0), last, tl.num_programs(0)):
            top, total, acc, some = _block(tile_q, k, v, table + of_table, kp, kr, vp, vr, kv_head * kh, kv_head * vh, block, limit, k_len,
                                           scale, PAGE, DIM, WIDTH, True)
            tl.store(tops + of_rows + block, top, mask=valid)
            tl.store(totals + of_rows + block, total, mask=valid)
            tl.store(accs + (of_rows + block)[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :], acc, mask=valid[:, None])


@triton.jit(do_not_specialize=["count"])
def _write_segments(segments, starts, lengths, count, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    there = row < count
    first = tl.load(starts + row, mask=there, other=0)
    tl.store(segments + row * 6 + 1, first, mask=there)
    tl.store(segments + row * 6 + 2, tl.load(starts + row + 1, mask=there, other=0) - first, mask=there)
    tl.store(segments + row * 6 + 5, tl.load(lengths + row, mask=there, other=0), mask=there)


def write_segments(segments, starts, lengths):
    """As plain/paged.py."""
    count = segments.shape[0]
    launch(_write_segments, (cdiv(count, 128),), segments, starts, lengths, count, BLOCK=128, num_warps=4)


def programs_of(segments, kv_heads, blocks):
    """How many programs share a request's blocks of keys, per key head; 1: one has all of them, and there is nothing to join."""
    if blocks == 1 or segments * kv_heads >= FILLING and blocks <= FEW:
        return 1
    return min(blocks, max(1, PROGRAMS // (segments * kv_heads)))


def part_numbers(segments, kv_heads, rows, blocks, width):
    """fp32 numbers that blocks of keys leave for the join, per call."""
    return segments * kv_heads * rows * blocks * (width + 4) if programs_of(segments, kv_heads, blocks) > 1 else 0


def paged_attention(q, k, v, table, segments, scale, max_q, max_k, by_keys=None, out=None):
    """As plain/paged.py; the last dimensions of q, k and v are contiguous. max_q, max_k: bounds of q_len and k_len. out: tokens x
    heads x d, contiguous, in which rows of no segment are not written; without it they are zero. by_keys: whether blocks of keys are
    shared; None leaves it to the shapes."""
    (tokens, heads, dim), (_, page, kv_heads, _) = q.shape, k.shape
    group, count, device = heads // kv_heads, segments.shape[0], q.device
    out = torch.zeros((tokens, heads, dim), dtype=q.dtype, device=device) if out is None else out
    if not (count and tokens and max_q and max_k):
        return out
    width = max(16, power_of_2(dim))
    strides = (table.stride(0), q.stride(0), q.stride(1), *(each for x in (k, v) for each in (x.stride(0), x.stride(1), x.stride(2))))
    early, rows, blocks = _programmatic(device), max_q * group, cdiv(max_k, order.KEYS)
    few, wide = rows <= FEW_ROWS, width > NARROW
    queries = WIDE if wide else QUERIES
    shape = {"PAGE": page, "DIM": dim, "WIDTH": width, "ROWS": max(16, power_of_2(rows)) if few else queries["rows"], "TYPE": TYPES[q.dtype]}
    programs, filled = programs_of(count, kv_heads, blocks), count * kv_heads >= FILLING
    if few and by_keys is not False and (programs > 1 or by_keys):
        short, number = SHORT[filled], count * kv_heads * rows * blocks
        parts = torch.empty(number * (width + 4), dtype=torch.float32, device=device)
        pairs, joined = parts[:2 * number].view(torch.int64), parts[2 * number:]
        form = WIDE if wide else BRIEF if programs == blocks else FEW_EACH if blocks <= 4 * programs else MANY
        launch(_by_keys, (programs, kv_heads, count), q, k, v, table, *joined.split((number, number, number * width)), out, segments, scale,
               heads, group, rows, blocks, *strides, **shape, SHORT=short, EARLY=early, enable_fp_fusion=False, **PRODUCTS, **_options(early),
               num_warps=form["num_warps"], num_stages=form["num_stages"])
        join.join(joined, pairs, number, out, segments, heads, group, rows, blocks, kv_heads, dim, width, short, early, _options(early))
    else:
        early = early and few
        tile = queries if wide or not few else MANY if count * kv_heads >= 3 * FILLING else BRIEF
        launch(_by_rows, (cdiv(rows, shape["ROWS"]), kv_heads, count), q, k, v, table, out, segments, scale, heads, group, *strides, **shape,
               EARLY=early, enable_fp_fusion=False, **PRODUCTS, **_options(early), num_warps=tile["num_warps"], num_stages=tile["num_stages"])
    return out
