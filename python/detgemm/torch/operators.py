# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Loads torch.ops.detgemm and gives the operators their shapes and their gradients."""
import ctypes

import torch

from detgemm import _library as lib
from detgemm.contract import contract as parsed
from detgemm.torch.derivatives import register_gradient
from detgemm.torch.fakes import register_fake

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32,
          "tf32": torch.float32, "e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}
NAMES = {torch.bfloat16: "bf16", torch.float16: "fp16", torch.float32: "fp32",
         torch.float8_e4m3fn: "e4m3", torch.float8_e5m2: "e5m2"}


def _load():
    release = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    if release < (2, 10):
        raise lib.DetgemmError(f"torch is {torch.__version__}: detgemm.torch needs 2.10 or newer, whose "
                               "C interface is stable")
    lib.library()
    lib.started()
    path = lib.folder() / "detgemm_torch.so"
    if not path.exists():
        raise lib.DetgemmError(f"{path} does not exist: this package was built without the operators of "
                               "PyTorch")
    torch.ops.load_library(str(path))
    module = ctypes.CDLL(str(path))
    if module.detgemm_torch_registered() != 1:
        raise lib.DetgemmError(f"{path} could not register its operators: another copy of detgemm is "
                               "loaded in this process")
    if (built := module.detgemm_torch_abi_version()) != lib.ABI_VERSION:
        raise lib.DetgemmError(f"{path} was built for version {built} of the C interface: this package needs version {lib.ABI_VERSION}")
    lib.after_fork.append(module.detgemm_torch_forbid_host)
    return module


MODULE = _load()
OPS = torch.ops.detgemm


def output_type(text):
    """The torch type of a contract's results."""
    return DTYPES[parsed(text).output]


@torch.compiler.assume_constant_result  # reading a contract calls the library, which a compiler cannot trace
def input_type(text):
    """The torch type of the arrays that a contract reads."""
    return DTYPES[parsed(text).input]


def _refuse(condition, sentence):
    if condition:
        raise RuntimeError("detgemm: " + sentence)


# Negative views, such as the imaginary part of a conjugate. PyTorch's own fall-back copies operands, and ends in an assertion, after
# which the process crashes, where a result goes to a negative view and the operator returns nothing.

def _resolve(name):
    overload = getattr(OPS, name.partition(".")[0])
    overload = getattr(overload, name.partition(".")[2] or "default")
    written = [each.name for each in overload._schema.arguments if each.alias_info is not None and each.alias_info.is_write]
    places = [each.name for each in overload._schema.arguments]

    def run(*operands, **options):
        for place, x in (*zip(places, operands), *options.items()):
            _refuse(place in written and isinstance(x, torch.Tensor) and x.is_neg(),
                    f"{place} is a negative view: it must be a tensor that holds its values; pass {place}.resolve_neg()")
        plain = [x.resolve_neg() if isinstance(x, torch.Tensor) else x for x in operands]
        return overload(*plain, **{each: x.resolve_neg() if isinstance(x, torch.Tensor) else x for each, x in options.items()})

    return run


_negative = torch.library.Library("detgemm", "FRAGMENT")
for _name in ("accumulate_", "bmm.out", "gemm.out", "grouped_accumulate_", "grouped_gemm.out", "scaled_gemm.out", "logits_gradient",
              "linear_log_prob_backward"):
    _negative.impl(_name, _resolve(_name), "Negative")


# Shapes, for torch.compile, torch.export and meta tensors. There is no branch on M: the kernel is chosen
# when the operator runs.

def _check_fake(a, b, rank_b, contract):
    _refuse(a.dim() < 2, f"a has the shape {tuple(a.shape)}: it must have two dimensions or more")
    _refuse(b.dim() != rank_b, f"b has {b.dim()} dimensions: it must have {rank_b}")
    for name, tensor in (("a", a), ("b", b)):
        wanted = input_type(contract)
        _refuse(tensor.dtype != wanted, f"{name}.dtype is {tensor.dtype}: the contract needs {wanted}")
    _refuse(a.device != b.device, f"b is on {b.device} and a is on {a.device}: all operands must be on "
                                  "one device")


@register_fake("detgemm::gemm")
def _(a, b, contract, c=None, bias=None, *, alpha=1.0, beta=0.0, activation=None,
      continue_from_c=False, stable=0, backend=None, variant=None, a_snapped=False, b_snapped=False):
    _check_fake(a, b, 2, contract)
    torch._check(a.shape[-1] == b.shape[0], lambda: "detgemm: a has other columns than b has rows")
    return a.new_empty((*a.shape[:-1], b.shape[1]), dtype=output_type(contract))


@register_fake("detgemm::gemm.out")
def _(a, b, contract, *more, out, **_):
    return None


@register_fake("detgemm::accumulate_")
def _(acc, a, b, contract, *, stable=0, a_snapped=False, b_snapped=False):
    return None


@register_fake("detgemm::linear")
def _(x, weight, bias, main_grad, bias_main_grad, forward, dgrad, wgrad, *,
      zero_gradient=False, stable=0, weight_snapped=False):
    _check_fake(x, weight, 2, forward)
    torch._check(x.shape[-1] == weight.shape[1], lambda: "detgemm: x has other columns than weight")
    return x.new_empty((*x.shape[:-1], weight.shape[0]), dtype=output_type(forward))


@register_fake("detgemm::bmm")
def _(a, b, contract, c=None, *, alpha=1.0, beta=0.0, stable=0, a_snapped=False, b_snapped=False):
    _check_fake(a, b, 3, contract)
    torch._check(a.shape[-1] == b.shape[1], lambda: "detgemm: a has other columns than b has rows")
    return a.new_empty((a.shape[0], a.shape[1], b.shape[2]), dtype=output_type(contract))


