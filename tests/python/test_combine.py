# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""combine_experts, the gradient of silu_mul, and quantisers behind other operations: written orders, kernels, refusals."""
import os

import pytest
import torch
from conftest import bits

import detgemm
import detgemm.torch as dt
from detgemm.torch import combining, fused, quantizing
from detgemm.torch.plain import combine as plain
from detgemm.torch.plain import fused as plain_fused
from detgemm.torch.plain import quantize as plain_quantize

BF16, FP16, FP32 = torch.bfloat16, torch.float16, torch.float32
interpreted = pytest.mark.skipif(os.environ.get("TRITON_INTERPRET") != "1", reason="Triton's interpreter is not switched on (TRITON_INTERPRET=1)")
PLACES = torch.tensor([[3, 0], [8, -1], [-1, -1], [-1, 2], [5, 7]])


def patterns(seed, *shape, dtype=BF16):
    """Any bits: NaN, Inf, subnormals, both zeros."""
    integer, high = (torch.int32, 2 ** 31) if dtype == FP32 else (torch.int16, 2 ** 15)
    return torch.randint(-high, high, shape, generator=torch.Generator().manual_seed(seed), dtype=torch.int64).to(integer).view(dtype)


def weights_of(dtype, seed=9):
    return (torch.rand(PLACES.shape, generator=torch.Generator().manual_seed(seed)) - 0.3).to(dtype)


def in_order(x, places, weights, slots):
    """PyTorch's own product and sum, one slot after the other."""
    total = None
    for slot in slots:
        product = x[places[:, slot]] * weights[:, slot, None]
        total = product if total is None else total + product
    return total


@pytest.mark.parametrize("of_x, of_weights", [(BF16, BF16), (BF16, FP32), (FP16, FP16), (FP32, FP32), (FP16, BF16)])
def test_the_order_is_that_of_products_and_sums_by_slots(of_x, of_weights):
    x, weights = bits((40, 33), of_x), bits((10, 4), of_weights, 1)
    x[x.abs() < 0.02] = -0.0
    places = torch.randperm(40, generator=torch.Generator().manual_seed(2)).view(10, 4)
    y = dt.combine_experts(x, places.flatten(), weights)
    assert dt.same_bits(y, in_order(x, places, weights, range(4)).to(of_x))
    for at in range(10):
        assert dt.same_bits(dt.combine_experts(x, places[at], weights[at:at + 1]), y[at:at + 1])
    # The controls: slots in another order, as they would arrive; and index_add of products in the rows' order, sorted by expert.
    kind = torch.promote_types(of_x, of_weights)
    whole = dt.combine_experts(x, places, weights, dtype=kind)
    assert not dt.same_bits(whole, in_order(x, places, weights, (2, 0, 3, 1)))
    token, rows = torch.arange(10).repeat_interleave(4), places.flatten()
    by_row = rows.argsort()
    products = x[rows[by_row]] * weights.flatten()[by_row, None]
    assert not dt.same_bits(whole, torch.zeros(10, 33, dtype=kind).index_add(0, token[by_row], products))


def test_absent_slots_and_shares_that_are_continued():
    x, weights = bits((9, 70), BF16), weights_of(FP32)
    x[7], x[5] = -0.0, -0.0
    weights[4] = 1.0
    whole = dt.combine_experts(x, PLACES, weights)
    assert (whole[2].view(torch.int16) == -2 ** 15).all() and (whole[4].view(torch.int16) == -2 ** 15).all()  # -0, and -0 + -0
    assert dt.same_bits(whole[1], (x[8] * weights[1, 0]).to(BF16)) and dt.same_bits(whole[3], (x[2] * weights[3, 1]).to(BF16))
    first, second = (torch.where(torch.arange(2) == slot, PLACES, -1) for slot in (0, 1))
    start = dt.combine_experts(x, first, weights, dtype=FP32)
    assert dt.same_bits(dt.combine_experts(x, second, weights, start=start), whole)
    # Sums that are finished apart and added have other bits.
    apart = dt.combine_experts(x, first, weights, dtype=BF16) + dt.combine_experts(x, second, weights, dtype=BF16)
    assert not dt.same_bits(apart, whole)
    nothing = dt.combine_experts(x[:0], torch.full((2,), -1), weights[:1])
    assert nothing.shape == (1, 70) and (nothing == 0).all()
    assert dt.combine_experts(x, PLACES[:0], weights[:0]).shape == (0, 70)


