# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Contracts of `snap` on arrays of NumPy, against the rule in NumPy that bench/snap/rule.py has from the contract's text."""
import pathlib
import sys

import pytest

import detgemm

np = pytest.importorskip("numpy")
ml_dtypes = pytest.importorskip("ml_dtypes")

RULE = pathlib.Path(__file__).parents[2] / "bench/snap"
pytestmark = pytest.mark.skipif(not RULE.exists(), reason="bench/snap is not beside these tests")
if RULE.exists():
    sys.path.insert(0, str(RULE))
    import rule

FOLD = "snap/bf16/fold:128->fp32"


def draw(m, k, seed):
    """bf16 numbers over many powers of two, so that grids differ from leaf to leaf; zeros of both signs."""
    random = np.random.default_rng(seed)
    x = random.standard_normal((m, k)) * np.exp2(random.integers(-9, 10, (m, k)) + random.integers(-40, 20, (m, 1)))
    x[random.random((m, k)) < 0.03] = -0.0
    return x.astype(ml_dtypes.bfloat16)


def same(x, y):
    return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()


def ruled(x, leaf):
    return rule.snap(x.astype(np.float64), leaf).astype(ml_dtypes.bfloat16)


@pytest.mark.parametrize("leaf", [64, 128, 512])
@pytest.mark.parametrize("k", [1, 63, 64, 65, 300, 640])
def test_snap_is_the_rule(leaf, k):
    x = draw(17, k, k)
    found = detgemm.snap(x, leaf)
    assert same(found, ruled(x, leaf))
    assert same(detgemm.snap(np.ascontiguousarray(x.T), leaf, k="rows"), np.ascontiguousarray(found.T))
    assert same(detgemm.snap(found, leaf), found)
    assert detgemm.is_snapped(found, leaf) and detgemm.is_snapped(found.T, leaf, k="rows")
    if k > 1:
        assert not detgemm.is_snapped(x, leaf)


def test_the_edges_of_the_rule():
    bits = lambda words: np.array([words], np.uint16).view(ml_dtypes.bfloat16)
    # 2^24 units fit and 2^24 + 1 do not: 4096^2, and 4096^2 + 1^2; the second goes one grid up, where 1 is half a unit.
    assert same(detgemm.snap(bits([0x4580, 0]), 64), bits([0x4580, 0]))
    assert same(detgemm.snap(bits([0x4580, 0x3f80]), 64), ruled(bits([0x4580, 0x3f80]), 64))
    # Up to half of 2^-62 everything is +0, of either sign; Inf and NaN stay and do not coarsen the grid.
    assert same(detgemm.snap(bits([0x0001, 0x8001, 0x2000, 0xa000, 0x2001, 0xa001, 0x8000]), 64),
                bits([0, 0, 0, 0, 0x2080, 0xa080, 0]))
    assert same(detgemm.snap(bits([0x3f81, 0x7f80, 0xff80]), 64), bits([0x3f81, 0x7f80, 0xff80]))
    # Beyond 2^51 times 4096 no grid is coarse enough, and all of the leaf counts as NaN, but not the next leaf.
    far = np.zeros((1, 128), np.uint16)
    far[0, 3], far[0, 70] = 0x5f80, 0x3f81
    found = detgemm.snap(far.view(ml_dtypes.bfloat16), 64).astype(np.float64)
    assert np.isnan(found[0, :64]).all() and found[0, 70] == 1.0078125 and not np.isnan(found[0, 64:]).any()


@pytest.mark.parametrize("contract, leaf", [("snap/bf16/fold:64->fp32", 64), (FOLD, 128), ("snap/bf16/fold:512->fp32", 512)])
def test_a_fold_is_the_rules(contract, leaf):
    for m, n, k in ((5, 7, 1), (9, 6, leaf), (9, 6, 3 * leaf + 65)):
        a, b = draw(m, k, 1), draw(n, k, 2)
        assert same(detgemm.gemm(a, b.T, contract), rule.fold(a.astype(np.float64), b.astype(np.float64), leaf))


def test_promises_do_not_change_bits_and_a_broken_one_shows():
    a, b = draw(9, 500, 3), draw(6, 500, 4)
    whole = detgemm.gemm(a, b.T, FOLD)
    sa, sb = detgemm.snap(a, 128), detgemm.snap(b, 128)
    assert same(detgemm.gemm(sa, sb.T, FOLD), whole)
    assert same(detgemm.gemm(sa, b.T, FOLD, a_snapped=True), whole)
    assert same(detgemm.gemm(a, sb.T, FOLD, b_snapped=True), whole)
    assert same(detgemm.gemm(sa, sb.T, FOLD, a_snapped=True, b_snapped=True), whole)
    # The other arithmetics return the same leaves of snapped operands, and others of operands that are not.
    for arithmetic in ("ieee_fma", "hopper", "blackwell", "ampere", "cdna3", "cdna2"):
        other = FOLD.replace("snap", arithmetic)
        assert same(detgemm.gemm(sa, sb.T, other), whole), arithmetic
        assert not same(detgemm.gemm(a, b.T, other), whole), arithmetic
    # Controls: snapped for twice the leaf, and for the other dimension.
    assert not same(detgemm.gemm(detgemm.snap(a, 256), sb.T, FOLD, a_snapped=True, b_snapped=True), whole)
    assert not same(detgemm.gemm(a, detgemm.snap(b.T, 128, k="rows"), FOLD), detgemm.gemm(a, detgemm.snap(b.T, 128), FOLD))


def test_in_place_and_into_an_array():
    x = draw(4, 200, 5)
    wanted = ruled(x, 64)
    out = np.zeros((200, 4), x.dtype).T
    assert detgemm.snap(x, 64, out=out) is out and same(np.ascontiguousarray(out), wanted)
    assert detgemm.snap(x, 64, out=x) is x and same(x, wanted)
    words = draw(4, 200, 5).view(np.uint16)
    assert same(detgemm.snap(words, 64, dtype="bf16", out=words).view(ml_dtypes.bfloat16), wanted)


WRONG = {
    "leaf": (lambda x: detgemm.snap(x, 100), "leaf_k is 100: it must be a multiple of 64"),
    "leaf of text": (lambda x: detgemm.snap(x, "128"), "leaf is '128': it must be an integer"),
    "k": (lambda x: detgemm.snap(x, 64, k=1), 'k is 1: it must be "cols" or "rows"'),
    "type": (lambda x: detgemm.snap(x.astype(np.float32), 64), "from.dtype is fp32: snap is defined for bf16"),
    "shape": (lambda x: detgemm.snap(x[0], 64), "it must have two dimensions"),
    "out": (lambda x: detgemm.snap(x, 64, out=x[:2]), "to is 2 x 128: it must be 3 x 128"),
    "overlap": (lambda x: detgemm.snap(x[:2], 64, out=x[1:]), "overlap"),
    "asked in fp32": (lambda x: detgemm.is_snapped(x.astype(np.float32), 64), "matrix.dtype is fp32"),
    "a promise of another contract": (lambda x: detgemm.gemm(x, x.T, "hopper/bf16/chain", a_snapped=True),
                                      "a_snapped is set and the contract is hopper/bf16/chain"),
    "a chain": (lambda x: detgemm.gemm(x, x.T, "snap/bf16/chain"), "needs fold or tree"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_call_gets_a_sentence(case):
    call, said = WRONG[case]
    x = draw(3, 128, 6)
    before = x.tobytes()
    with pytest.raises(detgemm.DetgemmError, match=said):
        call(x)
    assert x.tobytes() == before
