# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The k largest numbers of a row; of equal ones the one with the lesser index is first, whatever k is.

    torch.topk            k places with the k largest numbers of a row; of those equal to the least of them, any
    above the least       every place is right: sorted among each other, by number and then by index
    equal to the least    the row is read again, block by block from its start, until so many are found, in this order

-0 is 0, and every NaN is larger than any number. One program per row, so nothing depends on the other rows.
"""
import torch
import triton
import triton.language as tl

from detgemm.torch.kernels.launch import launch, power_of_2

MOST = 128   # places that are compared with each other at once
BLOCK = 4096
LEAST = tl.constexpr(-0x80000000)
LARGEST = tl.constexpr(0x7fffffff)
INFINITE = {torch.bfloat16: 0x7f80, torch.float16: 0x7c00, torch.float32: 0x7f800000}


@triton.jit
def _key(bits, INFINITE: tl.constexpr, MASK: tl.constexpr):
    """An integer in the order of the numbers, from their bits: sign and magnitude."""
    bits = bits.to(tl.int32)
    size = bits & MASK
    return tl.where(size > INFINITE, LARGEST, tl.where(bits < 0, -size, size))


@triton.jit(do_not_specialize=["k"])
def _in_order(x, picked, out, stride, k, K: tl.constexpr, BLOCK: tl.constexpr, INFINITE: tl.constexpr, MASK: tl.constexpr):
    row, at = tl.program_id(0).to(tl.int64), tl.arange(0, K)
    there = at < k
    index = tl.load(picked + row * k + at, mask=there, other=0).to(tl.int32)
    key = tl.where(there, _key(tl.load(x + row * stride + index, mask=there, other=0), INFINITE, MASK), LEAST)
    least = tl.min(tl.where(there, key, LARGEST), axis=0)
    equal = there & (key == least)
    wanted = tl.sum(equal.to(tl.int32), axis=0)
    end = tl.max(tl.where(equal, index, -1), axis=0) + 1  # so many are found before it
    before = (key[None, :] > key[:, None]) | (key[None, :] == key[:, None]) & (index[None, :] < index[:, None])
    place = tl.sum((before & there[None, :]).to(tl.int32), axis=1)
    tl.store(out + row * k + place, index.to(tl.int64), mask=there & (key != least))
    first, found = 0, 0
    while (first < end) & (found < wanted):
        i = first + tl.arange(0, BLOCK)
        inside = i < end
        hit = inside & (_key(tl.load(x + row * stride + i, mask=inside, other=0), INFINITE, MASK) == least)
        number = tl.sum(hit.to(tl.int32), axis=0)
        if number > 0:
            place_of = found + tl.cumsum(hit.to(tl.int32), axis=0) - 1
            tl.store(out + row * k + k - wanted + place_of, i.to(tl.int64), mask=hit & (place_of < wanted))
        found += number
        first += BLOCK


def topk(x, k):
    """Values and indices of the k largest numbers of each row, 1 <= k <= MOST; x: rows x n of 16 or 32 bits, n < 2^31."""
    x = x if x.stride(-1) == 1 else x.contiguous()
    picked = torch.topk(x, k, dim=-1).indices
    index = torch.empty_like(picked)
    if len(x):
        small = x.element_size() == 2
        launch(_in_order, (len(x),), x.view(torch.int16 if small else torch.int32), picked, index, x.stride(0), k, K=power_of_2(k),
               BLOCK=min(BLOCK, power_of_2(x.shape[-1])), INFINITE=INFINITE[x.dtype], MASK=0x7fff if small else 0x7fffffff, num_warps=8)
    return x.gather(-1, index), index
