# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Many products of NumPy arrays in one call: each has the bits of its own."""
import pytest

import detgemm

np = pytest.importorskip("numpy")
bfloat16 = pytest.importorskip("ml_dtypes").bfloat16

BF16, FP32, FOLD = "hopper/bf16/chain->bf16", "hopper/bf16/chain->fp32", "hopper/bf16/fold:32->fp32"
OFFS = np.array([5, 5, 18, 19], np.int32)  # of 21: an empty group, and rows of nobody


def draw(*shape, seed=0):
    random = np.random.default_rng(seed)
    return (random.standard_normal(shape) * np.exp2(random.integers(-6, 7, shape))).astype(bfloat16)


def same(x, y):
    return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()


def parts():
    return [slice(*pair) for pair in ((0, 5), (5, 5), (5, 18), (18, 19))]


@pytest.mark.parametrize("contract", [BF16, FOLD, "hopper/bf16/tree:32->bf16"])
@pytest.mark.parametrize("of", [np.int32, np.int64])
def test_each_group_has_the_bits_of_its_product(contract, of):
    a, b, bias, offs = draw(21, 48), draw(4, 48, 6, seed=1), draw(4, 6, seed=2).astype(np.float32), OFFS.astype(of)
    d = detgemm.grouped_gemm(a, b, offs, contract, bias=bias)
    for g, s in enumerate(parts()):
        assert same(d[s], detgemm.gemm(a[s], b[g], contract, bias=bias[g]))
    assert not d[19:].any()
    out = np.full_like(d, 7)
    turned = np.ascontiguousarray(b.transpose(0, 2, 1)).transpose(0, 2, 1)
    assert detgemm.grouped_gemm(np.asfortranarray(a), turned, offs, contract, bias=bias, out=out) is out
    assert same(out[:19], d[:19]) and (out[19:] == 7).all()
    counts = np.array([0, 9, 4, 1], of)
    x = draw(4, 9, 48, seed=3)
    masked, batch = detgemm.grouped_gemm(x, b, None, contract, counts=counts), detgemm.grouped_gemm(x, b, None, contract)
    for g, count in enumerate(counts):
        assert same(batch[g], detgemm.gemm(x[g], b[g], contract)) and same(masked[g, :count], batch[g, :count])
        assert not masked[g, count:].any()


def test_gradients_continue_over_micro_batches():
    x, dy = draw(64, 7), draw(64, 6, seed=1)
    ends = lambda *numbers: np.array(numbers, np.int64)
    whole = detgemm.grouped_gemm(x.T, dy, ends(32, 32, 64), FOLD)
    assert same(whole[0], detgemm.gemm(x[:32].T, dy[:32], FOLD)) and not whole[1].any()
    acc = np.zeros_like(whole)
    for rows, offs in ((np.r_[0:32], ends(32, 32, 32)), (np.r_[32:64], ends(0, 0, 32))):
        assert detgemm.grouped_gemm(x[rows].T, dy[rows], offs, FOLD, out=acc, accumulate=True) is acc
    assert same(acc, whole)
    chain = "hopper/bf16/chain->fp32"
    halves = [detgemm.grouped_gemm(x[s].T, dy[s], ends(0, 0, 32), chain)[2] for s in (slice(0, 32), slice(32, 64))]
    both = detgemm.grouped_gemm(x.T, dy, ends(0, 0, 64), chain)[2]
    assert not same(halves[0] + halves[1], both)  # the control: a finished sum that is added has other bits


A, B = draw(21, 48), draw(4, 48, 6, seed=1)
WRONG = {
    "no ends": (lambda: detgemm.grouped_gemm(A, B, None, BF16), "offs is None"),
    "too few ends": (lambda: detgemm.grouped_gemm(A, B, OFFS[:3].copy(), BF16), "offs has 3 elements: it must have one for each of 4 groups"),
    "floats": (lambda: detgemm.grouped_gemm(A, B, OFFS.astype(np.float32), BF16), "offs.dtype is float32: it must be int32 or int64"),
    "strided ends": (lambda: detgemm.grouped_gemm(A, B, np.repeat(OFFS, 2)[::2], BF16), "stride 1"),
    "K": (lambda: detgemm.grouped_gemm(A[:, :40], B, OFFS, BF16), "a has 40 columns and b has 48 rows"),
    "columns": (lambda: detgemm.grouped_gemm(B, A, OFFS, BF16), "segments of columns"),
    "bias": (lambda: detgemm.grouped_gemm(A, B, OFFS, BF16, bias=np.zeros((3, 6), np.float32)), "bias has the shape"),
    "out": (lambda: detgemm.grouped_gemm(A, B, OFFS, BF16, out=np.zeros((21, 5), bfloat16)), "out has the shape"),
    "nothing to accumulate in": (lambda: detgemm.grouped_gemm(A, B, OFFS, FP32, accumulate=True), "out is None"),
    "activation": (lambda: detgemm.grouped_gemm(A, B, OFFS, BF16, activation="swish"), "activation is 'swish'"),
    "backend": (lambda: detgemm.grouped_gemm(A, B, OFFS, BF16, backend="metal"), "metal"),
    "one dimension": (lambda: detgemm.grouped_gemm(A[0], B, OFFS, BF16), "two or three dimensions"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_call_gets_a_sentence(case):
    call, said = WRONG[case]
    with pytest.raises(detgemm.DetgemmError, match=said):
        call()
