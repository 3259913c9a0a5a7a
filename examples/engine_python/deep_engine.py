# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""DeepGEMM's products for torch_engine.py: bf16, and e4m3 with scales under scaled:128.

Its kernels read K and N in whole 128, and groups of rows that begin at whole tiles. Operands are copied
into such arrays, with zeros after their ends, and results are copied out.
"""
import deep_gemm
import torch

TILE, MASKED_TILE = 128, 256
LARGEST = 2**31  # bytes of a copy of B whose columns have scales of their own


def whole(n, tile=TILE):
    return -(-n // tile) * tile


def padded(x, *shape):
    copy = torch.zeros(shape, dtype=x.dtype, device=x.device)
    copy[tuple(slice(n) for n in x.shape)] = x
    return copy


def fresh(x):
    """A copy with the strides of its shape, which DeepGEMM reads where an extent is 1, too; `contiguous` leaves those."""
    return torch.empty(x.shape, dtype=x.dtype, device=x.device).copy_(x)


def rows_of_b(b, scales):
    """(B transposed and padded, its scales, the distance of its columns). A scale of a DeepGEMM kernel is that of 128
    columns; where each column has its own, each is the first of 128, and the others are zeros."""
    *groups, k, n = b.shape
    if scales is None or scales[1] == TILE:
        return padded(b.transpose(-1, -2), *groups, whole(n), whole(k)), scales and fresh(scales[0]), 1
    count = n * TILE * whole(k) * (groups[0] if groups else 1)
    if count > LARGEST:
        raise ValueError(f"B has {n} columns with a scale each: as {TILE} columns each they take {count} bytes, more than {LARGEST}")
    apart = torch.zeros([*groups, n * TILE, whole(k)], dtype=b.dtype, device=b.device)
    apart[..., ::TILE, :k] = b.transpose(-1, -2)
    return apart, fresh(scales[0]), TILE


def rows_of_a(scales, m):
    """A scale for every row."""
    return None if scales is None else fresh(scales[0].repeat_interleave(scales[1], -2)[..., :m, :])


def single(a, b, d, scale_a, scale_b):
    """D = A B; scale_a and scale_b are (scales[blocks, leaves], per) or None."""
    columns, sb, step = rows_of_b(b, scale_b)
    rows, sa = padded(a, a.shape[0], columns.shape[1]), rows_of_a(scale_a, a.shape[0])
    out = torch.empty([rows.shape[0], columns.shape[0]], dtype=d.dtype, device=d.device)
    if sa is None:
        deep_gemm.bf16_gemm_nt(rows, columns, out, compiled_dims="")
        name = "deep_gemm.bf16_gemm_nt"
    else:
        deep_gemm.fp8_gemm_nt((rows, sa), (columns, sb), out, compiled_dims="")
        name = "deep_gemm.fp8_gemm_nt"
    d.copy_(out[:, ::step][:, : d.shape[1]])
    return name


def masked(a, b, d, counts, scale_a, scale_b):
    """The first counts[g] rows of D[g] = A[g] B[g]; other rows keep their bytes."""
    groups, m, _ = a.shape
    columns, sb, step = rows_of_b(b, scale_b)
    rows, sa = padded(a, groups, whole(m, MASKED_TILE), columns.shape[2]), rows_of_a(scale_a, m)
    out = torch.empty([groups, rows.shape[1], columns.shape[1]], dtype=d.dtype, device=d.device)
    if sa is None:
        deep_gemm.m_grouped_bf16_gemm_nt_masked(rows, columns, out, counts, m, compiled_dims="")
        name = "deep_gemm.m_grouped_bf16_gemm_nt_masked"
    else:
        sa = padded(sa, groups, rows.shape[1], sa.shape[2])
        deep_gemm.m_grouped_fp8_gemm_nt_masked((rows, sa), (columns, sb), out, counts, m, compiled_dims="")
        name = "deep_gemm.m_grouped_fp8_gemm_nt_masked"
    written = torch.arange(m, device=d.device)[None, :, None] < counts[:, None, None]
    d.copy_(torch.where(written, out[:, :m, ::step][:, :, : d.shape[2]], d))
    return name


def segments(a, b, d, ends, scale_a, scale_b):
    """Rows ends[g-1] .. ends[g] of D by B[g]; rows after the last of ends keep their bytes."""
    begins, starts = [0] + ends[:-1], [0]
    for begin, end in zip(begins, ends):
        starts.append(starts[-1] + whole(end - begin))
    columns, sb, step = rows_of_b(b, scale_b)
    sa = rows_of_a(scale_a, a.shape[0])
    rows = torch.zeros([starts[-1], columns.shape[2]], dtype=a.dtype, device=a.device)
    groups = torch.full([starts[-1]], -1, dtype=torch.int32, device=a.device)
    apart = None if sa is None else torch.zeros([starts[-1], sa.shape[1]], device=a.device)
    for group, (begin, end, start) in enumerate(zip(begins, ends, starts)):
        rows[start : start + end - begin, : a.shape[1]] = a[begin:end]
        groups[start : start + end - begin] = group
        if sa is not None:
            apart[start : start + end - begin] = sa[begin:end]
    out = torch.empty([starts[-1], columns.shape[1]], dtype=d.dtype, device=d.device)
    if sa is None:
        deep_gemm.m_grouped_bf16_gemm_nt_contiguous(rows, columns, out, groups, compiled_dims="")
        name = "deep_gemm.m_grouped_bf16_gemm_nt_contiguous"
    else:
        deep_gemm.m_grouped_fp8_gemm_nt_contiguous((rows, apart), (columns, sb), out, groups, compiled_dims="")
        name = "deep_gemm.m_grouped_fp8_gemm_nt_contiguous"
    for begin, end, start in zip(begins, ends, starts):
        d[begin:end].copy_(out[start : start + end - begin, ::step][:, : d.shape[1]])
    return name
