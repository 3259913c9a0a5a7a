# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Derivatives that the operators do not have are refused, and are never zeros: forward mode, and transforms of torch.func."""
import pytest
import torch
from conftest import BF16, bits, devices
from torch.autograd import forward_ad

import detgemm
import detgemm.torch as dt
from detgemm.torch import fused, ranks, rotary

OPS = torch.ops.detgemm
FP32 = "ieee_fma/fp32/chain"
POLICY = dt.Policy(BF16, BF16, "hopper/bf16/fold:64->fp32")
W, G = bits((64, 64), torch.bfloat16), bits((2, 64, 64), torch.bfloat16, 1)
Y, ACC = bits((64, 64), torch.float32, 2), torch.zeros(64, 64)
ENDS, KEYS = torch.tensor([30, 64], dtype=torch.int32), torch.arange(64)
SCALED = "hopper/e4m3/scaled:64->bf16"
QUANTIZED = dt.quantize(Y, 64)

# Every function that a gradient or a tangent could enter; x is 64 x 64. Types of x: bf16 by default.
CALLS = {
    "gemm": lambda x: dt.gemm(x, W, BF16), "gemm, b": lambda x: dt.gemm(W, x, BF16),
    "gemm, bias": lambda x: dt.gemm(W, W, BF16, bias=x[0]), "gemm, c": lambda x: dt.gemm(W, W, BF16, c=x, beta=1.0),
    "bmm": lambda x: dt.bmm(x[None], W[None], BF16), "linear": lambda x: dt.linear(x, W, None, POLICY),
    "linear, weight": lambda x: dt.linear(W, x, None, POLICY), "linear, bias": lambda x: dt.linear(W, W, x[0], POLICY),
    "grouped_gemm": lambda x: dt.grouped_gemm(x, G, ENDS, BF16), "grouped_linear": lambda x: dt.grouped_linear(x, G, ENDS, POLICY),
    "scaled_gemm": lambda x: dt.scaled_gemm(QUANTIZED[0], x.float()[:, :1], QUANTIZED[0], QUANTIZED[1].t(), SCALED),
    "quantize": lambda x: dt.quantize(x)[1], "snap": lambda x: dt.snap(x, 64),
    "rms_norm": lambda x: dt.rms_norm(x, W[0]), "rms_norm, weight": lambda x: dt.rms_norm(W, x[0]),
    "softmax": dt.softmax, "log_softmax": dt.log_softmax, "token_log_probs": lambda x: dt.token_log_probs(x, KEYS),
    "log_probs_of": lambda x: dt.log_probs_of(x, KEYS),
    "linear_log_prob": lambda x: dt.linear_log_prob(x, W, KEYS, POLICY).logp,
    "linear_log_prob, weight": lambda x: dt.linear_log_prob(W, x, KEYS, POLICY).logp,
    "attention": lambda x: dt.attention(x[None, None], W[None, None], W[None, None]),
    "embedding": lambda x: dt.embedding(KEYS, x), "gather_rows": lambda x: dt.gather_rows(x, KEYS, KEYS),
    "combine_experts": lambda x: dt.combine_experts(x, KEYS, Y[:32, :2]), "combine_experts, weights": lambda x: dt.combine_experts(W, KEYS, x[:, :1]),
    "top_experts": lambda x: dt.top_experts(x.float(), 2)[0], "silu_mul": fused.silu_mul,
    "silu_mul_quantize": lambda x: dt.silu_mul_quantize(x)[1], "gather_quantize": lambda x: dt.gather_quantize(x, KEYS)[1],
}
# And those that write or are of inference, which have no derivative of either mode.
WRITE = {
    "gemm out": lambda x: dt.gemm(x, W, BF16, out=W.clone()), "bmm out": lambda x: dt.bmm(x[None], G[:1], BF16, out=G[:1].clone()),
    "sum_rows_": lambda x: dt.sum_rows_(ACC[0].clone(), x, "hopper/bf16/chain->fp32"),
    "grouped_gemm out": lambda x: dt.grouped_gemm(x, G, ENDS, BF16, out=W.clone()),
    "grouped_accumulate_": lambda x: dt.grouped_accumulate_(torch.zeros(2, 64, 64), x, W, ENDS, "hopper/bf16/chain->fp32"),
    "scaled_gemm out": lambda x: dt.scaled_gemm(QUANTIZED[0], x.float()[:, :1], QUANTIZED[0], QUANTIZED[1].t(), SCALED,
                                                out=W.clone()),
    "rotary": lambda x: rotary.rotary(x[:, None], KEYS, W),
    "rotary_pair": lambda x: rotary.rotary_pair_op(x[:, None], W[:, None], KEYS, W, False, None, None, 0.0)[0],
    "join": lambda x: ranks.join(x.float()[None], dtype=torch.bfloat16),
    "embedding_accumulate_": lambda x: OPS.embedding_accumulate_(ACC.clone(), KEYS, x),
}


