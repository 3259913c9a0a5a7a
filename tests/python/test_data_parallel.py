# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Weights after two steps of Adam for 1, 2, 3, 4 and 8 data-parallel ranks: processes over gloo. The stage `trainers` of run.py."""
import pathlib
import subprocess
import sys

import pytest
import torch

import detgemm.torch as dt

pytestmark = pytest.mark.long
PROGRAM = pathlib.Path(__file__).with_name("gradient_ranks.py")
COUNTS = [1, 2] if torch.cuda.device_count() > 1 else [1, 2, 3, 4, 8]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    path = tmp_path_factory.mktemp("ranks") / "result"
    done = subprocess.run([sys.executable, "-W", "ignore", PROGRAM, path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          timeout=200)
    assert done.returncode == 0, done.stdout[-3000:]
    return torch.load(path)


def same(a, b):
    return [dt.same_bits(a[what][name], b[what][name]) for what in ("weights", "grads") for name in a[what]]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("way", ["ddp", "fsdp", "buffers"])
def test_ranks_do_not_matter(runs, way, count):
    """Nor does the way: a DistributedDataParallel, fully_shard, and main_grad without a wrapper end in the same bits."""
    assert all(same(runs[way, count], runs["ddp", 1]))


def test_other_sums_differ(runs):
    """The controls: PyTorch's own sum over ranks and backward passes, and a planted fault, sums of ranks one after the other."""
    assert not any(same(runs["stock", 2], runs["stock", 1])) and not all(same(runs["chain", 2], runs["ddp", 1]))
    assert all(same(runs["chain", 1], runs["ddp", 1]))
