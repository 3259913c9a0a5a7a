# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Log-probabilities of stored logits in the order `logsum16` (docs/log-prob.md): torch.ops.detgemm.log_probs_of.

`linear_log_prob` has the same bits without storing logits.
"""
import functools

import torch

from detgemm import _library as lib
from detgemm.torch.auditing import ROW_LOCAL
from detgemm.torch.derivatives import guard
from detgemm.torch.dispatch import check_tensor, check_tensors, chosen, on_device, refuse
from detgemm.torch.fakes import register_fake
from detgemm.torch.operators import OPS
from detgemm.torch.order import SPECIAL

ORDER = "logsum16 tree"
ROW_LOCAL["log_probs_of"] = ROW_LOCAL["log_probs_of_backward"] = ORDER
LOGITS = (torch.bfloat16, torch.float32)
IDS = 1024  # per row and launch; more of them move no bit


@functools.cache
def has_backend(kind):
    """Whether the library computes on tensors of this kind of device; else Triton's kernels do."""
    return kind == "cpu" or torch.version.hip is None and any(found == lib.CUDA for _, found in lib.backends())


def checked_scale(scale, tokens, like, shape):
    """fp32 of T elements, or None. A device's values are not looked at: one that is not finite and above zero gives NaN."""
    if scale is None:
        return None
    if not isinstance(scale, torch.Tensor):
        # Sentences are made where they are said: a compiler, for which scale is a symbol, makes none. Between these limits a number
        # that is rounded to fp32 is finite and above zero.
        if isinstance(scale, bool) or not isinstance(scale, (int, float)):
            refuse(True, f"scale is a {type(scale).__name__}: it must be a number or a tensor")
        if not 2.0**-150 < scale < 2.0**128 - 2.0**103:  # nor is a NaN
            refuse(True, f"scale is {scale}: it must be finite and above zero, as a number of fp32 too")
        return torch.full((tokens,), float(scale), dtype=torch.float32, device=like.device)
    refuse(scale.dtype != torch.float32, f"scale.dtype is {scale.dtype}: it must be float32")
    refuse(scale.shape != shape, f"scale has the shape {tuple(scale.shape)}: it must be one number per row, {tuple(shape)}")
    refuse(scale.requires_grad, "scale.requires_grad is True: it has no gradient")
    return scale.reshape(-1)


def check_targets(name, targets):
    check_tensors(**{name: targets})
    refuse(targets.dtype not in (torch.int64, torch.int32), f"{name}.dtype is {targets.dtype}: it must be int64 or int32")


def check_local(**named):
    """Refuses tensors that are a rank's part of a larger one: parameters of fully_shard outside of the module's forward pass."""
    for name, tensor in named.items():
        if hasattr(tensor, "full_tensor"):
            refuse(True, f"{name} is a DTensor: call this in the forward pass of the module that fully_shard manages, where its "
                         f"parameters are whole, or pass {name}.full_tensor()")


def check_values(name, targets, scale, valid):
    """Looks at values where that waits for nothing."""
    if targets.device.type != "cpu":
        return
    refuse(bool((targets >= valid).any()), f"{name} has {int(targets.max()) if targets.numel() else 0}: it must be below the "
                                           f"{valid} columns that exist, or negative to ignore a row")
    refuse(scale is not None and not bool(((scale > 0) & (scale < float("inf"))).all()),
           "scale has a number that is not finite and above zero")


def usable(scale):
    """A scale whose bad values are NaN, so that their rows are."""
    return None if scale is None else torch.where((scale > 0) & (scale < float("inf")), scale, float("nan"))


def spoiled(k, targets, valid):
    """K of rows, made that of a NaN where the target is beyond the columns: their gradients are NaN."""
    return torch.where(targets >= valid, SPECIAL, k)