def test_gradients_follow_the_written_order():
    x, weights = bits((9, 1500), BF16).requires_grad_(), weights_of(FP32).requires_grad_()
    start, dy = torch.zeros(5, 1500, requires_grad=True), bits((5, 1500), BF16, 4)
    dt.combine_experts(x, PLACES, weights, start=start).backward(dy)
    assert dt.same_bits(start.grad, dy.float())
    wide, exact = x.detach().double(), torch.zeros(5, 2, dtype=torch.float64)
    for token, slot in (PLACES >= 0).nonzero().tolist():
        place = PLACES[token, slot]
        assert dt.same_bits(x.grad[place], (dy[token].float() * weights[token, slot].detach()).to(BF16))
        exact[token, slot] = (wide[place] * dy[token].double()).sum()
        bound = 2 ** -20 * (wide[place] * dy[token].double()).abs().sum()
        assert abs(weights.grad[token, slot].item() - exact[token, slot]) <= bound
        # The token alone.
        alone = [x.detach().clone().requires_grad_(), weights.detach()[token:token + 1].clone().requires_grad_()]
        dt.combine_experts(alone[0], PLACES[token], alone[1]).backward(dy[token:token + 1])
        assert dt.same_bits(alone[0].grad[place], x.grad[place]) and dt.same_bits(alone[1].grad[0], weights.grad[token])
    assert dt.same_bits(weights.grad[2], torch.zeros(2)) and dt.same_bits(x.grad[[1, 4, 6]], torch.zeros(3, 1500, dtype=BF16))


def test_gradient_of_silu_mul():
    x, dy = bits((7, 60), FP32).clamp(-30, 30).requires_grad_(), bits((7, 30), FP32, 1)
    fused.silu_mul(x).backward(dy)
    exact = x.detach().double().requires_grad_()
    gate, up = exact.chunk(2, -1)
    (torch.nn.functional.silu(gate) * up).backward(dy.double())
    assert torch.allclose(x.grad.double(), exact.grad, rtol=1e-5, atol=1e-5)
    alone = x.detach()[3:4].clone().requires_grad_()
    fused.silu_mul(alone).backward(dy[3:4])
    assert dt.same_bits(alone.grad, x.grad[3:4])


@pytest.mark.parametrize("dtype", [BF16, FP16, FP32])
@pytest.mark.parametrize("n, leaf", [(256, 128), (300, 128), (40, 128), (96, 32), (50, 7)])
def test_quantisers_have_the_bits_of_the_separate_operations(n, leaf, dtype):
    index, copies = torch.tensor([17, -1, 0, 3, 3]), 2
    for x in (patterns(n, 9, 2 * n, dtype=dtype), bits((9, 2 * n), dtype), torch.zeros(9, 2 * n, dtype=dtype)):
        x[4, :n] = 0.0
        found = (*dt.silu_mul_quantize(x, leaf), *dt.gather_quantize(x, index, leaf, copies=copies))
        wanted = (*dt.quantize(fused.silu_mul(x), leaf), *dt.quantize(dt.gather_rows(x, index, torch.arange(18), copies), leaf))
        assert all(dt.same_bits(a, b) for a, b in zip(found, wanted))
        assert all(dt.same_bits(a[2:3], b) for a, b in zip(found, dt.silu_mul_quantize(x[2:3], leaf)))
    # A scale of the whole row has other bits: the comparison can fail.
    if leaf < n:
        assert not dt.same_bits(found[0], dt.quantize(fused.silu_mul(bits((9, 2 * n), dtype)), n)[0])


def test_every_number_of_e4m3_and_what_is_between():
    numbers = torch.arange(0x7f, dtype=torch.uint8).view(torch.float8_e4m3fn).float()
    between = (numbers[1:] + numbers[:-1]) / 2
    values = torch.cat((numbers, between, torch.nextafter(between, numbers[1:]), torch.nextafter(between, numbers[:-1]), torch.tensor([500.0])))
    row = torch.cat((values, -values, torch.tensor([float("nan"), float("inf")])))[None]
    row[row.abs() > 448] = 448.0  # so that the scale is 1
    assert all(dt.same_bits(a, b) for a, b in zip(plain_quantize.quantize(row, row.shape[1]), dt.quantize(row, row.shape[1])))
    assert dt.same_bits(plain_quantize.e4m3(torch.tensor([1e9, -1e9])), torch.tensor([0x7e, 0xfe], dtype=torch.uint8))


def test_views_and_empty_rows():
    packed = bits((6, 400), BF16)
    view = packed[:, 100:300]
    for run in (dt.silu_mul_quantize, lambda x: dt.gather_quantize(x, torch.tensor([1, 5])),
                lambda x: (dt.combine_experts(x, torch.arange(6), torch.ones(3, 2)),)):
        assert all(dt.same_bits(a, b) for a, b in zip(run(view), run(view.contiguous())))
        assert all(dt.same_bits(a, b) for a, b in zip(run(view.t().contiguous().t()), run(view.contiguous())))
    assert [t.shape for t in dt.silu_mul_quantize(packed[:0].view(0, 2, 200))] == [(0, 2, 100), (0, 2, 1)]
    assert [t.shape for t in dt.gather_quantize(packed[:0], torch.tensor([-1]))] == [(1, 400), (1, 4)]


