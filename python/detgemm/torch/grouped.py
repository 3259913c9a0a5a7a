# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Many products in one call, with gradients: batches, the experts of a mixture, gradients of their weights."""
import torch

from detgemm import _library as lib
from detgemm.contract import contract as parsed
from detgemm.torch.derivatives import check_tangents, guard, register_gradient
from detgemm.torch.dispatch import check_contract, check_optional, check_options, check_tensor, check_tensors, under_autocast
from detgemm.torch.fakes import register_fake
from detgemm.torch.main_grad import gradient_of
from detgemm.torch.operators import NAMES, OPS, _as, _check_fake, _refuse, input_type, output_type
from detgemm.torch.policy import Policy


def _shape(a, b, offs, counts):
    """The result's shape, which the operands' dimensions decide."""
    batch = a.dim() == 3 and b.dim() == 3
    _refuse(a.dim() not in (2, 3), f"a has {a.dim()} dimensions: it must have two or three")
    _refuse(batch and offs is not None,
            "offs is given and a and b have three dimensions: segments need one operand of two")
    _refuse(not batch and offs is None, "offs is None: it must hold the end of each group, since a or b has two "
                                        "dimensions")
    _refuse(not batch and counts is not None, "counts is given: it counts the rows of a and b of three dimensions")
    torch._check(a.shape[-1] == b.shape[-2], lambda: "detgemm: a has other columns than b has rows")
    if batch or a.dim() == b.dim():
        return a.shape[0] if batch else offs.shape[0], a.shape[-2], b.shape[-1]
    return a.shape[-2], b.shape[-1]


@register_fake("detgemm::grouped_gemm")
def _(a, b, offs, contract, bias=None, counts=None, scale_a=None, scale_b=None, *, activation=None, stable=0, backend=None,
      variant=None, a_snapped=False, b_snapped=False):
    _refuse((scale_a is None) != (scale_b is None), "scale_a and scale_b must both be given, or neither")
    _refuse(b.dim() not in (2, 3), f"b has {b.dim()} dimensions: it must have two or three")
    _check_fake(a, b, b.dim(), contract)
    return a.new_empty(_shape(a, b, offs, counts), dtype=output_type(contract))


@register_fake("detgemm::grouped_gemm.out")
def _(a, b, offs, contract, *more, out, **_):
    return None


@register_fake("detgemm::grouped_accumulate_")
def _(acc, a, b, offs, contract, *, stable=0, a_snapped=False, b_snapped=False):
    return None


# Gradients are products of the same kinds. With s the rows or products of a group g:
#
#   D[s] = A[s] B[g]        dA[s] = dD[s] B[g]^T        dB[g] = A[s]^T dD[s]       (rows: the experts' forward pass)
#   D[:, s] = A[g] B[:, s]  dA[g] = dD[:, s] B[:, s]^T  dB[:, s] = A[g]^T dD[:, s]
#   D[g] = A[:, s] B[s]     dA[:, s] = dD[g] B[s]^T     dB[s] = A[:, s]^T dD[g]
#   D[g] = A[g] B[g]        dA[g] = dD[g] B[g]^T        dB[g] = A[g]^T dD[g]

def _t(tensor):
    return tensor.transpose(-1, -2)


def _product(a, b, offs, text, result_type, counts=None):
    """grouped_gemm under the contract with an output of `result_type` where it has one, else rounded to it."""
    name = NAMES.get(result_type, "fp32")
    wanted = parsed(text).with_output(name if name in ("bf16", "fp16", "fp32") else "fp32").text
    of_input = input_type(text)
    return _as(OPS.grouped_gemm(_as(a, of_input), _as(b, of_input), offs, wanted, None, counts), result_type)


def _counted(tensor, counts):
    """Zeros where a group's rows do not count, whatever is there."""
    rows = torch.arange(tensor.shape[1], device=tensor.device)
    return torch.where((rows < counts[:, None])[..., None], tensor, 0)


def _context(ctx, inputs, keyword_only_inputs, output):
    a, b, offs, ctx.contract = inputs[:4]
    bias = inputs[4] if len(inputs) > 4 else None
    ctx.count = len(inputs)
    ctx.of_bias = None if bias is None else bias.dtype
    ctx.activation = keyword_only_inputs.get("activation")
    ctx.scaled = len(inputs) > 6 and inputs[6] is not None
    ctx.save_for_backward(a, b, offs, inputs[5] if len(inputs) > 5 else None)


