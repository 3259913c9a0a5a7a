# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""add_rms_norm and silu_mul: the bits of the separate operations, kernels against definitions, refusals."""
import pytest

torch = pytest.importorskip("torch")

import detgemm  # noqa: E402
import detgemm.torch as dt  # noqa: E402
from detgemm.torch import fused  # noqa: E402
from detgemm.torch.plain import fused as plain  # noqa: E402

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def bits(tensor):
    return tensor.contiguous().cpu().view({2: torch.int16, 4: torch.int32}[tensor.element_size()])


def drawn(seed, *shape, dtype=torch.bfloat16, patterns=False):
    generator = torch.Generator().manual_seed(seed)
    if patterns:
        return torch.randint(-2**15, 2**15, shape, generator=generator, dtype=torch.int16).view(torch.bfloat16)
    return torch.randn(*shape, generator=generator).to(dtype)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
@pytest.mark.parametrize("rows, n", [(1, 64), (3, 300), (40, 2048), (257, 128)])
def test_it_is_an_addition_and_a_norm(rows, n, dtype):
    x, residual, weight = drawn(1, rows, n, dtype=dtype), drawn(2, rows, n, dtype=dtype), drawn(3, n, dtype=dtype)
    y, total = fused.add_rms_norm(x.to(DEVICE), residual.to(DEVICE), weight.to(DEVICE))
    assert torch.equal(bits(total), bits(x + residual))
    assert torch.equal(bits(y), bits(dt.rms_norm(x + residual, weight)))
    alone, of_one = fused.add_rms_norm(x[:1].to(DEVICE), residual[:1].to(DEVICE), weight.to(DEVICE))
    assert torch.equal(bits(alone), bits(y[:1])) and torch.equal(bits(of_one), bits(total[:1]))
    assert torch.equal(bits(fused.add_rms_norm(x.to(DEVICE), None, weight.to(DEVICE))), bits(dt.rms_norm(x, weight)))


def test_a_view_of_heads_is_not_copied_wrongly():
    whole, weight = drawn(4, 5, 4 * 64), drawn(5, 64)
    heads = whole[:, 64:192].view(5, 2, 64)  # as queries in the output of one product
    y = fused.add_rms_norm(heads.to(DEVICE) if DEVICE == "cpu" else whole.to(DEVICE)[:, 64:192].view(5, 2, 64), None, weight.to(DEVICE))
    assert torch.equal(bits(y), bits(dt.rms_norm(heads.contiguous(), weight)))


@pytest.mark.parametrize("patterns", [False, True])
def test_silu_mul(patterns):
    x = drawn(6, 33, 2 * 700, patterns=patterns)
    y = fused.silu_mul(x.to(DEVICE))
    gate, up = x.chunk(2, dim=-1)
    assert torch.equal(bits(y), bits(plain.silu_mul(gate, up)))
    assert torch.equal(bits(fused.silu_mul(x[7:8].to(DEVICE))), bits(y[7:8]))
    assert torch.equal(bits(fused.silu_mul(gate.to(DEVICE), up.contiguous().to(DEVICE))), bits(y)), "two tensors, of other strides"
    if not patterns:
        gate, up = x.float().chunk(2, dim=-1)
        assert torch.allclose(y.cpu().float(), torch.nn.functional.silu(gate) * up, rtol=2e-2, atol=1e-3)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_the_gradient_of_silu_mul(dtype):
    """Rows are those of one row alone; values are autograd's of the separate operations."""
    x, dy = drawn(6, 33, 2 * 70, dtype=dtype), drawn(7, 33, 70, dtype=dtype)
    x, dy = x.to(DEVICE).requires_grad_(), dy.to(DEVICE)
    dx, = torch.autograd.grad(fused.silu_mul(x), x, dy)
    apart = [part.contiguous().requires_grad_() for part in x.detach().chunk(2, dim=-1)]
    assert torch.equal(bits(torch.cat(torch.autograd.grad(fused.silu_mul(*apart), apart, dy), -1)), bits(dx))
    alone, = torch.autograd.grad(fused.silu_mul(x[7:8]), x, dy[7:8])
    assert torch.equal(bits(dx), bits(plain.silu_mul_backward(dy.cpu(), *x.detach().cpu().chunk(2, dim=-1)))) and torch.equal(bits(alone[7]), bits(dx[7]))
    wide = x.detach().double().requires_grad_()
    gate, up = wide.chunk(2, dim=-1)
    wanted, = torch.autograd.grad(torch.nn.functional.silu(gate) * up, wide, dy.double())
    assert torch.allclose(dx.double(), wanted, rtol=4 * torch.finfo(dtype).eps, atol=8 * torch.finfo(dtype).eps)


def test_extremes_of_silu():
    gate = torch.tensor([[0.0, -0.0, 1e38, -1e38, -88.0, -3e-39]]).bfloat16()
    y = fused.silu_mul(torch.cat((gate, torch.ones_like(gate)), 1).to(DEVICE)).cpu()
    assert y[0, 0] == 0 and y[0, 2] == gate[0, 2] and y[0, 3] == 0 and abs(float(y[0, 4])) < 1e-30


def test_refusals():
    x = drawn(1, 2, 64)
    with pytest.raises(detgemm.DetgemmError, match="weight has the shape"):
        fused.add_rms_norm(x, x, drawn(2, 32))
    with pytest.raises(detgemm.DetgemmError, match="residual has the shape"):
        fused.add_rms_norm(x, x[:1], drawn(2, 64))
    with pytest.raises(detgemm.DetgemmError, match="gate and up need an even number"):
        fused.silu_mul(drawn(3, 2, 65))


def test_tangents_are_refused():
    from torch.autograd import forward_ad
    with forward_ad.dual_level():
        x = forward_ad.make_dual(drawn(1, 2, 64), drawn(2, 2, 64))
        for call in (lambda: fused.add_rms_norm(x, drawn(3, 2, 64), drawn(4, 64)), lambda: fused.add_rms_norm(x, None, drawn(4, 64)),
                     lambda: fused.silu_mul(x)):
            with pytest.raises(detgemm.DetgemmError, match="dual tensor"):
                call()


def test_shapes_without_data():
    x = torch.empty(3, 64, dtype=torch.bfloat16, device="meta")
    y, total = torch.ops.detgemm.add_rms_norm(x, x, x[0], 1e-6)
    assert y.shape == total.shape == (3, 64)
    assert torch.ops.detgemm.silu_mul(x).shape == (3, 32)
