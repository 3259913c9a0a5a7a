# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""softmax and log-softmax of rows: definitions of the forward and the backward passes."""
import torch

from detgemm.torch.plain.arithmetic import exp, lane_sum, log, rounded


def _shifted(x):
    wide = x.float()
    return wide - wide.amax(-1, keepdim=True)  # a maximum does not depend on the order


def softmax(x, dtype):
    e = exp(_shifted(x))
    total = lane_sum(e)[..., None]
    return rounded(e * torch.div(torch.ones_like(total), total), dtype)


def softmax_backward(dy, y, dtype):
    g, p = dy.float(), y.float()
    return rounded(p * (g - lane_sum(g * p)[..., None]), dtype)


def log_softmax(x, dtype):
    d = _shifted(x)
    return rounded(d - log(lane_sum(exp(d)))[..., None], dtype)


def log_softmax_backward(dy, y, dtype):
    g = dy.float()
    return rounded(g - exp(y.float()) * lane_sum(g)[..., None], dtype)