def _backward(ctx, grad):
    _refuse(ctx.activation not in (None, "none"),
            f"activation is {ctx.activation!r}: a fused activation has no gradient here; apply it as an "
            "operation of its own")
    _refuse(ctx.scaled, "grouped_gemm has no gradient with scales: write the products of the backward pass yourself, in a "
                        "torch.autograd.Function, with operands that are quantised along the dimension that each reduces over")
    a, b, offs, counts = ctx.saved_tensors
    grads = [None] * ctx.count
    if ctx.needs_input_grad[0]:
        grads[0] = _product(grad, _t(b), offs, ctx.contract, a.dtype, counts)
    whole = grad if counts is None else _counted(grad, counts)
    if ctx.needs_input_grad[1]:
        left = a if counts is None else _counted(a, counts)
        grads[1] = _product(_t(left), whole, offs, ctx.contract, b.dtype)
    if ctx.of_bias is not None and ctx.needs_input_grad[4]:
        # Sums of the rows of each group of D: products of a row of ones.
        ones = whole.new_ones((*whole.shape[:-2], 1, whole.shape[-2]))
        grads[4] = _product(ones, whole, offs if whole.dim() == 2 else None, ctx.contract, ctx.of_bias).squeeze(1)
    return tuple(grads)


register_gradient("grouped_gemm", _backward, setup_context=_context)


def _autocast(x, text, *others):
    if not under_autocast(x):
        return (x, *others)
    return tuple(_as(each, input_type(text)) for each in (x, *others))


def grouped_gemm(a, b, offs, contract, *, bias=None, counts=None, scale_a=None, scale_b=None, out=None, **options):
    """Many products under one contract, in one call. The dimensions say which kind, as for F.grouped_mm:

    a          b          also    result
    R x K      G x K x N  offs    R x N      rows offs[g-1] to offs[g] times b[g]: experts, tokens sorted by expert
    G x M x K  K x R      offs    M x R      the same for columns
    M x R      R x N      offs    G x M x N  products offs[g-1] to offs[g]: gradients of the experts' weights
    G x M x K  G x K x N          G x M x N  a batch
    G x M x K  G x K x N  counts  G x M x N  a batch of which the first counts[g] rows matter

    offs, counts  G numbers, int32 or int64, on the same device; on NVIDIA GPUs the host does not wait for them. Whatever they are, nothing
                  outside of the arrays is touched
    bias          G x N, one row for each group
    scale_a       of fp8 operands, as for `scaled_gemm`: R x L for segments of rows, G x M x L for a batch (G x M / 128 x L), with
                  L = ceil(K / LEAF) under scaled, and 1 under fold and chain. Segments of columns and of products take none
    scale_b       G x L x N, or G x L x ceil(N / 128). There is no gradient with scales
    out           where the result is written; not differentiable. Rows of no group keep their bytes there; in a new
                  result they are zeros
    options       activation, stable, backend, variant, a_snapped and b_snapped, as for `gemm`

    A row has the bits that `gemm` gives for it and its group's matrix alone. Gradients are products under the same
    contract with the operand's type; `grouped_linear` takes a policy with a contract for each. Under autocast, a and
    b are first rounded to the contract's input type. A wrong call raises RuntimeError with a sentence.
    """
    check_tensors(a=a, b=b)
    check_optional(offs=offs, bias=bias, counts=counts, scale_a=scale_a, scale_b=scale_b)
    check_contract(contract)
    check_options(options)
    a, b = (a, b) if scale_a is not None else _autocast(a, contract, b)
    if out is None:
        return OPS.grouped_gemm(a, b, offs, contract, bias, counts, scale_a, scale_b, **options)
    check_tensor("out", out)
    if out.requires_grad:
        raise RuntimeError("detgemm: out.requires_grad is True: results that are written into a given tensor "
                           "have no gradient")
    check_tangents("grouped_gemm.out", a, b, bias, scale_a, scale_b, out)
    OPS.grouped_gemm.out(a, b, offs, contract, bias, counts, scale_a, scale_b, out=out, **options)
    return out


