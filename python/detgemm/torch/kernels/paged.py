# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Attention whose keys and values are in pages: the two kernels of attention.py, which find a key's row in a table.

Blocks of keys are joined by join.py. Where there may be many blocks the number of programs is bounded, and each takes every so many
blocks, so a graph that is captured for the longest sequence serves shorter ones.

Tested in Triton's interpreter; on a GPU whole requests were compared (docs/vllm.md).
"""
import torch
import triton
import triton.language as tl

from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from detgemm.torch import order
from detgemm.torch.kernels import join
from detgemm.torch.kernels.attention import FEW_ROWS, KEYS, WARPS, _finish, _join, _of_keys
from detgemm.torch.kernels.fused import _options, _programmatic
from detgemm.torch.kernels.launch import PRODUCTS, TYPES, cdiv, launch, power_of_2

ALL = 10000      # blocks of a call, of all its sequences and key heads, up to which each has a program
PROGRAMS = 1056  # for more: enough for all processors of a GPU
QUERIES = {"rows": 128, "num_warps": 8, "num_stages": 2}  # a tile of queries


@triton.jit
def _block(q, k, v, table, k_page, k_row, v_page, v_row, k_at, v_at, block, limit, k_len, scale,
           PAGE: tl.constexpr, DIM: tl.constexpr, WIDTH: tl.constexpr):
    key = block * KEYS + tl.arange(0, KEYS)
    d = tl.arange(0, WIDTH)
    page = tl.load(table + key // PAGE, mask=key < k_len, other=0).to(tl.int64)
    there = (key < k_len)[:, None] & (d < DIM)[None, :]
    of_k, of_v = page * k_page + (key % PAGE) * k_row, page * v_page + (key % PAGE) * v_row
    keys = tl.load(k + k_at + of_k[:, None] + d[None, :], mask=there, other=0.0)
    values = tl.load(v + v_at + of_v[:, None] + d[None, :], mask=there, other=0.0)
    return _of_keys(q, keys, values, block, limit, scale)


@triton.jit(do_not_specialize=["heads", "group", "plane", "pages"])
def _by_queries(q, k, v, table, out, stats, segments, scale, heads, group, plane, pages, qt, qh, kp, kr, kh, vp, vr, vh,
                PAGE: tl.constexpr, DIM: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr, TYPE: tl.constexpr):
    tile = tl.num_programs(0) - 1 - tl.program_id(0)  # the longest first
    head = tl.program_id(1)
    segment = segments + tl.program_id(2) * 6
    q_first, q_len = tl.load(segment + 1), tl.load(segment + 2)
    row_of_table, k_len = tl.load(segment + 3), tl.load(segment + 5)
    if tile * ROWS < q_len:
        i = tile * ROWS + tl.arange(0, ROWS)
        valid = i < q_len
        d = tl.arange(0, WIDTH)
        token = (q_first + i).to(tl.int64)
        tile_q = tl.load(q + head * qh + token[:, None] * qt + d[None, :], mask=valid[:, None] & (d < DIM)[None, :], other=0.0)
        limit = tl.where(valid, i + k_len - q_len, -1)
        top = tl.full([ROWS], float("-inf"), tl.float32)
        total = tl.zeros([ROWS], tl.float32)
        acc = tl.zeros([ROWS, WIDTH], tl.float32)
        last = tl.minimum(tile * ROWS + ROWS, q_len) + k_len - q_len
        for block in range(0, (last + KEYS - 1) // KEYS):
            block_top, block_total, block_acc, some = _block(
                tile_q, k, v, table + row_of_table.to(tl.int64) * pages, kp, kr, vp, vr, (head // group) * kh,
                (head // group) * vh, block, limit, k_len, scale, PAGE, DIM, WIDTH)
            top, total, acc = _join(top, total, acc, block_top, block_total, block_acc, some)
        _finish(out, stats, plane, token, (token * heads + head) * DIM, top, total, acc, valid, DIM, WIDTH, TYPE, False)


@triton.jit
def _one(q, k, v, table, tops, totals, accs, scale, rows, blocks, kp, kr, kh, vp, vr, vh, tile_q, r, valid, limit, of_table, k_len, kv_head,
         block, PAGE: tl.constexpr, DIM: tl.constexpr, WIDTH: tl.constexpr):
    """A block's maxima, sums of weights and values, for the join."""
    top, total, acc, some = _block(tile_q, k, v, table + of_table, kp, kr, vp, vr, kv_head * kh, kv_head * vh, block, limit, k_len, scale,
                                   PAGE, DIM, WIDTH)
    part = ((tl.program_id(2) * tl.num_programs(1) + kv_head).to(tl.int64) * rows + r) * blocks + block
    tl.store(tops + part, top, mask=valid)
    tl.store(totals + part, total, mask=valid)
    tl.store(accs + part[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :], acc, mask=valid[:, None])


