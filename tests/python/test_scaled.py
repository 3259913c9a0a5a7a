# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Block-scaled products and the quantiser through PyTorch: the library's bits (which test_scaled_arrays.py compares with the
contract's page), layouts, tracing, and what a caller who is wrong is told."""
import pytest
import torch
from conftest import bits, devices
from torch._dynamo.testing import CompileCounterWithBackend

import detgemm
import detgemm.torch as dt

OPS = torch.ops.detgemm
CONTRACT, WIDE = "hopper/e4m3/scaled:128->bf16", "hopper/bf16/scaled:64->fp32"


def operands(m=9, n=260, k=300):
    """Activations and a weight as K x N, quantised."""
    q, s = dt.quantize(bits((m, k), torch.float32))
    w, t = dt.quantize(bits((n, k), torch.bfloat16, 1), per=128)
    return q, s, w.t(), t.t()


def raw(shape, dtype, seed):
    """Random words: NaN and subnormals, and Inf where the type has it."""
    generator = torch.Generator().manual_seed(seed)
    size = torch.Size(shape).numel() * torch.empty(0, dtype=dtype).element_size()
    return torch.randint(0, 256, (size,), generator=generator, dtype=torch.uint8).view(dtype).view(shape)


def test_the_operator_has_the_librarys_bits():
    for draw, (m, n, k) in enumerate([(1, 1, 1), (3, 5, 128), (130, 7, 129), (7, 131, 300), (0, 4, 64), (4, 0, 64), (5, 6, 0)]):
        for of_scales in (torch.float32, torch.float8_e8m0fnu):
            a, b = raw((m, k), torch.float8_e4m3fn, draw), raw((n, k), torch.float8_e4m3fn, draw + 100).t()
            leaves = -(-k // 128)
            for per_a, per_b in ((1, 1), (1, 128), (128, 1), (128, 128)):
                scale_a = raw((-(-m // per_a), leaves), of_scales, draw + 200)
                scale_b = raw((-(-n // per_b), leaves), of_scales, draw + 300).t()
                found = dt.scaled_gemm(a, scale_a, b, scale_b, CONTRACT)
                assert found.dtype == torch.bfloat16
                assert dt.same_bits(found, detgemm.scaled_gemm(a, scale_a, b, scale_b, CONTRACT)), (m, n, k, per_a, per_b)


def test_the_quantiser_has_the_librarys_bits():
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        x = raw((130, 200), dtype, 1)
        for per in (1, 128):
            for scale_type in ("fp32", "e8m0"):
                for leaf, k in ((128, "cols"), (32, "rows")):
                    found = dt.quantize(x, leaf, per=per, k=k, scale_type=scale_type)
                    wanted = detgemm.quantize(x, leaf, per=per, k=k, scale_type=scale_type)
                    assert all(map(dt.same_bits, found, wanted)), (dtype, per, scale_type, leaf)
    assert not dt.same_bits(dt.quantize(x)[0], dt.quantize(x, 64)[0])


def test_rows_and_leading_dimensions():
    q, s, b, t = operands(24)
    whole = dt.scaled_gemm(q, s, b, t, CONTRACT)
    for i in (0, 23):
        assert dt.same_bits(dt.scaled_gemm(q[i:i + 1], s[i:i + 1], b, t, CONTRACT), whole[i:i + 1])
    # The control: the row with its neighbour's scales.
    assert not dt.same_bits(dt.scaled_gemm(q[:1], s[1:2], b, t, CONTRACT), whole[:1])
    cube, of_cube = dt.quantize(bits((24, 300), torch.float32).view(2, 12, 300))
    assert cube.shape == (2, 12, 300) and of_cube.shape == (2, 12, 3)
    found = dt.scaled_gemm(cube, of_cube, b, t, CONTRACT)
    assert found.shape == (2, 12, 260) and dt.same_bits(found.view(24, 260), whole)
    assert dt.same_bits(dt.scaled_gemm(cube, s, b, t, CONTRACT), found)
    assert dt.quantize(cube.float(), per=128)[1].shape == (1, 3)


def test_layouts_do_not_change_bits_and_copies_are_counted():
    q, s, b, t = operands(24)
    whole = dt.scaled_gemm(q, s, b, t, CONTRACT)
    before = dt.stats()["copies"]
    column = torch.zeros(3, 24).copy_(s.t()).t()  # as kernels for Hopper want them: a leaf's scales side by side
    out = torch.empty(260, 24, dtype=torch.bfloat16).t()
    assert dt.scaled_gemm(q, column, b.contiguous(), t.contiguous(), CONTRACT, out=out) is out
    assert dt.same_bits(out.contiguous(), whole)
    shared = torch.tensor(0.25)
    assert dt.same_bits(dt.scaled_gemm(q, shared.expand(24, 3), b, t, CONTRACT),
                        dt.scaled_gemm(q, torch.full((24, 3), 0.25), b, t, CONTRACT))
    assert dt.stats()["copies"] == before
    cube = s.view(2, 12, 3).transpose(0, 1).contiguous().transpose(0, 1)  # no stride goes from row to row
    assert dt.same_bits(dt.scaled_gemm(q.view(2, 12, 300), cube, b, t, CONTRACT).view(24, 260), whole)
    assert dt.stats()["copies"] == before + 1


def test_cuts_epilogues_and_plans():
    q, s, b, t = operands()
    fp32 = CONTRACT.replace("bf16", "fp32")
    whole = dt.scaled_gemm(q, s, b, t, fp32)
    start = dt.scaled_gemm(q[:, :128], s[:, :1], b[:128], t[:1], fp32)
    rest = dt.scaled_gemm(q[:, 128:], s[:, 1:], b[128:], t[1:], fp32, c=start, continue_from_c=True)
    assert dt.same_bits(rest, whole)
    assert not dt.same_bits(start + dt.scaled_gemm(q[:, 128:], s[:, 1:], b[128:], t[1:], fp32), whole)
    bias = bits((260,), torch.float32, 2)
    assert dt.same_bits(dt.scaled_gemm(q, s, b, t, fp32, bias=bias, activation="relu"), torch.relu(whole + bias))
    assert dt.same_bits(dt.scaled_gemm(q, s, b, t, fp32, alpha=2.0, c=whole, beta=1.0), 2 * whole + whole)
    made = dt.stats()["made"]
    for m in range(1, 9):
        assert dt.same_bits(dt.scaled_gemm(q[:m], s[:m], b, t, fp32), whole[:m])
    assert dt.stats()["made"] == made


def test_opcheck():
    # torch's check of schemas multiplies its arguments, which it cannot do with fp8: those checks run on bf16.
    rest = ("test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
    q, s, b, t = operands()
    torch.library.opcheck(OPS.scaled_gemm.default, (q, s, b, t, CONTRACT), test_utils=rest)
    torch.library.opcheck(OPS.scaled_gemm.out, (q, s, b, t, CONTRACT), {"out": torch.empty(9, 260, dtype=torch.bfloat16)},
                          test_utils=rest)
    a, w = bits((5, 130), torch.bfloat16), bits((130, 6), torch.bfloat16, 1)
    scales = torch.rand(5, 3), torch.rand(3, 6)
    torch.library.opcheck(OPS.scaled_gemm.default, (a, scales[0], w, scales[1], WIDE))
    torch.library.opcheck(OPS.scaled_gemm.out, (a, scales[0], w, scales[1], WIDE), {"out": torch.empty(5, 6)})
    x = bits((130, 200), torch.float32)
    torch.library.opcheck(OPS.quantize.default, (x,))
    torch.library.opcheck(OPS.quantize.default, (x, 64), {"per": 128, "k": "rows", "scale_type": "e8m0"})
    torch.library.opcheck(OPS.quantize.default, (x.view(2, 65, 200),), {"per": 128})


def test_compiled_with_any_m():
    _, _, b, t = operands()
    counter = CompileCounterWithBackend("aot_eager")
    layer = lambda x: dt.scaled_gemm(*dt.quantize(x), b, t, CONTRACT).float() + 1
    run = torch.compile(layer, backend=counter, fullgraph=True, dynamic=True)
    x = bits((140, 300), torch.bfloat16)
    for m in (2, 3, 64, 140):
        assert dt.same_bits(run(x[:m]), layer(x[:m]))
    assert counter.frame_count == 1
    torch._dynamo.reset()


def test_shapes_of_meta_tensors():
    for per, k in ((1, "cols"), (128, "cols"), (1, "rows"), (128, "rows")):
        for scale_type in ("fp32", "e8m0"):
            x = bits((130, 300), torch.float32)
            there, here = (dt.quantize(y, 64, per=per, k=k, scale_type=scale_type) for y in (x.to("meta"), x))
            assert [(y.shape, y.dtype, y.stride()) for y in there] == [(y.shape, y.dtype, y.stride()) for y in here]
    q, s, b, t = (x.to("meta") for x in operands())
    d = dt.scaled_gemm(q, s, b, t, CONTRACT)
    assert (d.shape, d.dtype, d.device.type) == ((9, 260), torch.bfloat16, "meta")
    for change, said in ((dict(a=q.to(torch.float32)), "a.dtype is torch.float32: the contract needs torch.float8_e4m3fn"),
                         (dict(scale_a=s[:, :2]), "scale_a has other columns than K has leaves"),
                         (dict(scale_b=t[:2]), "scale_b has other rows than K has leaves"),
                         (dict(scale_a=s.double()), "scale_a.dtype is not a scale's"), (dict(scale_b=t[0]), "scale_b has the shape"),
                         (dict(b=b[:200]), "a has other columns than b has rows"),
                         (dict(contract="hopper/e4m3/tree:128"), "scaled_gemm needs a reduction of scaled:LEAF")):
        with pytest.raises(RuntimeError, match=said):
            OPS.scaled_gemm(**{**dict(a=q, scale_a=s, b=b, scale_b=t, contract=CONTRACT), **change})
    for options, said in ((dict(leaf=0), "leaf is 0"), (dict(per=3), "per is 3"), (dict(k="x"), 'k is "x"'),
                          (dict(scale_type="x"), 'scale_type is "x"')):
        with pytest.raises(RuntimeError, match=said):
            dt.quantize(torch.empty(4, 4, device="meta"), **options)


def test_there_is_no_gradient():
    x = bits((4, 300), torch.float32).requires_grad_()
    with pytest.raises(RuntimeError, match="detgemm: quantize has no gradient: detach x"):
        dt.quantize(x)[0].float().sum().backward()
    q, s, b, t = operands(4)
    with pytest.raises(RuntimeError, match="detgemm: scaled_gemm has no gradient: write the products"):
        dt.scaled_gemm(q, s.requires_grad_(), b, t, CONTRACT).float().sum().backward()


@pytest.mark.parametrize("device", devices())
def test_a_device_has_the_cpus_bits_or_refuses_in_a_sentence(device):
    """A backend without such kernels must say so: never another result. On a CPU there is nothing to refuse."""
    q, s, b, t = operands(33)
    x = bits((33, 300), torch.bfloat16)
    calls = ((lambda *tensors: (dt.scaled_gemm(*tensors, CONTRACT),), (q, s, b, t), "computes hopper/e4m3/scaled:128->bf16; cuda: "),
             (dt.quantize, (x,), "quantises; "))
    for call, tensors, said in calls:
        try:
            found = call(*(y.to(device) for y in tensors))
        except RuntimeError as error:
            assert device == "cuda" and f"detgemm: no backend on cuda:0 {said}" in str(error), error
        else:
            assert all(dt.same_bits(y.cpu(), z) for y, z in zip(found, call(*tensors)))


Q, S, B, T = operands(4, 6, 300)
X = bits((4, 200), torch.float32, 7)
WRONG = {
    "no scaled contract": (lambda out: OPS.scaled_gemm(Q, S, B, T, "hopper/e4m3/tree:128->fp32"),
                           'contract is "hopper/e4m3/tree:128->fp32": scaled_gemm needs a reduction of scaled:LEAF'),
    "scales of leaves under fold": (lambda out: OPS.scaled_gemm(Q, S, B, T, "hopper/e4m3/fold:128->fp32"),
                                    r"scale_a has the shape \(4, 3\): it must be 4 x 1 or 1 x 1, rows of a"),
    "a contract of another type": (lambda out: OPS.scaled_gemm(Q, S, B, T, "hopper/e5m2/scaled:128"), "a.dtype is e4m3: the contract"),
    "rows of scales": (lambda out: OPS.scaled_gemm(Q, S[:3], B, T, CONTRACT),
                       r"scale_a has the shape \(3, 3\): it must be 4 x 3 or 1 x 3, rows of a, one by one or in blocks of 128"),
    "leaves of scales": (lambda out: OPS.scaled_gemm(Q, S[:, :2], B, T, CONTRACT), r"scale_a has the shape \(4, 2\)"),
    "scales not transposed": (lambda out: OPS.scaled_gemm(Q, S, B, dt.quantize(B.t().float())[1], CONTRACT),
                              r"scale_b has the shape \(6, 3\): it must be 3 x 6 or 3 x 1, leaves of K by columns of b"),
    "one dimension": (lambda out: OPS.scaled_gemm(Q, S[0], B, T, CONTRACT), r"scale_a has the shape \(3\): .* two dimensions or more"),
    "three dimensions of b": (lambda out: OPS.scaled_gemm(Q, S, B, T[None], CONTRACT), r"scale_b has the shape \(1, 3, 1\)"),
    "bf16 scales": (lambda out: OPS.scaled_gemm(Q, S.bfloat16(), B, T, CONTRACT), "scale_a.dtype is not a scale's: it must be torch.float32"),
    "fp64 scales": (lambda out: OPS.scaled_gemm(Q, S, B, T.double(), CONTRACT), "scale_b.dtype is not a scale's"),
    "K": (lambda out: OPS.scaled_gemm(Q, S, B[:200], T, CONTRACT), "a has 300 columns and b has 200 rows"),
    "continue without c": (lambda out: OPS.scaled_gemm(Q, S, B, T, CONTRACT, continue_from_c=True), "c is None: continue_from_c"),
    "out of another type": (lambda out: dt.scaled_gemm(Q, S, B, T, CONTRACT.replace("bf16", "fp32"), out=out), "d.dtype is bf16"),
    "out of another shape": (lambda out: dt.scaled_gemm(Q, S, B[:, :5], T, CONTRACT, out=out), "out is 4 x 6: it must be 4 x 5"),
    "out needs a gradient": (lambda out: dt.scaled_gemm(Q, S, B, T, CONTRACT, out=out.clone().requires_grad_()), "requires_grad is True"),
    "backend": (lambda out: OPS.scaled_gemm(Q, S, B, T, CONTRACT, backend="metal"), 'backend is "metal"'),
    "a product without scales": (lambda out: OPS.gemm(Q, B, CONTRACT), "scale_a has no scales: the contract"),
    "quantise: leaf": (lambda out: dt.quantize(X, 0), "leaf is 0: it must be from 1 to 2.31"),
    "quantise: per": (lambda out: dt.quantize(X, per=2), "per is 2: a scale is that of 1 or 128 lines"),
    "quantise: k": (lambda out: dt.quantize(X, k="depth"), 'k is "depth": it must be "cols" or "rows"'),
    "quantise: scale_type": (lambda out: dt.quantize(X, scale_type="bf16"), 'scale_type is "bf16": it must be "fp32" or "e8m0"'),
    "quantise: type": (lambda out: dt.quantize(Q), "x.dtype is e4m3: quantize takes bf16, fp16 and fp32"),
    "quantise: fp64": (lambda out: dt.quantize(X.double()), "x.dtype is a type that no contract has"),
    "quantise: one dimension": (lambda out: dt.quantize(X[0]), r"x has the shape \(200\): it must have two dimensions or more"),
    "quantise: columns of three": (lambda out: dt.quantize(X[None], k="rows"), 'x has 3 dimensions: with k = "rows" it must have two'),
    "quantise: backend": (lambda out: dt.quantize(X, backend="metal"), '"metal"'),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_call_gets_a_sentence(case):
    call, said = WRONG[case]
    out = torch.full((4, 6), 7.0, dtype=torch.bfloat16)
    with pytest.raises(RuntimeError, match=said) as caught:
        call(out)
    assert (out == 7).all() and str(caught.value).startswith("detgemm: ") and "\n" not in str(caught.value)
