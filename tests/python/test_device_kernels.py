# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of rotary, silu_mul, experts, quantisers, log-probabilities and pages on a CUDA device: the CPU's bytes."""
import pytest
import torch
import test_paged
from conftest import bits
from test_paged import paged, sequences, step

import detgemm.torch as dt
from detgemm.torch import fused, gradients
from detgemm.torch.operators import OPS
from detgemm.torch.paged import paged_attention
from detgemm.torch.rotary import rotary

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
BF16, FP16, FP32 = torch.bfloat16, torch.float16, torch.float32


def patterns(seed, *shape, dtype=BF16):
    """Any bits: NaN, Inf, subnormals, both zeros."""
    integer, high = (torch.int32, 2 ** 31) if dtype == FP32 else (torch.int16, 2 ** 15)
    return torch.randint(-high, high, shape, generator=torch.Generator().manual_seed(seed), dtype=torch.int64).to(integer).view(dtype)


def both(function, *inputs):
    """The results of one function on the CPU and on the device; gradients of floating inputs that require them are among them."""
    found = []
    for device in ("cpu", "cuda"):
        here = [x.detach().to(device).requires_grad_(x.requires_grad) if isinstance(x, torch.Tensor) else x for x in inputs]
        results = function(*here)
        results = list(results) if isinstance(results, (tuple, list)) else [results]
        found.append([r.detach().cpu() for r in results if r is not None] + [x.grad.cpu() for x in here if isinstance(x, torch.Tensor) and x.grad is not None])
    assert len(found[0]) == len(found[1])
    return zip(*found)


def equal(function, *inputs):
    for number, (cpu, device) in enumerate(both(function, *inputs)):
        assert dt.same_bits(cpu, device), f"result {number}: {int((cpu != device).sum())} of {cpu.numel()} differ"


def backward(function):
    """A function whose first result is differentiated by its last argument."""
    def run(*inputs):
        results = function(*inputs[:-1])
        first = results if isinstance(results, torch.Tensor) else results[0]
        first.backward(inputs[-1])
        return results
    return run


@pytest.mark.parametrize("dtype", [BF16, FP16, FP32])
@pytest.mark.parametrize("n", [7, 150, 6144])
def test_silu_mul_and_quantisers(n, dtype):
    for x in (patterns(n, 65, 2 * n, dtype=dtype), bits((65, 2 * n), dtype), bits((65, 2 * n), dtype, 3) * 2.0 ** -120):
        dy = bits((65, n), dtype, 1)
        equal(backward(fused.silu_mul), x.requires_grad_(), dy)
        x = x.detach()
        for leaf in (128, 7):
            equal(lambda x, leaf=leaf: dt.silu_mul_quantize(x, leaf), x)
            equal(lambda x, index, leaf=leaf: dt.gather_quantize(x, index, leaf, copies=2), x, torch.tensor([17, -1, 0, 64, 129, 3, 3]))


@pytest.mark.parametrize("of_x, of_weights", [(BF16, BF16), (BF16, FP32), (FP16, FP16), (FP32, FP32)])
def test_experts_are_combined_in_the_written_order(of_x, of_weights):
    draw = torch.Generator().manual_seed(2)
    places = torch.randperm(600, generator=draw).view(100, 6)
    places[torch.rand(100, 6, generator=draw) < 0.2] = -1
    places[7] = -1
    dy, weights = bits((100, 333), of_x, 1), bits((100, 6), of_weights, 3)
    equal(dt.combine_experts, patterns(4, 600, 333, dtype=of_x), places, weights)
    equal(backward(dt.combine_experts), bits((600, 333), of_x).requires_grad_(), places, weights.requires_grad_(), dy)
    equal(lambda p: dt.top_experts(p, 6), torch.rand(500, 64, generator=draw).mul(16).round().div(16))  # ties


