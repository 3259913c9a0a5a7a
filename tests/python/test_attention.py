# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Attention: a query's bits do not depend on padding, packing, chunks or batch; gradients likewise."""
import pytest
import torch

import detgemm.torch
from detgemm.torch import attend as module
from detgemm.torch import order

attention, same = detgemm.torch.attention, detgemm.torch.same_bits


def segments(*rows):
    return torch.tensor(rows, dtype=torch.int32)


def operands(batch, heads, kv_heads, tokens, dim, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(batch, h, tokens, dim, generator=generator).bfloat16() for h in (heads, kv_heads, kv_heads)]


def packed(x):
    """B x H x T x D as one row of B T tokens."""
    return x.transpose(1, 2).reshape(1, -1, x.shape[1], x.shape[3]).transpose(1, 2)


@pytest.mark.parametrize("tokens", [1, 20, 150])
def test_values_and_gradients_are_those_of_the_formula(tokens):
    q, k, v = (x.requires_grad_() for x in operands(2, 4, 2, tokens, 16))
    exact = [x.detach().double().requires_grad_() for x in (q, k, v)]
    wanted = torch.nn.functional.scaled_dot_product_attention(*exact, is_causal=True, enable_gqa=True)
    out, dout = attention(q, k, v), operands(2, 4, 2, tokens, 16, 1)[0]
    out.backward(dout)
    wanted.backward(dout.double())
    assert torch.allclose(out.double(), wanted, atol=2e-2)
    for a, b in zip((q, k, v), exact):
        assert (a.grad.double() - b.grad).abs().max() < 2e-2 * max(1.0, b.grad.abs().max())


def test_padding_chunks_decoding_and_packing_keep_the_bits():
    tokens, pads = 150, (0, 37)
    q, k, v = operands(2, 4, 2, tokens, 16)
    whole = attention(q, k, v, segments(*([b, p, tokens - p, b, p, tokens - p] for b, p in enumerate(pads))))
    for b, p in enumerate(pads):
        alone = attention(*(x[b:b + 1, :, p:] for x in (q, k, v)))
        assert same(alone, whole[b:b + 1, :, p:])
        assert not whole[b, :, :p].any()
        for end, count in ((tokens, 1), (131, 5), (129, 40)):
            chunk = attention(q[b:b + 1, :, end - count:end], k, v, segments([0, 0, count, b, p, end - p]))
            assert same(chunk, whole[b:b + 1, :, end - count:end])
    one = packed(whole)
    both = attention(*(packed(x) for x in (q, k, v)), segments(
        *([0, b * tokens + p, tokens - p, 0, b * tokens + p, tokens - p] for b, p in enumerate(pads))))
    assert same(both, one)


def test_other_blocks_of_keys_show(monkeypatch):
    q, k, v = operands(1, 2, 1, 300, 16)
    before = attention(q, k, v)
    monkeypatch.setattr(order, "KEYS", 64)
    assert not same(before, attention(q, k, v))


def test_gradients_do_not_depend_on_the_batch():
    tokens = 40
    q, k, v = operands(3, 4, 2, tokens, 16)
    dout = operands(3, 4, 2, tokens, 16, 1)[0]

    def gradients(*inputs, table=None, dout):
        inputs = [x.detach().requires_grad_() for x in inputs]
        attention(*inputs, table).backward(dout)
        return [x.grad for x in inputs]
    whole = gradients(q, k, v, dout=dout)
    for b in range(3):
        part = slice(b, b + 1)
        for a, w in zip(gradients(q[part], k[part], v[part], dout=dout[part]), whole):
            assert same(a, w[part])
    table = segments(*([0, b * tokens, tokens, 0, b * tokens, tokens] for b in range(3)))
    for a, w in zip(gradients(packed(q), packed(k), packed(v), table=table, dout=packed(dout)), whole):
        assert same(a, packed(w))


def test_operator_follows_pytorchs_rules():
    q, k, v = (x.requires_grad_() for x in operands(2, 4, 2, 6, 16))
    torch.library.opcheck(module.attention_op, (q, k, v, module.dense(2, 6, 6, "cpu"), 0.25, 0, 0, True))


@pytest.mark.parametrize("change, sentence", [
    (dict(q=torch.zeros(1, 2, 3, 8)), "q.dtype is torch.float32"),
    (dict(k=torch.zeros(1, 2, 3, 4).bfloat16(), v=torch.zeros(1, 2, 3, 4).bfloat16()), "heads of 8 elements"),
    (dict(v=torch.zeros(1, 2, 4, 8).bfloat16()), "v has the shape"),
    (dict(q=torch.zeros(1, 3, 3, 8).bfloat16()), "q has 3 heads"),
    (dict(q=torch.zeros(1, 2, 9, 8).bfloat16()), "no more queries than there are keys"),
    (dict(segments=torch.zeros(1, 5, dtype=torch.int32)), "S x 6 int32"),
    (dict(segments=torch.zeros(1, 6)), "S x 6 int32")])
def test_wrong_calls_are_refused_in_a_sentence(change, sentence):
    given = {name: torch.zeros(1, 2, 3, 8).bfloat16() for name in "qkv"}
    with pytest.raises(RuntimeError, match=sentence):
        attention(**{**given, **change})
