# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Experts in fp8: grouped_gemm with scales has the bits of scaled_gemm on each group."""
import pytest
import torch
from conftest import bits, devices

import detgemm.torch as dt

SCALED, FOLD, CHAIN = (f"hopper/e4m3/{reduction}->bf16" for reduction in ("scaled:128", "fold:128", "chain"))
G, R, N, K = 4, 21, 130, 300
OFFS = (5, 5, 18, 19)  # an empty group, and rows of nobody


def operands(device="cpu", per=128):
    """Rows and weights with scales of leaves; and of lines."""
    x, x_scales = dt.quantize(bits((R, K), torch.float32, 3))
    weights = [dt.quantize(bits((N, K), torch.float32, 4 + g), per=per) for g in range(G)]
    w, w_scales = (torch.stack(each) for each in zip(*weights))
    row, column = torch.rand(R, 1) + 0.5, torch.rand(G, 1, N) + 0.5
    return [t.to(device) for t in (x, x_scales, w.transpose(1, 2), w_scales.transpose(1, 2), row, column)]


def by_slices(a, scale_a, b, scale_b, text, offs=OFFS):
    d, begin = torch.zeros(len(a), b.shape[2], dtype=torch.bfloat16, device=a.device), 0
    for g, end in enumerate(offs):
        if end > begin:
            d[begin:end] = dt.scaled_gemm(a[begin:end], scale_a[begin:end], b[g], scale_b[g], text)
        begin = end
    return d


@pytest.mark.parametrize("device", devices())
@pytest.mark.parametrize("text", [SCALED, FOLD, CHAIN])
def test_segments_of_rows_have_the_bits_of_each_group(device, text):
    for per in (1, 128):
        x, x_scales, w, w_scales, row, column = operands(device, per)
        scales = (x_scales, w_scales) if text == SCALED else (row, column)
        offs = torch.tensor(OFFS, dtype=torch.int32, device=device)
        try:
            found = dt.grouped_gemm(x, w, offs, text, scale_a=scales[0], scale_b=scales[1])
        except RuntimeError as refusal:
            assert device == "cuda" and "no backend on cuda:" in str(refusal), refusal
            pytest.skip(str(refusal))
        expected = by_slices(x, scales[0], w, scales[1], text)
        assert dt.same_bits(found, expected) and (found[19:] == 0).all()
        # The control: another group's scales, and another row's.
        for other in ((scales[0], scales[1].flip(0)), (scales[0].flip(0), scales[1])):
            assert not dt.same_bits(expected, dt.grouped_gemm(x, w, offs, text, scale_a=other[0], scale_b=other[1]))
        out = torch.full((R, N), 3, dtype=torch.bfloat16, device=device)
        dt.grouped_gemm(x, w, offs, text, scale_a=scales[0], scale_b=scales[1], out=out)
        assert dt.same_bits(out[:19], expected[:19]) and (out[19:] == 3).all()


@pytest.mark.parametrize("text", [SCALED, FOLD])
def test_batches_and_counts_have_them_too(text):
    x, x_scales, w, w_scales, row, column = operands()
    scale_a, scale_b = (x_scales, w_scales) if text == SCALED else (row, column)
    a, sa = x[:20].reshape(G, 5, K), scale_a[:20].reshape(G, 5, -1)
    batch = dt.grouped_gemm(a, w, None, text, scale_a=sa, scale_b=scale_b)
    assert all(dt.same_bits(batch[g], dt.scaled_gemm(a[g], sa[g], w[g], scale_b[g], text)) for g in range(G))
    counts = torch.tensor((5, 0, 2, 4))
    masked = dt.grouped_gemm(a, w, None, text, counts=counts, scale_a=sa, scale_b=scale_b)
    for g, count in enumerate(counts.tolist()):
        assert dt.same_bits(masked[g, :count], batch[g, :count]) and (masked[g, count:] == 0).all()


def test_shapes_of_meta_tensors_and_compiled_graphs():
    x, x_scales, w, w_scales, *_ = operands()
    offs = torch.tensor(OFFS)
    meta = dt.grouped_gemm(x.to("meta"), w.to("meta"), offs.to("meta"), SCALED, scale_a=x_scales.to("meta"), scale_b=w_scales.to("meta"))
    assert (meta.shape, meta.dtype) == ((R, N), torch.bfloat16)
    run = torch.compile(lambda *t: dt.grouped_gemm(t[0], t[1], offs, SCALED, scale_a=t[2], scale_b=t[3]).float(), backend="aot_eager",
                        fullgraph=True)
    assert dt.same_bits(run(x, w, x_scales, w_scales), by_slices(x, x_scales, w, w_scales, SCALED).float())
    torch._dynamo.reset()


X, XS, W, WS, ROW, COLUMN = operands()
ENDS = torch.tensor(OFFS)
WRONG = {
    "one of both": (dict(scale_b=None), "scale_a and scale_b must both be given, or neither"),
    "none": (dict(scale_a=None, scale_b=None), "scale_a has no scales"),
    "rows": (dict(scale_a=XS[:20]), r"scale_a has the shape \(20, 3\): it must be 21 x 3 or 1 x 3, rows of a"),
    "leaves": (dict(scale_a=ROW), r"scale_a has the shape \(21, 1\): it must be 21 x 3"),
    "blocks of 128 rows": (dict(scale_a=XS[:1]), "scale_a.per is 128: it must be 1 for m_grouped"),
    "groups": (dict(scale_b=WS[:3]), r"scale_b has the shape \(3, 3, 2\): it must be 4 x 3 x 130 or 4 x 3 x 2, groups by leaves of K"),
    "dimensions": (dict(scale_b=WS[0]), r"scale_b has the shape \(3, 2\): it must be 4 x 3 x 130"),
    "type": (dict(scale_b=WS.double()), "scale_b.dtype is not a scale's"),
    "under fold": (dict(contract=FOLD), r"scale_a has the shape \(21, 3\): it must be 21 x 1"),
    "tree": (dict(contract="hopper/e4m3/tree:128->bf16"), "scaled_gemm needs a reduction of scaled:LEAF"),
    "products": (dict(a=X.t(), b=X, offs=torch.tensor((9, 21))), "segments of products take no scales"),
    "columns": (dict(a=W.transpose(1, 2), b=X.t()), "segments of columns take no scales"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_calls_are_refused(case):
    change, said = WRONG[case]
    call = {**dict(a=X, b=W, offs=ENDS, contract=SCALED, scale_a=XS, scale_b=WS), **change}
    with pytest.raises(RuntimeError, match=said) as caught:
        dt.grouped_gemm(call.pop("a"), call.pop("b"), call.pop("offs"), call.pop("contract"), **call)
    assert str(caught.value).startswith("detgemm: ")


def test_there_is_no_gradient():
    x_scales = XS.clone().requires_grad_()
    with pytest.raises(RuntimeError, match="grouped_gemm has no gradient with scales"):
        dt.grouped_gemm(X, W, ENDS, SCALED, scale_a=x_scales, scale_b=WS).float().sum().backward()
