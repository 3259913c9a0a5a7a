# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Wrong calls of the operators: a sentence each, and nothing is written."""
import contextlib
import subprocess
import sys

import pytest
import torch
from conftest import BF16, bits

import detgemm
import detgemm.torch as dt

OPS = torch.ops.detgemm
A, B = bits((5, 32), torch.bfloat16), bits((32, 6), torch.bfloat16, 1)
FP32 = "hopper/bf16/chain->fp32"

WRONG = {
    "no contract": (lambda out: OPS.gemm(A, B, "hopper/bf16"), "must read ARITHMETIC/INPUT/REDUCTION"),
    "a contract of another type": (lambda out: OPS.gemm(A, B, "hopper/fp16/chain"), "a.dtype is bf16: the contract needs fp16"),
    "K": (lambda out: OPS.gemm(A, B[:31], BF16), "a has 32 columns and b has 31 rows"),
    "one dimension": (lambda out: OPS.gemm(A[0], B, BF16), r"a has the shape \(32\): it must have two dimensions or more"),
    "b of three dimensions": (lambda out: OPS.gemm(A, B[None], BF16), "b has 3 dimensions: it must have two"),
    "fp64": (lambda out: OPS.gemm(A.double(), B, BF16), "a.dtype is a type that no contract has"),
    "complex": (lambda out: OPS.gemm(A, torch.zeros(32, 6, dtype=torch.complex64), BF16), "b.dtype is a type that no contract has"),
    "integers": (lambda out: OPS.gemm(A.int(), B, BF16), "a.dtype is a type that no contract has"),
    "sparse": (lambda out: OPS.gemm(A.to_sparse(), B, BF16), "'SparseCPU' backend"),
    "quantised": (lambda out: OPS.gemm(torch.quantize_per_tensor(A.float(), 1.0, 0, torch.qint8), B, BF16), "Quantized"),
    "out of another type": (lambda out: OPS.gemm.out(A, B, FP32, out=out), "d.dtype is bf16: the contract needs fp32"),
    "out of another shape": (lambda out: OPS.gemm.out(A[:4], B, BF16, out=out), "out is 5 x 6: it must be 4 x 6"),
    "out expanded": (lambda out: OPS.gemm.out(A, B, BF16, out=out[:1].expand(5, 6)), "results are never written through a copy"),
    "out strided": (lambda out: OPS.gemm.out(A[:, :32], B[:, :3], BF16, out=out.view(-1)[:30].view(5, 6)[:, ::2]), "one stride of 1"),
    "out overlaps a": (lambda out: OPS.gemm.out(A, bits((32, 32), torch.bfloat16), BF16, out=A), "overlaps a"),
    "out needs a gradient": (lambda out: dt.gemm(A, B, BF16, out=out.clone().requires_grad_()), "out.requires_grad is True"),
    "continue without c": (lambda out: OPS.gemm(A, B, FP32, continue_from_c=True), "c is None: continue_from_c starts from it"),
    "continue from bf16": (lambda out: OPS.gemm(A, B, FP32, out, continue_from_c=True), "c.dtype is bf16"),
    "continue a tree": (lambda out: OPS.accumulate_(torch.zeros(5, 6), A, B, "hopper/bf16/tree:16->fp32"), "tree"),
    "accumulate in bf16": (lambda out: OPS.accumulate_(out, A, B, BF16), "bf16"),
    "bias of two dimensions": (lambda out: OPS.gemm(A, B, BF16, None, out), "bias has the shape"),
    "bias of another size": (lambda out: OPS.gemm(A, B, BF16, None, out[0, :5]), "bias.size is 5: it must be n = 6"),
    "activation": (lambda out: OPS.gemm(A, B, BF16, activation="swish"), '"swish"'),
    "stable": (lambda out: OPS.gemm(A, B, BF16, stable=3), r"stable is 3: it must be 0 \(no promise\), 1 \(a\) or 2 \(b\)"),
    "backend": (lambda out: OPS.gemm(A, B, BF16, backend="metal"), 'backend is "metal"'),
    "variant": (lambda out: OPS.gemm(A, B, BF16, variant="fastest"), "fastest"),
    "beta without c": (lambda out: OPS.gemm(A, B, BF16, beta=1.0), "c is None: beta is 1.0+, which reads it"),
    "bmm counts": (lambda out: OPS.bmm(A.expand(3, 5, 32), B.expand(2, 32, 6), BF16), "b has 2 matrices and a has 3"),
    "bmm of matrices": (lambda out: OPS.bmm(A, B, BF16), "a has the shape .5, 32.: it must have three dimensions"),
    "no policy": (lambda out: dt.linear(A, B.t(), None, BF16), "policy is 'hopper/bf16/chain->bf16': it must be"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_call_gets_a_sentence(case):
    call, said = WRONG[case]
    out = torch.full((5, 6), 7.0, dtype=torch.bfloat16)
    with pytest.raises((RuntimeError, NotImplementedError), match=said) as caught:
        call(out)
    assert (out == 7).all()
    if not isinstance(caught.value, (NotImplementedError, detgemm.DetgemmError)):
        assert str(caught.value).startswith("detgemm: ") and "\n" not in str(caught.value)
        assert ".cpp" not in str(caught.value) and str(caught.value).count(":") >= 2


def test_meta_tensors_have_shapes_and_no_elements():
    d = OPS.gemm(A.to("meta"), B.to("meta"), FP32)
    assert (d.shape, d.dtype, d.device.type) == ((5, 6), torch.float32, "meta")
    with pytest.raises(RuntimeError, match="all operands must be on one device|different device|Expected all tensors"):
        OPS.gemm(A.to("meta"), B, BF16)


def test_layers_on_the_meta_device_have_shapes():
    """Models that are made there, to be traced or loaded later."""
    policy = dt.Policy(BF16, BF16, FP32)
    with torch.device("meta"):
        model = torch.nn.Sequential(torch.nn.Linear(32, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4)).bfloat16()
        ours = dt.Linear(4, 3, policy=policy, dtype=torch.bfloat16)
    dt.convert(model, policy)
    for scope in (contextlib.nullcontext(), torch.autocast("cpu"), torch.inference_mode()):
        with scope:
            y = ours(model(A.to("meta")))
            assert (y.shape, y.dtype, y.device.type) == ((5, 3), torch.bfloat16, "meta")
    experts = dt.grouped_linear(A.to("meta"), B.t()[None].to("meta"), torch.tensor([5], device="meta"), policy)
    assert (experts.shape, experts.dtype) == ((5, 6), torch.bfloat16)
    model(A.to("meta")).sum().backward()
    assert model[0].weight.grad.shape == (8, 32)
    with pytest.raises(RuntimeError, match="x is fp32: hopper"):
        ours(torch.empty(2, 4, device="meta"))


def test_empty_extents_are_fine():
    assert OPS.gemm(A[:0], B, BF16).shape == (0, 6) and OPS.gemm(A, B[:, :0], BF16).shape == (5, 0)
    nothing = OPS.gemm(A[:, :0], B[:0], BF16)
    assert dt.same_bits(nothing, torch.zeros(5, 6, dtype=torch.bfloat16))
    c = torch.full((5, 6), -0.0)
    assert dt.same_bits(OPS.gemm(A[:, :0], B[:0], FP32, c, continue_from_c=True), c)


@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_vmap_runs_one_product_after_the_other():
    a = bits((3, 5, 32), torch.bfloat16)
    assert dt.same_bits(torch.func.vmap(lambda x: OPS.gemm(x, B, BF16))(a), OPS.gemm(a, B, BF16))


@pytest.mark.parametrize("contracts, said", [
    ((BF16, "hopper/fp16/chain", FP32), "forward reads bf16, dgrad reads fp16"), ((BF16, BF16, BF16), "its output must be fp32"),
    ((BF16, BF16, "hopper/bf16/tree:16->fp32"), "a tree cannot be continued"), ((BF16, "x", FP32), 'contract is "x"')])
def test_policies_that_cannot_work_are_refused(contracts, said):
    with pytest.raises(detgemm.DetgemmError, match=said):
        dt.Policy(*contracts)


def started(code):
    return subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False).stdout


def test_an_older_torch_is_refused():
    said = started("import torch\ntorch.__version__ = '2.9.1'\nimport detgemm.torch")
    assert "torch is 2.9.1: detgemm.torch needs 2.10 or newer" in said


def test_a_large_product_on_the_cpu_warns_once():
    said = started("import warnings, torch, detgemm.torch as dt\nwarnings.simplefilter('always')\n"
                   "a = torch.ones(2200, 2200); d = dt.gemm(a, a, 'ieee_fma/fp32/chain'); d = dt.gemm(a, a, 'ieee_fma/fp32/chain')\n"
                   "print(d[0, 0].item())")
    assert said.count("billion products per second") == 1 and "2200.0" in said, said
