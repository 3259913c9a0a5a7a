# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Rows sorted by group into padded segments, and back, on the device: no call here waits for it."""
import torch

from detgemm.torch.auditing import ROW_LOCAL
from detgemm.torch.derivatives import guard
from detgemm.torch.dispatch import check_count, check_tensors, refuse
from detgemm.torch.fakes import register_fake

ROW_LOCAL["gather_rows"] = "copies rows; its gradient adds a row's copies in their order"


def segment_offsets(counts, multiple=1):
    """Where segments of `counts` rows end, int32, when each is padded to a multiple of so many rows."""
    check_tensors(counts=counts)
    check_count("multiple", multiple, 1)
    refuse(counts.dim() != 1 or counts.dtype not in (torch.int32, torch.int64),
           f"counts is {counts.dtype} of shape {tuple(counts.shape)}: it must have one dimension of int32 or int64")
    return ((counts + (multiple - 1)) // multiple * multiple).cumsum(0).to(torch.int32)


def segments(keys, groups, multiple=1, *, rows=None):
    """Sorts rows by their keys, stably, into segments that begin at multiples: (offs, index, places).

    keys      the group of each row, 0 .. groups-1, one dimension. A row with another key is left out
    multiple  rows to whose multiple every segment is padded. For weight gradients that do not depend on micro-batches:
              the policy's `step`, with a key per (expert, sample), `expert * samples + sample`
    rows      how many places there are; by default as many as may be needed, len(keys) + groups * (multiple - 1)

    offs    the end of each segment, int32, `groups` numbers. Of keys per (expert, sample), `offs[samples-1::samples]` are
            the ends of the experts
    index   which row is at each place, -1 where there is none: `gather_rows(x, index, places)`
    places  the place of each row, -1 for a row that is left out: `gather_rows(y, places, index)` brings rows back
    """
    check_tensors(keys=keys)
    refuse(keys.dim() != 1, f"keys has {keys.dim()} dimensions: it must have one")
    refuse(keys.dtype.is_floating_point or keys.dtype.is_complex or keys.dtype == torch.bool,
           f"keys.dtype is {keys.dtype}: it must be an integer type")
    check_count("groups", groups)
    check_count("multiple", multiple, 1)
    if rows is not None:
        check_count("rows", rows)
    keys = keys.to(torch.int64)
    inside = (keys >= 0) & (keys < groups)
    # The last group is that of rows that are left out.
    chosen, order = torch.sort(torch.where(inside, keys, groups), stable=True)
    starts = torch.searchsorted(chosen, torch.arange(groups + 1, device=keys.device))
    offs = segment_offsets(starts.diff(), multiple)
    padded = torch.cat((offs.new_zeros(1), offs)).to(torch.int64)
    place = torch.arange(len(keys), device=keys.device) - starts[chosen] + padded[chosen]
    count = len(keys) + groups * (multiple - 1) if rows is None else rows
    kept = (chosen < groups) & (place < count)
    index = order.new_full((count + 1,), -1)  # and one place for rows that are left out
    index[torch.where(kept, place, count)] = order
    places = torch.empty_like(order)
    places[order] = torch.where(kept, place, -1)
    return offs, index[:count], places


@torch.library.custom_op("detgemm::gather_rows", mutates_args=())
def _gather_rows(x: torch.Tensor, index: torch.Tensor, places: torch.Tensor, copies: int) -> torch.Tensor:
    if x.shape[0] == 0:
        return x.new_zeros((len(index), *x.shape[1:]))
    found = x.index_select(0, index.clamp(min=0) // copies)
    return found.masked_fill_((index < 0).view(-1, *[1] * (x.dim() - 1)), 0)


@register_fake(_gather_rows)
def _(x, index, places, copies):
    return x.new_empty((index.shape[0], *x.shape[1:]))


def _context(ctx, inputs, output):
    _, index, places, ctx.copies = inputs
    ctx.save_for_backward(index, places)


def _backward(ctx, grad):
    index, places = ctx.saved_tensors
    back = _gather_rows(grad, places, index, 1)
    if ctx.copies > 1:
        back = back.unflatten(0, (-1, ctx.copies))
        total = back[:, 0].float()
        for copy in range(1, ctx.copies):
            total = total + back[:, copy].float()
        back = total.to(grad.dtype)
    return back, None, None, None


_gather_rows.register_autograd(_backward, setup_context=_context)
guard(_gather_rows)


def gather_rows(x, index, places, copies=1):
    """The rows index of x, each a copy; zeros where the index is -1.

    index and places are results of `segments`, which makes them each other's inverse, so that the gradient is a gather too. With
    `copies`, row t of x stands for the keys t * copies to t * copies + copies - 1, as a token does for the experts that
    it chose; its gradient is then the sum over them, ascending, in fp32, rounded once.
    """
    check_tensors(x=x, index=index, places=places)
    refuse(x.dim() < 1 or index.dim() != 1 or places.dim() != 1, "index and places must have one dimension")
    for name, given in (("index", index), ("places", places)):
        refuse(given.dtype not in (torch.int32, torch.int64), f"{name}.dtype is {given.dtype}: it must be int32 or int64")
    check_count("copies", copies, 1)
    refuse(copies > 1 and places.shape[0] != x.shape[0] * copies,
           f"places has {places.shape[0]} elements: it must have {x.shape[0]} x {copies} (rows of x, times copies)")
    return _gather_rows(x, index, places, copies)