@triton.jit(do_not_specialize=["group", "rows", "blocks", "pages"])
def _by_keys(q, k, v, table, tops, totals, accs, segments, scale, group, rows, blocks, pages, qt, qh, kp, kr, kh, vp, vr, vh,
             PAGE: tl.constexpr, DIM: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr, ONCE: tl.constexpr, EARLY: tl.constexpr):
    """Row r of a key head is query r // group of head r % group of its group."""
    if EARLY:
        gdc_launch_dependents()
        gdc_wait()
    kv_head = tl.program_id(1)
    segment = segments + tl.program_id(2) * 6
    q_first, q_len = tl.load(segment + 1), tl.load(segment + 2)
    row_of_table, k_len = tl.load(segment + 3).to(tl.int64), tl.load(segment + 5)
    last = tl.where(q_len > 0, (k_len + KEYS - 1) // KEYS, 0)
    if tl.program_id(0) < last:
        r = tl.arange(0, ROWS)
        i = r // group
        valid = (i < q_len) & (r < rows)
        d = tl.arange(0, WIDTH)
        token = (q_first + i).to(tl.int64)
        head = kv_head * group + r % group
        tile_q = tl.load(q + (head * qh + token * qt)[:, None] + d[None, :], mask=valid[:, None] & (d < DIM)[None, :], other=0.0)
        limit = tl.where(valid, i + k_len - q_len, -1)
        if ONCE:
            _one(q, k, v, table, tops, totals, accs, scale, rows, blocks, kp, kr, kh, vp, vr, vh, tile_q, r, valid, limit, row_of_table * pages,
                 k_len, kv_head, tl.program_id(0), PAGE, DIM, WIDTH)
        else:
            for block in range(tl.program_id(0), last, tl.num_programs(0)):
                _one(q, k, v, table, tops, totals, accs, scale, rows, blocks, kp, kr, kh, vp, vr, vh, tile_q, r, valid, limit,
                     row_of_table * pages, k_len, kv_head, block, PAGE, DIM, WIDTH)


def part_numbers(segments, kv_heads, rows, blocks, width):
    """fp32 numbers that blocks of keys leave for the join, per call."""
    return segments * kv_heads * rows * blocks * (width + 4)


def paged_attention(q, k, v, table, segments, scale, max_q, max_k, by_keys=None, out=None):
    """As plain/paged.py; the last dimensions of q, k and v are contiguous. max_q, max_k: bounds of q_len and k_len. out: tokens x
    heads x d, contiguous, in which rows of no segment are not written; without it they are zero."""
    (tokens, heads, dim), (_, page, kv_heads, _) = q.shape, k.shape
    group, count, device = heads // kv_heads, segments.shape[0], q.device
    out = torch.zeros((tokens, heads, dim), dtype=q.dtype, device=device) if out is None else out
    if not (count and tokens and max_q and max_k):
        return out
    width = max(16, power_of_2(dim))
    strides = (q.stride(0), q.stride(1), *(each for x in (k, v) for each in (x.stride(0), x.stride(1), x.stride(2))))
    early, rows = _programmatic(device), max_q * group
    fixed = {"enable_fp_fusion": False, **PRODUCTS, **_options(early)}
    if by_keys if by_keys is not None else rows <= FEW_ROWS:
        blocks = cdiv(max_k, order.KEYS)
        number = count * kv_heads * rows * blocks
        parts = torch.empty(part_numbers(count, kv_heads, rows, blocks, width), dtype=torch.float32, device=device)
        pairs, joined = parts[:2 * number].view(torch.int64), parts[2 * number:]
        programs = blocks if blocks * kv_heads * count <= ALL else min(blocks, max(1, PROGRAMS // (kv_heads * count)))
        launch(_by_keys, (programs, kv_heads, count), q, k, v, table,
               *joined.split((number, number, number * width)), segments, scale, group, rows, blocks, table.stride(0), *strides, PAGE=page,
               DIM=dim, WIDTH=width, ROWS=max(16, power_of_2(rows)), ONCE=programs == blocks, EARLY=early, num_warps=WARPS["keys"],
               **fixed)
        join.join(joined, pairs, number, out, segments, heads, group, rows, blocks, kv_heads, dim, width, early, _options(early))
    else:
        launch(_by_queries, (cdiv(max_q, QUERIES["rows"]), heads, count), q, k, v, table, out, out, segments, scale, heads, group, heads * tokens,
               table.stride(0), *strides, PAGE=page, DIM=dim, WIDTH=width, ROWS=QUERIES["rows"], TYPE=TYPES[q.dtype],
               num_warps=QUERIES["num_warps"], num_stages=QUERIES["num_stages"], enable_fp_fusion=False, **PRODUCTS)
    return out