def grouped_accumulate_(acc, a, b, offs, contract, **options):
    """Continues fp32 acc with the products of `grouped_gemm(a, b, offs, contract)`, inside of their chain or fold.

    For gradients of experts' weights acc is G x M x N, a M x R and b R x N. Micro-batches whose samples are padded
    (`segments`) give the bits of the uncut batch, which acc += grouped_gemm(...) does not.
    """
    check_tensors(acc=acc, a=a, b=b)
    check_optional(offs=offs)
    check_contract(contract)
    check_options(options)
    check_tangents("grouped_accumulate_", acc, a, b)
    OPS.grouped_accumulate_(acc, a, b, offs, contract, **options)
    return acc


@torch.library.custom_op("detgemm::grouped_linear", mutates_args=())
def _grouped_linear(x: torch.Tensor, weight: torch.Tensor, offs: torch.Tensor, main_grad: torch.Tensor | None,
                    forward: str, dgrad: str, wgrad: str, zero_gradient: bool) -> torch.Tensor:
    return OPS.grouped_gemm(x, _t(weight), offs, forward)


@register_fake(_grouped_linear)
def _(x, weight, offs, main_grad, forward, dgrad, wgrad, zero_gradient):
    return x.new_empty((x.shape[0], weight.shape[1]), dtype=output_type(forward))


def _linear_context(ctx, inputs, output):
    x, weight, offs, ctx.main_grad, _, ctx.dgrad, ctx.wgrad, ctx.zero_gradient = inputs
    ctx.save_for_backward(x, weight, offs)


def _linear_backward(ctx, grad):
    x, weight, offs = ctx.saved_tensors
    grad = _as(grad, input_type(ctx.wgrad))
    grad_x = grad_weight = None
    if ctx.needs_input_grad[0]:
        grad_x = _as(OPS.grouped_gemm(grad, weight, offs, ctx.dgrad), x.dtype)
    if ctx.needs_input_grad[1] and ctx.main_grad is None:
        grad_weight = _as(OPS.grouped_gemm(grad.t(), x, offs, ctx.wgrad), weight.dtype)
    elif ctx.needs_input_grad[1]:
        OPS.grouped_accumulate_(ctx.main_grad, grad.t(), x, offs, ctx.wgrad)
        grad_weight = torch.zeros_like(weight) if ctx.zero_gradient else None
    return grad_x, grad_weight, None, None, None, None, None, None


_grouped_linear.register_autograd(_linear_backward, setup_context=_linear_context)
guard(_grouped_linear)


def grouped_linear(x, weight, offs, policy):
    """Y[s] = X[s].W[g]^T for the rows s of every group g, with gradients, under the contracts of a policy.

    x is R x K with rows sorted by group, weight G x N x K, offs G ends of groups (`segments`), the result R x N. Under
    autocast, x and weight are first rounded to the policy's input type. Where the weight has an fp32 `main_grad`, its
    gradient is added there, as by `linear`.
    """
    if not isinstance(policy, Policy):
        raise lib.DetgemmError(f"policy is {policy!r}: it must be a detgemm.torch.Policy; there is no default")
    check_tensors(x=x, weight=weight, offs=offs)
    if x.dim() != 2 or weight.dim() != 3:
        raise lib.DetgemmError(f"x has {x.dim()} dimensions and weight has {weight.dim()}: they must have two and three")
    main_grad, flagged = gradient_of(weight, "weight")
    x, weight = _autocast(x, policy.forward, weight)
    wanted = input_type(policy.forward)
    for name, given in (("x", x), ("weight", weight)):  # the operator would name its own arguments, a and b
        if given.dtype != wanted:
            raise lib.DetgemmError(f"{name}.dtype is {given.dtype}: the policy's forward contract {policy.forward} needs {wanted}")
    if x.shape[1] != weight.shape[2]:
        raise lib.DetgemmError(f"x has {x.shape[1]} columns and weight {weight.shape[2]}: they must be one K")
    return _grouped_linear(x, weight, offs, main_grad, policy.forward, policy.dgrad, policy.wgrad, flagged)
