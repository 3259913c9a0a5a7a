# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Triton's kernels, run by its interpreter on a CPU, against the plain definitions, byte for byte.

Triton reads TRITON_INTERPRET when it is imported, which something else may have done in this
process, so the tests run in a process of their own.
"""
import os
import subprocess
import sys

import numpy
import pytest
import torch

pytest.importorskip("triton", reason="Triton is not installed")
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
interpreted = pytest.mark.skipif(not INTERPRETED, reason="runs in the process of test_in_the_interpreter")

if INTERPRETED:
    from detgemm.torch import same_bits
    from triton.runtime import interpreter

    from detgemm.torch.kernels import attention, attention_backward, embedding, fused, gradients, log_prob, long_rows, norms, softmax, sums
    from detgemm.torch.plain import arithmetic
    from detgemm.torch.plain import attention as plain_attention
    from detgemm.torch.plain import embedding as plain_embedding
    from detgemm.torch.plain import fused as plain_fused
    from detgemm.torch.plain import gradients as plain_gradients
    from detgemm.torch.plain import log_prob as plain_log_prob
    from detgemm.torch.plain import norms as plain_norms
    from detgemm.torch.plain import softmax as plain_softmax


@pytest.mark.skipif(INTERPRETED, reason="this is that process")
@pytest.mark.skipif(tuple(map(int, numpy.__version__.split(".")[:2])) >= (2, 4),
                    reason="Triton's interpreter makes conversions that NumPy 2.4 no longer makes")
def test_in_the_interpreter():
    run = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__],
                         env={**os.environ, "TRITON_INTERPRET": "1"}, capture_output=True, text=True, check=False,
                         timeout=300)
    assert run.returncode == 0 and "27 passed" in run.stdout, run.stdout + run.stderr


def wide(shape, dtype, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(shape, generator=generator) * 2.0 ** torch.randint(-6, 7, shape, generator=generator)).to(dtype)


@interpreted
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
@pytest.mark.parametrize("rows, n", [(5, 60), (2, 1500)])
def test_rows(dtype, rows, n):
    x, weight, dy = wide((rows, n), dtype), wide((n,), dtype, 1), wide((rows, n), dtype, 2)
    x[0, 3] = float("nan")
    ours, wanted = norms.rms_norm(x, weight, 1e-6), plain_norms.rms_norm(x, weight, 1e-6)
    assert same_bits(ours[0], wanted[0]) and same_bits(ours[1], wanted[1])
    ours = norms.rms_norm_backward(dy, x, weight, wanted[1])
    wanted = plain_norms.rms_norm_backward(dy, x, weight, wanted[1])
    assert same_bits(ours[0], wanted[0]) and same_bits(ours[1][1:], wanted[1][1:])
    for name in ("softmax", "log_softmax"):
        y = getattr(plain_softmax, name)(x, torch.float32)
        assert same_bits(getattr(softmax, name)(x, torch.float32), y)
        assert same_bits(getattr(softmax, name + "_backward")(dy, y, dtype),
                         getattr(plain_softmax, name + "_backward")(dy, y, dtype))


@interpreted
@pytest.mark.parametrize("dtype", [torch.bfloat16])
def test_long_rows(dtype, monkeypatch):
    assert long_rows.serve(2, 33333) and not long_rows.serve(65536, 33333) and not long_rows.serve(2, 32767)
    x = wide((2, 33333), dtype)
    x[1, 33000:] = float("-inf")
    for name in ("softmax", "log_softmax"):
        y = getattr(softmax, name)(x, torch.float32)
        assert same_bits(y, getattr(plain_softmax, name)(x, torch.float32))
        monkeypatch.setattr(long_rows, "serve", lambda rows, n: False)
        assert same_bits(getattr(softmax, name)(x, torch.float32), y)
        monkeypatch.undo()


@interpreted
@pytest.mark.parametrize("dtype, rows, n, parts", [(torch.bfloat16, 3, 96, 3), (torch.float16, 2, 1500, 2), (torch.float32, 2, 2048, 1)])
def test_gradient_of_a_norm_behind_an_addition(dtype, rows, n, parts):
    total, weight, given = wide((rows, n), dtype), wide((n,), dtype, 1), [wide((rows, n), dtype, 2 + at) for at in range(parts + 1)]
    ours = gradients.add_rms_norm_backward(given[1:], given[0], total, weight, 1e-6)
    assert all(map(same_bits, ours, plain_gradients.add_rms_norm_backward(given[1:], given[0], total, weight, 1e-6)))


@interpreted
@pytest.mark.parametrize("dtype, norm", [(torch.bfloat16, True), (torch.float16, False)])
def test_gradient_of_the_rotary_pair(dtype, norm):
    """Gradients in the attention's layout, batch x heads x length x d in memory; some of them -0."""
    q, k, cache = wide((10, 3, 32), dtype), wide((10, 1, 32), dtype, 1), wide((7, 32), torch.float32, 2).clamp(-1, 1)
    dq, dk = (wide((2, h, 5, 32), dtype, 3).transpose(1, 2) for h in (3, 1))
    dq[0, 0], dk[0, 0] = -0.0, 0.0
    weights, positions = (wide((32,), dtype, 4), wide((32,), dtype, 5)) if norm else (None, None), torch.arange(10) % 7
    ours = gradients.rotary_pair_backward(dq, dk, q, k, positions, cache, *weights, 1e-6)
    wanted = plain_gradients.rotary_pair_backward(dq.reshape(q.shape), dk.reshape(k.shape), q, k, positions, cache, *weights, 1e-6)
    assert all(map(same_bits, ours, wanted)) and ours[2].shape == (30 if norm else 0, 32)


