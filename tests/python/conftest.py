# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""What the tests of the Python package share. They test the package that is installed, or the one that
PYTHONPATH and DETGEMM_LIBRARY name."""
import importlib.util
import os
import pathlib
import random
import re

import pytest

HAS_TORCH = importlib.util.find_spec("torch") is not None
# Files that import PyTorch are not collected where there is none; tests/python/run.py says how many ran.
NEEDS_TORCH = sorted(path.name for path in pathlib.Path(__file__).parent.glob("test_*.py")
                     if re.search(r"^(import|from) (torch|detgemm\.torch)", path.read_text(encoding="utf-8"), re.M))
# rocm/ has helpers of the same name, and a run.py of its own.
collect_ignore = [*([] if HAS_TORCH else NEEDS_TORCH), *([] if "DETGEMM_ROCM_RUNTIME" in os.environ else ["rocm"])]


def pytest_configure(config):
    config.addinivalue_line("markers", "long: left out by run.py --short")


BF16 = "hopper/bf16/chain->bf16"


@pytest.fixture
def rng():
    return random.Random(20261122)


@pytest.fixture
def policy():
    from detgemm.torch import Policy
    return Policy(BF16, BF16, "hopper/bf16/fold:64->fp32")


def devices():
    """Where the operators can be tested here."""
    import torch
    found = ["cpu"]
    if torch.cuda.is_available():
        import detgemm.torch as dt
        try:  # the device's backend knows what it computes, by whatever vendor it is
            dt.gemm(*(torch.ones(8, 8, dtype=torch.bfloat16, device="cuda") for _ in "ab"), BF16)
            found.append("cuda")
        except RuntimeError:
            pass
    return found


def bits(shape, dtype, seed=0, device="cpu"):
    """Numbers of both signs and very different sizes, so that another order gives other bits."""
    import torch
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(shape, generator=generator)
    x = x * torch.exp2(torch.randint(-6, 7, shape, generator=generator).float())
    return x.to(dtype).to(device)
