# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""RMSNorm, softmax, log-softmax and embedding: the written order, rows alone and in a batch, gradients."""
import numpy
import pytest
import torch

import detgemm.torch
from detgemm.torch import embeddings, order, rows
from detgemm.torch.plain import arithmetic, norms
from detgemm.torch.plain import embedding as plain_embedding

F32 = numpy.float32
SUMS = "ieee_fma/fp32/chain->fp32"


def wide(shape, dtype=torch.bfloat16, seed=0):
    """Values over many binades, so that another order has other bits."""
    generator = torch.Generator().manual_seed(seed)
    powers = torch.randint(-6, 7, shape, generator=generator)
    return (torch.randn(shape, generator=generator) * 2.0 ** powers).to(dtype)


def scalar_sum(values):
    """The sum of a row as docs/python-orders.md writes it, one float at a time."""
    lanes = [F32(0)] * order.LANES
    for j, value in enumerate(values):
        lanes[j % order.LANES] = F32(lanes[j % order.LANES] + F32(value))
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = [F32(lanes[j] + lanes[j + half]) for j in range(half)]
    return lanes[0]


@pytest.mark.parametrize("n", [1, 100, 1024, 2500])
def test_rms_norm_is_the_written_order(n):
    x, weight = wide((n,)), wide((n,), seed=1)
    values = x.float().numpy()
    mean = F32(scalar_sum(values * values) * F32(F32(1) / F32(n)))
    r = F32(F32(1) / numpy.sqrt(F32(mean + F32(1e-6))))
    normal = torch.from_numpy(values * r).bfloat16().float().numpy()
    wanted = torch.from_numpy(normal * weight.float().numpy()).bfloat16()
    assert detgemm.torch.same_bits(detgemm.torch.rms_norm(x[None], weight)[0], wanted)


def test_another_number_of_lanes_shows(monkeypatch):
    x, weight = wide((50, 2500)), torch.ones(2500, dtype=torch.bfloat16)
    before = norms.rms_norm(x.float(), weight.float(), 1e-6)[0]
    monkeypatch.setattr(order, "LANES", 512)
    assert not torch.equal(before, norms.rms_norm(x.float(), weight.float(), 1e-6)[0])


def test_square_root_is_correctly_rounded():
    for scale in (1e-37, 1e-6, 1.0, 1e30):
        x = torch.rand(100000, generator=torch.Generator().manual_seed(2)) * scale + 1e-38
        assert numpy.array_equal(arithmetic.sqrt(x).numpy(), numpy.sqrt(x.numpy()))


def test_exp_and_log_are_near_and_exact_at_the_ends():
    d = -87 * torch.rand(100000, generator=torch.Generator().manual_seed(3))
    e, wanted = arithmetic.exp(d).double(), d.double().exp()
    assert ((e - wanted) / wanted).abs().max() < 2.0 ** -22.5
    s = torch.exp(12 * torch.rand(100000, generator=torch.Generator().manual_seed(4)))
    assert ((arithmetic.log(s).double() - s.double().log()) / s.double().log()).abs().max() < 2.0 ** -22.5
    ends = torch.tensor([0.0, -100.0, -float("inf"), float("nan")])
    assert arithmetic.exp(ends)[:3].tolist() == [1.0, 0.0, 0.0] and arithmetic.exp(ends)[3].isnan()
    assert arithmetic.log(torch.tensor([1.0, float("inf")])).tolist() == [0.0, float("inf")]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
@pytest.mark.parametrize("n", [7, 1500])
def test_a_row_does_not_depend_on_its_batch(dtype, n):
    x, weight, dy = wide((33, n), dtype), wide((n,), dtype, 1), wide((33, n), dtype, 2)
    x[3, 2], x[4, 1] = float("nan"), float("inf")
    y, scale = torch.ops.detgemm.rms_norm(x, weight, None, 1e-6, SUMS, False)
    calls = {
        "rms_norm": lambda part: detgemm.torch.rms_norm(x[part], weight),
        "backward": lambda part: torch.ops.detgemm.rms_norm_backward(dy[part], x[part], weight, scale[part])[0],
        "softmax": lambda part: detgemm.torch.softmax(x[part]),
        "log_softmax": lambda part: detgemm.torch.log_softmax(x[part])}
    for name, call in calls.items():
        whole = call(slice(None))
        for part in (slice(0, 1), slice(3, 5), slice(5, 33)):
            assert detgemm.torch.same_bits(call(part), whole[part]), (name, part)


def test_a_masked_tail_has_the_shorter_rows_bits():
    x = wide((5, 1300), torch.float32)
    longer = torch.cat((x, torch.full((5, 900), -float("inf"))), 1)
    assert detgemm.torch.same_bits(detgemm.torch.softmax(longer)[:, :1300], detgemm.torch.softmax(x))


def test_values_and_gradients_are_those_of_the_formulas():
    x, weight = wide((6, 40), torch.float32) / 8, wide((40,), torch.float32, 1) / 8
    dy = wide((6, 40), torch.float32, 2)

    def formula(x, weight):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * weight
    for ours, theirs, arguments in (
            (detgemm.torch.rms_norm, formula, (x, weight)),
            (detgemm.torch.softmax, lambda x: torch.softmax(x, -1), (x,)),
            (detgemm.torch.log_softmax, lambda x: torch.log_softmax(x, -1), (x,))):
        mine = [a.clone().requires_grad_() for a in arguments]
        exact = [a.double().requires_grad_() for a in arguments]
        y, wanted = ours(*mine), theirs(*exact)
        y.backward(dy)
        wanted.backward(dy.double())
        assert torch.allclose(y.double(), wanted, rtol=1e-5, atol=1e-5)
        for a, b in zip(mine, exact):
            assert torch.allclose(a.grad.double(), b.grad, rtol=1e-4, atol=1e-4)