@interpreted
def test_sums_of_rows():
    acc, x = [wide((40,), torch.float32, at) for at in (0, 1)], [wide((rows, 40), torch.float32, rows) for rows in (9, 3)]
    wanted = [each.clone() for each in acc]
    for total, rows in zip(wanted, x):
        for row in rows:
            total += row
    sums.sum_rows_(acc[0], x[0], acc[1], x[1])
    assert all(map(same_bits, acc, wanted))


@interpreted
def test_embedding():
    ids, dy, acc = torch.randint(0, 7, (20,)), wide((20, 40), torch.bfloat16), wide((9, 40), torch.float32, 1)
    wanted = acc.clone()
    embedding.embedding_accumulate_(acc, ids, dy)
    plain_embedding.embedding_accumulate_(wanted, ids, dy)
    assert same_bits(acc, wanted)


@interpreted
def test_attention():
    """fp16, since the interpreter truncates to bf16. Its products may round otherwise than the plain
    order's, so bits are compared among kernels, and values with the plain order."""
    q, k, v = (wide((2, h, 140, 16), torch.float16, h).clamp(-2, 2) for h in (4, 2, 2))
    table = torch.tensor([[0, 0, 140, 0, 0, 140], [1, 9, 131, 1, 9, 131]], dtype=torch.int32)
    out, stats = attention.attention(q, k, v, table, 0.25, 0, 0, True, by_keys=False)
    wanted, wanted_stats = plain_attention.attention(q, k, v, table, 0.25)
    assert torch.allclose(out.float(), wanted.float(), atol=4e-3)
    last = torch.tensor([[0, 0, 2, 0, 0, 140], [1, 0, 2, 1, 9, 131]], dtype=torch.int32)
    few, _ = attention.attention(q[:, :, 138:], k, v, last, 0.25, 2, 0, False, by_keys=True)
    assert same_bits(few.contiguous(), out[:, :, 138:].contiguous())
    gradients = attention_backward.attention_backward(out, q, k, v, out, stats, table, 0.25, 0, 0)
    for a, b in zip(gradients, plain_attention.attention_backward(wanted, q, k, v, wanted, wanted_stats, table, 0.25)):
        assert (a.float() - b.float()).abs().max() < 1e-2 * max(1.0, b.abs().max())


@interpreted
@pytest.mark.parametrize("dtype, rows, n", [(torch.bfloat16, 3, 64), (torch.float16, 2, 2048), (torch.float32, 4, 3500), (torch.float32, 1, 9000)])
def test_rows_of_an_engine(dtype, rows, n):
    """Rows of one chunk, of several that stay in registers, and of more, which are read twice."""
    x, residual, weight = wide((rows, n), dtype), wide((rows, n), dtype, 1), wide((n,), dtype, 2)
    x[0, 3] = float("nan") if rows > 1 else 1.0
    for added in (None, residual):
        assert all(same_bits(*pair) for pair in zip(fused.rms_norm(x, added, weight, 1e-6), plain_fused.rms_norm(x, added, weight, 1e-6))
                   if added is not None or pair[1] is not x)
    assert same_bits(fused.silu_mul(x, residual), plain_fused.silu_mul(x, residual))


@interpreted
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_the_gradient_of_silu_mul(dtype):
    x, dy = wide((3, 2 * 1100), dtype), wide((3, 1100), dtype, 1)
    x[0, :3] = torch.tensor([float("nan"), -float("inf"), 0.0])
    gate, up = x.chunk(2, dim=-1)
    assert same_bits(fused.silu_mul_backward(dy, gate, up), plain_fused.silu_mul_backward(dy, gate, up))
    assert same_bits(fused.silu_mul(gate, up.contiguous()), plain_fused.silu_mul(gate, up))


