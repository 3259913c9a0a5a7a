# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""A layer of experts for inference: the choice in its written order, sums by eighths, shares of ranks, kernels, refusals."""
import itertools
import os

import pytest
import torch
from conftest import BF16, bits

import detgemm
import detgemm.torch as dt
from detgemm.torch import routed
from detgemm.torch.plain import combine as plain_combine
from detgemm.torch.plain import routed as plain
from detgemm.torch.ranks import join
from detgemm.torch.scaled_linear import scaled_linear_op

interpreted = pytest.mark.skipif(os.environ.get("TRITON_INTERPRET") != "1", reason="Triton's interpreter is not switched on (TRITON_INTERPRET=1)")
E, H, N, TOP = 16, 48, 32, 4
SCALED = "hopper/e4m3/scaled:32->bf16"


def drawn(seed, *shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).bfloat16()


def quantized(weight):
    return tuple(map(torch.stack, zip(*(dt.quantize(each, 32, per=128) for each in weight))))


X = drawn(0, 21, H)
ROUTER, GATE_UP, DOWN = (drawn(seed, *shape) / 8 for seed, shape in enumerate(((E, H), (E, 2 * N, H), (E, H, N)), 1))
FORMS = {"bf16": (GATE_UP, DOWN, BF16), "e4m3": (quantized(GATE_UP), quantized(DOWN), SCALED)}
LOGITS = (X.float() @ ROUTER.float().t()).bfloat16()
BIAS = torch.randn(E, generator=torch.Generator().manual_seed(9)) / 4


def part(weight, first, count):
    return tuple(each[first:first + count] for each in weight) if isinstance(weight, tuple) else weight[first:first + count]


@pytest.mark.parametrize("form", FORMS)
def test_it_is_the_layer_with_gradients_in_fewer_launches(form, policy):
    gate_up, down, contract = FORMS[form]
    logits = dt.linear(X, ROUTER, None, policy)
    weights, experts = dt.route(logits, TOP)
    y = dt.routed_experts(X, weights, experts, gate_up, down, contract)
    assert dt.same_bits(y, dt.moe(X, ROUTER, gate_up, down, policy, top_k=TOP, scaled=None if form == "bf16" else contract, by_eighths=True))
    for at in (slice(0, 1), slice(20, 21), slice(4, 17)):
        mine = dt.route(logits[at], TOP)
        assert all(dt.same_bits(a, b[at]) for a, b in zip(mine, (weights, experts)))
        assert dt.same_bits(dt.routed_experts(X[at], *mine, gate_up, down, contract), y[at])
    assert dt.routed_experts(X[:0], weights[:0], experts[:0], gate_up, down, contract).shape == (0, H)


