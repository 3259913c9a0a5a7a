# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The switch on aten's scaled products: each recipe in its bits, and what no contract can honour refused."""
import pytest
import torch
from conftest import BF16, bits

import detgemm
import detgemm.torch as dt

functional = torch.nn.functional
ScalingType = getattr(functional, "ScalingType", None)  # and SwizzleType: not in every release
E4M3, CONTRACT = torch.float8_e4m3fn, "hopper/e4m3/scaled:128->bf16"
M, N, K = 256, 384, 640
LEAVES, LEAVES_IN_FOURS = 5, 8

X, W = bits((M, K), torch.float32), bits((N, K), torch.bfloat16, 1)
Q, S = dt.quantize(X)
QB, SB = dt.quantize(X, per=128)
V, T = dt.quantize(W)
VB, TB = dt.quantize(W, per=128)
ROW, COLUMN = torch.rand(M, 1) + 0.5, torch.rand(1, N) + 0.5
ONE, TWO = torch.tensor(0.75), torch.tensor(0.3)
BIAS = bits((N,), torch.bfloat16, 2)


def padded(scales):
    """128 x 128 scales as scaled_mm wants them: leaves first, in fours."""
    wide = torch.full((LEAVES_IN_FOURS, scales.shape[0]), float("nan"))
    wide[:LEAVES] = scales.t()
    return wide


def product(a, scale_a, b, scale_b, text=CONTRACT, **options):
    return dt.scaled_gemm(a, scale_a, b.t(), scale_b, text, **options)


ONES = product(Q, ONE.expand(M, LEAVES), V, TWO.expand(LEAVES, N))
ROWS = product(Q, ROW.expand(M, LEAVES), V, COLUMN.expand(LEAVES, N))


def named(a, scale_a, recipe_a, b, scale_b, recipe_b, **options):
    return functional.scaled_mm(a, b.t(), scale_a, getattr(ScalingType, recipe_a), scale_b, getattr(ScalingType, recipe_b), **options)


def old(a, b, scale_a, scale_b, **options):
    return torch._scaled_mm(a, b.t(), scale_a, scale_b, **{"out_dtype": torch.bfloat16, **options})


# What a program calls, the operator that it arrives as, and the bits that it must have.
CALLS = {
    "tensor": (lambda: old(Q, V, ONE, TWO), "_scaled_mm", ONES),
    "tensor of one element": (lambda: old(Q, V, ONE.view(1, 1), TWO.view(1)), "_scaled_mm", ONES),
    "row": (lambda: old(Q, V, ROW, COLUMN), "_scaled_mm", ROWS),
    "1 x 128": (lambda: old(Q, V, S, T.t()), "_scaled_mm", product(Q, S, V, T.t())),
    "1 x 128, 128 x 128": (lambda: old(Q, VB, S, TB.t()), "_scaled_mm", product(Q, S, VB, TB.t())),
    "128 x 128, 1 x 128": (lambda: old(QB, V, SB, T.t()), "_scaled_mm", product(QB, SB, V, T.t())),
    "bias": (lambda: old(Q, V, S, T.t(), bias=BIAS), "_scaled_mm", product(Q, S, V, T.t(), bias=BIAS)),
    "fp32": (lambda: old(Q, V, S, T.t(), out_dtype=torch.float32), "_scaled_mm",
             product(Q, S, V, T.t(), CONTRACT.replace("bf16", "fp32"))),
    "fast": (lambda: old(Q, V, S, T.t(), use_fast_accum=True), "_scaled_mm", product(Q, S, V, T.t())),
    "out": (lambda: torch.ops.aten._scaled_mm.out(Q, V.t(), S, T.t(), out_dtype=torch.bfloat16,
                                                  out=torch.empty(M, N, dtype=torch.bfloat16)), "_scaled_mm.out",
            product(Q, S, V, T.t())),
    "named tensor": (lambda: named(Q, ONE, "TensorWise", V, TWO, "TensorWise"), "_scaled_mm_v2", ONES),
    "named row": (lambda: named(Q, ROW, "RowWise", V, COLUMN, "RowWise"), "_scaled_mm_v2", ROWS),
    "named 1 x 128": (lambda: named(Q, S, "BlockWise1x128", V, T, "BlockWise1x128"), "_scaled_mm_v2", product(Q, S, V, T.t())),
    "named 128 x 128": (lambda: named(Q, S, "BlockWise1x128", VB, padded(TB), "BlockWise128x128"), "_scaled_mm_v2",
                        product(Q, S, VB, TB.t())),
    "named 128 x 128 of a": (lambda: named(QB, padded(SB), "BlockWise128x128", V, T, "BlockWise1x128", output_dtype=torch.float16),
                             "_scaled_mm_v2", product(QB, SB, V, T.t(), CONTRACT.replace("bf16", "fp16"))),
}


