# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Causal attention of segments, forward. Two kernels with one order:

    one program per tile of queries and head      all blocks of keys, ascending        (prefill)
    one program per block of keys and key head    then one program per row joins them  (decode)

Both compute a block of order.KEYS keys by itself and join blocks in ascending order, so the
choice between them, which is made by shape, cannot move a bit.
"""
import torch
import triton
import triton.language as tl

from detgemm.torch import order
from detgemm.torch.kernels.arithmetic import exp, rounded
from detgemm.torch.kernels.launch import PRODUCTS, TYPES, launch

KEYS = tl.constexpr(order.KEYS)
# Integers that change from call to call are not specialised: a new value must not compile a new kernel.
FEW_ROWS = 64  # query rows per key head up to which blocks of keys are spread over programs
TILE = 64      # query rows per program otherwise
WARPS = {"queries": 4, "keys": 4}
STAGES = 1     # more would leave room for one program on a processor; two hide each other's waits
UNROLL = 4


@triton.jit
def _of_keys(q, keys, values, block, limit, scale, MASKED: tl.constexpr = True):
    """Maximum, sum and weighted values of one block of keys, for a tile of query rows. MASKED = False: each row sees all of them."""
    some = block * KEYS <= limit
    t = tl.dot(q, tl.trans(keys)) * scale
    if MASKED:
        key = block * KEYS + tl.arange(0, KEYS)
        seen = key[None, :] <= limit[:, None]
        t = tl.where(seen, t, float("-inf"))
        top = tl.max(t, axis=1)
        p = tl.where(seen, exp(t - tl.where(some, top, 0.0)[:, None]), 0.0).to(q.dtype)
    else:
        top = tl.max(t, axis=1)
        p = exp(t - top[:, None]).to(q.dtype)
    ones = tl.full([KEYS, 16], 1.0, tl.float32).to(q.dtype)
    total = tl.max(tl.dot(p, ones), axis=1)  # sixteen equal columns
    return top, total, tl.dot(p, values), some


@triton.jit
def _block(q, k, v, k_strides, v_strides, k_at, v_at, block, limit, k_len, scale,
           DIM: tl.constexpr, WIDTH: tl.constexpr):
    key = block * KEYS + tl.arange(0, KEYS)
    d = tl.arange(0, WIDTH)
    there = (key < k_len)[:, None] & (d < DIM)[None, :]
    keys = tl.load(k + k_at + key[:, None].to(tl.int64) * k_strides + d[None, :], mask=there, other=0.0)
    values = tl.load(v + v_at + key[:, None].to(tl.int64) * v_strides + d[None, :], mask=there, other=0.0)
    return _of_keys(q, keys, values, block, limit, scale)


@triton.jit
def _join(top, total, acc, block_top, block_total, block_acc, some, MASKED: tl.constexpr = True):
    new = tl.maximum(top, block_top)
    if not MASKED:
        old_weight, weight = exp(top - new), exp(block_top - new)
        return new, total * old_weight + block_total * weight, acc * old_weight[:, None] + block_acc * weight[:, None]
    old_weight = exp(tl.where(some, top - new, 0.0))
    weight = exp(tl.where(some, block_top - new, 0.0))
    joined = acc * old_weight[:, None] + block_acc * weight[:, None]
    return (tl.where(some, new, top), tl.where(some, total * old_weight + block_total * weight, total),
            tl.where(some[:, None], joined, acc))


@triton.jit
def _finish(out, stats, plane, row, at, top, total, acc, valid, DIM: tl.constexpr,
            WIDTH: tl.constexpr, TYPE: tl.constexpr, STATS: tl.constexpr):
    d = tl.arange(0, WIDTH)
    inverse = tl.math.div_rn(1.0, total)
    y = tl.where((total == 0.0)[:, None], 0.0, acc * inverse[:, None])
    tl.store(out + at[:, None] + d[None, :], rounded(y, TYPE), mask=valid[:, None] & (d < DIM)[None, :])
    if STATS:
        tl.store(stats + row, top, mask=valid)
        tl.store(stats + plane + row, total, mask=valid)


@triton.jit(do_not_specialize=["heads", "group", "queries", "plane"])
def _by_queries(q, k, v, out, stats, segments, scale, heads, group, queries, plane,
                qb, qh, qt, kb, kh, kt, vb, vh, vt, DIM: tl.constexpr, WIDTH: tl.constexpr,
                ROWS: tl.constexpr, TYPE: tl.constexpr, STATS: tl.constexpr):
    tile = tl.num_programs(0) - 1 - tl.program_id(0)  # the longest first
    head = tl.program_id(1)
    segment = segments + tl.program_id(2) * 6
    q_batch, q_first, q_len = tl.load(segment), tl.load(segment + 1), tl.load(segment + 2)
    k_batch, k_first, k_len = tl.load(segment + 3), tl.load(segment + 4), tl.load(segment + 5)
    if tile * ROWS < q_len:
        i = tile * ROWS + tl.arange(0, ROWS)
        valid = i < q_len
        d = tl.arange(0, WIDTH)
        token = (q_first + i).to(tl.int64)
        tile_q = tl.load(q + q_batch.to(tl.int64) * qb + head * qh + token[:, None] * qt + d[None, :],
                         mask=valid[:, None] & (d < DIM)[None, :], other=0.0)
        limit = tl.where(valid, i + k_len - q_len, -1)
        k_at = k_batch.to(tl.int64) * kb + (head // group) * kh + k_first.to(tl.int64) * kt
        v_at = k_batch.to(tl.int64) * vb + (head // group) * vh + k_first.to(tl.int64) * vt
        top = tl.full([ROWS], float("-inf"), tl.float32)
        total = tl.zeros([ROWS], tl.float32)
        acc = tl.zeros([ROWS, WIDTH], tl.float32)
        last = tl.minimum(tile * ROWS + ROWS, q_len) + k_len - q_len
        for block in range(0, (last + KEYS - 1) // KEYS):
            block_top, block_total, block_acc, some = _block(
                tile_q, k, v, kt, vt, k_at, v_at, block, limit, k_len, scale, DIM, WIDTH)
            top, total, acc = _join(top, total, acc, block_top, block_total, block_acc, some)
        row = (q_batch.to(tl.int64) * heads + head) * queries + token
        at = ((q_batch.to(tl.int64) * queries + token) * heads + head) * DIM
        _finish(out, stats, plane, row, at, top, total, acc, valid, DIM, WIDTH, TYPE, STATS)


@triton.jit(do_not_specialize=["group", "rows", "blocks"])
def _by_keys(q, k, v, tops, totals, accs, segments, scale, group, rows, blocks,
             qb, qh, qt, kb, kh, kt, vb, vh, vt, DIM: tl.constexpr, WIDTH: tl.constexpr,
             ROWS: tl.constexpr):
    """Row r of a key head is query r // group of head r % group of its group."""
    block, kv_head = tl.program_id(0), tl.program_id(1)
    segment = segments + tl.program_id(2) * 6
    q_batch, q_first, q_len = tl.load(segment), tl.load(segment + 1), tl.load(segment + 2)
    k_batch, k_first, k_len = tl.load(segment + 3), tl.load(segment + 4), tl.load(segment + 5)
    if block * KEYS < k_len:
        r = tl.arange(0, ROWS)
        i = r // group
        valid = i < q_len
        d = tl.arange(0, WIDTH)
        token = (q_first + i).to(tl.int64)
        head = kv_head * group + r % group
        tile_q = tl.load(q + q_batch.to(tl.int64) * qb + (head * qh + token * qt)[:, None] + d[None, :],
                         mask=valid[:, None] & (d < DIM)[None, :], other=0.0)
        limit = tl.where(valid, i + k_len - q_len, -1)
        k_at = k_batch.to(tl.int64) * kb + kv_head * kh + k_first.to(tl.int64) * kt
        v_at = k_batch.to(tl.int64) * vb + kv_head * vh + k_first.to(tl.int64) * vt
        top, total, acc, some = _block(
            tile_q, k, v, kt, vt, k_at, v_at, block, limit, k_len, scale, DIM, WIDTH)
        part = ((tl.program_id(2) * tl.num_programs(1) + kv_head).to(tl.int64) * rows + r) * blocks + block
        tl.store(tops + part, top, mask=valid)
        tl.store(totals + part, total, mask=valid)
        tl.store(accs + part[:, None] * WIDTH + d[None, :], acc, mask=valid[:, None])