@interpreted
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_both_passes_of_a_cross_entropy(dtype):
    from detgemm.torch.kernels import cross_entropy
    from detgemm.torch.plain import cross_entropy as plain
    x = wide((4, 2500), dtype)
    x[0, 1:], x[1, 7], x[2] = -float("inf"), float("nan"), x[2] * 1e-30
    top = x.amax(-1).float()
    e = cross_entropy.powers(x, top)
    assert same_bits(e, plain.powers(x, top)) and e[0].sum() == 1 and e[1].isnan().all()
    call = (e, 1 / e.sum(-1), torch.tensor([0, 2499, -1, 7]), torch.tensor([1.0, 2.0, -0.5, 1e-20]), dtype)
    found = cross_entropy.gradient(*call)
    assert same_bits(found, plain.gradient(*call))
    assert not same_bits(found, plain.gradient(*call[:2], torch.tensor([0, 2499, 3, 7]), *call[3:])), "the label counts"


def fma_rounded_once(self, x, y, z):
    """fma of the interpreter, rounded once: its own rounds twice."""
    if x.data.dtype != numpy.float32:
        raise TypeError("the kernels use fma of fp32 alone")
    a, b, c = (torch.from_numpy(part.copy()) for part in numpy.broadcast_arrays(x.data, y.data, z.data))
    return interpreter.TensorHandle(arithmetic.fma(a, b.double(), c).numpy(), z.dtype.scalar)


def nodes_are_equal(found, wanted):
    """A NaN may have any payload here, and a sum of -0 the interpreter's +0, neither of which a result shows."""
    same = [part if part is None or part.dtype == torch.int32 else torch.where(part != part, 7.0, part) + 0.0 for node in (found, wanted)
            for part in node]
    half = len(same) // 2
    return all(a is None and b is None or same_bits(a, b) for a, b in zip(same[:half], same[half:]))


@interpreted
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("dtype, columns, scaled", [(torch.bfloat16, 4096 + 100, True), (torch.float32, 70, False)])
def test_log_prob(dtype, columns, scaled, monkeypatch):
    monkeypatch.setattr(interpreter.InterpreterBuilder, "create_fma", fma_rounded_once)
    z = wide((7, columns + 5), dtype)[:, :columns]  # rows further apart than they are long
    z[2, 60], z[3, 3], z[4], z[5, 1:], z[6] = float("nan"), float("inf"), -70000, -float("inf"), -0.0
    scale = torch.linspace(0.5, 1.5, 7) if scaled else None
    ids = torch.randint(-1, columns, (7, 3), generator=torch.Generator().manual_seed(1))
    ids[0, 0] = columns
    nodes = plain_log_prob.nodes(z, scale, True)
    assert nodes_are_equal(log_prob.nodes(z, scale, True), nodes)
    assert nodes_are_equal(log_prob.nodes(z, scale, False, 0), plain_log_prob.nodes(z, scale, False, 0))
    x = plain_log_prob.scaled(z, scale).gather(1, ids.clamp(0, columns - 1))
    found, wanted = log_prob.finish(nodes, x, ids, columns), plain_log_prob.finish(nodes, x, ids, columns)
    assert all(map(same_bits, found, wanted))
    k, r, lse, entropy = wanted[:4]
    a, b, c = wide((3, 7), torch.float32)
    for of_entropy, of_lse, result in ((None, None, torch.bfloat16), (b, c, torch.float32)):
        given = (z, scale, ids[:, 1].contiguous(), 0, a, of_entropy, of_lse, k, r, lse, entropy, result)
        assert same_bits(log_prob.gradient(*given), plain_log_prob.gradient(*given))


@interpreted
def test_log_prob_needs_the_fused_product():
    """The control: fma in two roundings has other bits, so that a compiler that splits it would be seen."""
    z = torch.randn((4, 300), generator=torch.Generator().manual_seed(0)) * 3000
    assert not nodes_are_equal(log_prob.nodes(z, None, False, 0), plain_log_prob.nodes(z, None, False, 0))


@interpreted
def test_no_global_is_a_nan():
    """Triton compares the globals of a kernel before each launch: a NaN differs from itself, so the second launch is refused."""
    modules = attention, attention_backward, embedding, fused, gradients, log_prob, long_rows, norms, softmax, sums
    values = [getattr(each, "value", each) for module in modules for each in vars(module).values()]
    numbers = [each for each in values if isinstance(each, float)]
    assert len(numbers) > 10 and all(each == each for each in numbers)
