# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""torch.ops.detgemm: bits against the library's own call, strides, empty shapes, opcheck."""
import pytest
import torch
from conftest import BF16, bits, devices

import detgemm
import detgemm.torch as dt

OPS = torch.ops.detgemm
CONTRACTS = ["hopper/bf16/chain->bf16", "hopper/bf16/fold:32->fp32", "hopper/bf16/tree:32->bf16",
             "hopper/fp16/chain->fp16", "ieee_fma/fp32/chain->fp32", "ieee_fma/bf16/chain->bf16"]


def views(x, rng):
    """The same matrix with other strides."""
    m, k = x.shape
    kind = rng.randrange(4)
    if kind == 0:
        return x
    if kind == 1:
        return x.t().contiguous().t()
    wide = torch.zeros(m, k + 9, dtype=x.dtype, device=x.device)
    wide[:, 5:5 + k] = x
    if kind == 2:
        return wide[:, 5:5 + k]
    tall = torch.zeros(k + 3, m, dtype=x.dtype, device=x.device)
    tall[1:1 + k] = x.t()
    return tall[1:1 + k].t()


def test_random_problems_have_the_librarys_bits(rng):
    for draw in range(200):
        contract = CONTRACTS[draw % len(CONTRACTS)]
        dtype = dt.operators.input_type(contract)
        m, n, k = rng.choice([0, 1, 2, 7, 33]), rng.choice([0, 1, 5, 24]), rng.choice([0, 1, 17, 96])
        a, b = bits((m, k), dtype, draw), bits((k, n), dtype, draw + 1000)
        expected = detgemm.gemm(a, b, contract)  # DLPack and the C interface
        for device in devices():
            x, y = (views(t.to(device), rng) for t in (a, b))
            assert dt.same_bits(OPS.gemm(x, y, contract).cpu(), expected), (draw, device, contract, m, n, k)
            out = views(torch.full((m, n), 7.0, dtype=expected.dtype, device=device), rng)
            assert dt.gemm(x, y, contract, out=out) is out
            assert dt.same_bits(out.cpu(), expected), (draw, device, contract, m, n, k)


def test_leading_dimensions_are_rows():
    b = bits((32, 8), torch.bfloat16, 1)
    for shape in [(2, 3, 32), (1, 1, 32), (4, 1, 5, 32), (0, 3, 32)]:
        a = bits(shape, torch.bfloat16)
        d = OPS.gemm(a, b, BF16)
        assert d.shape == (*shape[:-1], 8) and dt.same_bits(d.reshape(-1, 8), OPS.gemm(a.reshape(-1, 32), b, BF16))


def test_copies_are_made_where_strides_need_them_and_counted():
    a, b = bits((6, 4, 32), torch.bfloat16), bits((32, 8), torch.bfloat16, 1)
    whole = OPS.gemm(a, b, BF16)
    before = dt.stats()["copies"]
    assert dt.same_bits(OPS.gemm(a.transpose(0, 1), b, BF16), whole.transpose(0, 1).contiguous())
    assert dt.stats()["copies"] == before + 1
    row = a[0, :1]
    assert dt.same_bits(OPS.gemm(row.expand(5, 32), b, BF16), OPS.gemm(row, b, BF16).expand(5, 8).contiguous())
    assert dt.stats()["copies"] == before + 2
    strided = torch.zeros(32, 16, dtype=torch.bfloat16)
    strided[:, ::2] = b
    assert dt.same_bits(OPS.gemm(a[0], strided[:, ::2], BF16), whole[0]) and dt.stats()["copies"] == before + 3
    OPS.gemm(a, b, BF16)
    assert dt.stats()["copies"] == before + 3


def test_odd_rows_take_the_fast_workspace():
    """Where an operand's rows, or columns, begin at no multiple of 16 bytes, and nowhere else. A CPU has no faster way."""
    a, b = bits((6, 32), torch.bfloat16), bits((32, 8), torch.bfloat16, 1)
    whole = OPS.gemm(a, b, BF16)

    def within(x, step, first=0):
        """The same rows, `step` elements from one to the next."""
        return torch.zeros(len(x), step, dtype=x.dtype)[:, first:first + x.shape[1]].copy_(x)

    for x, y, odd in [(a, b, 0), (within(a, 40, 8), b, 0), (within(a, 40, 1), b, 1), (within(a, 33), b, 1), (within(a.t(), 6).t(), b, 1),
                      (a, within(b, 16), 0), (a, within(b, 9), 1), (a, within(b.t(), 32).t(), 0), (a, within(b.t(), 36).t(), 1),
                      (within(a.t(), 8).t(), b, 0), (within(a, 33), within(b, 9), 1)]:
        before = dt.stats()
        assert dt.same_bits(OPS.gemm(x, y, BF16), whole)
        after = dt.stats()
        assert (after["odd_fast"] - before["odd_fast"], after["odd_slow"] - before["odd_slow"]) == (odd, 0), (x.stride(), y.stride())


