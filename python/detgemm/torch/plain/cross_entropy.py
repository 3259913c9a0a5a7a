# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Both passes of a cross entropy whose sum is a product: definitions."""
import torch

from detgemm.torch.plain.arithmetic import exp, rounded


def powers(x, top):
    """exp(x - top) in fp32. x: rows x n; top: rows, fp32."""
    return rounded(exp(x.float() - top[:, None]), torch.float32)


def gradient(e, inverse, label, g, dtype):
    """round((e inverse - [label]) g). e: rows x n; inverse, g: rows in fp32; label: rows in int64, -1 for none."""
    here = torch.arange(e.shape[1], device=e.device) == label[:, None]
    return rounded((e * inverse[:, None] - here.float()) * g[:, None], dtype)
