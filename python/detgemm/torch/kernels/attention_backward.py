# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Causal attention of segments, backward: no atomics, every sum in ascending order.

dq runs over keys from the segment's first; dk and dv run over the heads of the group and then over
queries from the segment's first. Tiles are multiples of the tensor cores' 16, which keeps the sums
one chain whatever the tile is.
"""
import torch
import triton
import triton.language as tl

from detgemm.torch.kernels.arithmetic import exp, rounded, tree
from detgemm.torch.kernels.launch import PRODUCTS, TYPES, launch

# Rows of a program's tile, rows per step of its loop, warps, and stages of loads: two programs fit on a processor, and hide each
# other's waits.
SHAPES = {"dq": (64, 32, 4, 1), "dkv": (64, 64, 4, 2)}


@triton.jit(do_not_specialize=["rows", "heads", "queries"])
def _delta(dout, out, delta, rows, heads, queries, ob, oh, ot, sb, sh, st, DIM: tl.constexpr,
           WIDTH: tl.constexpr, LEVELS: tl.constexpr):
    """The sum over d of dout * out of every row, by halves."""
    row = tl.program_id(0).to(tl.int64) * 16 + tl.arange(0, 16)
    b, h, t = row // queries // heads, row // queries % heads, row % queries
    d = tl.arange(0, WIDTH)
    there = (row < rows)[:, None] & (d < DIM)[None, :]
    x = tl.load(dout + (b * ob + h * oh + t * ot)[:, None] + d[None, :], mask=there, other=0.0).to(tl.float32)
    y = tl.load(out + (b * sb + h * sh + t * st)[:, None] + d[None, :], mask=there, other=0.0).to(tl.float32)
    tl.store(delta + row, tree(x * y, 16, WIDTH, LEVELS), mask=row < rows)


@triton.jit
def _weights(q, keys, values, dout, top, inverse, delta, seen, scale):
    """p and ds of a tile, rows of queries by columns of keys."""
    t = tl.dot(q, tl.trans(keys)) * scale
    p = tl.where(seen, exp(tl.where(seen, t - top[:, None], 0.0)) * inverse[:, None], 0.0)
    ds = tl.where(seen, p * (tl.dot(dout, tl.trans(values)) - delta[:, None]), 0.0)
    return p.to(q.dtype), ds.to(q.dtype)


@triton.jit
def _rows(stats, delta, plane, row, valid):
    top = tl.load(stats + row, mask=valid, other=0.0)
    total = tl.load(stats + plane + row, mask=valid, other=1.0)
    inverse = tl.math.div_rn(1.0, tl.where(total == 0.0, 1.0, total))
    return top, inverse, tl.load(delta + row, mask=valid, other=0.0)


@triton.jit(do_not_specialize=["heads", "group", "queries", "plane"])
def _dq(q, k, v, dout, stats, delta, dq, segments, scale, heads, group, queries, plane,
        qb, qh, qt, kb, kh, kt, vb, vh, vt, ob, oh, ot, DIM: tl.constexpr, WIDTH: tl.constexpr,
        TILE: tl.constexpr, STEP: tl.constexpr, TYPE: tl.constexpr):
    tile, head = tl.num_programs(0) - 1 - tl.program_id(0), tl.program_id(1)  # the longest first
    segment = segments + tl.program_id(2) * 6
    q_batch, q_first, q_len = tl.load(segment), tl.load(segment + 1), tl.load(segment + 2)
    k_batch, k_first, k_len = tl.load(segment + 3), tl.load(segment + 4), tl.load(segment + 5)
    if tile * TILE < q_len:
        i = tile * TILE + tl.arange(0, TILE)
        valid = i < q_len
        d = tl.arange(0, WIDTH)
        wide = (d < DIM)[None, :]
        token = (q_first + i).to(tl.int64)
        batch = q_batch.to(tl.int64)
        tile_q = tl.load(q + batch * qb + head * qh + token[:, None] * qt + d[None, :],
                         mask=valid[:, None] & wide, other=0.0)
        tile_do = tl.load(dout + batch * ob + head * oh + token[:, None] * ot + d[None, :],
                          mask=valid[:, None] & wide, other=0.0)
        row = (batch * heads + head) * queries + token
        top, inverse, row_delta = _rows(stats, delta, plane, row, valid)
        limit = tl.where(valid, i + k_len - q_len, -1)
        k_at = k + k_batch.to(tl.int64) * kb + (head // group) * kh + k_first.to(tl.int64) * kt
        v_at = v + k_batch.to(tl.int64) * vb + (head // group) * vh + k_first.to(tl.int64) * vt
        acc = tl.zeros([TILE, WIDTH], tl.float32)
        last = tl.minimum(tile * TILE + TILE, q_len) + k_len - q_len
        for start in range(0, last, STEP):
            key = start + tl.arange(0, STEP)
            there = (key < k_len)[:, None] & wide
            keys = tl.load(k_at + key[:, None].to(tl.int64) * kt + d[None, :], mask=there, other=0.0)
            values = tl.load(v_at + key[:, None].to(tl.int64) * vt + d[None, :], mask=there, other=0.0)
            seen = key[None, :] <= limit[:, None]
            p, ds = _weights(tile_q, keys, values, tile_do, top, inverse, row_delta, seen, scale)
            acc = tl.dot(ds, keys, acc)
        at = ((batch * queries + token) * heads + head) * DIM
        tl.store(dq + at[:, None] + d[None, :], rounded(acc * scale, TYPE), mask=valid[:, None] & wide)


@triton.jit(do_not_specialize=["heads", "group", "queries", "plane", "all_keys"])
def _dkv(q, k, v, dout, stats, delta, dk, dv, segments, scale, heads, group, queries, plane, all_keys,
         qb, qh, qt, kb, kh, kt, vb, vh, vt, ob, oh, ot, DIM: tl.constexpr, WIDTH: tl.constexpr,
         TILE: tl.constexpr, STEP: tl.constexpr, TYPE: tl.constexpr):
    tile, kv_head = tl.program_id(0), tl.program_id(1)
    segment = segments + tl.program_id(2) * 6
    q_batch, q_first, q_len = tl.load(segment), tl.load(segment + 1), tl.load(segment + 2)
    k_batch, k_first, k_len = tl.load(segment + 3), tl.load(segment + 4), tl.load(segment + 5)
    if tile * TILE < k_len:
        key = tile * TILE + tl.arange(0, TILE)
        d = tl.arange(0, WIDTH)
        wide = (d < DIM)[None, :]
        there = (key < k_len)[:, None] & wide
        where = (k_first + key).to(tl.int64)
        keys = tl.load(k + k_batch.to(tl.int64) * kb + kv_head * kh + where[:, None] * kt + d[None, :],
                       mask=there, other=0.0)
        values = tl.load(v + k_batch.to(tl.int64) * vb + kv_head * vh + where[:, None] * vt + d[None, :],
                         mask=there, other=0.0)
        batch = q_batch.to(tl.int64)
        dk_acc = tl.zeros([TILE, WIDTH], tl.float32)
        dv_acc = tl.zeros([TILE, WIDTH], tl.float32)
        # Queries before the tile see none of its keys: their steps would add products of zero.
        first = tl.maximum(tile * TILE - (k_len - q_len), 0) // STEP * STEP
        for g in range(0, group):
            head = kv_head * group + g
            for start in range(first, q_len, STEP):
                i = start + tl.arange(0, STEP)
                valid = i < q_len
                token = (q_first + i).to(tl.int64)
                tile_q = tl.load(q + batch * qb + head * qh + token[:, None] * qt + d[None, :],
                                 mask=valid[:, None] & wide, other=0.0)
                tile_do = tl.load(dout + batch * ob + head * oh + token[:, None] * ot + d[None, :],
                                  mask=valid[:, None] & wide, other=0.0)
                row = (batch * heads + head) * queries + token
                top, inverse, row_delta = _rows(stats, delta, plane, row, valid)
                seen = key[None, :] <= tl.where(valid, i + k_len - q_len, -1)[:, None]
                p, ds = _weights(tile_q, keys, values, tile_do, top, inverse, row_delta, seen, scale)
                dv_acc = tl.dot(tl.trans(p), tile_do, dv_acc)
                dk_acc = tl.dot(tl.trans(ds), tile_q, dk_acc)
        at = ((k_batch.to(tl.int64) * all_keys + where) * tl.num_programs(1) + kv_head) * DIM
        tl.store(dk + at[:, None] + d[None, :], rounded(dk_acc * scale, TYPE), mask=there)
        tl.store(dv + at[:, None] + d[None, :], rounded(dv_acc, TYPE), mask=there)


def attention_backward(dout, q, k, v, out, stats, segments, scale, max_q, max_k):
    """Returns dq, dk and dv of the shapes of q, k and v; heads of a token are neighbours. No key may belong to two segments."""
    (batch, heads, queries, dim), kv_heads, count = q.shape, k.shape[1], segments.shape[0]
    dq = torch.zeros((batch, queries, heads, dim), dtype=q.dtype, device=q.device)
    dk, dv = (torch.zeros((x.shape[0], x.shape[2], kv_heads, dim), dtype=x.dtype, device=x.device) for x in (k, v))
    if not (count and queries and k.shape[2]):
        return dq.transpose(1, 2), dk.transpose(1, 2), dv.transpose(1, 2)
    rows, width = batch * heads * queries, max(16, triton.next_power_of_2(dim))
    delta = torch.empty(rows, dtype=torch.float32, device=q.device)
    launch(
        _delta, (triton.cdiv(rows, 16),), dout, out, delta, rows, heads, queries, *dout.stride()[:3], *out.stride()[:3], DIM=dim,
        WIDTH=width, LEVELS=width.bit_length() - 1, enable_fp_fusion=False)
    strides = (*q.stride()[:3], *k.stride()[:3], *v.stride()[:3], *dout.stride()[:3])
    max_q, max_k = min(max_q or queries, queries), min(max_k or k.shape[2], k.shape[2])
    group = heads // kv_heads

    def fixed(tile, step, warps, stages):
        return {"DIM": dim, "WIDTH": width, "TILE": tile, "STEP": step, "TYPE": TYPES[q.dtype], "num_warps": warps, "num_stages": stages,
                "enable_fp_fusion": False, **PRODUCTS}

    of_dq, of_dkv = SHAPES["dq"], SHAPES["dkv"]
    launch(
        _dq, (triton.cdiv(max_q, of_dq[0]), heads, count), q, k, v, dout, stats, delta, dq, segments, scale, heads, group, queries, rows,
        *strides, **fixed(*of_dq))
    launch(
        _dkv, (triton.cdiv(max_k, of_dkv[0]), kv_heads, count), q, k, v, dout, stats, delta, dk, dv, segments, scale, heads, group, queries,
        rows, k.shape[2], *strides, **fixed(*of_dkv))
    return dq.transpose(1, 2), dk.transpose(1, 2), dv.transpose(1, 2)
