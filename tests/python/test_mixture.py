# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""A layer of experts: rows alone and in any batch, shares of the experts, gradients, the audit, controls, refusals."""
import pathlib
import re

import pytest
import torch
from conftest import BF16

import detgemm
import detgemm.torch as dt

PAGE = pathlib.Path(__file__).parents[2] / "docs/moe.md"
E, H, N, TOP = 8, 48, 32, 3
SCALED = "hopper/e4m3/scaled:32->bf16"


def quantized(weight):
    return tuple(map(torch.stack, zip(*(dt.quantize(each, 32, per=128) for each in weight))))


def drawn(seed, *shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).bfloat16()


X = drawn(0, 21, H)
ROUTER, GATE_UP, DOWN = (drawn(seed, *shape) / 8 for seed, shape in enumerate(((E, H), (E, 2 * N, H), (E, H, N)), 1))
FORMS = {"bf16": (GATE_UP, DOWN, None), "e4m3": (quantized(GATE_UP), quantized(DOWN), SCALED)}


def layer(x, form, policy, **options):
    gate_up, down, scaled = FORMS[form]
    return dt.moe(x, ROUTER, gate_up, down, policy, top_k=TOP, scaled=scaled, **options)


@pytest.mark.parametrize("form", FORMS)
def test_a_tokens_row_does_not_depend_on_the_batch(form, policy):
    whole = layer(X, form, policy)
    for at in (0, 10, 20):
        assert dt.same_bits(layer(X[at:at + 1], form, policy), whole[at:at + 1])
    assert dt.same_bits(layer(X[4:17], form, policy), whole[4:17])
    turn = torch.randperm(21, generator=torch.Generator().manual_seed(3))
    assert dt.same_bits(layer(X[turn], form, policy), whole[turn])
    padded = torch.cat((torch.zeros(5, H, dtype=torch.bfloat16), X, X[:3].flip(0)))
    assert dt.same_bits(layer(padded, form, policy)[5:26], whole)
    assert dt.same_bits(layer(X.view(3, 7, H), form, policy), whole.view(3, 7, H))
    assert layer(X[:0], form, policy).shape == (0, H)


@pytest.mark.parametrize("form", FORMS)
def test_it_is_the_formula(form, policy):
    """In fp64, from the experts that the layer chose."""
    for norm in (True, False):
        p = dt.softmax(dt.linear(X, ROUTER, None, policy), dtype=torch.float32)
        weights, experts = dt.top_experts(p, TOP, norm=norm)
        exact = torch.zeros(21, H, dtype=torch.float64)
        for t in range(21):
            for w, e in zip(weights[t].double(), experts[t]):
                gate, up = (GATE_UP[e].double() @ X[t].double()).chunk(2)
                exact[t] += w * (DOWN[e].double() @ (torch.nn.functional.silu(gate) * up))
        error = (layer(X, form, policy, norm=norm).double() - exact).norm() / exact.norm()
        assert error < (0.01 if form == "bf16" else 0.1)


def share(x, form, policy, first, count, by_number, **options):
    weights, experts = dt.top_experts(dt.softmax(dt.linear(x, ROUTER, None, policy), dtype=torch.float32), TOP, by_number=by_number)
    gate_up, down, scaled = FORMS[form]
    part = slice(first, first + count)
    cut = (lambda w: w[part]) if scaled is None else (lambda w: tuple(each[part] for each in w))
    return dt.run_experts(x, weights, experts, cut(gate_up), cut(down), policy, scaled=scaled, first=first, **options)