@triton.jit(do_not_specialize=["heads", "group", "queries", "plane", "rows", "blocks"])
def _join_blocks(tops, totals, accs, out, stats, segments, heads, group, queries, plane, rows, blocks,
                 DIM: tl.constexpr, WIDTH: tl.constexpr, TYPE: tl.constexpr, STATS: tl.constexpr,
                 UNROLL: tl.constexpr):
    r, kv_head = tl.program_id(0), tl.program_id(1)
    segment = segments + tl.program_id(2) * 6
    q_batch, q_first, q_len = tl.load(segment), tl.load(segment + 1), tl.load(segment + 2)
    k_len = tl.load(segment + 5)
    i = r // group
    if i < q_len:
        one = tl.arange(0, 1)
        d = tl.arange(0, WIDTH)
        top = tl.full([1], float("-inf"), tl.float32)
        total = tl.zeros([1], tl.float32)
        acc = tl.zeros([1, WIDTH], tl.float32)
        part = ((tl.program_id(2) * tl.num_programs(1) + kv_head).to(tl.int64) * rows + r) * blocks
        for block in tl.range(0, (i + k_len - q_len) // KEYS + 1, loop_unroll_factor=UNROLL):
            at = part + block + one
            some = at >= 0
            top, total, acc = _join(top, total, acc, tl.load(tops + at), tl.load(totals + at),
                                    tl.load(accs + at[:, None] * WIDTH + d[None, :]), some)
        head = kv_head * group + r % group
        token = (q_first + i).to(tl.int64) + one
        row = (q_batch.to(tl.int64) * heads + head) * queries + token
        at = ((q_batch.to(tl.int64) * queries + token) * heads + head) * DIM
        _finish(out, stats, plane, row, at, top, total, acc, at >= 0, DIM, WIDTH, TYPE, STATS)


def attention(q, k, v, segments, scale, max_q, max_k, want_stats, by_keys=None):
    """q: Bq x Hq x Tq x D, k and v: Bk x Hkv x Tk x D with unit last strides, segments: S x 6 int32.

    Returns out (Bq x Tq x Hq x D contiguous, seen as Bq x Hq x Tq x D) and the stats.
    """
    (batch, heads, queries, dim), kv_heads = q.shape, k.shape[1]
    group, count, device = heads // kv_heads, segments.shape[0], q.device
    # Queries of no segment read as zero; with one query per row there are none of those.
    make = torch.empty if queries == 1 and count == batch else torch.zeros
    out = make((batch, queries, heads, dim), dtype=q.dtype, device=device)
    stats = torch.zeros((2, batch, heads, queries) if want_stats else (0,), dtype=torch.float32, device=device)
    max_q, max_k = min(max_q or queries, queries), min(max_k or k.shape[2], k.shape[2])
    strides = (*q.stride()[:3], *k.stride()[:3], *v.stride()[:3])
    width = max(16, triton.next_power_of_2(dim))
    fixed = {"DIM": dim, "WIDTH": width, "enable_fp_fusion": False, **PRODUCTS}
    if not (count and queries and k.shape[2]):
        return out.zero_().transpose(1, 2), stats
    rows = max_q * group
    if by_keys if by_keys is not None else rows <= FEW_ROWS:
        blocks = triton.cdiv(max_k, order.KEYS)
        parts = torch.empty((count, kv_heads, rows, blocks, width + 2), dtype=torch.float32, device=device)
        number = count * kv_heads * rows * blocks
        tops, totals, accs = parts.view(-1).split((number, number, number * width))
        _by_keys[(blocks, kv_heads, count)](
            q, k, v, tops, totals, accs, segments, scale, group, rows, blocks, *strides,
            ROWS=max(16, triton.next_power_of_2(rows)), num_warps=WARPS["keys"], **fixed)
        _join_blocks[(rows, kv_heads, count)](
            tops, totals, accs, out, stats, segments, heads, group, queries, batch * heads * queries,
            rows, blocks, TYPE=TYPES[q.dtype], STATS=want_stats, UNROLL=UNROLL, num_warps=1, **fixed)
    else:
        launch(
            _by_queries, (triton.cdiv(max_q, TILE), heads, count), q, k, v, out, stats, segments, scale, heads, group, queries,
            batch * heads * queries, *strides, ROWS=TILE, TYPE=TYPES[q.dtype], STATS=want_stats, num_warps=WARPS["queries"], num_stages=STAGES, **fixed)
    return out.transpose(1, 2), stats