@torch.library.custom_op("detgemm::log_probs_of", mutates_args=())
def log_probs_of_op(logits: torch.Tensor, ids: torch.Tensor, scale: torch.Tensor | None,
                    valid: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """logits: T x V, ids: T x ids int64, scale: T. Log-probabilities, T x ids; K and R for the backward pass."""
    check_values("ids", ids, scale, valid)
    if has_backend(logits.device.type):
        with on_device(logits):
            logp, _, _, _, k, r = OPS.logits_log_probs(logits, ids.reshape(-1), scale, valid, False)
        return logp.view(ids.shape), k.view(torch.int32), r
    order, scale = chosen(logits, "log_prob"), usable(scale)
    with on_device(logits):
        x = logits.gather(1, ids.clamp(0, valid - 1)).float()
        x = x if scale is None else x * scale[:, None]
        nodes, found = order.nodes(logits[:, :valid], scale, False), []
        for part in range(0, max(1, ids.shape[1]), IDS):
            columns = slice(part, part + IDS)
            found.append(order.finish(nodes, x[:, columns].contiguous(), ids[:, columns].contiguous(), valid))
    k, r = found[0][:2]
    return found[0][4] if len(found) == 1 else torch.cat([each[4] for each in found], 1), k, r


@register_fake(log_probs_of_op)
def _(logits, ids, scale, valid):
    rows = logits.shape[0]
    return (logits.new_empty(ids.shape, dtype=torch.float32), logits.new_empty((rows,), dtype=torch.int32),
            logits.new_empty((rows,), dtype=torch.float32))


@torch.library.custom_op("detgemm::log_probs_of_backward", mutates_args=())
def log_probs_of_backward(dlogp: torch.Tensor, logits: torch.Tensor, ids: torch.Tensor, scale: torch.Tensor | None, k: torch.Tensor,
                          r: torch.Tensor, valid: int) -> torch.Tensor:
    refuse(ids.shape[1] != 1, f"ids has {ids.shape[1]} columns per row: the gradient is that of one column")
    ids = ids.reshape(-1).contiguous()
    out = torch.zeros_like(logits, memory_format=torch.contiguous_format)
    if has_backend(logits.device.type) and logits.dtype == torch.bfloat16:
        with on_device(logits):
            OPS.logits_gradient(logits, ids, scale, k.view(torch.float32), r, None, None, dlogp.reshape(-1), None, None, 0, valid, 1.0,
                                out=out)
        return out
    with on_device(logits):
        found = chosen(logits, "log_prob").gradient(
            logits[:, :valid], usable(scale), ids, 0, dlogp.reshape(-1).contiguous(), None, None, spoiled(k, ids, valid), r, None,
            None, logits.dtype)
        if valid == logits.shape[1]:
            return found
        out[:, :valid] = found
    return out


@register_fake(log_probs_of_backward)
def _(dlogp, logits, ids, scale, k, r, valid):
    return logits.new_empty(logits.shape)


def _context(ctx, inputs, output):
    logits, ids, scale, ctx.valid = inputs
    ctx.save_for_backward(logits, ids, scale, *output[1:])
    ctx.mark_non_differentiable(*output[1:])


def _backward(ctx, dlogp, *_):
    return log_probs_of_backward(dlogp, *ctx.saved_tensors, ctx.valid), None, None, None


def no_second(name):
    """The gradient of a backward pass: a refusal."""
    def refused(ctx, *_):
        raise lib.DetgemmError(f"{name}_backward has no gradient: {name} has no gradient of a gradient")
    return refused


log_probs_of_op.register_autograd(_backward, setup_context=_context)
log_probs_of_backward.register_autograd(no_second("log_probs_of"))
guard(log_probs_of_op)
guard(log_probs_of_backward)


def log_probs_of(logits, ids, *, scale=None, valid=None):
    """ln p of some tokens per row, in fp32: -ln(sum of e^(x - x_id)) with x = logits * scale, summed in the order logsum16.

    logits  [..., V] in bf16 or fp32, rows at any distance
    ids     [...], one id per row, or [..., ids]; int64 or int32. The result has this shape. A negative id gives +0 and
            no gradient. One of `valid` or more is refused on a CPU, and gives NaN on a GPU, where nothing waits to look
    scale   1 / temperature: a number, or fp32 [...]; finite and above zero (as for ids, NaN on a GPU)
    valid   columns from this one on are padding and do not exist

    The gradient, for one id per row, has the logits' type: rounded once. A row depends on nothing but the row.
    A wrong call raises DetgemmError with a sentence.
    """
    check_tensor("logits", logits)
    check_local(logits=logits, ids=ids)
    refuse(logits.dtype not in LOGITS, f"logits.dtype is {logits.dtype}: it must be bfloat16 or float32")
    refuse(logits.dim() < 1, "logits has no dimension: it must have one or more")
    check_targets("ids", ids)
    leading, columns = logits.shape[:-1], logits.shape[-1]
    refuse(ids.shape != leading and ids.shape[:-1] != leading, f"ids has the shape {tuple(ids.shape)}: it must be that of the rows, "
                                                               f"{tuple(leading)}, or have one dimension more")
    refuse(ids.device != logits.device, f"ids is on {ids.device} and logits is on {logits.device}")
    valid = columns if valid is None else valid
    refuse(isinstance(valid, bool) or not isinstance(valid, int) or not 1 <= valid <= columns,
           f"valid is {valid!r}: it must be an integer from 1 to the {columns} columns")
    rows = logits.reshape(-1, columns)
    factor = checked_scale(scale, rows.shape[0], rows, leading)
    many = ids.shape[-1] if ids.dim() == logits.dim() else 1
    return log_probs_of_op(rows, ids.reshape(rows.shape[0], many).to(torch.int64), factor, valid)[0].view(ids.shape)