@pytest.mark.parametrize("form", FORMS)
def test_shares_of_the_experts_have_the_bits_of_all(form, policy):
    whole = share(X, form, policy, 0, E, True, dtype=torch.float32)
    added = {}
    for ranks in (1, 2, 4, 8):
        total, apart = None, []
        for rank in range(ranks):
            first, count = rank * E // ranks, E // ranks
            total = share(X, form, policy, first, count, True, start=total, dtype=torch.float32)
            apart.append(share(X, form, policy, first, count, True, dtype=torch.float32))
        assert dt.same_bits(total, whole)
        added[ranks] = sum(apart[1:], apart[0])
    # The controls: finished shares that are added, as a reduction over ranks does it; the order of choice with `start`.
    assert dt.same_bits(added[1], whole) and not dt.same_bits(added[2], whole)
    half = share(X, form, policy, 0, E // 2, False, dtype=torch.float32)
    chosen = share(X, form, policy, E // 2, E // 2, False, start=half, dtype=torch.float32)
    assert not dt.same_bits(chosen, share(X, form, policy, 0, E, False, dtype=torch.float32))


def test_rows_that_return_to_their_token_have_the_bits_of_one_device(policy):
    """The other way: shares send rows, not sums, and the token's own device adds them in the order of choice."""
    p = dt.softmax(dt.linear(X, ROUTER, None, policy), dtype=torch.float32)
    weights, experts = dt.top_experts(p, TOP)
    for ranks in (2, 8):
        count, rows = E // ranks, torch.zeros(21 * TOP, H, dtype=torch.bfloat16)
        for first in range(0, E, count):
            offs, index, places = dt.segments(experts.flatten() - first, count)
            y = dt.grouped_linear(dt.gather_rows(X, index, places, TOP), GATE_UP[first:first + count], offs, policy)
            y = dt.grouped_linear(dt.fused.silu_mul(y), DOWN[first:first + count], offs, policy)
            rows = torch.where((places >= 0)[:, None], dt.gather_rows(y, places, index), rows)
        assert dt.same_bits(dt.combine_experts(rows, torch.arange(21 * TOP), weights), layer(X, "bf16", policy))


def test_the_choice_is_stable_and_row_local():
    p = torch.tensor([[0.25, 0.25, 0.25, 0.25], [0.1, 0.4, 0.1, 0.4], [0.0, 0.7, 0.2, 0.1]])
    weights, experts = dt.top_experts(p, 3)
    assert experts.tolist() == [[0, 1, 2], [1, 3, 0], [1, 2, 3]]
    v = p.gather(1, experts)
    assert dt.same_bits(weights, v / ((v[:, 0] + v[:, 1]) + v[:, 2])[:, None])
    assert dt.top_experts(p, 3, by_number=True)[1].tolist() == [[0, 1, 2], [0, 1, 3], [1, 2, 3]]
    assert dt.same_bits(dt.top_experts(p, 2, norm=False)[0], p.sort(dim=-1, descending=True, stable=True).values[:, :2].contiguous())


def test_gradients(policy):
    dy = drawn(7, 21, H)

    def gradients(x, dy):
        leaves = [t.clone().requires_grad_() for t in (x, ROUTER, GATE_UP, DOWN)]
        dt.moe(*leaves, policy, top_k=TOP).backward(dy)
        return [t.grad for t in leaves]

    found = gradients(X, dy)
    exact = [t.double().requires_grad_() for t in (X, ROUTER, GATE_UP, DOWN)]
    x, router, gate_up, down = exact
    _, experts = dt.top_experts(dt.softmax(dt.linear(X, ROUTER, None, policy), dtype=torch.float32), TOP)
    p = (x @ router.t()).softmax(-1).gather(1, experts)
    p = p / p.sum(1, keepdim=True)
    gate, up = torch.einsum("th,tknh->tkn", x, gate_up[experts]).chunk(2, -1)
    y = torch.einsum("tkn,tkhn->tkh", torch.nn.functional.silu(gate) * up, down[experts])
    (y * p[..., None]).sum(1).backward(dy.double())
    for ours, wanted in zip(found, exact):
        assert (ours.double() - wanted.grad).norm() < 0.03 * wanted.grad.norm()
    # The gradient of a token's row is that of the token alone, and of any company.
    for part in (slice(4, 5), slice(3, 12)):
        assert dt.same_bits(gradients(X[part], dy[part])[0], found[0][part])
    turn = torch.randperm(21, generator=torch.Generator().manual_seed(1))
    assert dt.same_bits(gradients(X[turn], dy[turn])[0], found[0][turn])
    assert all(dt.same_bits(a, b) for a, b in zip(gradients(X, dy), found))


def test_the_audit_finds_nothing_outside(policy):
    leaves = [t.clone().requires_grad_() for t in (X, ROUTER, GATE_UP, DOWN)]
    with dt.audit() as report:
        dt.moe(*leaves, policy, top_k=TOP).backward(X)
        layer(X, "e4m3", policy)
    report.require_clean()
    assert {"detgemm.combine_experts", "detgemm.top_experts", "detgemm.silu_mul_quantize", "detgemm.gather_quantize",
            "detgemm.grouped_gemm", "detgemm.grouped_linear", "detgemm.linear"} <= {row[0] for row in report.rows}
    with dt.audit() as report:  # the control: a sum that PyTorch orders
        torch.zeros(21, H).index_add(0, torch.arange(21), X.float())
    with pytest.raises(detgemm.DetgemmError, match="aten.index_add"):
        report.require_clean()


@pytest.mark.skipif(not PAGE.exists(), reason="docs/moe.md is not beside these tests")
def test_the_program_of_the_page(capsys):
    program, printed = re.search(r"## A whole layer.*?```python\n(.*?)```.*?```text\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S).groups()
    exec(program, {})  # the page's own lines
    assert len(program.split("\n\n")[1].splitlines()) <= 10 and capsys.readouterr().out == printed


def test_a_compiled_graph_has_the_same_bits(policy):
    run = torch.compile(lambda x: layer(x, "e4m3", policy), backend="aot_eager", fullgraph=True, dynamic=True)
    with torch.no_grad():
        assert dt.same_bits(run(X), layer(X, "e4m3", policy)) and dt.same_bits(run(X[:9]), layer(X[:9], "e4m3", policy))
    torch._dynamo.reset()


@pytest.mark.parametrize("change, sentence", [
    ({"policy": None}, "policy is None: it must be a detgemm.torch.Policy"),
    ({"policy": dt.Policy("hopper/bf16/chain->fp32", BF16, "hopper/bf16/chain->fp32")}, "its output must be bf16, which it reads"),
    ({"top_k": 9}, "top_k is 9: it must be a whole number from 1 to 8"),
    ({"top_k": True}, "top_k is True"),
    ({"norm": 1}, "norm is 1: it must be True or False"),
    ({"router_weight": ROUTER[:7]}, r"router_weight has the shape \(7, 48\): it must be 8 x 48"),
    ({"gate_up": GATE_UP[:, 1:]}, r"gate_up has the shape \(8, 63, 48\): it must be experts x 2n x 48"),
    ({"down": DOWN.mT}, r"down has the shape \(8, 32, 48\): it must be 8 x 48 x 32"),
    ({"x": X.float()}, "x is fp32"),
    ({"scaled": SCALED}, "gate_up is a Tensor: with scaled it must be a pair"),
    ({"scaled": "hopper/e4m3/chain->bf16"}, "it must be a contract of e4m3 with the reduction scaled:LEAF"),
    ({"scaled": 3}, "scaled is 3: it must be the text of a contract"),
    ({"gate_up": None}, "gate_up is a NoneType"),
])
def test_wrong_calls_are_refused_in_a_sentence(change, sentence, policy):
    given = {"x": X, "router_weight": ROUTER, "gate_up": GATE_UP, "down": DOWN, "policy": policy, "top_k": TOP, **change}
    with pytest.raises(detgemm.DetgemmError, match=sentence):
        dt.moe(**given)


def test_shares_and_choices_are_checked_too(policy):
    with pytest.raises(detgemm.DetgemmError, match="twice tokens x k"):
        dt.run_experts(X, torch.ones(21, 2), torch.zeros(21, 3, dtype=torch.int64), GATE_UP, DOWN, policy)
    with pytest.raises(detgemm.DetgemmError, match="it must have two dimensions, tokens x experts, of float32"):
        dt.top_experts(X, 2)
    x = X.clone().requires_grad_()
    with pytest.raises(RuntimeError, match="has no gradient"):
        layer(x, "e4m3", policy).float().sum().backward()