def test_a_promise_does_not_cover_a_copy_that_the_operator_makes():
    """The copy is written on the stream just before it is read: such a call has the plan of one without the promise."""
    a, b = bits((9, 24), torch.bfloat16), bits((3, 24, 56), torch.bfloat16, 1)
    many, offs = a.expand(3, 9, 24).contiguous(), torch.tensor([2, 5, 9], dtype=torch.int32)

    def strided(x):
        wide = torch.zeros(*x.shape[:-1], x.shape[-1] * 2, dtype=x.dtype)
        wide[..., ::2] = x
        return wide[..., ::2]

    calls = {
        "gemm": (lambda x, y, **promise: OPS.gemm(x, y, BF16, **promise), a, b[0]),
        "grouped_gemm": (lambda x, y, **promise: OPS.grouped_gemm(x, y, offs, BF16, **promise), a, b),
        "bmm": (lambda x, y, **promise: OPS.bmm(x, y, BF16, alpha=0.5, **promise), many, b),
    }
    for name, (call, x, y) in calls.items():
        expected = call(x, y)
        made = dt.stats()["made"]
        assert dt.same_bits(call(strided(x), y, stable=1), expected)
        assert dt.same_bits(call(x, strided(y), stable=2), expected)
        assert dt.stats()["made"] == made, f"{name}: a promise about a copy has a plan of its own"
        assert dt.same_bits(call(x, strided(y), stable=1), expected)
        assert dt.same_bits(call(strided(x), y, stable=2), expected)
        assert dt.stats()["made"] == made + 2, f"{name}: the promise about the other operand holds"


def test_a_plan_serves_every_m():
    a, b = bits((64, 48), torch.bfloat16), bits((48, 40), torch.bfloat16, 1)
    OPS.gemm(a, b, BF16)
    before = dt.stats()
    for m in range(65):
        OPS.gemm(a[:m], b, BF16)
    OPS.gemm(a.t().contiguous().t(), b.t().contiguous().t(), BF16)
    after = dt.stats()
    assert after["made"] == before["made"] and after["hits"] == before["hits"] + 66
    dt.clear_plans()
    assert dt.stats()["cached"] == 0 and dt.same_bits(OPS.gemm(a, b, BF16)[:3], OPS.gemm(a[:3], b, BF16))


def test_the_plan_cache_keeps_the_latest():
    dt.clear_plans()
    a = torch.ones(1, 1, dtype=torch.float32)
    for n in range(4200):
        OPS.gemm(a, a.expand(1, n), "ieee_fma/fp32/chain->fp32", alpha=1.0 + n)
    counts = dt.stats()
    assert counts["cached"] == 4096 and counts["parked"] == 4200 - 4096
    dt.clear_plans()


def test_epilogue():
    a, b = bits((9, 32), torch.bfloat16), bits((32, 8), torch.bfloat16, 1)
    product = OPS.gemm(a, b, "hopper/bf16/chain->fp32")
    bias, c = bits((8,), torch.float32, 2), bits((9, 8), torch.float32, 3)
    assert dt.same_bits(OPS.gemm(a, b, "hopper/bf16/chain->fp32", None, bias), product + bias)
    assert dt.same_bits(OPS.gemm(a, b, "hopper/bf16/chain->fp32", c, beta=1.0, alpha=2.0), 2 * product + c)
    assert dt.same_bits(OPS.gemm(a, b, "hopper/bf16/chain->fp32", None, bias[::1], activation="relu"),
                        torch.relu(product + bias))
    acc = OPS.gemm(a[:, :16], b[:16], "hopper/bf16/chain->fp32")
    OPS.accumulate_(acc, a[:, 16:], b[16:], "hopper/bf16/chain->fp32")
    assert dt.same_bits(acc, product)


