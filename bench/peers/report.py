# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The JSON of the programs that compare a model's steps with stock PyTorch."""
import json

import torch

import detgemm


def begun(**facts):
    """A report that says on what it was measured."""
    return {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "detgemm": detgemm.version(), **facts}


def save(report, path):
    """Writes it, if a path was given."""
    if path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=1)
