# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The gradient of an embedding: the program at the start of a token's run adds the whole run."""
import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["tokens"])
def _accumulate(acc, ids, position, dy, tokens, n, WIDTH: tl.constexpr):
    place = tl.program_id(0)
    token = tl.load(ids + place)
    before = tl.load(ids + place - 1, mask=place > 0, other=-1)
    if token != before:
        column = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)
        there = column < n
        total = tl.load(acc + token * n + column, mask=there, other=0.0)
        same = token
        while same == token:
            row = tl.load(position + place)
            total = total + tl.load(dy + row * n + column, mask=there, other=0.0).to(tl.float32)
            place += 1
            same = tl.load(ids + place, mask=place < tokens, other=-1)
        tl.store(acc + token * n + column, total, mask=there)


def embedding_accumulate_(acc, ids, dy):
    """As plain.embedding.embedding_accumulate_; dy contiguous."""
    tokens, n = dy.shape
    if tokens and n:
        sorted_ids, position = torch.sort(ids, stable=True)
        width = min(1024, triton.next_power_of_2(n))
        # No warp has copies of another's elements: it would read acc when that one may have written it, if only to throw it away.
        _accumulate[(tokens, triton.cdiv(n, width))](
            acc, sorted_ids, position, dy, tokens, n, WIDTH=width, num_warps=4 if width >= 256 else 1, enable_fp_fusion=False)