def operand():
    return bits((64, 64), torch.bfloat16, 3)


@pytest.mark.parametrize("call", [*CALLS, *WRITE])
@pytest.mark.parametrize("wanted", [False, True])
def test_forward_mode_is_refused(call, wanted):
    run = {**CALLS, **WRITE}[call]
    with forward_ad.dual_level():
        x = forward_ad.make_dual(operand().requires_grad_(wanted and call in CALLS), torch.ones(64, 64).bfloat16())
        with pytest.raises(detgemm.DetgemmError, match=r"with a dual tensor: it has no forward-mode derivative \(jvp\)"):
            run(x)
    with pytest.raises(detgemm.DetgemmError, match="dual tensor"):
        torch.func.jvp(run, (operand(),), (torch.ones(64, 64).bfloat16(),))
    run(operand())


def test_arrays_carry_no_tangent():
    """The functions for arrays of any library have no derivatives of either mode."""
    for run in (lambda x: detgemm.gemm(x, Y, FP32), lambda x: detgemm.quantize(x)[1], lambda x: detgemm.snap(x.bfloat16(), 64)):
        run(Y)
        with forward_ad.dual_level(), pytest.raises(detgemm.DetgemmError, match="is a dual tensor: it must carry no tangent"):
            run(forward_ad.make_dual(Y.clone(), torch.ones(64, 64)))
        with pytest.raises(RuntimeError):
            torch.func.jvp(run, (Y,), (torch.ones(64, 64),))
        with pytest.raises(detgemm.DetgemmError, match="through DLPack"):
            run(Y.clone().requires_grad_())


@pytest.mark.parametrize("call", CALLS)
def test_transforms_of_torch_func_are_refused(call):
    def loss(x):
        return CALLS[call](x).float().sum()

    for transform in (torch.func.grad, torch.func.jacrev, torch.func.hessian):
        with pytest.raises(detgemm.DetgemmError, match="dual tensor|under a transform of torch.func: it has no gradient there"):
            transform(loss)(operand())


# What torch.ops has of operators that write: no function of detgemm.torch looks at their operands first.
RAW = {
    "gemm.out": lambda x: OPS.gemm.out(x, W, BF16, out=W.clone()), "bmm.out": lambda x: OPS.bmm.out(x[None], G[:1], BF16, out=G[:1].clone()),
    "accumulate_": lambda x: OPS.accumulate_(ACC.clone(), x, W, "hopper/bf16/chain->fp32"),
    "grouped_gemm.out": lambda x: OPS.grouped_gemm.out(x, G, ENDS, BF16, out=W.clone()),
    "grouped_accumulate_": lambda x: OPS.grouped_accumulate_(torch.zeros(2, 64, 64), x, W, ENDS, "hopper/bf16/chain->fp32"),
    "scaled_gemm.out": lambda x: OPS.scaled_gemm.out(QUANTIZED[0], x.float()[:, :1], QUANTIZED[0], QUANTIZED[1].t(), SCALED, out=W.clone()),
}