@pytest.mark.parametrize("dtype", [BF16, FP16, FP32])
def test_gradients_of_a_decoder_layers_row_operations(dtype):
    for n, parts in ((2048, 3), (100, 2), (8192, 1)):
        given = [bits((33, n), dtype, seed) for seed in range(parts + 2)]
        equal(lambda d, x, w, *each: gradients.add_rms_norm_backward_op(list(each), d, x, w, 1e-6), *given[:2], bits((n,), dtype, 9), *given[2:])
    for q_heads, k_heads, d, norm in ((16, 8, 128, True), (6, 2, 64, False)):
        dq, dk = (bits((3, h, 11, d), dtype, h).transpose(1, 2) for h in (q_heads, k_heads))
        dq[0, 0] = -0.0
        weights = (bits((d,), dtype, 5), bits((d,), dtype, 6)) if norm else (None, None)
        equal(gradients.rotary_pair_backward_op, dq, dk, bits((33, q_heads, d), dtype, 3), bits((33, k_heads, d), dtype, 4), torch.arange(33) % 20,
              bits((20, d), dtype, 7), *weights, 1e-6)


@pytest.mark.parametrize("n", [1, 33, 128, 2048])
def test_sums_of_rows_in_order(n):
    """Around the rows that a program has on their way. The control: from the last row to the first."""
    def added(acc, x, more):
        acc, other = acc.clone(), acc.flip(0).contiguous()
        OPS.sum_rows_(acc, x, other, more, "ieee_fma/fp32/chain->fp32")
        return acc, other

    for rows in (0, 1, 223, 224, 225, 449, 1400, 5000):
        x = patterns(rows + n, rows, n, dtype=FP32)
        x = torch.where(x.abs() < 1e30, x, 0.0)
        equal(added, bits((n,), FP32), x, x[: rows // 3].contiguous())
    x = bits((5000, n), FP32)
    assert not dt.same_bits(added(torch.zeros(n), x, x)[0], x.flip(0).cumsum(0)[-1])


def cancelling(shape, dtype, seed):
    """Rows whose second half is the first one."""
    x = bits(shape, dtype, seed)
    x[..., shape[-1] // 2:] = x[..., :shape[-1] // 2]
    return x


@pytest.mark.parametrize("tokens", [1, 2, 7, 33, 64, 65])
@pytest.mark.parametrize("form", ["bf16", "fp16", "e4m3"])
def test_a_layer_of_experts(form, tokens):
    """Numbers of 12 binades; sums whose halves cancel, so that what is left is what the order rounded away; NaN, Inf and random bits
    among the weights. All of the experts, and half of them. Up to 64 tokens are computed by kernels of their own, 65 by products over
    groups."""
    dtype, scaled = FP16 if form == "fp16" else BF16, form == "e4m3"
    contract = "hopper/e4m3/scaled:128->bf16" if scaled else f"hopper/{form}/chain->{form}"
    experts, h, n = 16, 256, 256
    for draw in (bits, cancelling, lambda shape, dtype, seed: patterns(seed, *shape, dtype=dtype)):
        gate_up, down = weights = [draw((experts, *shape), BF16 if scaled else dtype, seed) for seed, shape in ((3, (2 * n, h)), (4, (h, n)))]
        if draw is cancelling:  # so that the rows behind gate and up cancel too
            gate_up[:, n // 2:n], gate_up[:, n + n // 2:] = gate_up[:, :n // 2], -gate_up[:, n:n + n // 2]
        if scaled:
            weights = [each for w in weights for each in map(torch.stack, zip(*(dt.quantize(part, 128, per=128) for part in w)))]
        cases = (0, experts, 8 if tokens == 1 else 4, FP32), (0, experts, 1, dtype), (4, 8, 3, FP32)
        for seed, (first, count, top, result) in enumerate(cases * (4 if tokens == 1 else 1)):
            x, logits = bits((tokens, h), dtype, seed), bits((tokens, experts), dtype, seed + 100)
            if draw is cancelling:
                x[:, h // 2:] = -x[:, :h // 2]

            def layer(x, logits, *given, first=first, count=count, top=top, result=result):
                share = [each[first:first + count] for each in given]
                pairs = (tuple(share[:2]), tuple(share[2:])) if scaled else share
                return dt.routed_experts(x, *dt.route(logits, top), *pairs, contract, first=first, total=experts, dtype=result)
            equal(layer, x, logits, *weights)


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("dtype", [BF16, FP16, FP32])
def test_rotary(dtype, interleaved):
    for heads, d, r in ((3, 64, 64), (9, 48, 32), (40, 128, 128)):
        x, table = patterns(heads, 77, heads, d, dtype=dtype), bits((91, r), dtype, 1)
        positions = torch.randint(0, 91, (77,), generator=torch.Generator().manual_seed(d))
        equal(lambda *given: rotary(*given, interleaved=interleaved), x, positions, table)


@pytest.mark.parametrize("dtype", [BF16, FP32])
@pytest.mark.parametrize("columns", [17, 5000, 5003, 151936])  # 17 and 5003: rows at odd addresses
def test_log_probabilities(columns, dtype):
    rows = 12 if columns > 10 ** 5 else 33
    draw = torch.Generator().manual_seed(columns)
    z, ids = bits((rows, columns), dtype, 1), torch.randint(0, columns, (rows,), generator=draw)
    z[4, 7], z[5, 8], z[6] = float("nan"), float("inf"), float("-inf")
    z[7, : columns // 2] = float("-inf")
    scale, dy = torch.linspace(0.5, 2, rows), torch.randn(rows, generator=draw)
    equal(backward(lambda z, ids, scale: dt.log_probs_of(z, ids, scale=scale)), z.requires_grad_(), ids, scale, dy)
    equal(lambda z, ids: dt.log_probs_of(z, ids), patterns(9, rows, columns, dtype=dtype), ids)


@pytest.mark.parametrize("words", [1000, 1003])
def test_log_probabilities_of_a_head(policy, words):
    draw = torch.Generator().manual_seed(0)
    x, weight = (torch.randn(shape, generator=draw).bfloat16().requires_grad_() for shape in ((40, 64), (words, 64)))
    ids, dy = torch.randint(0, words, (40,), generator=draw), torch.randn(40, generator=draw)
    ids[3] = -100
    equal(backward(lambda x, weight, ids: dt.linear_log_prob(x, weight, ids, policy=policy)), x, weight, ids, dy)


@pytest.mark.parametrize("dim", [16, 128, 192, 256])
def test_pages_do_not_depend_on_the_cut(monkeypatch, dim):
    """Products are the tensor core's, so the device is compared with itself: decode and chunks with the prompt."""
    monkeypatch.setattr(test_paged, "DIM", dim)
    parts = [[x.cuda() for x in part] for part in sequences(150, 40, 700)]
    for page in (16, 48, 128):
        caches = [x.cuda() for x in paged([[x.cpu() for x in part] for part in parts], page, page)]
        whole = step(parts, caches, [150, 40, 700], on_device)
        for queries in ([1, 1, 1], [7, 1, 130], [150, 0, 1]):
            for found, prompt in zip(step(parts, caches, queries, on_device), whole):
                assert dt.same_bits(found.contiguous(), prompt[len(prompt) - len(found):].contiguous())


def on_device(q, k_cache, v_cache, table, segments, **sizes):
    return paged_attention(q, k_cache, v_cache, table, segments.cuda(), **sizes)


@pytest.mark.parametrize("dtype", [BF16, FP16, FP32])
@pytest.mark.parametrize("k", [1, 5, 20, 100, 200])
def test_likeliest_tokens(dtype, k):
    from detgemm.vllm import sampling
    few = torch.randn(33, 20001, generator=torch.Generator().manual_seed(k)).mul(4).round().to(dtype)  # some thirty values
    for x in (patterns(k, 33, 20001, dtype=dtype), few):
        found, wanted = sampling.topk(x.cuda(), k), sampling.topk(x, k)
        assert torch.equal(found.indices.cpu(), wanted.indices)
        values, there = found.values.cpu(), ~wanted.values.isnan()  # PyTorch's gather may give a NaN other bits
        assert torch.equal(~values.isnan(), there) and dt.same_bits(values[there], wanted.values[there])
        assert torch.equal(sampling.topk(x[7:8].cuda(), k).indices, found.indices[7:8])
