# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""RMSNorm of rows: definitions of the forward and the backward pass."""
import functools

import numpy
import torch

from detgemm.torch.plain.arithmetic import lane_sum, rounded, sqrt


@functools.cache
def inverse(n):
    """1 / n rounded once to fp32."""
    return float(numpy.float32(1.0) / numpy.float32(n))


def scale(x, eps):
    """r = 1 / sqrt(mean of squares + eps) of every row of fp32 x, as a column."""
    mean = lane_sum(x * x) * inverse(x.shape[-1])
    return rounded(torch.div(torch.ones_like(mean), sqrt(mean + eps)), torch.float32)[..., None]


def rms_norm(x, weight, eps):
    """x: rows x n, weight: n; returns y and r."""
    wide = x.float()
    r = scale(wide, eps)
    normal = rounded(wide * r, x.dtype)
    return rounded(normal.float() * weight.float(), x.dtype), r[..., 0]


def rms_norm_backward(dy, x, weight, r):
    """Returns dx, rows x n in x's type, and the fp32 products whose sum over rows is dweight."""
    wide, g, r = x.float(), dy.float(), r[..., None]
    h = g * weight.float()
    normal = wide * r
    q = lane_sum(h * normal) * inverse(x.shape[-1])
    dx = rounded(r * (h - normal * q[..., None]), x.dtype)
    return dx, g * rounded(normal, x.dtype).float()
