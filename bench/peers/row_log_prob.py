# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""A row kernel of log-probabilities for log_prob.py, where vLLM is absent: a program per row, the maximum in one pass over blocks of
1024 logits, then the sum of exponentials in a second one."""
import torch
import triton
import triton.language as tl


@triton.jit
def _rows(z, ids, out, stride, words, WIDTH: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    top = float("-inf")
    for first in range(0, words, WIDTH):
        at = first + tl.arange(0, WIDTH)
        top = tl.max(tl.maximum(tl.load(z + row * stride + at, mask=at < words, other=float("-inf")), top))
    top = top.to(tl.float32)
    total = 0.0
    for first in range(0, words, WIDTH):
        at = first + tl.arange(0, WIDTH)
        logits = tl.load(z + row * stride + at, mask=at < words, other=0.0).to(tl.float32)
        total += tl.sum(tl.where(at < words, tl.exp(logits - top), 0.0))
    logit = tl.load(z + row * stride + tl.load(ids + row)).to(tl.float32)
    tl.store(out + row, logit - top - tl.log(total))


def row_log_probs(logits, ids):
    out = torch.empty(ids.shape, dtype=torch.float32, device=logits.device)
    _rows[(logits.shape[0],)](logits, ids, out, logits.stride(0), logits.shape[1], WIDTH=1024)
    return out