def there(table):
    """What this release of PyTorch can call. Since 2.15 it has a kernel for CPUs, with sentences of its own."""
    left_out = set()
    if ScalingType is not None and torch._C._dispatch_has_kernel_for_dispatch_key("aten::_scaled_mm_v2", "CPU"):
        left_out.add("named without a kernel")
    return {name: row for name, row in table.items()
            if name not in left_out and (ScalingType is not None or not name.startswith("named"))}


def switch(text=CONTRACT, **options):
    return dt.aten({E4M3: text, torch.bfloat16: BF16}, devices="cpu", **options)


@pytest.mark.parametrize("call", there(CALLS))
def test_every_recipe_is_caught_with_its_bits(call):
    run, operator, expected = CALLS[call]
    with switch() as used:
        found = run()
    assert {op: count for (op, _, _), count in used.items()} == {operator: 1}
    assert dt.same_bits(found.contiguous(), expected.contiguous())


def test_the_recipes_are_told_apart():
    """The control: scales that lie otherwise have other bits, so no call above has its bits by chance."""
    results = [*(CALLS[name][2] for name in ("tensor", "row", "1 x 128", "1 x 128, 128 x 128", "128 x 128, 1 x 128")),
               product(Q, S.flip(1), V, T.t()), product(Q, S, V, T.t().flip(0))]
    assert not any(dt.same_bits(x, y) for i, x in enumerate(results) for y in results[:i])


@pytest.mark.parametrize("text", ["hopper/e4m3/fold:128->bf16", "hopper/e4m3/chain->bf16"])
def test_scales_of_lines_multiply_the_sum_of_fold_and_chain(text):
    rows = product(Q, ROW, V, COLUMN, text)
    ones = product(Q, ONE.expand(M, 1), V, TWO.expand(1, N), text)
    with switch(text):
        assert dt.same_bits(old(Q, V, ROW, COLUMN), rows) and dt.same_bits(old(Q, V, ONE, TWO), ones)
        if ScalingType is not None:
            assert dt.same_bits(named(Q, ROW, "RowWise", V, COLUMN, "RowWise"), rows)
        for call in (lambda: old(Q, V, S, T.t()), lambda: old(Q, VB, S, TB.t())):
            with pytest.raises(RuntimeError, match="was called with scales for blocks of 128 along K: the contract hopper"):
                call()
    assert not dt.same_bits(rows, ROWS) and not dt.same_bits(ones, ONES)  # of scaled:128


def test_rows_have_their_bits_alone():
    with switch():
        whole, alone = old(Q, VB, S, TB.t()), old(Q[5:6], VB, S[5:6], TB.t())
    assert dt.same_bits(whole[5:6], alone)


def test_compiled_graphs_and_the_audit():
    run = torch.compile(lambda a, s: old(a, V, s, T.t()).float(), backend="aot_eager", fullgraph=True)
    with switch() as used, dt.audit() as report:
        q, s = dt.quantize(X)
        old(q, V, s, T.t())
    report.require_clean()
    assert [row[0::2] for row in report.rows] == [("aten._scaled_mm", "contract", 1)]
    with switch() as used:
        assert dt.same_bits(run(Q, S), product(Q, S, V, T.t()).float())
    assert sum(used.values()) == 1
    torch._dynamo.reset()


def test_it_leaves_nothing_behind():
    dump = lambda: [torch._C._dispatch_dump("aten::" + name) for name in ("_scaled_mm", "_scaled_mm.out", "_scaled_mm_v2")]
    before = dump()
    with switch():
        assert dump() != before
    assert dump() == before


