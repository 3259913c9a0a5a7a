# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""aten's scaled products under contracts of scaled, fold and chain: how PyTorch's recipes say where a scale belongs.

A recipe is taken over where its scales are numbers for whole leaves of K, which is what `scaled:LEAF` multiplies with, or for
whole lines, which `fold:LEAF` and `chain` multiply the finished sum with:

  recipe             scale_a of _scaled_mm   scale_b of _scaled_mm   as scales of the contract
  tensor             one number              one number              shared by all lines and leaves
  row                M x 1                   1 x N                   shared by all leaves
  1 x 128 of A, B    M x K/128               K/128 x N               unchanged; LEAF is 128
  128 x 128          M/128 x K/128           K/128 x N/128           unchanged; LEAF is 128

The last two need `scaled`. Under fold and chain the first two are M x 1 and 1 x N, shared by no leaves.

_scaled_mm_v2 (torch.nn.functional.scaled_mm) names recipes and stores two of them otherwise: 1 x 128 of B as N x K/128, and
128 x 128 by leaves first, of which there may be up to three more than K has.
"""
import torch

from detgemm import _library as lib
from detgemm.contract import contract as parsed
from detgemm.torch.operators import NAMES, OPS
from detgemm.torch.out import into, writable

OUTPUTS = (torch.bfloat16, torch.float16, torch.float32)
RECIPES = {0: "tensor", 1: "row", 4: "1 x 128", 5: "128 x 128"}  # of torch.nn.functional.ScalingType
LEAF = 128


def _refuse(condition, sentence):
    if condition:
        raise RuntimeError("detgemm: aten::_scaled_mm" + sentence)


def check_contract(dtype, text):
    """Refuses a contract that the switch cannot use for products of this type."""
    reduction = parsed(text).reduction
    if dtype in (torch.float8_e4m3fn, torch.float8_e5m2) and reduction == "tree":
        raise lib.DetgemmError(f"contracts[{dtype}] is {text}: aten multiplies fp8 with scales, so it must be one of "
                               "scaled:LEAF, or of fold:LEAF or chain for scales of rows and columns")
    if dtype in OUTPUTS and reduction == "scaled":
        raise lib.DetgemmError(f"contracts[{dtype}] is {text}: aten multiplies {dtype} without scales")


def contract_of(text, name, args, options):
    """The contract of one call: the scope's, with the call's type of result."""
    out, given = options.get("out"), options.get("out_dtype")
    place = 9 if "_v2" in name else 6
    if given is None and len(args) > place:
        given = args[place]
    wanted = given if given is not None else out.dtype if out is not None else args[0].dtype
    _refuse(wanted not in OUTPUTS, f" was called for a result of {wanted}: contracts have results of torch.bfloat16, float16 "
                                   "and float32; pass out_dtype")
    return parsed(text).with_output(NAMES[wanted]).text


def _multiply(text, a, b, scale_a, scale_b, bias, out):
    direct = writable(out, (a.shape[0], b.shape[1]), OUTPUT_TYPES[parsed(text).output])
    if direct:
        OPS.scaled_gemm.out(a, scale_a, b, scale_b, text, None, bias, out=out)
        return out
    result = OPS.scaled_gemm(a, scale_a, b, scale_b, text, None, bias)
    return result if out is None else into(out, result)


OUTPUT_TYPES = {NAMES[dtype]: dtype for dtype in OUTPUTS}


def _check_operands(a, b):
    for name, matrix in (("self", a), ("mat2", b)):
        _refuse(matrix.dim() != 2, f": {name} has {matrix.dim()} dimensions: it must have two")


def _extents(text, a, b):
    """M, N, and how many scales of K a line has."""
    _check_operands(a, b)
    contract = parsed(text)
    return a.shape[0], b.shape[1], -(-a.shape[1] // contract.leaf_k) if contract.reduction == "scaled" else 1


def _check_blocks(text):
    leaf = parsed(text).leaf_k
    _refuse(parsed(text).reduction != "scaled", " was called with scales for blocks of 128 along K: the contract "
                                                f"{text} has one for each row and column; use scaled:128")
    _refuse(leaf != LEAF, f" was called with scales for blocks of 128 along K: the contract {text} has leaves of {leaf}")


def scaled_mm(text, a, b, scale_a, scale_b, bias=None, scale_result=None, out_dtype=None, use_fast_accum=False, *, out=None):
    """_scaled_mm, whose recipe its scales' shapes say. `use_fast_accum` is a hint: the contract says what is computed."""
    m, n, leaves = _extents(text, a, b)
    _refuse(scale_result is not None, " was called with scale_result: results of contracts have no scale")
    for name, scale in (("scale_a", scale_a), ("scale_b", scale_b)):
        _refuse(scale.dtype != torch.float32, f": {name}.dtype is {scale.dtype}: the switch takes float32 scales; MX and NVFP4 "
                                              "blocks scale inside of a matrix instruction, which is other arithmetic")
    if scale_a.numel() == 1 and scale_b.numel() == 1:
        scale_a, scale_b = scale_a.reshape(1, 1).expand(m, leaves), scale_b.reshape(1, 1).expand(leaves, n)
    elif tuple(scale_a.shape) == (m, 1) and tuple(scale_b.shape) == (1, n):
        scale_a, scale_b = scale_a.expand(m, leaves), scale_b.expand(leaves, n)
    else:
        _check_blocks(text)
    return _multiply(text, a, b, scale_a, scale_b, bias, out)


