# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""logsum16 over stored logits: the written order, special values, rows alone and in a batch, gradients, controls."""
import math

import log_prob_model as model
import numpy
import pytest
import torch

import detgemm
import detgemm.torch as dt
from detgemm.torch import log_prob
from detgemm.torch.plain import arithmetic, log_prob as plain

F = numpy.float32
NAN, INF = math.nan, math.inf
pytestmark = pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning")


def rows_of(n, seed):
    """Rows that are hard in several ways: many binades, random bits, masks, zeros of one sign, far from zero, ties."""
    source = numpy.random.default_rng(seed)
    x = source.standard_normal(n).astype(F)
    patterns = source.integers(0, 2**32, n, dtype=numpy.uint32).view(F).copy()
    patterns[~(patterns <= 65536)] = -1
    masked = x * F(30)
    masked[source.random(n) < 0.4] = -INF
    return [x * F(3), (x * F(2) ** source.integers(-20, 16, n)).astype(F), patterns, masked, numpy.full(n, -0.0, F),
            (F(3000) * x - F(60000)).astype(F), numpy.repeat(x[:1], n)]


SPECIAL = [numpy.array(row, F) for row in (
    [NAN, 1], [INF, 1], [65537, 2], [65536, -65536], [-70000, -70000], [-70000, 1], [-INF] * 3, [NAN, INF], [-INF, 3], [NAN, -INF],
    [1e-45, -1e-45], [3e38, 1], [-3e38, 1], [88, 0], [0])]


def as_bits(values):
    found = numpy.atleast_1d(numpy.asarray(values, F)).view(numpy.int32).copy()
    found[numpy.isnan(numpy.atleast_1d(numpy.asarray(values, F)))] = 0x7fffffff
    return found.tolist()


def ours(row, target):
    """logp, lse, entropy, target_logit, K, R of one row by the plain form."""
    z, ids = torch.from_numpy(row)[None], torch.tensor([[target]])
    k, r, lse, entropy, logp, x = plain.finish(plain.nodes(z, None, True), z.gather(1, ids.clamp(min=0)), ids, len(row))
    return logp, lse, entropy, x, k, r