@pytest.mark.parametrize("form", FORMS)
def test_shares_of_ranks_join_to_the_bits_of_one(form):
    gate_up, down, contract = FORMS[form]
    weights, experts = dt.route(LOGITS, TOP)
    whole = dt.routed_experts(X, weights, experts, gate_up, down, contract, dtype=torch.float32)
    added = {}
    for ranks in (1, 2, 4, 8):
        count = E // ranks
        shares = [dt.routed_experts(X, weights, experts, part(gate_up, rank * count, count), part(down, rank * count, count), contract,
                                    first=rank * count, total=E, dtype=torch.float32) for rank in range(ranks)]
        assert dt.same_bits(join(torch.stack(shares), dtype=torch.float32), whole)
        added[ranks] = sum(shares[1:], shares[0])
    # Controls: shares added one after the other, as some reductions do; and slots in one chain, which is another order.
    assert dt.same_bits(added[2], whole) and not dt.same_bits(added[8], whole)
    offs, places = plain.sort(experts.flatten(), 0, E)
    rows = bits((len(places), H), torch.bfloat16)
    by_eighths = dt.combine_experts(rows, places, weights, dtype=torch.float32, eighths=experts * 8 // E)
    assert not dt.same_bits(by_eighths, dt.combine_experts(rows, places, weights, dtype=torch.float32))


def test_the_tree_over_eighths():
    """In PyTorch's own operations, token by token."""
    rows, weights = bits((40, 33), torch.bfloat16), torch.rand((10, 4), generator=torch.Generator().manual_seed(2))
    eighths = torch.randint(0, 8, (10, 4), generator=torch.Generator().manual_seed(3)).sort(-1).values.int()
    found = dt.combine_experts(rows, torch.arange(40), weights, dtype=torch.float32, eighths=eighths)
    for token in range(10):
        sums = [None] * 8
        for slot in range(4):
            product, which = rows[4 * token + slot].float() * weights[token, slot], int(eighths[token, slot])
            sums[which] = product if sums[which] is None else sums[which] + product
        while len(sums) > 1:
            sums = [b if a is None else a if b is None else a + b for a, b in zip(sums[0::2], sums[1::2])]
        assert dt.same_bits(found[token], sums[0])


def test_the_choice():
    weights, experts = dt.route(LOGITS, TOP)
    wanted = dt.top_experts(dt.softmax(LOGITS, dtype=torch.float32), TOP, by_number=True)
    assert dt.same_bits(weights, wanted[0]) and torch.equal(experts, wanted[1].int())
    equal = torch.zeros(2, 8)
    assert dt.route(equal, 3)[1].tolist() == [[0, 1, 2]] * 2
    # Sigmoid, bias and groups, as DeepSeek-V3 has them, in fp64 with its own sums.
    weights, experts = dt.route(LOGITS, TOP, scores="sigmoid", bias=BIAS, groups=4, chosen_groups=2, scale=2.5)
    p = LOGITS.double().sigmoid()
    score = (p + BIAS.double()).view(-1, 4, 4)
    best = score.topk(2, -1).values.sum(-1).topk(2, -1).indices
    allowed = torch.zeros(21, 4, dtype=torch.bool).scatter_(1, best, True).repeat_interleave(4, 1)
    chosen = torch.where(allowed, score.view(21, E), -torch.inf).topk(TOP, -1).indices.sort(-1).values
    values = p.gather(1, chosen)
    assert torch.equal(experts.long(), chosen)
    assert torch.allclose(weights.double(), 2.5 * values / values.sum(-1, keepdim=True), rtol=1e-5)
    # Controls: without the bias, and without groups, others are chosen.
    others = ({"bias": None}, {"groups": 1, "chosen_groups": 1})
    call = {"scores": "sigmoid", "bias": BIAS, "groups": 4, "chosen_groups": 2}
    assert all(not torch.equal(dt.route(LOGITS, TOP, **{**call, **other})[1], experts) for other in others)


@pytest.mark.parametrize("bias", [None, BIAS.bfloat16()])
def test_a_linear_layer_of_e4m3_is_quantize_and_scaled_gemm(bias):
    weight, scales = dt.quantize(ROUTER, 32, per=128)
    y = scaled_linear_op(X.view(3, 7, H), weight, scales, bias, SCALED, 32)
    assert dt.same_bits(y.view(21, E), dt.scaled_gemm(*dt.quantize(X, 32), weight.t(), scales.t(), SCALED, bias=bias))
    assert dt.same_bits(scaled_linear_op(X[5:6], weight, scales, bias, SCALED, 32), y.view(21, E)[5:6])
    assert not dt.same_bits(y.view(21, E), scaled_linear_op(X, weight, scales * 1.5, bias, SCALED, 32))
    with pytest.raises(RuntimeError, match="scaled_linear has no gradient"):
        scaled_linear_op(X.clone().requires_grad_(), weight, scales, bias, SCALED, 32).sum().backward()


def patterns(seed, *shape):
    """Any bits of bf16: NaN, Inf, subnormals, both zeros."""
    return torch.randint(-2 ** 15, 2 ** 15, shape, generator=torch.Generator().manual_seed(seed)).to(torch.int16).view(torch.bfloat16)


@interpreted
def test_kernels_have_the_bits_of_the_definitions():
    pytest.importorskip("triton", reason="Triton is not installed")
    from detgemm.torch.kernels import combine as kernels_combine
    from detgemm.torch.kernels import placing
    from detgemm.torch.kernels import routed as kernels
    ties = torch.tensor([[0.0, 1.0, 0.0, 1.0] * 4, [-1.0] * 16])
    for logits, sigmoid, groups in itertools.product((LOGITS[:1], patterns(1, 2, 16), ties), (False, True), (1, 4)):
        for bias in (None, BIAS)[sigmoid:]:
            call = (logits, bias, 3, True, sigmoid, groups, max(1, groups // 2), 2.5)
            for a, b in zip(kernels.route(*call), plain.route(*call)):
                assert dt.same_bits(a, b), (call, a, b)
        if len(logits) == 1:  # and with the places of the half of the experts from 4 on, in one launch
            weights, chosen = torch.empty(1, 3), torch.empty((1, 3), dtype=torch.int32)
            offs, places, rows, _ = placing.place(X[:1], chosen, 4, 8, 0, (*call[:2], *call[3:], weights))
            wanted = plain.route(*call)
            assert dt.same_bits(weights, wanted[0]) and dt.same_bits(chosen, wanted[1])
            assert all(dt.same_bits(a, b) for a, b in zip((offs, places), plain.sort(chosen.flatten(), 4, 8)))
            assert dt.same_bits(rows[places[places >= 0].long()], X[:1].expand(int((places >= 0).sum()), -1).contiguous())
    few = LOGITS[:1, :11].contiguous()
    assert all(dt.same_bits(a, b) for a, b in zip(kernels.route(few, None, 2, False, False, 1, 1, 1.0), plain.route(few, None, 2, False, False, 1, 1, 1.0)))
    experts = torch.randint(-1, 9, (22,), generator=torch.Generator().manual_seed(4)).int()
    for first, groups in ((0, 8), (2, 3)):
        assert all(dt.same_bits(a, b) for a, b in zip(kernels.sort(experts, first, groups), plain.sort(experts, first, groups)))
    x, (_, places) = patterns(5, 11, 150), plain.sort(experts, 0, 8)
    used = places[places >= 0].long().sort().values
    assert dt.same_bits(kernels.spread(x, places, 2)[used], plain.spread(x, places, 2)[used])
    for leaf in (0, 128, 70):
        offs, found, rows, scales = placing.place(x, experts.view(11, 2), 2, 3, leaf)
        ends, wanted = plain.sort(experts, 2, 3)
        here = wanted[wanted >= 0].long()
        assert dt.same_bits(offs, ends) and dt.same_bits(found, wanted)
        wanted = plain.spread_quantize(x, wanted, 2, leaf) if leaf else (plain.spread(x, wanted, 2),)
        assert all(dt.same_bits(a[here].contiguous(), b[here].contiguous()) for a, b in zip((rows, scales), wanted))
    for leaf in (128, 70):
        for a, b in zip(kernels.quantize(x, leaf), plain.quantize(x, leaf)):
            assert dt.same_bits(a.contiguous(), b)
        for a, b in zip(kernels.spread_quantize(x, places, 2, leaf), plain.spread_quantize(x, places, 2, leaf)):
            assert dt.same_bits(a[used].contiguous(), b[used].contiguous())
        for a, b in zip(kernels.silu_mul_quantize(x, leaf), plain.silu_mul_quantize(x, leaf)):
            assert dt.same_bits(a.contiguous(), b)
    eighths, weights = (experts.view(11, 2) + 1) % 8, torch.rand((11, 2), generator=torch.Generator().manual_seed(6))
    for result in (torch.bfloat16, torch.float32):
        call = (patterns(7, 22, 150), places.view(11, 2), weights, None, result, eighths, 8)
        assert dt.same_bits(kernels_combine.combine(*call), plain_combine.combine(*call))

def test_which_layers_have_kernels_for_few_tokens(monkeypatch):
    pytest.importorskip("triton", reason="Triton is not installed")
    from detgemm.torch.kernels import few_tokens as few
    capability = (9, 0)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    x, gate_up, down = (torch.zeros(shape).bfloat16() for shape in ((64, 256), (2, 256, 256), (2, 256, 128)))
    given = {"x": x, "slots": 512, "gate_up": gate_up, "down": down, "scales": (None, None), "contract": BF16}
    assert few.serve(**given)
    others = {"x": x.half(), "slots": 513, "gate_up": gate_up[:, :, :192].contiguous(), "down": down.mT, "scales": (x, x),
              "contract": "hopper/bf16/fold:64->bf16"}
    assert not any(few.serve(**{**given, name: other}) for name, other in others.items())
    assert not few.serve(**{**given, "x": x.new_zeros(65, 256)}) and not few.serve(**{**given, "x": x[:0]})
    capability = (10, 0)  # nothing was compared there
    assert not few.serve(**given)


def whole_numbers(seed, *shape, row=None):
    """-2 to 2, of which `row` in each row are not zero, or all: products whose sums of any order are exact."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randint(1, 3, shape, generator=generator) * (1 - 2 * torch.randint(0, 2, shape, generator=generator))
    return (x if row is None else x * (torch.rand(shape, generator=generator).argsort(-1) < row)).half()


@interpreted
@pytest.mark.parametrize("form", ["fp16", "e4m3"])
def test_kernels_of_few_tokens(form, monkeypatch):
    """Triton's interpreter adds in another order than tensor cores and misreads bf16, so sums are exact here; a GPU has the
    other numbers (test_device_kernels.py)."""
    pytest.importorskip("triton", reason="Triton is not installed")
    from detgemm.torch.kernels import few_tokens as few
    scaled = form == "e4m3"
    contract = "hopper/e4m3/scaled:128->fp16" if scaled else "hopper/fp16/chain->fp16"
    monkeypatch.setattr(few, "TILES", {key: ((128, 128, 4, 2),) * 2 for key in few.TILES})
    for tokens, first, groups, experts, top in ((1, 0, 4, 4, 3), (3, 1, 2, 4, 3), (2, 2, 4, 8, 2)):
        x, gate_up, down = whole_numbers(3, tokens, 128), whole_numbers(1, groups, 256, 128, row=3), whole_numbers(2, groups, 128, 128, row=1)
        given, scales = (gate_up, down), (None, None)
        if scaled:
            given = tuple(tuple(map(torch.stack, zip(*(dt.quantize(each, 128, per=128) for each in w)))) for w in given)
            (gate_up, down), scales = zip(*given)
        logits = torch.randn((tokens, experts), generator=torch.Generator().manual_seed(tokens))
        weights, chosen = plain.route(logits, None, top, True, False, 1, 1, 1.0)
        for dtype in (torch.float16, torch.float32)[scaled:]:
            routed = (logits, None, True, False, 1, 1, 1.0, torch.empty_like(weights)) if tokens == 1 else None  # the choice among the first launch
            found = few.layer(x, routed[-1] if routed else weights, torch.empty_like(chosen) if routed else chosen, gate_up, down, scales, first, experts,
                              dtype, early=False, routed=routed)
            wanted = dt.routed_experts(x, weights, chosen, *given, contract, first=first, total=experts, dtype=dtype)
            assert wanted.abs().sum() > 0 and dt.same_bits(found, wanted)


def test_operators_follow_pytorchs_rules():
    weights, experts = dt.route(LOGITS, TOP)
    quick = ("test_schema", "test_autograd_registration", "test_faketensor")
    torch.library.opcheck(routed.route_op, (LOGITS, BIAS, TOP, True, True, 4, 2, 1.0), test_utils=quick)
    torch.library.opcheck(routed.routed_experts_op, (X, weights, experts, GATE_UP, DOWN, None, None, BF16, 0, 0, E, torch.bfloat16), test_utils=quick)
    with dt.audit() as report:
        dt.routed_experts(X, *dt.route(LOGITS, TOP), GATE_UP, DOWN, BF16)
    report.require_clean()
    with pytest.raises(RuntimeError, match="detgemm: an operation for inference has no gradient"):
        dt.routed_experts(X.clone().requires_grad_(), weights, experts, GATE_UP, DOWN, BF16).sum().backward()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
@pytest.mark.parametrize("form", FORMS)
def test_the_device_has_the_bytes_of_the_cpu(form):
    wide = torch.randn((300, 256), generator=torch.Generator().manual_seed(8)).bfloat16()
    found = []
    for device in ("cpu", "cuda"):
        x, bias = wide.to(device), BIAS.to(device)
        first = dt.route(x[:, :16] * 4, TOP, scores="sigmoid", bias=bias, groups=4, chosen_groups=2, scale=2.5)
        gate_up, down, contract = FORMS[form]
        weights = [tuple(t.to(device) for t in w) if isinstance(w, tuple) else w.to(device) for w in (gate_up, down)]
        found.append([*first, *dt.route(patterns(3, 40, 16).to(device), 3), dt.routed_experts(x[:, :H].contiguous(), *first, *weights, contract)])
    assert all(dt.same_bits(a, b.cpu()) for a, b in zip(*found))


W, CHOSEN = dt.route(LOGITS, TOP)


@pytest.mark.parametrize("call, sentence", [
    (lambda: dt.route(LOGITS[0], 2), r"logits has the shape \(16,\)"),
    (lambda: dt.route(torch.zeros(2, 1025), 2), "of up to 1024 experts"),
    (lambda: dt.route(LOGITS.double(), 2), "logits.dtype is torch.float64"),
    (lambda: dt.route(LOGITS, 17), "top_k is 17: it must be at most 16"),
    (lambda: dt.route(LOGITS, 5, groups=4), "top_k is 5: it must be at most 4, the number of experts in the groups"),
    (lambda: dt.route(LOGITS, 2.0), "top_k is 2.0: it must be a positive whole number"),
    (lambda: dt.route(LOGITS, 2, groups=3), "groups is 3: it must be a power of two"),
    (lambda: dt.route(LOGITS, 2, groups=2, chosen_groups=4), "chosen_groups is 4: it must be at most groups, 2"),
    (lambda: dt.route(LOGITS, 2, scores="tanh"), "scores is 'tanh'"),
    (lambda: dt.route(LOGITS, 2, norm=1), "norm is 1"),
    (lambda: dt.route(LOGITS, 2, bias=BIAS[:3]), r"bias has the shape \(3,\)"),
    (lambda: dt.route(LOGITS, 2, bias=BIAS, groups=16, chosen_groups=4), "with bias a group must have two experts"),
    (lambda: dt.route(LOGITS, 2, scale="2"), "scale is '2'"),
    (lambda: dt.routed_experts(X, W, CHOSEN, GATE_UP, DOWN, "hopper/bf16/chain->fp32"), "it must read and write x's type"),
    (lambda: dt.routed_experts(X.half(), W, CHOSEN, GATE_UP, DOWN, BF16), "x.dtype is torch.float16"),
    (lambda: dt.routed_experts(X, W, CHOSEN, GATE_UP, DOWN, SCALED), "gate_up is a Tensor: with scaled it must be a pair"),
    (lambda: dt.routed_experts(X, W, CHOSEN.long(), GATE_UP, DOWN, BF16), "experts is torch.int64"),
    (lambda: dt.routed_experts(X[:3], W, CHOSEN, GATE_UP, DOWN, BF16), "they must be tokens x H"),
    (lambda: dt.routed_experts(X, W, CHOSEN, GATE_UP, DOWN[:, :, :5], BF16), "down has the shape"),
    (lambda: dt.routed_experts(X, W, CHOSEN, GATE_UP, DOWN, BF16, first=1), "16 experts from first on must be among total"),
    (lambda: dt.routed_experts(X, W, CHOSEN, GATE_UP, DOWN, None), "contract is None"),
    (lambda: dt.combine_experts(X, torch.arange(21), W[:21, :1], eighths=CHOSEN), "eighths has the shape"),
    (lambda: dt.combine_experts(X, torch.arange(21), W[:21, :1], eighths=CHOSEN[:, :1].contiguous(), start=torch.zeros(21, H)), "start and eighths"),
    (lambda: dt.run_experts(X, W, CHOSEN, GATE_UP, DOWN, dt.Policy(BF16, BF16, "hopper/bf16/fold:64->fp32"), by_eighths_of=4), "by_eighths_of is 4"),
])
def test_wrong_calls_are_refused_in_a_sentence(call, sentence):
    with pytest.raises(detgemm.DetgemmError, match=sentence):
        call()