def _lines(name, scales, recipes, swizzles, count, leaves, text):
    """The scales of one operand of _scaled_mm_v2 as lines x leaves, where it has `count` lines."""
    known = [RECIPES.get(recipe) for recipe in recipes]
    _refuse(len(scales) != 1 or len(known) != 1 or known[0] is None or any(swizzles),
            f"_v2 was called with the recipe {list(recipes)} and the swizzle {list(swizzles)} for {name}: the switch takes "
            "TensorWise, RowWise, BlockWise1x128 and BlockWise128x128 without swizzle; MX and NVFP4 blocks scale inside of a "
            "matrix instruction, which is other arithmetic")
    scale, recipe = scales[0], known[0]
    _refuse(scale.dtype != torch.float32, f"_v2: {name}.dtype is {scale.dtype}: this recipe has float32 scales")
    given = f"_v2: {name} has the shape {tuple(scale.shape)}: "
    if recipe in ("tensor", "row"):
        wanted = 1 if recipe == "tensor" else count
        _refuse(scale.numel() != wanted, given + f"this recipe has {wanted} scale{'s' * (wanted != 1)}")
        return scale.reshape(-1, 1).expand(count, leaves)
    _check_blocks(text)
    if recipe == "1 x 128":
        _refuse(tuple(scale.shape) != (count, leaves), given + f"it must be {count} x {leaves}")
        return scale
    blocks = -(-count // LEAF)
    padded = -(-leaves // 4) * 4
    _refuse(tuple(scale.shape) not in ((leaves, blocks), (padded, blocks)),
            given + f"it must be {padded} x {blocks}, leaves of K in fours by blocks, or {leaves} x {blocks}")
    return scale[:leaves].t()


def scaled_mm_v2(text, a, b, scale_a, recipe_a, swizzle_a, scale_b, recipe_b, swizzle_b, bias=None, out_dtype=None,
                 contraction_dim=(), use_fast_accum=False, *, out=None):
    """_scaled_mm_v2, which torch.nn.functional.scaled_mm calls."""
    m, n, leaves = _extents(text, a, b)
    _refuse(tuple(contraction_dim) not in ((), (1, 0)),
            f"_v2 was called with contraction_dim {tuple(contraction_dim)}: K is dimension 1 of self and 0 of mat2")
    scale_a = _lines("scale_a", scale_a, recipe_a, swizzle_a, m, leaves, text)
    scale_b = _lines("scale_b", scale_b, recipe_b, swizzle_b, n, leaves, text).t()
    return _multiply(text, a, b, scale_a, scale_b, bias, out)