def test_log_probabilities_of_tokens():
    x, tokens = wide((4, 300)).requires_grad_(), torch.tensor([0, 5, 299, 7])
    values = detgemm.torch.token_log_probs(x, tokens)
    assert detgemm.torch.same_bits(values, detgemm.torch.log_softmax(x.detach()).gather(-1, tokens[:, None])[:, 0])
    values.sum().backward()
    wanted = torch.nn.functional.one_hot(tokens, 300) - torch.softmax(x.detach().double(), -1)
    assert torch.allclose(x.grad.double(), wanted, atol=4e-3)


@pytest.mark.parametrize("cuts", [[40], [16, 24], [1] * 40])
def test_gradients_of_weights_do_not_depend_on_the_cut(cuts):
    x, dy, ids = wide((40, 96)), wide((40, 96), seed=1), torch.randint(0, 9, (40,))
    weight, table = torch.nn.Parameter(wide((96,), seed=2)), torch.nn.Parameter(wide((9, 96), seed=3))
    sums = []
    for lengths in ([40], cuts):
        weight.main_grad, table.main_grad = torch.zeros(96), torch.zeros(9, 96)
        for a, b, c in zip(x.split(lengths), dy.split(lengths), ids.split(lengths)):
            torch.autograd.backward([detgemm.torch.rms_norm(a, weight), detgemm.torch.embedding(c, table)], [b, b])
        assert weight.grad is None and table.grad is None
        sums.append((weight.main_grad, table.main_grad))
    assert all(detgemm.torch.same_bits(a, b) for a, b in zip(*sums))


def test_embedding_adds_in_token_order():
    ids, dy, acc = torch.randint(0, 5, (60,)), wide((60, 12)), wide((6, 12), torch.float32, 1)
    wanted, reverse = acc.clone(), acc.clone()
    for t in range(60):
        wanted[ids[t]] += dy[t].float()
        reverse[ids[59 - t]] += dy[59 - t].float()
    plain_embedding.embedding_accumulate_(acc, ids, dy)
    assert detgemm.torch.same_bits(acc, wanted) and not torch.equal(wanted, reverse)


def test_operators_follow_pytorchs_rules():
    x, w = wide((3, 2, 16)).requires_grad_(), wide((16,), seed=1).requires_grad_()
    ids, table = torch.randint(0, 9, (2, 5)), wide((9, 8)).requires_grad_()
    for operator, arguments in (
            (rows.rms_norm_op, (x, w, None, 1e-6, SUMS, False)),
            (rows.softmax_op, (x, torch.float32)), (rows.log_softmax_op, (x, torch.float32)),
            (rows.token_log_probs_op, (x, torch.randint(0, 16, (3, 2)))),
            (embeddings.embedding_op, (ids, table, None, 3, False)),
            (embeddings.embedding_accumulate_, (torch.zeros(9, 8), ids, torch.randn(2, 5, 8)))):
        torch.library.opcheck(operator, arguments)


@pytest.mark.parametrize("call, sentence", [
    (lambda x: detgemm.torch.rms_norm(x.double(), x[0].double()), "x.dtype is torch.float64"),
    (lambda x: detgemm.torch.rms_norm(x, x[0, :3]), r"weight has the shape \(3,\): x has rows of 8"),
    (lambda x: detgemm.torch.rms_norm(x, x[0].half()), "weight.dtype is torch.float16"),
    (lambda x: detgemm.torch.rms_norm(x, x[0], 0.0), "eps is 0.0"),
    (lambda x: detgemm.torch.softmax(x[:, :0]), "rows of 0 elements"),
    (lambda x: detgemm.torch.log_softmax(x.to("meta").long()), "x.dtype is torch.int64"),
    (lambda x: detgemm.torch.token_log_probs(x, torch.zeros(3, dtype=torch.int64)), "tokens has the shape"),
    (lambda x: detgemm.torch.embedding(x, x), "ids.dtype is torch.bfloat16")])
def test_wrong_calls_are_refused_in_a_sentence(call, sentence):
    with pytest.raises(RuntimeError, match=sentence):
        call(wide((4, 8)))


@pytest.mark.parametrize("sums", ["ieee_fma/fp32/chain->fp32", "ieee_fma/fp32/tree:16->fp32"])
def test_the_gradient_of_a_weight_is_a_sum_under_a_contract(sums):
    """Also under a tree, which cannot be continued in a main_grad."""
    x, weight = torch.randn(40, 16, generator=torch.Generator().manual_seed(1)), torch.ones(16, requires_grad=True)
    rows.rms_norm(x, weight, sums=sums).sum().backward()
    products = torch.ops.detgemm.rms_norm_backward(torch.ones_like(x), x, weight.detach(), torch.ops.detgemm.rms_norm(
        x, weight.detach(), None, 1e-6, sums, False)[1])[1]
    assert detgemm.torch.same_bits(weight.grad, detgemm.torch.gemm(torch.ones(1, 40), products, sums)[0])
