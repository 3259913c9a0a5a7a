# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""RMSNorm, softmax and log-softmax whose rows do not depend on the rows around them.

Operators torch.ops.detgemm.{rms_norm, softmax, log_softmax} with gradients; the orders in which
they add are written in docs/python-orders.md. CUDA tensors go to Triton kernels, CPU tensors to
the same order in element-wise operations.
"""
from numbers import Real

import torch


from detgemm.torch.auditing import ROW_LOCAL
from detgemm.torch.derivatives import guard
from detgemm.torch.dispatch import check_tensor, check_tensors, chosen, on_device, refuse
from detgemm.torch.fakes import register_fake
from detgemm.torch.main_grad import gradient_of
from detgemm.torch.sums import SUMS, sum_into

ROW_LOCAL.update(
    rms_norm="lanes ascending, tree over lanes", rms_norm_backward="lanes ascending, tree over lanes",
    softmax="lanes ascending, tree over lanes", softmax_backward="lanes ascending, tree over lanes",
    log_softmax="lanes ascending, tree over lanes", log_softmax_backward="lanes ascending, tree over lanes")

ROW_LOCAL["token_log_probs"] = ROW_LOCAL["log_softmax"]

FLOATS = (torch.bfloat16, torch.float16, torch.float32)


def _check(name, x):
    check_tensor(name, x)
    refuse(x.dtype not in FLOATS, f"{name}.dtype is {x.dtype}: it must be bfloat16, float16 or float32")
    refuse(x.dim() < 1, f"{name} has no dimension: it must have one or more")
    refuse(x.shape[-1] < 1, f"{name} has rows of {x.shape[-1]} elements: rows must not be empty")


def _flat(x):
    return x.reshape(-1, x.shape[-1]).contiguous()


@torch.library.custom_op("detgemm::rms_norm", mutates_args=())
def rms_norm_op(x: torch.Tensor, weight: torch.Tensor, main_grad: torch.Tensor | None, eps: float,
                sums: str, zero_gradient: bool) -> tuple[torch.Tensor, torch.Tensor]:
    with on_device(x):
        y, scale = chosen(x, "norms").rms_norm(_flat(x), weight.contiguous(), eps)
    return y.view(x.shape), scale.view(x.shape[:-1])


@register_fake(rms_norm_op)
def _(x, weight, main_grad, eps, sums, zero_gradient):
    return x.new_empty(x.shape), x.new_empty(x.shape[:-1], dtype=torch.float32)


@torch.library.custom_op("detgemm::rms_norm_backward", mutates_args=())
def rms_norm_backward_op(dy: torch.Tensor, x: torch.Tensor, weight: torch.Tensor,
                         scale: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    with on_device(x):
        dx, products = chosen(x, "norms").rms_norm_backward(
            _flat(dy), _flat(x), weight.contiguous(), scale.reshape(-1).contiguous())
    return dx.view(x.shape), products


@register_fake(rms_norm_backward_op)
def _(dy, x, weight, scale):
    rows = x.numel() // x.shape[-1]
    return x.new_empty(x.shape), x.new_empty((rows, x.shape[-1]), dtype=torch.float32)


def _rms_norm_context(ctx, inputs, output):
    x, weight, main_grad, _, ctx.sums, ctx.flagged = inputs
    ctx.save_for_backward(x, weight, main_grad, output[1])
    ctx.mark_non_differentiable(output[1])


def _rms_norm_backward(ctx, dy, _):
    x, weight, main_grad, scale = ctx.saved_tensors
    dx, products = rms_norm_backward_op(dy, x, weight, scale)
    dweight = sum_into(main_grad, products, ctx.sums, weight, ctx.flagged) if ctx.needs_input_grad[1] else None
    return dx, dweight, None, None, None, None


rms_norm_op.register_autograd(_rms_norm_backward, setup_context=_rms_norm_context)
guard(rms_norm_op)
guard(rms_norm_backward_op)


def rms_norm(x, weight, eps=1e-6, *, sums=SUMS):
    """y = round(x r) weight with r = 1 / sqrt(mean(x^2) + eps), over the last dimension.

    x: ... x n in bf16, fp16 or fp32; weight: n, of x's type or fp32. y has x's type. Where
    weight.main_grad exists (fp32, n), the weight's gradient is added to it, rows in order, and none
    is returned. `sums` is the contract of that sum. The bits are the same on a CPU and on a GPU.
    """
    _check("x", x)
    check_tensors(weight=weight)
    refuse(weight.shape != x.shape[-1:], f"weight has the shape {tuple(weight.shape)}: x has rows of "
                                         f"{x.shape[-1]} elements")
    refuse(weight.dtype not in (x.dtype, torch.float32),
           f"weight.dtype is {weight.dtype}: it must be x's, {x.dtype}, or float32")
    refuse(weight.device != x.device, f"weight is on {weight.device} and x is on {x.device}")
    if not (isinstance(eps, (int, float)) or isinstance(eps, Real)):
        refuse(True, f"eps is {eps!r}: it must be a number")
    if not 2.0 ** -126 <= eps < 2.0 ** 128 - 2.0 ** 103:
        refuse(True, f"eps is {eps}: it must be a normal number above zero, finite in fp32")
    main_grad, flagged = gradient_of(weight, "weight")
    return rms_norm_op(x, weight, main_grad, eps, sums, flagged)[0]


class RMSNorm(torch.nn.Module):
    """A layer of rms_norm with a weight of n elements."""

    accumulates_in_main_grad = True

    def __init__(self, weight, eps):
        super().__init__()
        self.weight, self.eps = weight, eps

    def forward(self, x):
        return rms_norm(x, self.weight, self.eps)

    def extra_repr(self):
        return f"{tuple(self.weight.shape)}, eps={self.eps}"


def _softmax_operators(name):
    """detgemm::NAME and detgemm::NAME_backward over the last dimension."""
    @torch.library.custom_op(f"detgemm::{name}", mutates_args=())
    def forward(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        with on_device(x):
            return getattr(chosen(x, "softmax"), name)(_flat(x), dtype).view(x.shape)

    @torch.library.custom_op(f"detgemm::{name}_backward", mutates_args=())
    def backward(dy: torch.Tensor, y: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        with on_device(y):
            return getattr(chosen(y, "softmax"), name + "_backward")(
                _flat(dy), _flat(y), dtype).view(y.shape)

    def context(ctx, inputs, output):
        ctx.dtype = inputs[0].dtype
        ctx.save_for_backward(output)

    register_fake(forward)(lambda x, dtype: x.new_empty(x.shape, dtype=dtype))
    register_fake(backward)(lambda dy, y, dtype: y.new_empty(y.shape, dtype=dtype))
    forward.register_autograd(lambda ctx, dy: (backward(dy, *ctx.saved_tensors, ctx.dtype), None),
                              setup_context=context)
    guard(forward)
    guard(backward)
    return forward


softmax_op, log_softmax_op = _softmax_operators("softmax"), _softmax_operators("log_softmax")


def _softmax(operator, x, dim, dtype):
    _check("x", x)
    dtype = x.dtype if dtype is None else dtype
    refuse(dtype not in FLOATS, f"dtype is {dtype}: it must be bfloat16, float16 or float32")
    refuse(not -x.dim() <= dim < x.dim(), f"dim is {dim}: x has {x.dim()} dimensions")
    last = dim in (-1, x.dim() - 1)
    return operator(x, dtype) if last else operator(x.transpose(dim, -1), dtype).transpose(dim, -1)


def softmax(x, dim=-1, dtype=None):
    """softmax in fp32, rounded to dtype (x's by default); a row ending in -inf has the shorter row's bits."""
    return _softmax(softmax_op, x, dim, dtype)


def log_softmax(x, dim=-1, dtype=torch.float32):
    """log-softmax in fp32, rounded to dtype."""
    return _softmax(log_softmax_op, x, dim, dtype)


@torch.library.custom_op("detgemm::token_log_probs", mutates_args=())
def token_log_probs_op(x: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    return log_softmax_op(x, torch.float32).gather(-1, tokens[..., None])[..., 0]


@register_fake(token_log_probs_op)
def _(x, tokens):
    return x.new_empty(tokens.shape, dtype=torch.float32)


def _token_context(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def _token_backward(ctx, dy):
    x, tokens = ctx.saved_tensors
    y = log_softmax_op(x, torch.float32)  # the bits of the forward pass, computed again
    spread = torch.zeros_like(y).scatter_(-1, tokens[..., None], dy[..., None])
    return torch.ops.detgemm.log_softmax_backward(spread, y, x.dtype), None


token_log_probs_op.register_autograd(_token_backward, setup_context=_token_context)
guard(token_log_probs_op)


def token_log_probs(x, tokens):
    """log_softmax(x)[..., tokens] in fp32. x: ... x vocabulary, tokens: ... in int64; x alone is kept."""
    _check("x", x)
    check_tensors(tokens=tokens)
    refuse(tokens.dtype != torch.int64 or tokens.shape != x.shape[:-1],
           f"tokens has the shape {tuple(tokens.shape)} of {tokens.dtype}: it must be int64 of x's "
           f"leading shape {tuple(x.shape[:-1])}")
    return token_log_probs_op(x, tokens)
