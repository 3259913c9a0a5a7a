# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Attention over pages: the bits of `attention` for any pages, batch and cut; decode equals prefill; Triton's interpreter."""
import os
import pathlib
import subprocess
import sys

import pytest
import torch

import detgemm
from detgemm.torch import attention, order, same_bits
from detgemm.torch.paged import paged_attention, paged_attention_op, segments_of

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
HEADS, KV_HEADS, DIM = 4, 2, 16


def sequences(*lengths, dtype=torch.bfloat16, seed=0):
    """q, k and v of each sequence, T x H x D."""
    generator = torch.Generator().manual_seed(seed)
    return [[torch.randn(n, h, DIM, generator=generator).clamp(-2, 2).to(dtype) for h in (HEADS, KV_HEADS, KV_HEADS)] for n in lengths]


def paged(parts, page, seed=0):
    """Caches and a table with the sequences' keys and values in pages that are in no order, and numbers that belong to no sequence."""
    counts = [-(-len(k) // page) for _, k, _ in parts]
    total = sum(counts) + 3
    free = torch.randperm(total, generator=torch.Generator().manual_seed(seed)).tolist()
    k_cache, v_cache = (torch.full((total, page, KV_HEADS, DIM), 1e4, dtype=parts[0][0].dtype) for _ in range(2))
    table = torch.full((len(parts), max(counts) + 2), 99999, dtype=torch.int32)
    for row, ((_, k, v), count) in enumerate(zip(parts, counts)):
        for number in range(count):
            at = free.pop()
            table[row, number] = at
            piece = slice(number * page, (number + 1) * page)
            k_cache[at, :len(k[piece])], v_cache[at, :len(v[piece])] = k[piece], v[piece]
    return k_cache, v_cache, table


def step(parts, caches, queries, run=paged_attention):
    """The last `queries` queries of every sequence in one call."""
    k_cache, v_cache, table = caches
    q = torch.cat([q[len(q) - n:] for (q, _, _), n in zip(parts, queries)])
    starts = torch.tensor([0, *queries]).cumsum(0).to(torch.int32)
    lengths = torch.tensor([len(q) for q, _, _ in parts], dtype=torch.int32)
    out = run(q, k_cache, v_cache, table, segments_of(starts, lengths), max_q=max(queries), max_k=int(lengths.max()))
    return out.split(list(queries))


def test_a_prompt_has_the_bits_of_attention():
    parts = sequences(150, 40, 1, 260)
    for page in (16, 48, 128):
        for (q, k, v), out in zip(parts, step(parts, paged(parts, page), [len(q) for q, _, _ in parts])):
            alone = attention(*(x.transpose(0, 1)[None] for x in (q, k, v)))[0].transpose(0, 1)
            assert same_bits(out.contiguous(), alone.contiguous())


def test_decode_and_chunks_have_the_bits_of_the_prompt():
    parts = sequences(150, 40, 260)
    caches = paged(parts, 32)
    whole = step(parts, caches, [150, 40, 260])
    for queries in ([1, 1, 1], [7, 1, 130], [150, 0, 1]):
        for part, prompt in zip(step(parts, caches, queries), whole):
            assert same_bits(part.contiguous(), prompt[len(prompt) - len(part):].contiguous())


def test_other_blocks_of_keys_show(monkeypatch):
    parts = sequences(300)
    before = step(parts, paged(parts, 16), [300])[0]
    monkeypatch.setattr(order, "KEYS", 64)
    assert not same_bits(before, step(parts, paged(parts, 16), [300])[0])


@pytest.mark.skipif(not INTERPRETED, reason="Triton's interpreter is not switched on (TRITON_INTERPRET=1)")
def test_kernels_decode_as_they_prefill():
    """fp16, since the interpreter truncates to bf16; its products may round otherwise than the plain order's, so bits are
    compared among kernels, those of attention without pages among them, and values with the plain order."""
    pytest.importorskip("triton", reason="Triton is not installed")
    from detgemm.torch.kernels import attention as unpaged
    from detgemm.torch.kernels import paged as kernels

    def by(kind):
        def run(q, k, v, table, segments, *, max_q, max_k):
            return kernels.paged_attention(q, k, v, table, segments, DIM ** -0.5, max_q, max_k, by_keys=kind)
        return run

    parts = sequences(140, 9, 131, dtype=torch.float16)
    caches = paged(parts, 16)
    whole = step(parts, caches, [140, 9, 131], by(False))
    for out, plain in zip(whole, step(parts, caches, [140, 9, 131])):
        assert torch.allclose(out.float(), plain.float(), atol=4e-3)
    segment = torch.tensor([[0, 0, 140, 0, 0, 140]], dtype=torch.int32)
    q, k, v = (x.transpose(0, 1)[None] for x in parts[0])
    dense, _ = unpaged.attention(q, k, v, segment, DIM ** -0.5, 0, 0, False, by_keys=False)
    assert same_bits(dense[0].transpose(0, 1).contiguous(), whole[0].contiguous())
    for queries, kind in (([1, 1, 1], True), ([2, 1, 3], True), ([5, 0, 70], False), ([1, 1, 1], None), ([2, 0, 3], False)):
        for part, prompt in zip(step(parts, caches, queries, by(kind)), whole):
            assert same_bits(part.contiguous(), prompt[len(prompt) - len(part):].contiguous())
    alone = step(parts[2:], (caches[0], caches[1], caches[2][2:]), [1], by(True))[0]
    assert same_bits(alone.contiguous(), whole[2][-1:].contiguous())
    other = step(parts[2:], paged(parts[2:], 32, 5), [1], by(True))[0]  # other pages of another size
    assert same_bits(other.contiguous(), alone.contiguous())


@pytest.mark.skipif(not INTERPRETED, reason="Triton's interpreter is not switched on (TRITON_INTERPRET=1)")
@pytest.mark.parametrize("programs, columns, scanned, touched, ahead, short", [(0, 16, 4, 64, 2, 1), (999, 8, 2, 32, 1, 0)])
def test_the_join_is_that_of_attention(monkeypatch, programs, columns, scanned, touched, ahead, short):
    """Maxima by a scan and sums by columns: the bits of a join of one block after the other, for maxima that rise, fall and stay;
    queries of several rows, and a sequence of few blocks beside."""
    pytest.importorskip("triton", reason="Triton is not installed")
    from detgemm.torch.kernels import attention as unpaged
    from detgemm.torch.kernels import join
    from detgemm.torch.kernels import paged as kernels
    parts = sequences(520, 9, 260, dtype=torch.float16)
    for number, (q, k, _) in enumerate(parts):
        q *= 3
        k *= torch.linspace(0.2, 3, len(k))[:, None, None] if number == 0 else torch.linspace(3, 0.2, len(k))[:, None, None]
    caches = paged(parts, 16)
    for name, value in (("PROGRAMS", programs), ("FEW_COLUMNS", columns), ("SCANNED", scanned), ("TOUCHED", touched), ("AHEAD", ahead)):
        monkeypatch.setattr(join, name, value)
    monkeypatch.setattr(kernels, "SHORT", (short, short))  # blocks that one program takes: of the sequence of few, or none
    monkeypatch.setattr(kernels, "PROGRAMS", 12)  # each takes several blocks

    def decoded(queries):
        return step(parts, caches, queries, lambda q, k, v, table, segments, *, max_q, max_k: kernels.paged_attention(
            q, k, v, table, segments, DIM ** -0.5, max_q, max_k, by_keys=True))

    for queries in ([1, 1, 1], [3, 2, 0]):
        for (q, k, v), found in zip(parts, decoded(queries)):
            if len(found):
                segment = torch.tensor([[0, 0, len(found), 0, 0, len(k)]], dtype=torch.int32)
                q, k, v = (x.transpose(0, 1)[None] for x in (q[len(q) - len(found):], k, v))
                wanted, _ = unpaged.attention(q, k, v, segment, DIM ** -0.5, 0, 0, False, by_keys=True)
                assert same_bits(wanted[0].transpose(0, 1).contiguous(), found.contiguous())
    if scanned > 2:  # maxima that are not those of all blocks before have other bits: the test can fail
        before = torch.cat(decoded([1, 1, 1]))
        monkeypatch.setattr(join, "_larger", join.triton.jit(_smaller))
        assert not same_bits(before, torch.cat(decoded([1, 1, 1])))


def _smaller(a, b):
    return b


def test_how_many_programs_share_a_request():
    """As many as run at once, one where requests are many or blocks few; what they leave for the join is bounded."""
    pytest.importorskip("triton", reason="Triton is not installed")
    from detgemm.torch.kernels import paged as kernels
    for count, kv_heads, blocks in ((1, 8, 34), (1, 8, 1025), (7, 8, 34), (66, 8, 1025)):
        assert 1 < kernels.programs_of(count, kv_heads, blocks) <= blocks
    for count, kv_heads, blocks in ((1, 8, 1), (17, 8, 64), (67, 8, 1025), (1000, 1, 4000)):
        assert kernels.programs_of(count, kv_heads, blocks) == 1 and kernels.part_numbers(count, kv_heads, 2, blocks, 128) == 0
    assert max(kernels.part_numbers(count, 8, 2, 1025, 128) for count in range(1, 1025)) < 2**28


def test_wide_heads_fit_into_a_processor():
    """Compiled for Hopper in a process without the interpreter: heads of 256 elements, whose form of narrow heads needs 364544 bytes."""
    pytest.importorskip("triton", reason="Triton is not installed")
    script, environment = pathlib.Path(__file__).with_name("paged_shared.py"), {**os.environ}
    environment.pop("TRITON_INTERPRET", None)
    def needed(*form):
        done = subprocess.run([sys.executable, str(script), *form], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        return int(done.stdout)

    assert 0 < needed() <= 232448 < needed("narrow")


@pytest.mark.skipif(not INTERPRETED, reason="Triton's interpreter is not switched on (TRITON_INTERPRET=1)")
def test_segments_are_written_alike():
    pytest.importorskip("triton", reason="Triton is not installed")
    from detgemm.torch.kernels import paged as kernels
    from detgemm.torch.plain import paged as plain
    starts, lengths = torch.arange(0, 603, 3, dtype=torch.int32), torch.arange(200, dtype=torch.int32)
    found, wanted = (torch.full((200, 6), 9, dtype=torch.int32) for _ in range(2))
    kernels.write_segments(found, starts, lengths)
    plain.write_segments(wanted, starts, lengths)
    assert torch.equal(found, wanted) and wanted[5].tolist() == [9, 15, 3, 9, 9, 5]


def test_operator_follows_pytorchs_rules():
    parts = sequences(20, 3)
    k, v, table = paged(parts, 16)
    table = table.clamp(max=len(k) - 1)
    segments = segments_of(torch.tensor([0, 20, 23], dtype=torch.int32), torch.tensor([20, 3], dtype=torch.int32))
    torch.library.opcheck(paged_attention_op, (torch.cat([q for q, _, _ in parts]), k, v, table, segments, 0.25, 20, 20))


@pytest.mark.parametrize("change, sentence", [
    ({"q": torch.zeros(3, 4, 16)}, "the types are torch.float32"),
    ({"q": torch.zeros(3, 4, 8).bfloat16()}, "heads of 8 elements"),
    ({"q": torch.zeros(3, 3, 16).bfloat16()}, "q has 3 heads"),
    ({"v": torch.zeros(5, 16, 2, 8).bfloat16()}, "v has the shape"),
    ({"table": torch.zeros(1, 4, dtype=torch.int64)}, "table has the shape"),
    ({"segments": torch.zeros(1, 5, dtype=torch.int32)}, "S x 6 int32"),
    ({"max_q": 4}, "max_q is 4"),
])
def test_wrong_calls_are_refused_in_a_sentence(change, sentence):
    cache = torch.zeros(5, 16, 2, 16).bfloat16()
    given = {"q": torch.zeros(3, 4, 16).bfloat16(), "k": cache, "v": cache, "table": torch.zeros(1, 4, dtype=torch.int32),
             "segments": torch.zeros(1, 6, dtype=torch.int32), "max_q": 3, "max_k": 8, **change}
    with pytest.raises(detgemm.DetgemmError, match=sentence):
        paged_attention(**given)