@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 40, 257])
def test_the_plain_form_is_the_written_order(n):
    for row in rows_of(n, n) if n > 1 else SPECIAL:
        for target in (0, len(row) - 1, -1) if n < 100 else (n // 2,):
            wanted, found = model.results(row, target), ours(row, target)
            assert [as_bits(each.item())[0] for each in (*found[:4], found[5])] == [as_bits(each)[0] for each in (*wanted[:4], wanted[5])]
            assert found[4].item() == wanted[4]
            root = plain.root(plain.nodes(torch.from_numpy(row)[None], None, True))
            assert [as_bits(each.numpy()) for each in root[1:]] == [as_bits(each) for each in model.root(row)[1:]]
            for scale, a, b, c in ((1.0, 1.3, None, None), (0.7, -2.0, 0.5, -0.75)):
                tensors = [None if each is None else torch.tensor([each]) for each in (a, b, c)]
                exact = model.gradient(row * F(1), target, F(scale), F(a), *(None if e is None else F(e) for e in (b, c)), *wanted[4:],
                                       *wanted[1:3])
                logp, lse, entropy, _, k, r = found
                # z is x here: the scale enters behind the formula alone
                g = plain._gradient(torch.from_numpy(row)[None], torch.tensor([[target]]), *(None if t is None else t[:, None] for t in tensors),
                                    k[:, None], r[:, None], lse[:, None], entropy[:, None], torch.tensor([[scale]]), 0, torch.float32)
                assert as_bits(g[0].numpy()) == as_bits(exact)


def test_blocks_join_by_position():
    row = rows_of(4096 + 31, 1)[1]
    wanted, found = model.results(row, 5), ours(row, 5)
    assert [as_bits(each.item())[0] for each in found[:3]] == [as_bits(each)[0] for each in wanted[:3]]


def test_fma_is_rounded_once():
    generator = torch.Generator().manual_seed(0)
    a, b, c = (torch.randn(3000, generator=generator) * torch.exp2(torch.randint(-70, 50, (3000,), generator=generator).float())
               for _ in range(3))
    c[:1500] = -(a * b)[:1500] * (1 + 2.0 ** -23 * torch.randint(-2, 3, (1500,), generator=generator))
    # 2^-24 (1 + 2^-36), in fp64 half of the last place of 1: rounded twice, it is lost or taken whole
    half, sign = torch.tensor([1 - 2.0 ** -12 + 2.0 ** -24]) * 2.0 ** -24, torch.tensor([1.0, -1.0])
    a, b, c = torch.cat([a, (1 + 2.0 ** -12) * sign]), torch.cat([b, half, half]), torch.cat([c, torch.tensor([1.0, 1 + 2.0 ** -23])])
    wanted = [model.fma(*each) for each in zip(a.numpy(), b.numpy(), c.numpy())]
    assert as_bits(arithmetic.fma(a, b, c).numpy()) == as_bits(wanted)
    assert as_bits((a * b + c).numpy()) != as_bits(wanted)
    assert as_bits((a.double() * b + c).float().numpy()) != as_bits(wanted)


def test_exponential_is_within_its_bound():
    x = torch.cat([torch.linspace(-65536, 65536, 200001), torch.linspace(-2, 2, 20001)])
    f, n = plain.exponential(x)
    # e^x = f 2^n: compared as logarithms, since e^x itself overflows
    error = torch.log2(f.double()) + n - x.double() * math.log2(math.e)
    assert f.min() > 0.7 and f.max() < 1.4201 and (error * math.log(2)).abs().max() < 1.45 * 2.0 ** -24


def wide(rows, columns, dtype, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn((rows, columns), generator=generator) * torch.exp2(torch.randint(-3, 4, (rows, columns), generator=generator).float())
            ).to(dtype)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_a_row_does_not_depend_on_its_batch(dtype):
    z, ids = wide(9, 5000, dtype), torch.randint(0, 5000, (9,), generator=torch.Generator().manual_seed(1))
    z[4, 7], z[5, 8], z[6] = NAN, INF, -INF
    scale = torch.linspace(0.5, 2, 9)
    whole = dt.log_probs_of(z, ids, scale=scale)
    order = torch.randperm(9, generator=torch.Generator().manual_seed(2))
    assert dt.same_bits(dt.log_probs_of(z[order], ids[order], scale=scale[order]), whole[order])
    assert all(dt.same_bits(dt.log_probs_of(z[t], ids[t], scale=scale[t]), whole[t]) for t in range(9))
    apart = torch.full((9, 6001), 3.0).to(dtype)
    apart[:, 1:5001] = z
    assert dt.same_bits(dt.log_probs_of(apart[:, 1:5001], ids, scale=scale), whole)
    assert dt.same_bits(dt.log_probs_of(apart[:, 1:], ids, scale=scale, valid=5000), whole)
    many = torch.stack([ids, ids.flip(0), torch.zeros_like(ids)], 1)
    assert dt.same_bits(dt.log_probs_of(z, many, scale=scale)[:, 0], whole)
    assert dt.same_bits(dt.log_probs_of(z.view(3, 3, -1), ids.view(3, 3).int(), scale=scale.view(3, 3)).view(-1), whole)


def test_fp64_error_is_not_above_pytorchs():
    for sigma in (1, 3, 10):
        z = torch.randn((48, 20000), generator=torch.Generator().manual_seed(sigma)) * sigma
        ids = torch.arange(48)
        exact = torch.log_softmax(z.double(), -1)[ids, ids]
        found = (dt.log_probs_of(z, ids).double() - exact).abs().max()
        assert found <= (torch.log_softmax(z, -1)[ids, ids].double() - exact).abs().max()
        assert found < 23 * 2.0 ** -24 + 4 * 2.0 ** -24 * exact.abs().max()


def test_it_is_never_above_zero():
    z = torch.randn((64, 400), generator=torch.Generator().manual_seed(0))
    z[:, 3] = torch.linspace(5, 60, 64)
    found = dt.log_probs_of(z, torch.full((64,), 3))
    assert found.max() == 0 and (found <= 0).all() and not torch.signbit(found[found == 0]).any()


def test_gradients_are_those_of_fp64():
    for dtype, bound in ((torch.float32, 1e-6), (torch.bfloat16, 2.0 ** -8)):
        z, ids = wide(6, 700, dtype).requires_grad_(), torch.tensor([0, 5, 699, -100, 8, 64])
        scale = torch.linspace(0.5, 2, 6)
        (dt.log_probs_of(z, ids, scale=scale, valid=699 + 1) * torch.arange(1, 7)).sum().backward()
        exact = z.detach().double().requires_grad_()
        logp = torch.log_softmax(exact * scale[:, None].double(), -1).gather(1, ids.clamp(min=0)[:, None])[:, 0]
        (torch.where(ids < 0, 0.0, logp) * torch.arange(1, 7)).sum().backward()
        assert z.grad.dtype == dtype and ((z.grad.double() - exact.grad).abs() <= bound * exact.grad.abs() + 1e-6).all()
        assert z.grad[3].eq(0).all() and not torch.signbit(z.grad[3]).any()


def test_other_orders_have_other_bits():
    """Controls: what looks like the same sum differs."""
    z, ids = wide(40, 600, torch.float32, 3), torch.arange(40)
    logp, lse, _, x, _, _ = (torch.cat(parts) for parts in zip(*(ours(row.numpy(), t) for t, row in enumerate(z))))
    assert not dt.same_bits(x[:, 0] - lse, logp[:, 0])                    # x_t - lse
    maximum, total = torch.full((40,), -INF), torch.zeros(40)
    for tile in z.split(128, 1):                                          # the usual online softmax
        top = torch.maximum(maximum, tile.amax(1))
        total = total * torch.exp(maximum - top) + torch.exp(tile - top[:, None]).sum(1)
        maximum = top
    assert not dt.same_bits(maximum + torch.log(total), lse)
    wanted = [model.root(row.numpy())[1] for row in z[:5]]
    assert [model.root(row.numpy(), bits=(0, 1, 2, 3))[1] for row in z[:5]] != wanted  # leaves in the order 0, 1, 2, 3
    moved = [model.root(numpy.concatenate([numpy.full(8, -INF, F), row.numpy()]))[1] for row in z[:5]]
    assert moved != wanted                                                # a border at 8
    scale = torch.full((40,), F(1) / F(0.7))
    assert not dt.same_bits(dt.log_probs_of(z, ids, scale=scale), dt.log_probs_of(z / 0.7, ids))  # division by the temperature


def test_operators_follow_pytorchs_rules():
    z, ids = wide(4, 50, torch.bfloat16).requires_grad_(), torch.tensor([[0], [49], [7], [-1]])
    torch.library.opcheck(log_prob.log_probs_of_op, (z, ids, torch.linspace(0.5, 1, 4), 50))
    with dt.audit() as report:
        dt.log_probs_of(z, ids[:, 0]).sum().backward()
    assert {(row[2], row[3]) for row in report.rows if "detgemm" in row[0]} == {("row-local", "logsum16 tree")}


def test_compiled_without_looking_at_the_number_of_rows():
    from torch._dynamo.testing import CompileCounterWithBackend
    torch._dynamo.reset()
    counter = CompileCounterWithBackend("aot_eager")
    run = torch.compile(lambda z, ids: dt.log_probs_of(z, ids, scale=0.5) * 2, backend=counter, fullgraph=True, dynamic=True)
    z, ids = wide(8, 50, torch.float32), torch.arange(8)
    for rows in (2, 3, 8):
        assert dt.same_bits(run(z[:rows], ids[:rows]), dt.log_probs_of(z[:rows], ids[:rows], scale=0.5) * 2)
    assert counter.frame_count == 1


@pytest.mark.parametrize("change, sentence", [
    ({"logits": torch.zeros(3, 5, dtype=torch.float16)}, "logits.dtype is torch.float16: it must be bfloat16 or float32"),
    ({"logits": [1.0]}, "logits is a list"), ({"logits": torch.tensor(1.0)}, "logits has no dimension"),
    ({"ids": torch.zeros(3)}, "ids.dtype is torch.float32"), ({"ids": torch.zeros(2, dtype=torch.int64)}, r"ids has the shape \(2,\)"),
    ({"ids": torch.tensor([0, 5, 1])}, "ids has 5: it must be below the 5 columns"),
    ({"valid": 4, "ids": torch.tensor([0, 4, 1])}, "ids has 4: it must be below the 4 columns"),
    ({"valid": 6}, "valid is 6: it must be an integer from 1 to the 5 columns"), ({"valid": 0}, "valid is 0"),
    ({"scale": 0.0}, "scale is 0.0: it must be finite and above zero"), ({"scale": "1"}, "scale is a str"),
    ({"scale": torch.ones(3).double()}, "scale.dtype is torch.float64"), ({"scale": torch.ones(2)}, r"scale has the shape \(2,\)"),
    ({"scale": torch.tensor([1.0, NAN, 1.0])}, "scale has a number that is not finite and above zero"),
    ({"scale": torch.ones(3, requires_grad=True)}, "scale.requires_grad is True"),
])
def test_wrong_calls_are_refused_in_a_sentence(change, sentence):
    with pytest.raises(detgemm.DetgemmError, match=sentence):
        dt.log_probs_of(**{"logits": torch.zeros(3, 5), "ids": torch.tensor([0, 1, 4]), **change})


def test_what_has_no_gradient_says_so():
    z = wide(4, 50, torch.float32).requires_grad_()
    with pytest.raises(detgemm.DetgemmError, match="ids has 2 columns per row"):
        dt.log_probs_of(z, torch.zeros((4, 2), dtype=torch.int64)).sum().backward()
    first, = torch.autograd.grad(dt.log_probs_of(z, torch.zeros(4, dtype=torch.int64)).sum(), z, create_graph=True)
    with pytest.raises(detgemm.DetgemmError, match="log_probs_of has no gradient of a gradient"):
        first.sum().backward()


def test_parts_of_tensors_are_refused():
    """As fully_shard leaves parameters outside of forward passes."""
    part = torch.zeros(3, 5)
    part.full_tensor = part.clone  # what a DTensor has
    with pytest.raises(detgemm.DetgemmError, match="logits is a DTensor: call this in the forward pass of the module"):
        dt.log_probs_of(part, torch.tensor([0, 1, 4]))