@interpreted
@pytest.mark.parametrize("dtype", [BF16, FP16, FP32])
def test_kernels_have_the_bits_of_the_definitions(dtype):
    pytest.importorskip("triton", reason="Triton is not installed")
    from detgemm.torch.kernels import combine as kernels
    from detgemm.torch.kernels import fused as kernels_fused
    from detgemm.torch.kernels import quantize as kernels_quantize
    n = 150
    for of_weights in {FP32, dtype}:
        weights = weights_of(of_weights)
        x, dy, start = patterns(1, 9, n, dtype=dtype), patterns(2, 5, n, dtype=dtype), bits((5, n), torch.promote_types(dtype, of_weights))
        x[4] = bits((n,), dtype)
        for begin, result in ((None, dtype), (start, FP32)):
            call = (x, PLACES, weights, begin, result)
            assert dt.same_bits(kernels.combine(*call), plain.combine(*call))
        x[7], x[5] = bits((n,), dtype, 1), bits((n,), dtype, 2)  # whose sums are numbers
        dy[4] = bits((n,), dtype, 3)
        call = (dy, x, PLACES, weights)
        assert all(dt.same_bits(a, b) for a, b in zip(kernels.combine_backward(*call), plain.combine_backward(*call)))
    x, dy, index = patterns(3, 4, 2 * n, dtype=dtype), patterns(4, 4, n, dtype=dtype), torch.tensor([7, -1, 0])
    both = x.chunk(2, dim=-1)
    assert dt.same_bits(kernels_fused.silu_mul(*both), plain_fused.silu_mul(*both))
    assert dt.same_bits(kernels_fused.silu_mul_backward(dy, *both), plain_fused.silu_mul_backward(dy, *both))
    for leaf in (128, 7):
        for name, call in (("silu_mul_quantize", (x, leaf)), ("gather_quantize", (x, index, 2, leaf))):
            assert all(dt.same_bits(a, b) for a, b in zip(getattr(kernels_quantize, name)(*call), getattr(plain_quantize, name)(*call)))


def test_operators_follow_pytorchs_rules():
    x, weights = bits((9, 16), BF16).requires_grad_(), weights_of(FP32).requires_grad_()
    quick = ("test_schema", "test_autograd_registration", "test_faketensor")  # test_mixture.py compiles all of them
    for operator, call in ((combining.combine_experts_op, (x, PLACES, weights, None, BF16, None)), (fused.silu_mul_op, (x,)),
                           (fused.silu_mul_op, (x, x.detach())),
                           (quantizing.silu_mul_quantize_op, (x.detach(), 8)),
                           (quantizing.gather_quantize_op, (x.detach(), torch.tensor([3, -1]), 2, 8))):
        torch.library.opcheck(operator, call, test_utils=quick)


def test_quantising_has_no_gradient():
    x = bits((4, 64), BF16).requires_grad_()
    for q in (dt.silu_mul_quantize(x), dt.gather_quantize(x, torch.tensor([1]))):
        with pytest.raises(RuntimeError, match="detgemm: an operation that quantises has no gradient"):
            q[1].sum().backward()


X, W = bits((9, 64), BF16), weights_of(FP32)


@pytest.mark.parametrize("call, sentence", [
    (lambda: dt.combine_experts(X[0], PLACES, W), "x has 1 dimensions: it must have two"),
    (lambda: dt.combine_experts(X.double(), PLACES, W), "x.dtype is torch.float64"),
    (lambda: dt.combine_experts(X, PLACES.int()[:4], W), r"places has the shape \(4, 2\) of torch.int32"),
    (lambda: dt.combine_experts(X, PLACES.float(), W), "places has the shape"),
    (lambda: dt.combine_experts(X, PLACES, W[0]), r"weights has the shape \(2,\)"),
    (lambda: dt.combine_experts(X, PLACES, W.long()), "weights has the shape"),
    (lambda: dt.combine_experts(X, PLACES[:, :0], W[:, :0]), "weights has no column"),
    (lambda: dt.combine_experts(X, PLACES, W, start=torch.zeros(5, 64, dtype=BF16)), "it must be 5 x 64 of torch.float32, the type of the sums"),
    (lambda: dt.combine_experts(X, PLACES, W, start=torch.zeros(4, 64)), "start has the shape"),
    (lambda: dt.combine_experts(X, PLACES, W, dtype=torch.float64), "dtype is torch.float64"),
    (lambda: dt.combine_experts(X, PLACES.to("meta"), W), "places is on meta and x is on cpu"),
    (lambda: dt.combine_experts(X, None, W), "places is a NoneType"),
    (lambda: dt.silu_mul_quantize(X[:, :63]), "gate and up need an even number"),
    (lambda: dt.silu_mul_quantize(X, 0), "leaf is 0"),
    (lambda: dt.silu_mul_quantize(X, True), "leaf is True"),
    (lambda: dt.gather_quantize(X[0], torch.tensor([0])), "x has 1 dimensions"),
    (lambda: dt.gather_quantize(X, torch.tensor([0.0])), "index has the shape"),
    (lambda: dt.gather_quantize(X, torch.tensor([0]), copies=0), "copies is 0"),
])
def test_wrong_calls_are_refused_in_a_sentence(call, sentence):
    with pytest.raises(detgemm.DetgemmError, match=sentence):
        call()