@register_fake("detgemm::bmm.out")
def _(a, b, contract, *more, out, **_):
    return None


@register_fake("detgemm::snap")
def _(x, leaf, k="cols"):
    _refuse(x.dim() < 2, f"x has the shape {tuple(x.shape)}: it must have two dimensions or more")
    return x.new_empty(x.shape)


# Gradients. That an operand was snapped is a promise about the K of the forward pass; the products below reduce over
# other dimensions, so they pass no such promise on, and a contract of snap rounds their operands again. Each is a product under a
# contract, so a gradient has one too, and gradients of gradients.

def _as(tensor, dtype):
    return tensor if tensor.dtype == dtype else tensor.to(dtype)


def _rows(tensor):
    return tensor.flatten(0, -2)


def _product(a, b, text, result_type):
    """A.B under a contract whose output is `result_type` where it is one, else rounded to it."""
    name = NAMES.get(result_type, "fp32")
    if name not in ("bf16", "fp16", "fp32"):
        name = "fp32"
    wanted = parsed(text).with_output(name).text
    of_input = input_type(text)
    multiply = OPS.gemm if b.dim() == 2 else OPS.bmm
    return _as(multiply(_as(a, of_input), _as(b, of_input), wanted), result_type)


def _sum_of_rows(rows, text, result_type):
    """The sum of all rows of a matrix, as the product of a row of ones with it."""
    return _product(rows.new_ones((1, rows.shape[0])), rows, text, result_type)[0]


def _gemm_context(ctx, inputs, keyword_only_inputs, output):
    a, b, ctx.contract, c = inputs[:4]
    bias = inputs[4] if len(inputs) > 4 else None
    ctx.count = len(inputs)
    ctx.save_for_backward(a, b)
    ctx.alpha, ctx.beta = keyword_only_inputs["alpha"], keyword_only_inputs["beta"]
    ctx.activation = keyword_only_inputs.get("activation")
    if keyword_only_inputs.get("continue_from_c"):
        ctx.beta = 1.0
    ctx.of_c = None if c is None else c.dtype
    ctx.of_bias = None if bias is None else bias.dtype


def _gemm_backward(ctx, grad):
    _refuse(ctx.activation not in (None, "none"),
            f"activation is {ctx.activation!r}: a fused activation has no gradient here; apply it as an "
            "operation of its own")
    a, b = ctx.saved_tensors
    grads = [None] * ctx.count
    scaled = grad if ctx.alpha == 1 else grad * ctx.alpha
    if ctx.needs_input_grad[0]:
        grads[0] = _product(scaled, b.transpose(-1, -2), ctx.contract, a.dtype)
    if ctx.needs_input_grad[1]:
        left, right = (a, scaled) if b.dim() == 3 else (_rows(a), _rows(scaled))
        grads[1] = _product(left.transpose(-1, -2), right, ctx.contract, b.dtype)
    if ctx.of_c is not None and ctx.needs_input_grad[3]:
        grads[3] = _as(grad * ctx.beta, ctx.of_c)
    if ctx.of_bias is not None and ctx.needs_input_grad[4]:
        grads[4] = _sum_of_rows(_rows(grad), ctx.contract, ctx.of_bias)
    return tuple(grads)


register_gradient("gemm", _gemm_backward, setup_context=_gemm_context)
register_gradient("bmm", _gemm_backward, setup_context=_gemm_context)


def _linear_context(ctx, inputs, keyword_only_inputs, output):
    x, weight, bias, main_grad, bias_main_grad, _, ctx.dgrad, ctx.wgrad = inputs
    ctx.save_for_backward(x, weight)
    # Not saved as operands: every backward pass adds to them, also one between this forward pass and
    # its own backward pass.
    ctx.main_grad, ctx.bias_main_grad = main_grad, bias_main_grad
    ctx.of_bias = None if bias is None else bias.dtype
    ctx.zero_gradient = keyword_only_inputs["zero_gradient"]


def _linear_backward(ctx, grad):
    x, weight = ctx.saved_tensors
    grad = _as(grad, input_type(ctx.wgrad))
    rows = _rows(grad)
    grad_x = grad_weight = grad_bias = None
    if ctx.needs_input_grad[0]:
        grad_x = _as(OPS.gemm(grad, weight, ctx.dgrad), x.dtype)
    if ctx.needs_input_grad[1]:
        if ctx.main_grad is None:
            grad_weight = _as(OPS.gemm(rows.t(), _rows(x), ctx.wgrad), weight.dtype)
        else:
            OPS.accumulate_(ctx.main_grad, rows.t(), _rows(x), ctx.wgrad)
            if ctx.zero_gradient:
                grad_weight = torch.zeros_like(weight)
    if ctx.of_bias is not None and ctx.needs_input_grad[2]:
        if ctx.bias_main_grad is None:
            grad_bias = _sum_of_rows(rows, ctx.wgrad, ctx.of_bias)
        else:
            ones = rows.new_ones((1, rows.shape[0]))
            OPS.accumulate_(ctx.bias_main_grad.view(1, -1), ones, rows, ctx.wgrad)
            if ctx.zero_gradient:
                grad_bias = torch.zeros_like(ctx.bias_main_grad, dtype=ctx.of_bias)
    return grad_x, grad_weight, grad_bias, None, None, None, None, None


# A rounding passes gradients on as they are.
register_gradient("snap", lambda ctx, grad: (grad, None, None))

register_gradient("linear", _linear_backward, setup_context=_linear_context)
