# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Row operations on a CUDA device: the CPU's bytes, and attention that does not depend on cuts."""
import random

import pytest
import torch

import detgemm.torch
from detgemm.torch.attend import dense
from detgemm.torch.plain import attention as plain

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
same = detgemm.torch.same_bits


def drawn(shape, dtype, kind, seed=0):
    generator = torch.Generator().manual_seed(seed)
    if kind == "bits":
        high, integer = (2 ** 31, torch.int32) if dtype == torch.float32 else (2 ** 15, torch.int16)
        return torch.randint(-high, high, shape, generator=generator).to(integer).view(dtype)
    small = 2.0 ** (-20 if dtype == torch.float16 else -126)
    powers = torch.exp2(torch.randint(-6, 7, shape, generator=generator).float())
    return (torch.randn(shape, generator=generator) * (small if kind == "tiny" else powers)).to(dtype)


@pytest.mark.parametrize("kind", ["wide", "bits", "tiny"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
@pytest.mark.parametrize("n", [1, 128, 1000, 4096])
def test_rows_have_the_cpus_bytes(n, dtype, kind):
    x, weight, dy = drawn((37, n), dtype, kind), drawn((n,), dtype, "wide", 1), drawn((37, n), dtype, "wide", 2)

    def all_of(x, weight, dy):
        operators = torch.ops.detgemm
        y, scale = operators.rms_norm(x, weight, None, 1e-6, "ieee_fma/fp32/chain->fp32", False)
        soft, log = operators.softmax(x, torch.float32), operators.log_softmax(x, torch.float32)
        return (y, scale, operators.rms_norm_backward(dy, x, weight, scale)[0], soft, log,
                operators.softmax_backward(dy, soft, dtype), operators.log_softmax_backward(dy, log, dtype))
    for ours, wanted in zip(all_of(x.cuda(), weight.cuda(), dy.cuda()), all_of(x, weight, dy)):
        assert same(wanted, ours.cpu())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_long_rows_have_the_bytes_of_one_program(dtype, monkeypatch):
    from detgemm.torch.kernels import long_rows
    x = drawn((70, 151936), dtype, "wide")
    x[3, 100], x[4, 99] = float("nan"), float("inf")
    x[5, 150000:] = float("-inf")
    for name in ("softmax", "log_softmax"):
        operator = getattr(torch.ops.detgemm, name)
        spread = operator(x.cuda(), torch.float32)
        assert same(operator(x[:6], torch.float32), spread[:6].cpu())
        for rows in (1, 7, 64):
            assert same(operator(x[:rows].cuda(), torch.float32), spread[:rows])
        monkeypatch.setattr(long_rows, "serve", lambda rows, n: False)
        assert same(operator(x.cuda(), torch.float32), spread)
        monkeypatch.undo()


def test_embedding_has_the_cpus_bytes():
    ids, dy = torch.randint(0, 40, (500,)), drawn((500, 300), torch.bfloat16, "wide")
    sums = {device: torch.zeros(50, 300, device=device) for device in ("cpu", "cuda")}
    for device, acc in sums.items():
        for part in (slice(0, 99), slice(99, 500)):
            torch.ops.detgemm.embedding_accumulate_(acc, ids[part].to(device), dy[part].to(device))
    assert same(sums["cpu"], sums["cuda"].cpu())


@pytest.mark.parametrize("dim, heads, kv_heads", [(128, 32, 8), (64, 8, 8)])
def test_attention_does_not_depend_on_cuts(dim, heads, kv_heads):
    draw, tokens, pads = random.Random(dim), 777, (0, 200, 13)
    q, k, v = (drawn((3, h, tokens, dim), torch.bfloat16, "wide", seed).clamp(-4, 4).cuda()
               for seed, h in enumerate((heads, kv_heads, kv_heads)))
    table = torch.tensor([[b, p, tokens - p, b, p, tokens - p] for b, p in enumerate(pads)], dtype=torch.int32).cuda()
    whole = detgemm.torch.attention(q, k, v, table)
    for b, p in enumerate(pads):
        assert same(detgemm.torch.attention(q[b:b + 1, :, p:], k[b:b + 1, :, p:], v[b:b + 1, :, p:]),
                    whole[b:b + 1, :, p:])
        for _ in range(6):
            count = draw.choice([1, 2, 16, 100])
            end = draw.randint(count, tokens - p)
            cut = torch.tensor([[0, 0, count, b, p, end]], dtype=torch.int32).cuda()
            part = slice(p + end - count, p + end)
            assert same(detgemm.torch.attention(q[b:b + 1, :, part], k, v, cut), whole[b:b + 1, :, part])


def test_attention_has_the_bytes_of_the_contracts_products():
    """The plain order, with products by the reference under hopper/bf16/chain->fp32."""
    def dot(a, b):
        lead = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        a, b = (x.expand(*lead, *x.shape[-2:]).reshape(-1, *x.shape[-2:]).bfloat16() for x in (a, b))
        return detgemm.torch.bmm(a, b.transpose(1, 2), "hopper/bf16/chain->fp32").view(*lead, a.shape[1], b.shape[1])
    q, k, v = (drawn((1, h, 200, 64), torch.bfloat16, "wide", seed).clamp(-4, 4) for seed, h in enumerate((4, 2, 2)))
    wanted, _ = plain.attention(q, k, v, dense(1, 200, 200, "cpu"), 0.125, dot=dot)
    ours = detgemm.torch.attention(q.cuda(), k.cuda(), v.cuda())
    assert same(wanted, ours.cpu())
    assert not same(plain.attention(q, k, v, dense(1, 200, 200, "cpu"), 0.125)[0], ours.cpu())  # the order shows


def test_gradients_of_attention_are_right_and_do_not_depend_on_the_batch():
    tokens = 333
    generator = torch.Generator().manual_seed(0)
    q, k, v, dout = (torch.randn(2, h, tokens, 128, generator=generator).bfloat16().cuda() for h in (8, 2, 2, 8))

    def gradients(*inputs, dout, function):
        inputs = [x.detach().requires_grad_() for x in inputs]
        function(*inputs).backward(dout)
        return [x.grad for x in inputs]
    whole = gradients(q, k, v, dout=dout, function=detgemm.torch.attention)
    one = gradients(q[1:], k[1:], v[1:], dout=dout[1:], function=detgemm.torch.attention)
    exact = gradients(q.double(), k.double(), v.double(), dout=dout.double(), function=lambda *x: (
        torch.nn.functional.scaled_dot_product_attention(*x, is_causal=True, enable_gqa=True)))
    for a, b, wanted in zip(whole, one, exact):
        assert same(a[1:], b)
        assert (a.double() - wanted).abs().max() < 2e-2 * wanted.abs().max()