def test_bmm_is_one_product_per_matrix():
    a, b, c = bits((5, 7, 32), torch.bfloat16), bits((5, 32, 6), torch.bfloat16, 1), bits((5, 7, 6), torch.float32, 2)
    contract = "hopper/bf16/chain->fp32"
    expected = torch.stack([OPS.gemm(x, y, contract) for x, y in zip(a, b)])
    assert dt.same_bits(OPS.bmm(a, b, contract), expected)
    assert dt.same_bits(OPS.bmm(a.transpose(0, 1).contiguous().transpose(0, 1), b, contract), expected)
    assert dt.same_bits(OPS.bmm(a[:1].expand(5, 7, 32), b, contract),
                        torch.stack([OPS.gemm(a[0], y, contract) for y in b]))
    assert dt.same_bits(OPS.bmm(a, b, contract, c, beta=1.0), expected + c)
    out = torch.empty(5, 6, 7).transpose(1, 2)
    assert dt.bmm(a, b, contract, out=out) is out and dt.same_bits(out.contiguous(), expected)
    assert OPS.bmm(a[:0], b[:0], contract).shape == (0, 7, 6)


def test_negative_and_conjugate_bits_are_resolved():
    z = torch.view_as_complex(torch.randn(4, 16, 2))
    a, b = z.conj().imag, torch.randn(16, 3)
    assert a.is_neg()
    whole = OPS.gemm(a.resolve_neg(), b, "ieee_fma/fp32/chain")
    assert dt.same_bits(OPS.gemm(a, b, "ieee_fma/fp32/chain"), whole)
    out, acc = torch.zeros(4, 3), torch.zeros(4, 3)
    OPS.gemm.out(a, b, "ieee_fma/fp32/chain", out=out)
    OPS.accumulate_(acc, a, b, "ieee_fma/fp32/chain")
    assert dt.same_bits(out, whole) and dt.same_bits(acc, whole)
    assert dt.digest(torch.zeros(4, 0)) == detgemm.digest(torch.zeros(4, 0)) != dt.digest(torch.zeros(0, 4))
    plain = a.resolve_neg()
    assert dt.same_bits(a, plain) and not dt.same_bits(a, -plain) and dt.digest(a) == dt.digest(plain) != dt.digest(-plain)


SAMPLES = {
    "contiguous": lambda: (bits((5, 32), torch.bfloat16), bits((32, 6), torch.bfloat16, 1)),
    "transposed": lambda: (bits((32, 5), torch.bfloat16).t(), bits((6, 32), torch.bfloat16, 1).t()),
    "expanded": lambda: (bits((1, 32), torch.bfloat16).expand(5, 32), bits((32, 6), torch.bfloat16, 1)),
    "sliced": lambda: (bits((9, 64), torch.bfloat16)[2:7, 8:40], bits((32, 6), torch.bfloat16, 1)),
    "no rows": lambda: (bits((0, 32), torch.bfloat16), bits((32, 6), torch.bfloat16, 1)),
    "no products": lambda: (bits((5, 0), torch.bfloat16), bits((0, 6), torch.bfloat16, 1)),
}


# Gradients of each subset of the operands; for empty shapes one subset is enough.
SUBSETS = [(False, False), (True, False), (False, True), (True, True)]
CHECKS = [(sample, wanted) for sample in SAMPLES for wanted in (SUBSETS[3:] if sample.startswith("no ") else SUBSETS)]


@pytest.mark.parametrize("sample, wanted", CHECKS)
def test_opcheck_gemm(sample, wanted):
    a, b = (x.detach().requires_grad_(w) for x, w in zip(SAMPLES[sample](), wanted))
    torch.library.opcheck(OPS.gemm.default, (a, b, BF16))


def test_opcheck_other_operators():
    a, b = SAMPLES["contiguous"]()
    x, y = bits((3, 5, 32), torch.bfloat16), bits((3, 32, 6), torch.bfloat16)
    torch.library.opcheck(OPS.gemm.out, (a, b, BF16), {"out": torch.empty(5, 6, dtype=torch.bfloat16)})
    torch.library.opcheck(OPS.accumulate_.default, (torch.zeros(5, 6), a, b, "hopper/bf16/fold:32->fp32"))
    torch.library.opcheck(OPS.bmm.default, (x.requires_grad_(), y.requires_grad_(), BF16))
    torch.library.opcheck(OPS.bmm.out, (x.detach(), y.detach(), BF16),
                          {"out": torch.empty(3, 5, 6, dtype=torch.bfloat16)})
    weight = bits((6, 32), torch.bfloat16, 2)
    wgrad = "hopper/bf16/fold:32->fp32"
    for tensors in ((a, weight, None), (a.requires_grad_(), weight.requires_grad_(), bits((6,), torch.bfloat16))):
        torch.library.opcheck(OPS.linear.default, (*tensors, None, None, BF16, BF16, wgrad))
