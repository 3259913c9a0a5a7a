# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""A stand-in for DeepGEMM on a CPU: its functions that examples/engine_python calls, with the rules of its kernels for
Hopper about shapes, types and strides, and plain sums in fp32."""
import torch

__version__ = "stand-in"


def rule(holds, what):
    if not holds:
        raise RuntimeError(f"Assertion error: {what}")


def product(rows, columns):
    """Sums of e4m3 are exact in fp64, so that a row's bits are its own; those of bf16 nearly so."""
    return (rows.double() @ columns.double().transpose(-1, -2)).float()


def operands(rows, columns, out, dtype):
    for x in (rows, columns, out):
        rule(x.is_contiguous(), f"an operand has strides {x.stride()}")
    rule(rows.dtype == columns.dtype == dtype, f"a and b are {rows.dtype} and {columns.dtype}")
    rule(out.dtype == torch.bfloat16, f"d is {out.dtype}")
    rule(rows.shape[-1] % 128 == 0 and columns.shape[-2] % 64 == 0, f"K and N are {rows.shape[-1]} and {columns.shape[-2]}")


def scaled(rows, sa, columns, sb):
    """sa has a scale for each row and 128 products, sb one for 128 columns and 128 products."""
    leaves = rows.shape[-1] // 128
    rule(sa.dtype == sb.dtype == torch.float32, f"scales are {sa.dtype} and {sb.dtype}")
    for x in (sa, sb):  # also where an extent is 1
        rule(x.stride(-1) == 1 and x.stride(-2) == x.shape[-1], f"scales of the shape {tuple(x.shape)} have strides {x.stride()}")
    rule(tuple(sa.shape) == (*rows.shape[:-1], leaves), f"scales of a have the shape {tuple(sa.shape)}")
    rule(tuple(sb.shape) == (*columns.shape[:-2], -(-columns.shape[-2] // 128), leaves), f"scales of b have the shape {tuple(sb.shape)}")
    total = torch.zeros([*rows.shape[:-1], columns.shape[-2]])
    for leaf in range(leaves):
        part = slice(128 * leaf, 128 * (leaf + 1))
        scale = sa[..., leaf, None] * sb[..., leaf].repeat_interleave(128, -1)[..., None, : columns.shape[-2]]
        total += scale * product(rows[..., part], columns[..., part])
    return total


def bf16_gemm_nt(a, b, d, compiled_dims="nk"):
    operands(a, b, d, torch.bfloat16)
    d.copy_(product(a, b))


def fp8_gemm_nt(a, b, d, compiled_dims="nk"):
    operands(a[0], b[0], d, torch.float8_e4m3fn)
    d.copy_(scaled(*a, *b))


def some_rows(value, counts, d):
    """Rows that are not asked for may have anything."""
    rule(counts.dtype == torch.int32 and counts.is_contiguous(), "counts are not int32")
    asked = torch.arange(d.shape[1])[None, :, None] < counts[:, None, None]
    d.copy_(torch.where(asked, value, torch.full([], 3.0)))


def m_grouped_bf16_gemm_nt_masked(a, b, d, masked_m, expected_m, compiled_dims="nk"):
    operands(a, b, d, torch.bfloat16)
    rule(a.shape[1] % 128 == 0 and expected_m > 0, f"M is {a.shape[1]}")
    some_rows(product(a, b), masked_m, d)


def m_grouped_fp8_gemm_nt_masked(a, b, d, masked_m, expected_m, compiled_dims="nk"):
    operands(a[0], b[0], d, torch.float8_e4m3fn)
    rule(a[0].shape[1] % 128 == 0 and expected_m > 0, f"M is {a[0].shape[1]}")
    some_rows(scaled(*a, *b), masked_m, d)


def of_groups(groups, rows):
    rule(groups.dtype == torch.int32 and rows % 128 == 0, f"M is {rows}")
    tiles = groups.view(-1, 128)
    own = tiles.amax(1, keepdim=True)
    rule(bool(((tiles == own) | (tiles == -1)).all()), "a tile of 128 rows has rows of two groups")
    return own[:, 0].tolist()


def m_grouped_bf16_gemm_nt_contiguous(a, b, d, m_indices, compiled_dims="nk"):
    operands(a, b, d, torch.bfloat16)
    for tile, group in enumerate(of_groups(m_indices, a.shape[0])):
        part = slice(128 * tile, 128 * (tile + 1))
        d[part] = product(a[part], b[group]).to(d.dtype)


def m_grouped_fp8_gemm_nt_contiguous(a, b, d, m_indices, compiled_dims="nk"):
    operands(a[0], b[0], d, torch.float8_e4m3fn)
    for tile, group in enumerate(of_groups(m_indices, a[0].shape[0])):
        part = slice(128 * tile, 128 * (tile + 1))
        d[part] = scaled(a[0][part], a[1][part], b[0][group], b[1][group]).to(d.dtype)
