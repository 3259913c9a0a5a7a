# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Rotary embedding: the bits of transformers' formula in eager mode, alone and in company; refusals; Triton's interpreter."""
import os

import pytest
import torch

import detgemm
from detgemm.torch import same_bits
from detgemm.torch.fused import inference_rms_norm_op
from detgemm.torch.rotary import rotary, rotary_op, rotary_pair_op

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"


def drawn(seed, *shape, dtype=torch.bfloat16):
    return (torch.randn(shape, generator=torch.Generator().manual_seed(seed)) * 3).to(dtype)


def cache(rows, r, dtype=torch.bfloat16):
    angle = torch.arange(rows)[:, None] / 10000 ** (torch.arange(r // 2) / (r // 2))
    return torch.cat((angle.cos(), angle.sin()), dim=-1).to(dtype)


def formula(x, positions, table):
    """As transformers writes it, one operation of PyTorch after the other, in the type of x."""
    cos, sin = (part.to(x.dtype).repeat(1, 2)[:, None] for part in table[positions].chunk(2, dim=-1))
    half = x.shape[-1] // 2
    return x * cos + torch.cat((-x[..., half:], x[..., :half]), dim=-1) * sin


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_it_is_the_formula_of_transformers(dtype):
    x, positions, table = drawn(1, 37, 3, 64, dtype=dtype), torch.arange(37) * 5, cache(200, 64, dtype)
    y = rotary(x, positions, table)
    assert same_bits(y, formula(x, positions, table))
    for at in (0, 17, 36):
        assert same_bits(rotary(x[at:at + 1], positions[at:at + 1], table), y[at:at + 1])
    # One rounding in place of three, as a compiler fuses it, has other bits: the test can fail.
    if dtype != torch.float32:
        assert not same_bits(formula(x.float(), positions, table.float()).to(dtype), y)


def test_transformers_itself():
    llama = pytest.importorskip("transformers.models.llama.modeling_llama")
    x, positions, table = drawn(2, 9, 4, 32), torch.arange(9), cache(9, 32)
    cos, sin = (part.repeat(1, 2)[None] for part in table[positions].chunk(2, dim=-1))
    q, _ = llama.apply_rotary_pos_emb(x.transpose(0, 1)[None], x.transpose(0, 1)[None], cos, sin)
    assert same_bits(q[0].transpose(0, 1).contiguous(), rotary(x, positions, table))


def test_pairs_and_a_part_of_a_head():
    x, positions, table = drawn(3, 5, 2, 48), torch.tensor([3, 0, 7, 7, 1]), cache(8, 32)
    paired = rotary(x, positions, table, interleaved=True)
    apart = torch.cat((x[..., 0:32:2], x[..., 1:32:2], x[..., 32:]), dim=-1)
    wanted = rotary(apart, positions, table)
    assert same_bits(torch.stack((wanted[..., :16], wanted[..., 16:32]), dim=-1).flatten(-2), paired[..., :32].contiguous())
    assert same_bits(paired[..., 32:].contiguous(), x[..., 32:].contiguous())


def test_a_view_of_the_packed_product():
    packed, positions, table = drawn(4, 6, 10 * 32), torch.arange(6), cache(6, 32)
    view = packed[:, 4 * 32:8 * 32].view(6, 4, 32)
    assert same_bits(rotary(view, positions, table), rotary(view.contiguous(), positions, table))


@pytest.mark.skipif(not INTERPRETED, reason="Triton's interpreter is not switched on (TRITON_INTERPRET=1)")
@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
@pytest.mark.parametrize("heads, d, r", [(3, 64, 64), (9, 48, 32)])
def test_the_kernel_has_the_bits_of_the_definition(heads, d, r, dtype, interleaved):
    pytest.importorskip("triton", reason="Triton is not installed")
    from detgemm.torch.kernels import rotary as kernels
    from detgemm.torch.plain import rotary as plain
    packed, positions, table = drawn(5, 7, heads * d + 16, dtype=dtype), torch.tensor([5, 0, 5, 90, 13, 2, 1]), cache(91, r, dtype)
    packed[0, 3] = float("nan")
    x = packed[:, 8:8 + heads * d].view(7, heads, d)
    assert same_bits(kernels.rotary(x, positions, table, interleaved), plain.rotary(x, positions, table, interleaved))


def packed_heads(seed, tokens, q_heads, k_heads, d, dtype=torch.bfloat16):
    """q and k as views of one product, and weights of norms."""
    packed = drawn(seed, tokens, (q_heads + 2 * k_heads) * d, dtype=dtype)
    q, k, _ = packed.split([q_heads * d, k_heads * d, k_heads * d], dim=-1)
    return q.view(tokens, -1, d), k.view(tokens, -1, d), drawn(seed + 1, d, dtype=dtype), drawn(seed + 2, d, dtype=dtype)


@pytest.mark.parametrize("normed", [False, True])
def test_q_and_k_together_are_the_operations_apart(normed):
    q, k, q_weight, k_weight = packed_heads(7, 5, 6, 2, 48)
    positions, table = torch.tensor([3, 0, 7, 7, 1]), cache(8, 32)
    weights = (q_weight, k_weight) if normed else (None, None)
    pair = rotary_pair_op(q, k, positions, table, False, *weights, 1e-6)
    for found, x, weight in zip(pair, (q, k), weights, strict=True):
        first = inference_rms_norm_op(x.contiguous(), weight, 1e-6) if normed else x
        assert same_bits(found, rotary(first, positions, table))
    # A norm whose result is not rounded before it is turned has other bits: the test can fail.
    if normed:
        wide = rotary(inference_rms_norm_op(q.float().contiguous(), q_weight.float(), 1e-6), positions, table.float()).bfloat16()
        assert not same_bits(pair[0], wide)


@pytest.mark.skipif(not INTERPRETED, reason="Triton's interpreter is not switched on (TRITON_INTERPRET=1)")
@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
@pytest.mark.parametrize("q_heads, k_heads, d, r", [(6, 2, 64, 64), (9, 3, 48, 32)])
def test_the_kernel_of_q_and_k_has_the_bits_of_the_definition(q_heads, k_heads, d, r, dtype, interleaved):
    pytest.importorskip("triton", reason="Triton is not installed")
    from detgemm.torch.kernels import rotary as kernels
    from detgemm.torch.plain import rotary as plain
    q, k, q_weight, k_weight = packed_heads(8, 4, q_heads, k_heads, d, dtype)
    q[0, 1, 3] = float("nan")
    positions, table = torch.tensor([5, 0, 90, 5]), cache(91, r, dtype)
    for more in ((), (q_weight, k_weight, 1e-5)):
        pairs = zip(kernels.rotary_pair(q, k, positions, table, interleaved, *more),
                    plain.rotary_pair(q, k, positions, table, interleaved, *more), strict=True)
        assert all(same_bits(*pair) for pair in pairs)


def pages(layout, rows, heads, d, dtype):
    """Keys and values of a cache, pages x rows x heads x d: both in a row, or pages of keys, then of values."""
    if layout == "both":
        return drawn(21, 6, heads, rows, 2 * d, dtype=dtype).transpose(1, 2).split(d, dim=-1)
    return drawn(21, 6, 2, rows, heads, d, dtype=dtype).unbind(1)


@pytest.mark.skipif(not INTERPRETED, reason="Triton's interpreter is not switched on (TRITON_INTERPRET=1)")
@pytest.mark.parametrize("layout", ["both", "apart"])
@pytest.mark.parametrize("normed, q_heads, k_heads, d, r", [(True, 6, 2, 64, 64), (False, 9, 3, 48, 32)])
def test_the_kernel_stores_what_the_definition_stores(layout, normed, q_heads, k_heads, d, r):
    """Keys and values in their rows of the cache, and nothing elsewhere: not of a token without a slot, nor of one below zero."""
    pytest.importorskip("triton", reason="Triton is not installed")
    from detgemm.torch.kernels import rotary as kernels
    from detgemm.torch.plain import rotary as plain
    q, k, q_weight, k_weight = packed_heads(8, 5, q_heads, k_heads, d)
    v = drawn(12, 5, 2 * k_heads * d)[:, k_heads * d:].view(5, k_heads, d)
    v[0, 0, :2] = torch.tensor([0x7fc1, -1], dtype=torch.int16).view(torch.bfloat16)  # NaN as they are
    positions, table, slots = torch.tensor([5, 0, 90, 5, 7]), cache(91, r), torch.tensor([17, -1, 95, 0])
    given = q, k, v, positions, table, False, *((q_weight, k_weight) if normed else (None, None)), 1e-5
    found, wanted = (pages(layout, 16, k_heads, d, torch.bfloat16) for _ in range(2))
    assert same_bits(kernels.rotary_store(*given, *found, slots), plain.rotary_store(*given, *wanted, slots))
    before = pages(layout, 16, k_heads, d, torch.bfloat16)
    for mine, theirs, old in zip(found, wanted, before, strict=True):
        assert torch.equal(mine.contiguous().view(torch.int16), theirs.contiguous().view(torch.int16))
        changed = (mine.contiguous().view(torch.int16) != old.contiguous().view(torch.int16)).flatten(2).any(2).nonzero()
        assert changed.tolist() == [[0, 0], [1, 1], [5, 15]]


def test_operators_follow_pytorchs_rules():
    torch.library.opcheck(rotary_op, (drawn(6, 4, 2, 16), torch.arange(4), cache(4, 16), False))
    q, k, q_weight, k_weight = packed_heads(9, 4, 2, 1, 16)
    torch.library.opcheck(rotary_pair_op, (q, k, torch.arange(4), cache(4, 16), False, q_weight, k_weight, 1e-6))


@pytest.mark.parametrize("change, sentence", [
    ({"x": drawn(1, 4, 16)}, "x has 2 dimensions"),
    ({"positions": torch.arange(4, dtype=torch.int32)}, "positions has the shape"),
    ({"positions": torch.arange(3)}, "positions has the shape"),
    ({"cache": cache(4, 32)}, "cache has the shape"),
    ({"cache": torch.zeros(4, 16, dtype=torch.int64)}, "cache has the shape"),
    ({"interleaved": 1}, "interleaved is 1"),
])
def test_wrong_calls_are_refused_in_a_sentence(change, sentence):
    given = {"x": drawn(1, 4, 2, 16), "positions": torch.arange(4), "cache": cache(4, 16), "interleaved": False, **change}
    with pytest.raises(detgemm.DetgemmError, match=sentence):
        rotary(**given)
