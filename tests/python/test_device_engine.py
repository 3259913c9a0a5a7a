# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels that an inference engine runs, on a CUDA device: the bytes of their definitions, for any number of rows and warps."""
import pytest
import torch
from test_paged import paged, sequences, step
from test_rotary import cache, packed_heads

import detgemm.torch as dt
from detgemm.torch import attention, fused

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_silu_of_every_gate(dtype):
    """All numbers of 16 bits, with factors that are large, small, subnormal and any."""
    gates = torch.arange(65536, dtype=torch.int32).to(torch.int16).view(dtype).expand(4, 65536).contiguous()
    ups = torch.randint(0, 65536, (4, 65536), generator=torch.Generator().manual_seed(1), dtype=torch.int32).to(torch.int16).view(dtype)
    ups[0], ups[1] = 1.0, torch.tensor([1e-38, -3e-39, 2.0, 1e-20]).to(dtype).repeat(16384)
    for rows in (4, 300):
        found = fused.silu_mul(*(x.repeat(rows // 4, 1).cuda() for x in (gates, ups))).cpu()
        assert dt.same_bits(found[:4], fused.silu_mul(gates, ups)) and dt.same_bits(found[-4:], found[:4])


def test_sigmoid_of_every_number_is_a_division():
    """Every fp32 number: the quotient by multiplications has the bits of a division."""
    pytest.importorskip("triton", reason="Triton is not installed")
    import device_sigmoid
    assert device_sigmoid.others() == 0


@pytest.mark.parametrize("rows", [1, 40, 257])
@pytest.mark.parametrize("n", [128, 1000, 2048, 4096, 8192, 12288])
def test_norms_of_few_and_many_rows(n, rows):
    draw = torch.Generator().manual_seed(n)
    x, residual, weight = (torch.randint(-2**15, 2**15, shape, generator=draw).to(torch.int16).view(torch.bfloat16)
                           for shape in ((rows, n), (rows, n), (n,)))
    x[0], residual[0], weight[:] = torch.randn(n, generator=draw), 0.5, torch.randn(n, generator=draw)
    for more in (residual, None):
        wanted = fused.add_rms_norm(x, more, weight)
        found = fused.add_rms_norm(x.cuda(), None if more is None else more.cuda(), weight.cuda())
        for mine, theirs in zip(*((y if isinstance(y, tuple) else (y,)) for y in (found, wanted)), strict=True):
            assert dt.same_bits(mine.cpu(), theirs)


@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize("normed", [True, False])
def test_heads_are_turned_and_stored(both, normed):
    from detgemm.torch.kernels import rotary as kernels
    from detgemm.torch.plain import rotary as plain
    q, k, *weights = packed_heads(8, 37, 16, 8, 128)
    v = torch.randint(-2**15, 2**15, (37, 8, 128), generator=torch.Generator().manual_seed(3)).to(torch.int16).view(torch.bfloat16)
    at, slots, table = torch.arange(37) * 3, torch.randperm(9 * 16, generator=torch.Generator().manual_seed(4))[:33], cache(200, 128)
    slots[5] = -1
    before = torch.zeros((9, 8, 16, 256) if both else (9, 2, 16, 8, 128), dtype=torch.bfloat16)
    found, wanted = before.cuda(), before.clone()
    results = []
    for module, pages in ((kernels, found), (plain, wanted)):
        device = pages.device
        given = (x.to(device) for x in (q, k, v, at, table))
        halves = pages.transpose(1, 2).split(128, dim=-1) if both else pages.unbind(1)
        results.append(module.rotary_store(*given, False, *(w.to(device) if normed else None for w in weights), 1e-6, *halves, slots.to(device)))
    assert dt.same_bits(results[0].cpu(), results[1])
    assert torch.equal(found.cpu().view(torch.int16), wanted.view(torch.int16))


@pytest.mark.parametrize("lengths", [(9000, 130, 5), (700,) * 40, (300, 5, 128) * 30])
def test_pages_of_many_blocks_have_the_bits_of_attention(lengths):
    """Few rows, whose columns are spread over programs, many, and so many that a program has all blocks of a request. Maxima rise in one
    sequence and fall in the others."""
    parts = sequences(*lengths)
    for number, (_, k, _) in enumerate(parts):
        k *= torch.linspace(*((0.2, 3) if number == 0 else (3, 0.2)), len(k))[:, None, None].bfloat16()
    caches = [x.cuda() for x in paged(parts, 16)]
    parts = [[x.cuda() for x in part] for part in parts]

    def on_device(q, k_cache, v_cache, table, segments, **sizes):
        from detgemm.torch.paged import paged_attention
        return paged_attention(q, k_cache, v_cache, table, segments.cuda(), **sizes)

    for queries in ([1] * len(parts), [3] * len(parts)):
        for (q, k, v), found in zip(parts, step(parts, caches, queries, on_device)):
            alone = attention(*(x.transpose(0, 1)[None] for x in (q[len(q) - len(found):], k, v)))[0].transpose(0, 1)
            assert dt.same_bits(found.contiguous(), alone.contiguous())