@pytest.mark.parametrize("name", RAW)
def test_raw_operators_that_write_are_refused_in_a_level(name):
    run = RAW[name]
    said = rf"{name} was called inside a level of forward-mode derivatives"
    with forward_ad.dual_level():
        x = forward_ad.make_dual(operand(), torch.ones(64, 64).bfloat16())
        with pytest.raises(RuntimeError, match=said):
            run(x)
    with pytest.raises(RuntimeError, match=said):
        torch.func.jvp(lambda x: (run(x), x)[1], (operand(),), (torch.ones(64, 64).bfloat16(),))
    run(operand())  # outside of a level, also after one


def test_the_switch_is_right_in_a_level():
    """aten's own derivative is made of products, some of which are written into a given tensor."""
    a, b, c, t = (bits((32, 32), torch.float32, seed) for seed in range(4))
    contract = "ieee_fma/fp32/chain->fp32"
    expected = dt.gemm(t, b, contract)
    with dt.aten({torch.float32: contract}, devices=["cpu"]):
        for run in (lambda x: x @ b, lambda x: torch.addmm(c, x, b), lambda x: c.clone().addmm_(x, b)):
            assert dt.same_bits(torch.func.jvp(run, (a,), (t,))[1], expected)


@pytest.mark.parametrize("device", devices())
def test_forward_mode_is_refused_on_a_device(device):
    x, w = operand().to(device), W.to(device)
    for run in (lambda each: dt.gemm(each, w, BF16), dt.softmax, lambda each: dt.embedding(KEYS.to(device), each)):
        with pytest.raises(detgemm.DetgemmError, match="dual tensor"):
            torch.func.jvp(run, (x,), (torch.ones_like(x),))
        with pytest.raises(detgemm.DetgemmError, match="under a transform of torch.func"):
            torch.func.grad(lambda each, run=run: run(each).float().sum())(x)


def test_constants_inside_of_transforms_are_fine():
    """A product that no derivative passes through is the same there."""
    wanted = dt.gemm(W, W, BF16)
    value, tangent = torch.func.jvp(lambda x: x * dt.gemm(W, W, BF16), (operand(),), (torch.ones(64, 64).bfloat16(),))
    assert dt.same_bits(tangent, wanted)
    assert dt.same_bits(torch.func.grad(lambda x: (x * dt.gemm(W, W, BF16)).sum())(operand()), wanted)
    x = bits((3, 64, 64), torch.float32)
    assert dt.same_bits(torch.func.vmap(dt.softmax)(x), dt.softmax(x))


def test_every_operator_is_in_a_row_here():
    """A new operator comes with a row above, or says here why it needs none."""
    inference = {"add_rms_norm", "inference_rms_norm"}  # asked in test_fused.py
    inference.add("paged_attention")  # guarded as they are
    inference |= {"route", "routed_experts", "routed_layer", "scaled_linear"}  # which refuse gradients: test_routed.py
    inference.add("layer_log_probs")  # results of a layer whose logits are not stored, without gradients
    inference |= {"logits_log_probs", "logits_gradient"}  # both passes of log_probs_of, which guards them
    backward = {f"{name}_backward" for name in ("attention", "rms_norm", "softmax", "log_softmax", "combine_experts", "top_experts",
                                                 "silu_mul", "log_probs_of", "linear_log_prob", "add_rms_norm", "rotary_pair",
                                                 "sharded_log_prob")}  # seen behind forward passes
    inference.add("sharded_log_prob")  # needs ranks: test_log_prob_linear.py
    asked = {call.split(",")[0].split(" ")[0] for call in [*CALLS, *WRITE]} | backward | inference | {"accumulate_"}  # of sum_rows_
    names = {name.split("::")[1].split(".")[0] for name in torch._C._dispatch_get_all_op_names() if name.startswith("detgemm::")}
    assert names <= asked, names - asked
