# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The definition of a sum of rows in their order."""
import torch

from detgemm.torch.plain.arithmetic import rounded


def sum_rows_(acc, x):
    """acc: n in fp32; x: rows x n in fp32."""
    for row in x:
        acc.copy_(rounded(acc + row, torch.float32))
