# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""FP8 products with a scale per block of each operand, and the quantiser that makes such operands."""
import torch

from detgemm.contract import contract as parsed
from detgemm.torch.derivatives import check_tangents, register_gradient
from detgemm.torch.dispatch import check_contract, check_optional, check_options, check_tensor, check_tensors
from detgemm.torch.fakes import register_fake
from detgemm.torch.operators import OPS, _check_fake, _refuse, output_type

SCALES = {"fp32": torch.float32, "e8m0": torch.float8_e8m0fnu}


# Shapes. As for `gemm` there is no branch on M: which scales belong to which rows is looked at when the operator runs.

@register_fake("detgemm::scaled_gemm")
def _(a, scale_a, b, scale_b, contract, c=None, bias=None, *, alpha=1.0, beta=0.0, activation=None, continue_from_c=False,
      stable=0, backend=None, variant=None):
    _check_fake(a, b, 2, contract)
    _refuse(parsed(contract).reduction == "tree",
            f'contract is "{contract}": scaled_gemm needs a reduction of scaled:LEAF, such as hopper/e4m3/scaled:128->bf16, '
            "or of fold:LEAF or chain with a scale per row and column")
    for name, scale in (("scale_a", scale_a), ("scale_b", scale_b)):
        _refuse(scale.dtype not in SCALES.values(),
                f"{name}.dtype is not a scale's: it must be torch.float32 or torch.float8_e8m0fnu")
        _refuse(scale.dim() < 2, f"{name} has the shape {tuple(scale.shape)}: it must have two dimensions")
        _refuse(scale.device != a.device, f"{name} is on {scale.device} and a is on {a.device}: all operands must be on one "
                                          "device")
    torch._check(a.shape[-1] == b.shape[0], lambda: "detgemm: a has other columns than b has rows")
    leaves = -(-a.shape[-1] // parsed(contract).leaf_k) if parsed(contract).reduction == "scaled" else 1
    torch._check(scale_a.shape[-1] == leaves, lambda: "detgemm: scale_a has other columns than K has leaves with scales")
    torch._check(scale_b.shape[0] == leaves, lambda: "detgemm: scale_b has other rows than K has leaves with scales")
    return a.new_empty((*a.shape[:-1], b.shape[1]), dtype=output_type(contract))


@register_fake("detgemm::scaled_gemm.out")
def _(a, scale_a, b, scale_b, contract, *more, out, **_):
    return None


@register_fake("detgemm::quantize")
def _(x, leaf=128, *, per=1, k="cols", scale_type="fp32", backend=None):
    _refuse(x.dim() < 2, f"x has the shape {tuple(x.shape)}: it must have two dimensions or more")
    _refuse(scale_type not in SCALES, f'scale_type is "{scale_type}": it must be "fp32" or "e8m0"')
    _refuse(k not in ("cols", "rows"), f'k is "{k}": it must be "cols" or "rows"')
    _refuse(leaf < 1, f"leaf is {leaf}: it must be from 1 to 2^31")
    _refuse(per not in (1, 128), f"per is {per}: a scale is that of 1 or 128 lines")
    _refuse(k == "rows" and x.dim() != 2, f'x has {x.dim()} dimensions: with k = "rows" it must have two, since leading '
                                          "dimensions are rows")
    if k == "rows":
        shape = (-(-x.shape[0] // leaf), -(-x.shape[1] // per))
    else:
        leading = x.shape[:-1] if per == 1 else (-(-x.shape[:-1].numel() // per),)
        shape = (*leading, -(-x.shape[-1] // leaf))
    return x.new_empty(x.shape, dtype=torch.float8_e4m3fn), x.new_empty(shape, dtype=SCALES[scale_type])


# Neither has a gradient. Backward passes of quantised layers reduce over other dimensions, along which their operands must be
# quantised anew; which numbers that starts from is the caller's recipe.

def _no_gradient(name, why):
    def backward(ctx, *grads):
        raise RuntimeError(f"detgemm: {name} has no gradient: {why}")

    register_gradient(name, backward)


_no_gradient("scaled_gemm", "write the products of the backward pass yourself, in a torch.autograd.Function, with operands that "
                            "are quantised along the dimension that each reduces over")
_no_gradient("quantize", "detach x, or call it inside of a torch.autograd.Function that defines the gradient")


def scaled_gemm(a, scale_a, b, scale_b, contract, *, out=None, c=None, bias=None, **options):
    """act(alpha * sum + beta * C + bias) of operands whose rows and columns bring scales.

    scaled:LEAF    leaf i of K is a chain of LEAF products from +0, and with s_i = scale_a * scale_b of its row, column and
                   leaf, rounded once, the sum goes on as fma(s_i, leaf_i, sum), i ascending
    fold, chain    the finished sum becomes scale_a * (scale_b * sum), each product rounded once: scale_a is M x 1 (or
                   ceil(M / 128) x 1), scale_b 1 x N (or 1 x ceil(N / 128))

    a         M x K of the contract's input type, any strides; leading dimensions are rows
    scale_a   M x ceil(K / LEAF), a scale for each row and leaf (with a's leading dimensions, or flat), or
              ceil(M / 128) x ceil(K / LEAF), for 128 rows
    b         K x N, any strides: a weight that is stored as N x K is `weight.t()`, with scales `scales.t()`
    scale_b   ceil(K / LEAF) x N, or ceil(K / LEAF) x ceil(N / 128), for 128 columns
              Both are float32 or float8_e8m0fnu (PyTorch 2.11 and newer), of any strides: `expand` shares a scale without
              a copy
    contract  text such as "hopper/e4m3/scaled:128->bf16" or "hopper/e4m3/fold:128->bf16"; it decides the type of the result
    out       M x N of the contract's output type; no copy is made of it
    c, bias   M x N and N elements
    options   alpha, beta, activation, stable, backend and variant as for `gemm`; continue_from_c: the sum starts from fp32
              c, and its leaves are those of this call. Cut K at multiples of LEAF to have the uncut bits

    `quantize` makes the operands: scaled_gemm(*quantize(x), *quantize(w, per=128, k="rows"), contract).

    A wrong call raises RuntimeError with a sentence, and so does a device whose backend has no such kernel. There is no
    gradient: asking for one raises.
    """
    check_tensors(a=a, scale_a=scale_a, b=b, scale_b=scale_b)
    check_optional(c=c, bias=bias)
    check_contract(contract)
    check_options(options)
    if out is None:
        return OPS.scaled_gemm(a, scale_a, b, scale_b, contract, c, bias, **options)
    check_tensor("out", out)
    if out.requires_grad:
        raise RuntimeError("detgemm: out.requires_grad is True: results that are written into a given tensor "
                           "have no gradient")
    check_tangents("scaled_gemm.out", a, scale_a, b, scale_b, c, bias, out)
    OPS.scaled_gemm.out(a, scale_a, b, scale_b, contract, c, bias, out=out, **options)
    return out


def quantize(x, leaf=128, *, per=1, k="cols", scale_type="fp32", backend=None):
    """(q, scales): x as e4m3, and a scale for each block, as `scaled_gemm` takes them.

    A block is `leaf` numbers along K of `per` lines; blocks at the ends may be smaller. In fp32, each operation rounded
    once to nearest even:

      amax   the largest magnitude among the block's finite numbers
      scale  max(amax, 1e-4) / 448; for "e8m0" the least power of two that is not below it
      number x * (1 / scale), to e4m3 to nearest even; beyond 448 it is 448 with x's sign. NaN and Inf become NaN

    x           [..., K] of bfloat16, float16 or float32, with k = "cols"; leading dimensions are rows. K x N with "rows"
    leaf        LEAF of the contract
    per         1, for activations, or 128, for weights
    k           "cols": K runs along a row (activations, a layer's weight N x K). "rows": down a column
    scale_type  "fp32" (float32), or "e8m0" (float8_e8m0fnu; PyTorch 2.11 and newer)
    backend     the name of one; by default the first on x's device that quantises

    q has x's shape. scales is x.shape[:-1] x ceil(K / leaf) with per = 1, ceil(rows / 128) x ceil(K / leaf) with per = 128,
    and ceil(K / leaf) x ceil(N / per) with k = "rows".

    A block's bits depend on the block alone, so with per = 1 a row has the same bits alone and in any batch. A wrong call
    raises RuntimeError with a sentence. There is no gradient: asking for one raises.
    """
    check_tensors(x=x)
    return OPS.quantize(x, leaf, per=per, k=k, scale_type=scale_type, backend=backend)