WRONG = {
    "no contract": (lambda: old(Q, V, S, T.t()), {torch.bfloat16: BF16}, "aten::_scaled_mm was called with torch.float8_e4m3fn"),
    "fp8 results": (lambda: old(Q, V, ONE, TWO, out_dtype=None), {}, "was called for a result of torch.float8_e4m3fn: .* pass out_dtype"),
    "scale_result": (lambda: old(Q, V, ONE, TWO, scale_result=ONE), {}, "was called with scale_result"),
    "e8m0": (lambda: old(Q, V, S.to(torch.float8_e8m0fnu), T.t().to(torch.float8_e8m0fnu)), {},
             "scale_a.dtype is torch.float8_e8m0fnu: the switch takes float32 scales; MX and NVFP4"),
    "another leaf": (lambda: old(Q, V, S, T.t()), {E4M3: "hopper/e4m3/scaled:64->bf16"}, "the contract .* has leaves of 64"),
    "mixed types": (lambda: old(Q, V.view(torch.float8_e5m2), S, T.t()), {}, "b.dtype is e5m2: the contract needs e4m3"),
    "shape of scales": (lambda: old(Q, V, S[:, :2], T.t()), {}, r"scale_a has the shape \(256, 2\)"),
    "named mx": (lambda: named(Q, S, "BlockWise1x32", V, T, "BlockWise1x32"), {}, r"the recipe \[3\] and the swizzle \[\] for scale_a"),
    "named swizzle": (lambda: named(Q, S, "BlockWise1x128", V, T, "BlockWise1x128", swizzle_b=functional.SwizzleType.SWIZZLE_32_4_4), {},
                 r"the recipe \[4\] and the swizzle \[1\] for scale_b"),
    "named shape": (lambda: named(Q, S, "BlockWise1x128", V, T.t(), "BlockWise1x128"), {},
                    r"scale_b has the shape \(5, 384\): it must be 384 x 5"),
    "named blocks": (lambda: named(Q, S, "BlockWise1x128", VB, TB, "BlockWise128x128"), {},
                     r"scale_b has the shape \(3, 5\): it must be 8 x 3, leaves of K in fours by blocks, or 5 x 3"),
    "named row": (lambda: named(Q, ROW[:9], "RowWise", V, COLUMN, "RowWise"), {}, "this recipe has 256 scales"),
    "named contraction_dim": (lambda: named(Q, S, "BlockWise1x128", V, T, "BlockWise1x128", contraction_dim=[0, 1]), {}, "contraction_dim"),
    "named without a kernel": (lambda: named(Q, S, "BlockWise1x128", V, T, "BlockWise1x128"), "pass",
                               "PyTorch has no kernel for it on cpu"),
}


@pytest.mark.parametrize("case", there(WRONG))
def test_what_no_contract_honours_is_refused(case):
    call, contracts, said = WRONG[case]
    if contracts == "pass":
        scope = dt.aten({torch.bfloat16: BF16}, devices="cpu", others="pass")
    else:
        scope = dt.aten(contracts or {E4M3: CONTRACT}, devices="cpu")
    with scope, pytest.raises(RuntimeError, match=said) as caught:
        call()
    assert str(caught.value).startswith("detgemm: ")


def test_others_are_passed_on():
    with dt.aten({torch.bfloat16: BF16}, devices="cpu", others="pass") as used:
        found = old(Q, V, ONE, TWO)
    assert dt.same_bits(found, old(Q, V, ONE, TWO)) and used["_scaled_mm", E4M3, "aten"] == 1


@pytest.mark.parametrize("contracts, said", [
    ({E4M3: "hopper/e4m3/tree:128->bf16"}, "aten multiplies fp8 with scales, so it must be one of scaled:LEAF"),
    ({torch.bfloat16: "hopper/bf16/scaled:64->bf16"}, "aten multiplies torch.bfloat16 without scales"),
    ({E4M3: "hopper/e5m2/scaled:128->bf16"}, "it reads torch.float8_e5m2")])
def test_contracts_of_the_wrong_kind_are_refused(contracts, said):
    with pytest.raises(detgemm.DetgemmError, match=said):
        dt.aten(contracts, devices="cpu")
