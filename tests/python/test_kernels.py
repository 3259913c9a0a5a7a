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
    from detgemm.torch.kernels import attention, attention_backward, embedding, fused, long_rows, norms, softmax
    from detgemm.torch.plain import attention as plain_attention
    from detgemm.torch.plain import embedding as plain_embedding
    from detgemm.torch.plain import fused as plain_fused
    from detgemm.torch.plain import norms as plain_norms
    from detgemm.torch.plain import softmax as plain_softmax


@pytest.mark.skipif(INTERPRETED, reason="this is that process")
@pytest.mark.skipif(tuple(map(int, numpy.__version__.split(".")[:2])) >= (2, 4),
                    reason="Triton's interpreter makes conversions that NumPy 2.4 no longer makes")
def test_in_the_interpreter():
    run = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__],
                         env={**os.environ, "TRITON_INTERPRET": "1"}, capture_output=True, text=True, check=False,
                         timeout=300)
    assert run.returncode == 0 and "11 passed" in run.stdout, run.stdout + run.stderr


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
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_the_gradient_of_silu_mul(dtype):
    x, dy = wide((3, 2 * 1100), dtype), wide((3, 1100), dtype, 1)
    x[0, :3] = torch.tensor([float("nan"), -float("inf"), 0.0])
    assert same_bits(fused.silu_mul_backward(dy, x), plain_fused.silu_mul_backward(dy, x))
