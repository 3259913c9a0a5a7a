# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""A product whose K is spread over processes: the roots, gathered by gloo and joined, have the bits of one process."""
import os
import subprocess
import sys

import pytest
import torch

import detgemm
from detgemm.torch import gemm, same_bits
from detgemm.torch.ranks import check_ranks, join, join_op

TREE = "hopper/bf16/tree:64->bf16"
M, N, K = 5, 24, 512


def drawn(seed, *shape):
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(shape, generator=generator) * torch.exp2(torch.randint(-6, 7, shape, generator=generator).float())).bfloat16()


def operands():
    return drawn(1, M, K), drawn(2, K, N), drawn(3, N)


def roots(ranks):
    a, b, _ = operands()
    share = K // ranks
    return torch.stack([gemm(a[:, r * share:(r + 1) * share].contiguous(), b[r * share:(r + 1) * share].contiguous(),
                             TREE.replace("->bf16", "->fp32")) for r in range(ranks)])


@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_any_number_of_ranks_has_the_bits_of_one(ranks):
    a, b, bias = operands()
    assert same_bits(join(roots(ranks), dtype=torch.bfloat16), gemm(a, b, TREE))
    assert same_bits(join(roots(ranks), bias, dtype=torch.bfloat16), gemm(a, b, TREE, bias=bias))


def test_another_order_shows():
    """Ranks in turn from the first, as a ring adds them, and rounded before they are added, as an all-reduce of bf16."""
    a, b, _ = operands()
    wanted, four = gemm(a, b, TREE), roots(4)
    assert not same_bits((((four[0] + four[1]) + four[2]) + four[3]), join(four, dtype=torch.float32))
    assert not same_bits((roots(2)[0].bfloat16() + roots(2)[1].bfloat16()), wanted)


PROGRAM = """
import sys, torch, torch.distributed as dist
sys.path.insert(0, {folder!r})
import test_ranks as t
dist.init_process_group("gloo", init_method="file://{meeting}", rank=int(sys.argv[1]), world_size=2)
a, b, bias = t.operands()
share = slice(dist.get_rank() * t.K // 2, (dist.get_rank() + 1) * t.K // 2)
mine = t.gemm(a[:, share].contiguous(), b[share].contiguous(), t.TREE.replace("->bf16", "->fp32"))
both = [torch.empty_like(mine) for _ in range(2)]
dist.all_gather(both, mine)
ours = t.join(torch.stack(both), bias, dtype=torch.bfloat16)
assert t.same_bits(ours, t.gemm(a, b, t.TREE, bias=bias)), "other bits than one process"
dist.destroy_process_group()
print("equal")
"""


@pytest.mark.skipif(not torch.distributed.is_available(), reason="PyTorch has no torch.distributed here")
def test_two_processes(tmp_path):
    program = PROGRAM.format(folder=os.path.dirname(__file__), meeting=tmp_path / "meeting")
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo"}
    started = [subprocess.Popen([sys.executable, "-c", program, str(rank)], env=environment, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True) for rank in range(2)]
    said = [each.communicate(timeout=240)[0] for each in started]
    assert all(each.returncode == 0 for each in started) and all("equal" in each for each in said), said


def test_a_nan_is_canonical():
    two = roots(2)
    two[0, 0, 0] = float("nan")
    assert join(two, dtype=torch.bfloat16).view(torch.int16)[0, 0] == 0x7fff


def test_operator_follows_pytorchs_rules():
    torch.library.opcheck(join_op, (roots(2), operands()[2], torch.bfloat16))


@pytest.mark.parametrize("contract, k, ranks, sentence", [
    ("hopper/bf16/chain->bf16", 512, 2, "under tree:LEAF"),
    (TREE, 512, 3, "must be a power of two"),
    (TREE, 512 + 64, 2, "must be a multiple of 128"),
])
def test_what_cannot_be_spread_is_refused(contract, k, ranks, sentence):
    with pytest.raises(detgemm.DetgemmError, match=sentence):
        check_ranks(contract, k, ranks)
    check_ranks(TREE, 512, 8)


@pytest.mark.parametrize("change, sentence", [
    ({"roots": torch.zeros(2, 3, 4).bfloat16()}, "roots has the shape"),
    ({"roots": torch.zeros(3, 3, 4)}, "those of 3 ranks"),
    ({"bias": torch.zeros(3)}, "bias has the shape"),
    ({"dtype": torch.int32}, "dtype is torch.int32"),
])
def test_wrong_calls_are_refused_in_a_sentence(change, sentence):
    given = {"roots": torch.zeros(2, 3, 4), "bias": None, "dtype": torch.bfloat16, **change}
    with pytest.raises(detgemm.DetgemmError, match=sentence):
        join(**given)
