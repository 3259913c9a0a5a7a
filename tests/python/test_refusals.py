# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Wrong calls of the public functions that no other file asks: a sentence each, that names the argument and the rule.

`test_every_public_function_is_refused_something` compares with the list of public names, so a new function comes with a row
here or says where its rows are.
"""
import pathlib
import re

import pytest
import torch
from conftest import BF16, bits

import detgemm
import detgemm.torch as dt

WGRAD, FP32, SUMS = "hopper/bf16/fold:64->fp32", "ieee_fma/fp32/chain->fp32", torch.ops.detgemm.sum_rows_
POLICY = dt.Policy(BF16, BF16, WGRAD)
X, Y = bits((4, 8), torch.bfloat16), bits((4, 8), torch.float32, 1)
MODEL = torch.nn.Sequential(torch.nn.Linear(8, 8))
SQUARE = torch.ones(2, 2)
KEYS = torch.zeros(4, dtype=torch.int64)
NEGATIVE = torch.zeros(2, 2, 2).view(2, 4).view(torch.complex64).conj().imag  # memory that PyTorch reads with the other sign

WRONG = {
    "start: text": (lambda: detgemm.start("x"), "threads is 'x': it must be an integer, 0 for all"),
    "start: a truth value": (lambda: detgemm.start(True), "threads is True: it must be an integer"),
    "start: twice": (lambda: detgemm.start(2), "threads is 2: the reference was started with 1 in this process"),
    "Contract: none": (lambda: detgemm.Contract(None), "contract is None: it must be text such as"),
    "Contract: output": (lambda: detgemm.Contract(BF16).with_output("int8"), 'contract output is "int8": it must be bf16, fp16 or fp32'),
    "digest: a list": (lambda: detgemm.digest([1.0]), "array is a list: it must be a NumPy or CuPy array"),
    "digest: strides": (lambda: detgemm.digest(torch.ones(4, 6, dtype=torch.float64)[:, ::2]), "it must be row-major"),
    "digest: size": (lambda: detgemm.digest(torch.ones(4, 6, dtype=torch.int32), "bf16"), "its elements have 4 bytes"),
    "gemm: contract": (lambda: detgemm.gemm(SQUARE, SQUARE, []), r"contract is \[\]: it must be text"),
    "gemm: alpha": (lambda: detgemm.gemm(SQUARE, SQUARE, "ieee_fma/fp32/chain", alpha="2"), "alpha is '2': it must be a number"),
    "gemm: beta": (lambda: detgemm.gemm(SQUARE, SQUARE, "ieee_fma/fp32/chain", beta=None), "beta is None: it must be a number"),
    "gemm: a": (lambda: detgemm.gemm(None, SQUARE, "ieee_fma/fp32/chain"), "a is a NoneType: it must be"),
    "gemm: alpha 1e300": (lambda: detgemm.gemm(SQUARE, SQUARE, "ieee_fma/fp32/chain", alpha=1e300), "alpha is 1e.300: it must be fin"),
    "gemm: alpha 1e-46": (lambda: detgemm.gemm(SQUARE, SQUARE, "ieee_fma/fp32/chain", alpha=1e-46), "fp32 would make it 0"),
    "gemm: alpha long": (lambda: detgemm.gemm(SQUARE, SQUARE, "ieee_fma/fp32/chain", alpha=10**400), "alpha has more digits"),
    "gemm: beta nan": (lambda: detgemm.gemm(SQUARE, SQUARE, "ieee_fma/fp32/chain", beta=float("nan")), "beta is nan: it must be fin"),
    "gemm: variant surrogate": (lambda: detgemm.gemm(SQUARE, SQUARE, "ieee_fma/fp32/chain", variant="\ud800"), "variant is .*a surrogate"),
    "Contract: surrogate": (lambda: detgemm.Contract("\ud800"), "contract is .*a surrogate"),
    "gemm: stable": (lambda: detgemm.gemm(SQUARE, SQUARE, "ieee_fma/fp32/chain", stable="b"), "stable is 'b': it must be an integer"),
    "gemm: a negative view": (lambda: detgemm.gemm(NEGATIVE, SQUARE, FP32), "a is a negative view, whose memory holds other values"),
    "digest: a negative view": (lambda: detgemm.digest(NEGATIVE), "array is a negative view"),
    "gemm: out is a negative view": (lambda: dt.gemm(SQUARE, SQUARE, FP32, out=NEGATIVE), "out is a negative view: it must be a tensor that"),
    "gemm: the operator's out": (lambda: torch.ops.detgemm.gemm.out(SQUARE, SQUARE, FP32, out=NEGATIVE), "out is a negative view"),
    "sum_rows_: acc is a negative view": (lambda: dt.sum_rows_(NEGATIVE[0], SQUARE, FP32), "acc is a negative view"),
    "dt.gemm: contract": (lambda: dt.gemm(SQUARE, SQUARE, None), "contract is None: it must be text such as"),
    "dt.gemm: alpha": (lambda: dt.gemm(SQUARE, SQUARE, FP32, alpha="2"), "alpha is '2': it must be a number"),
    "dt.gemm: alpha with a gradient": (lambda: dt.gemm(SQUARE, SQUARE, FP32, alpha=torch.ones((), requires_grad=True)), "alpha is a tensor that"),
    "dt.gemm: activation": (lambda: dt.gemm(SQUARE, SQUARE, FP32, activation=1), "activation is 1: it must be text or None"),
    "dt.gemm: bias": (lambda: dt.gemm(SQUARE, SQUARE, FP32, bias=[1.0]), "bias is a list: it must be a tensor"),
    "dt.gemm: out": (lambda: dt.gemm(SQUARE, SQUARE, FP32, out=[1.0]), "out is a list: it must be a tensor"),
    "dt.gemm: no option": (lambda: dt.gemm(SQUARE, SQUARE, FP32, gamma=2.0), "gamma is no option: there are alpha, beta"),
    "dt.gemm: sparse": (lambda: dt.gemm(SQUARE.to_sparse(), SQUARE, FP32), "a is of the layout torch.sparse_coo: it must be a tensor with"),
    "dt.gemm: nested": (lambda: dt.gemm(torch.nested.nested_tensor([SQUARE], layout=torch.jagged), SQUARE, FP32), "a is nested: it must be"),
    "bmm: contract": (lambda: dt.bmm(SQUARE[None], SQUARE[None], 1), "contract is 1: it must be text such as"),
    "dt.grouped_gemm: offs": (lambda: dt.grouped_gemm(SQUARE, SQUARE[None], [2], FP32), "offs is a list: it must be a tensor"),
    "dt.grouped_gemm: contract": (lambda: dt.grouped_gemm(SQUARE[None], SQUARE[None], None, True), "contract is True: it must be text such as"),
    "dt.scaled_gemm: contract": (lambda: dt.scaled_gemm(SQUARE, SQUARE, SQUARE, SQUARE, b"x"), "contract is b'x': it must be text such as"),
    "gemm: backend": (lambda: detgemm.gemm(SQUARE, SQUARE, "ieee_fma/fp32/chain", backend=None), "backend is None: it must be text"),
    "gemm: variant": (lambda: detgemm.gemm(SQUARE, SQUARE, "ieee_fma/fp32/chain", variant=1), "variant is 1: it must be text"),
    "gemm: dtypes": (lambda: detgemm.gemm(SQUARE, SQUARE, "ieee_fma/fp32/chain", dtypes="bf16"), "dtypes is 'bf16': it must be a dict"),
    "grouped_gemm: stable": (lambda: detgemm.grouped_gemm(SQUARE[None], SQUARE[None], None, "ieee_fma/fp32/chain", stable="b"),
                             "stable is 'b': it must be an integer"),
    "quantize: backend": (lambda: detgemm.quantize(SQUARE, backend=0), "backend is 0: it must be text"),
    "use_tuning: path": (lambda: detgemm.use_tuning(5), "path is 5: it must be the path of a file, or None"),
    "use_tuning: backend": (lambda: detgemm.use_tuning(None, backend=5), "backend is 5: it must be text"),
    "use_tuning: no backend": (lambda: detgemm.use_tuning("x", backend="vax"), 'backend is "vax": this build has'),
    "use_tuning: no file": (lambda: detgemm.use_tuning("/nowhere/x", backend="reference"), 'path is "/nowhere/x": it must be a file'),
    "use_tuning: a NUL": (lambda: detgemm.use_tuning("/x\0y", backend="reference"), "it must have no NUL"),
    "gemm: a bias without values": (lambda: dt.gemm(SQUARE, SQUARE, FP32, bias=torch.ones(2, device="meta")), "operands are on cpu and on meta"),
    "gemm: a C without values": (lambda: dt.gemm(SQUARE, SQUARE, FP32, c=SQUARE.to("meta"), beta=1.0), "operands are on cpu and on meta"),
    "gemm: an out without values": (lambda: dt.gemm(SQUARE, SQUARE, FP32, out=SQUARE.to("meta")), "operands are on cpu and on meta"),
    "grouped_gemm: offsets without values": (lambda: dt.grouped_gemm(SQUARE, SQUARE[None], torch.ones(1, dtype=torch.int32, device="meta"), FP32),
                                             "operands are on cpu and on meta"),
    "dt.digest": (lambda: dt.digest([1.0]), "tensor is a list: it must be a tensor"),
    "dt.digest: no values": (lambda: dt.digest(X.to("meta")), "tensor is on meta: it must have values"),
    "same_bits: no values": (lambda: dt.same_bits(X, X.to("meta")), "y is on meta: it must have values"),
    "same_bits": (lambda: dt.same_bits(X, [1.0]), "y is a list: it must be a tensor"),
    "bisect: model": (lambda: dt.bisect(None, print, print), "model is a NoneType: it must be a torch.nn.Module"),
    "bisect: run": (lambda: dt.bisect(MODEL, print, X), "second is a Tensor: it must be a function"),
    "bisect: select": (lambda: dt.bisect(MODEL, print, print, 0), "select is a int: it must be a function"),
    "embedding: padding_idx": (lambda: dt.embedding(KEYS, Y, 4), "padding_idx is 4: weight has 4 rows"),
    "embedding: dimensions": (lambda: dt.embedding(KEYS, Y[0]), "weight has 1 dimensions: it must have two"),
    "embedding: weight": (lambda: dt.embedding(KEYS, Y.int()), "weight.dtype is torch.int32: it must be a floating-point type"),
    "Embedding: module": (lambda: dt.Embedding.converted(MODEL), "module is a Sequential: it must be a torch.nn.Embedding"),
    "Embedding: max_norm": (lambda: dt.Embedding.converted(torch.nn.Embedding(3, 4, max_norm=1.0)), "has max_norm"),
    "RMSNorm: eps": (lambda: dt.RMSNorm(Y[0], 0.0)(X), "eps is 0.0: it must be a normal number above zero"),
    "rms_norm: eps": (lambda: dt.rms_norm(X, Y[0], float("inf")), "eps is inf: it must be a normal number above zero, finite in fp32"),
    "rms_norm: eps in words": (lambda: dt.rms_norm(X, Y[0], "x"), "eps is 'x': it must be a number"),
    "route: scale": (lambda: dt.route(Y, 2, scale=float("nan")), "scale is nan: it must be 0, or a finite number that fp32 holds"),
    "route: a tiny scale": (lambda: dt.route(Y, 2, scale=1e-50), "scale is 1e-50: it must be 0, or a finite number that fp32 holds"),
    "attention: scale": (lambda: dt.attention(*[X.view(1, 1, 4, 8)] * 3, scale=float("inf")), "scale is inf: it must be 0, or a finite"),
    "attention: segments": (lambda: dt.attention(*[X.view(1, 1, 4, 8)] * 3, segments=[0]), "segments is a list: it must be a tensor"),
    "linear_log_prob: alpha": (lambda: dt.linear_log_prob(X, X, KEYS, POLICY, alpha=1e-50), "alpha is 1e-50: it must be 0, or a finite"),
    "RMSNorm: weight": (lambda: dt.RMSNorm(Y[0, :3], 1e-6)(X), r"weight has the shape \(3,\): x has rows of 8 elements"),
    "rms_norm: a list": (lambda: dt.rms_norm([1.0], Y[0]), "x is a list: it must be a tensor"),
    "softmax: dim": (lambda: dt.softmax(Y, 2), "dim is 2: x has 2 dimensions"),
    "softmax: dtype": (lambda: dt.softmax(Y, dtype=torch.int32), "dtype is torch.int32: it must be bfloat16"),
    "log_softmax: dim": (lambda: dt.log_softmax(Y, -3), "dim is -3: x has 2 dimensions"),
    "token_log_probs: tokens": (lambda: dt.token_log_probs(Y, KEYS.int()), "of torch.int32: it must be int64"),
    "main_grads: model": (lambda: dt.main_grads(5), "model is a int: it must be a torch.nn.Module"),
    "main_grads: no layer": (lambda: dt.main_grads(MODEL), "the model has no layer that adds to main_grad"),
    "check_cuts: policy": (lambda: dt.check_cuts([64], WGRAD), "policy is 'hopper/bf16/fold:64->fp32': it must be a detgemm"),
    "check_cuts: below zero": (lambda: dt.check_cuts([-64, 3], POLICY), r"lengths\[0\] is -64: it must not be negative"),
    "check_cuts: too long": (lambda: dt.check_cuts([2**64, 3], POLICY), r"lengths\[0\] is 18446744073709551616: it must be an integer"),
    "check_cuts: a fraction": (lambda: dt.check_cuts([64, 1.5], POLICY), r"lengths\[1\] is 1.5: it must be an integer"),
    "sum_rows_: acc": (lambda: dt.sum_rows_(torch.zeros(2, 4), X, WGRAD), r"acc has the shape \(2, 4\) and x \(4, 8\): acc must have one"),
    "sum_rows_: x": (lambda: dt.sum_rows_(torch.zeros(8), X[0], WGRAD), r"acc has the shape \(8,\) and x \(8,\)"),
    "sum_rows_: columns": (lambda: dt.sum_rows_(torch.zeros(3), X, WGRAD), "out is 1 x 3: it must be 1 x 8"),
    "sum_rows_: type": (lambda: dt.sum_rows_(torch.zeros(8).bfloat16(), X, WGRAD), "bf16: the contract needs fp32"),
    "sum_rows_: tree": (lambda: dt.sum_rows_(torch.zeros(8), X, "hopper/bf16/tree:16->fp32"), "continue_from_c is set"),
    "sum_rows_: the second x": (lambda: SUMS(Y[0].clone(), Y, Y[1].clone(), Y[:, :3], FP32),
                                r"x2 has the shape \(4, 3\) of torch.float32: it must be T x n of torch.float32, with the n of acc, whose"),
    "sum_rows_: the second acc": (lambda: SUMS(Y[0].clone(), Y, Y[1, :7].clone(), Y, FP32), r"acc2 has the shape \(7,\)"),
    "sum_rows_: the second type": (lambda: SUMS(Y[0].clone(), Y, Y[1].clone(), X, FP32), "x2 has the shape .* of torch.bfloat16: it must be"),
    "sum_rows_: the first x": (lambda: SUMS(Y[0].clone(), Y[:, :3], None, None, FP32), r"^x has the shape \(4, 3\)"),
    "sum_rows_: the first acc": (lambda: SUMS(Y.clone(), Y, None, None, FP32), r"acc has the shape \(4, 8\) .* must be n elements"),
    "sum_rows_: x2 alone": (lambda: SUMS(Y[0].clone(), Y, None, Y, FP32), "acc2 is None: acc2 and x2 must be given together"),
    "Linear: policy": (lambda: dt.Linear(3, 4, policy="x"), "policy is 'x': it must be a detgemm.torch.Policy"),
    "convert: model": (lambda: dt.convert(5, POLICY), "model is a int: it must be a torch.nn.Module"),
    "check_snapped: model": (lambda: dt.check_snapped([]), "model is a list: it must be a torch.nn.Module"),
    "linear: stable": (lambda: dt.linear(X, X, None, POLICY, stable="no"), "stable is 'no': it must be True or False"),
    "linear: weight_snapped": (lambda: dt.linear(X, X, None, POLICY, weight_snapped=1), "weight_snapped is 1: it must be True"),
    "Linear: weights_are_stable": (lambda: dt.Linear(3, 4, policy=POLICY, weights_are_stable=2), "weights_are_stable is 2: it must be"),
    "convert: weights_are_stable": (lambda: dt.convert(MODEL, POLICY, weights_are_stable="x"), "weights_are_stable is 'x': it must be"),
    "convert: snap_weights": (lambda: dt.convert(MODEL, POLICY, snap_weights="x"), "snap_weights is 'x': it must be True or False"),
    "prepare: x": (lambda: dt.prepare(5), "x is a int: it must be a tensor"),
    "Policy: none": (lambda: dt.Policy(BF16, None, WGRAD), "contract is None: it must be text"),
    "Policy: a list": (lambda: dt.Policy([], BF16, WGRAD), r"contract is \[\]: it must be text"),
    "Policy: a NUL": (lambda: dt.Policy(BF16 + "\0", BF16, WGRAD), "it must have no NUL"),
    "gemm: a NUL": (lambda: dt.gemm(X, X.t(), BF16 + "\0->fp32"), 'contract is "hopper/bf16/chain->bf16", a NUL and 6 more bytes: it must'),
    "gemm: a NUL in the variant": (lambda: dt.gemm(X, X.t(), BF16, variant="scalar\0x"), 'variant is "scalar", a NUL and 1 more bytes'),
    "gemm: a NUL in the activation": (lambda: dt.gemm(X, X.t(), BF16, activation="relu\0x"), 'activation is "relu", a NUL'),
    "gemm: a NUL in the backend": (lambda: dt.gemm(X, X.t(), BF16, backend="reference\0"), 'backend is "reference", a NUL and 0 more'),
    "quantize: a NUL in the backend": (lambda: dt.quantize(X, backend="reference\0"), 'backend is "reference", a NUL and 0 more'),
    "gemm: a_snapped": (lambda: dt.gemm(X, X.t(), BF16, a_snapped=2), "a_snapped is 2: it must be True or False"),
    "gemm: a truth value": (lambda: dt.gemm(X, X.t(), BF16, stable=True), "stable is True: it must be 0"),
    "gemm: stable beyond 32 bits": (lambda: dt.gemm(X, X.t(), BF16, stable=2**40 + 1), "stable is 1099511627777: it must be 0"),
    "snap_weights: model": (lambda: dt.snap_weights([]), "model is a list: it must be a torch.nn.Module"),
    "Policy: scaled": (lambda: dt.Policy("hopper/bf16/scaled:64->bf16", BF16, WGRAD), "policy: forward is .* a layer has no scales"),
    "segments: keys": (lambda: dt.segments(torch.zeros(4), 2), "keys.dtype is torch.float32: it must be an integer type"),
    "segments: groups": (lambda: dt.segments(KEYS, -2), "groups is -2: it must not be negative"),
    "segments: no groups": (lambda: dt.segments(KEYS, "x"), "groups is 'x': it must be an integer"),
    "segments: multiple": (lambda: dt.segments(KEYS, 2, float("inf")), "multiple is inf: it must be an integer"),
    "segment_offsets: a fraction": (lambda: dt.segment_offsets(KEYS, 1.5), "multiple is 1.5: it must be an integer"),
    "segment_offsets: too many": (lambda: dt.segment_offsets(KEYS, 2**31), "multiple is 2147483648: it must be less than 2.31"),
    "segment_offsets: counts": (lambda: dt.segment_offsets(torch.zeros(2), 2), "counts is torch.float32"),
    "gather_rows: index": (lambda: dt.gather_rows(X, torch.zeros(2), KEYS), "index.dtype is torch.float32: it must be int32 or int64"),
    "gather_rows: copies": (lambda: dt.gather_rows(X, KEYS, KEYS, 0), "copies is 0: it must be positive"),
    "aten: contracts": (lambda: dt.aten(BF16), "contracts is 'hopper/bf16/chain->bf16': it must be a dictionary"),
    "aten: sums": (lambda: dt.aten({}, sums="hopper/bf16/chain->fp32"), 'sums is "hopper/bf16/chain->fp32": it must read fp32'),
    "aten: no text": (lambda: dt.aten({torch.bfloat16: None}), "contract is None: it must be text"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_call_gets_a_sentence(case):
    call, said = WRONG[case]
    with pytest.raises(RuntimeError, match=said) as caught:
        call()
    assert isinstance(caught.value, detgemm.DetgemmError) or str(caught.value).startswith("detgemm: ")


# Each argument that must be a tensor, as None.
NONE = {
    "gemm a": lambda: dt.gemm(None, X, BF16), "gemm b": lambda: dt.gemm(X, None, BF16), "bmm b": lambda: dt.bmm(X[None], None, BF16),
    "linear x": lambda: dt.linear(None, X, None, POLICY), "linear weight": lambda: dt.linear(X, None, None, POLICY),
    "sum_rows_ acc": lambda: dt.sum_rows_(None, X, WGRAD), "sum_rows_ x": lambda: dt.sum_rows_(Y[0], None, WGRAD),
    "grouped_gemm a": lambda: dt.grouped_gemm(None, X, None, BF16), "grouped_linear x": lambda: dt.grouped_linear(None, X, X, POLICY),
    "grouped_linear offs": lambda: dt.grouped_linear(X, X[None], None, POLICY),
    "grouped_accumulate_ acc": lambda: dt.grouped_accumulate_(None, X, X, None, WGRAD),
    "scaled_gemm scale_b": lambda: dt.scaled_gemm(X, X, X, None, BF16), "quantize x": lambda: dt.quantize(None),
    "snap x": lambda: dt.snap(None, 64), "is_snapped x": lambda: dt.is_snapped(None, 64), "softmax x": lambda: dt.softmax(None),
    "rms_norm weight": lambda: dt.rms_norm(X, None), "token_log_probs tokens": lambda: dt.token_log_probs(X, None),
    "attention k": lambda: dt.attention(X[None, None], None, X), "embedding ids": lambda: dt.embedding(None, X),
    "embedding weight": lambda: dt.embedding(KEYS, None), "segments keys": lambda: dt.segments(None, 2),
    "segment_offsets counts": lambda: dt.segment_offsets(None), "gather_rows index": lambda: dt.gather_rows(X, None, KEYS),
}


@pytest.mark.parametrize("case", NONE)
def test_none_for_a_tensor_gets_a_sentence(case):
    with pytest.raises(detgemm.DetgemmError, match=f"^{case.split(' ')[1]} is a NoneType: it must be a tensor"):
        NONE[case]()


# What takes nothing that could be wrong, and where the wrong calls of the other functions are.
NOTHING_TO_REFUSE = {"DetgemmError", "LogProbs", "clear_plans", "info", "stats", "version"}
ELSEWHERE = {
    "test_attention.py": {"attention"}, "test_audit.py": {"audit"}, "test_bad_input.py": {"bmm", "linear"},
    "test_gradient_tree.py": {"GradientTree"}, "test_grouped.py": {"grouped_accumulate_", "grouped_linear"}, "test_scaled.py": {"scaled_gemm"},
    "test_snap.py": {"is_snapped", "snap"}, "test_log_prob.py": {"log_probs_of"}, "test_log_prob_linear.py": {"linear_log_prob"},
    "test_combine.py": {"combine_experts", "gather_quantize", "silu_mul_quantize"},
    "test_mixture.py": {"moe", "run_experts", "top_experts"}, "test_routed.py": {"route", "routed_experts"}}


def test_every_public_function_is_refused_something():
    """A new function comes with a row above, or says here where its rows are."""
    here = {case.split(":")[0].removeprefix("dt.") for case in WRONG}
    folder = pathlib.Path(__file__).parent
    for name, names in ELSEWHERE.items():
        text = (folder / name).read_text(encoding="utf-8")
        assert "pytest.raises" in text and not [each for each in names if not re.search(rf"\b{each}\b", text)]
    public = {*detgemm.__all__, *dt.__all__}
    assert public == here | NOTHING_TO_REFUSE | set().union(*ELSEWHERE.values())
