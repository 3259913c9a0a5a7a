# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The quantiser on arrays: its rule in NumPy, the digests that pin it in C++, rows alone and in a batch, and every refusal."""
import pathlib

import pytest

import detgemm

np = pytest.importorskip("numpy")
ml_dtypes = pytest.importorskip("ml_dtypes")

PINNED = pathlib.Path(__file__).parents[1] / "unit/quantize_test.cpp"
E4M3, E8M0 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu


def same(x, y):
    return x.dtype == y.dtype and x.shape == y.shape and np.ascontiguousarray(x).tobytes() == np.ascontiguousarray(y).tobytes()


def pinned_data(m, k):
    """The numbers of the C++ test: of both signs and many sizes, with NaN, Inf and zeros of both signs."""
    word = (np.arange(1, m * k + 1, dtype=np.uint64) * 2654435761 % 2**32).astype(np.uint32)
    x = ((word & 0x807fffff) | ((112 + word % 30) << 23)).astype(np.uint32).view(np.float32)
    x = np.where(word % 13 == 0, np.where(word % 2 == 0, np.float32(0.0), np.float32(-0.0)), x)
    x = np.where(word % 101 == 0, np.float32(np.inf), x)
    return np.where(word % 97 == 0, np.float32(np.nan), x).reshape(m, k)


def fnv(data, value):
    for byte in data:
        value = (value ^ byte) * 0x100000001b3 % 2**64
    return value


@pytest.mark.parametrize("leaf, per, k, scale_type, digest", [
    (128, 1, "cols", "fp32", "91ae66b915296b5e"), (128, 1, "cols", "e8m0", "b980c8114b891358"),
    (128, 128, "cols", "fp32", "6b22b8035bedbe91"), (32, 128, "rows", "e8m0", "0dd46aa11eac57f3")])
def test_the_digests_are_those_of_the_library_s_own_test(leaf, per, k, scale_type, digest):
    q, scales = detgemm.quantize(pinned_data(200, 300), leaf, per=per, k=k, scale_type=scale_type)
    along = scales if k == "cols" else scales.T  # there scales lie by blocks of lines, then by leaves
    assert f"{fnv(np.ascontiguousarray(along).tobytes(), fnv(q.tobytes(), 0xcbf29ce484222325)):016x}" == digest
    if PINNED.exists():
        assert f'"{digest}"' in PINNED.read_text(encoding="utf-8")


def ruled(x, leaf, per, scale_type, inverse=True):
    """The rule in NumPy's fp32 operations and ml_dtypes' rounding, block by block. Without `inverse` it divides, which is
    another rule."""
    x = x.astype(np.float32)
    m, k = x.shape
    scales = np.zeros((-(-m // per), -(-k // leaf)), np.float32)
    q = np.zeros(x.shape, E4M3)
    with np.errstate(all="ignore"):
        for i in range(scales.shape[0]):
            for j in range(scales.shape[1]):
                at = np.s_[i * per:(i + 1) * per, j * leaf:(j + 1) * leaf]
                block = x[at]
                amax = np.abs(block[np.isfinite(block)]).max(initial=np.float32(0))
                s = np.maximum(amax, np.float32(1e-4)) / np.float32(448)
                if scale_type == "e8m0":
                    fraction, exponent = np.frexp(s)
                    s = np.float32(np.ldexp(1.0, int(exponent) - (1 if fraction == 0.5 else 0)))
                v = block * (np.float32(1) / s) if inverse else block / s
                v = np.where(np.isfinite(block), np.clip(v, np.float32(-448), np.float32(448)), np.float32(np.nan))
                q[at] = v.astype(E4M3)
                words = q[at].view(np.uint8)
                words[~np.isfinite(block)] = 0x7f
                scales[i, j] = s
    return q, scales if scale_type == "fp32" else scales.astype(E8M0)


def adversarial(m, k, seed):
    """Blocks of zeros, of subnormals, of one huge number among tiny ones, of NaN and Inf alone, and of numbers
    half-way between two of e4m3, as near as fp32 has them."""
    numbers = np.arange(0x7f, dtype=np.uint8).view(E4M3).astype(np.float32)
    between = (numbers[1:] + numbers[:-1]) / 2
    random = np.random.default_rng(seed)
    x = random.standard_normal((m, k)) * np.exp2(random.integers(-30, 30, (m, k)))
    x = x.astype(np.float32)
    kind = random.integers(0, 7, (m, -(-k // 32)))
    for i in range(m):
        for j in range(kind.shape[1]):
            block = x[i, j * 32:(j + 1) * 32]
            if kind[i, j] == 0:
                block[:] = random.choice(np.array([0.0, -0.0], np.float32), block.size)
            elif kind[i, j] == 1:
                block[:] = (random.integers(0, 1 << 23, block.size).astype(np.uint32)).view(np.float32)
            elif kind[i, j] == 2:
                block[0] = 3e38
            elif kind[i, j] == 3:
                block[:] = random.choice(np.array([np.nan, np.inf, -np.inf], np.float32), block.size)
            elif kind[i, j] > 3:
                largest = np.abs(block[0])
                block[:] = random.choice(between, block.size) * (largest / np.float32(448))
                block[0] = largest
    return x


SHAPES = [(1, 1), (3, 31), (5, 300), (129, 65), (256, 33)]


@pytest.mark.parametrize("scale_type", ["fp32", "e8m0"])
@pytest.mark.parametrize("per", [1, 128])
def test_it_is_the_rule(per, scale_type):
    for seed, (m, k) in enumerate(SHAPES):
        x = adversarial(m, k, seed)
        for leaf in (32, 128):
            wanted = ruled(x, leaf, per, scale_type)
            found = detgemm.quantize(x, leaf, per=per, scale_type=scale_type)
            assert all(map(same, found, wanted)), (m, k, leaf)
            down = detgemm.quantize(np.asfortranarray(x).T, leaf, per=per, k="rows", scale_type=scale_type)
            assert same(down[0], wanted[0].T) and same(down[1], wanted[1].T)
    for narrow in (ml_dtypes.bfloat16, np.float16):
        with np.errstate(over="ignore"):
            y = adversarial(40, 140, 9).astype(narrow)
        assert all(map(same, detgemm.quantize(y, per=per, scale_type=scale_type), ruled(y, 128, per, scale_type)))


def test_another_rule_is_noticed():
    """The controls: division in place of the reciprocal, blocks of other sizes, and a block that reads its neighbour."""
    x = adversarial(129, 300, 3)
    q, scales = detgemm.quantize(x, 32)
    assert same(q, ruled(x, 32, 1, "fp32")[0]) and not same(q, ruled(x, 32, 1, "fp32", inverse=False)[0])
    assert not same(q, ruled(x, 64, 1, "fp32")[0]) and not same(q, ruled(x, 32, 128, "fp32")[0])
    assert not same(scales, detgemm.quantize(np.roll(x, 1, axis=1), 32)[1])


def test_a_row_has_its_bits_alone_and_a_weight_s_block_is_its_own():
    x = adversarial(260, 300, 4)
    q, scales = detgemm.quantize(x)
    for i in (0, 7, 259):
        one = detgemm.quantize(x[i:i + 1])
        assert same(one[0], q[i:i + 1]) and same(one[1], scales[i:i + 1])
    w = detgemm.quantize(x, per=128)
    part = detgemm.quantize(x[128:256, 128:256], per=128)
    assert same(part[0], w[0][128:256, 128:256]) and same(part[1], w[1][1:2, 1:2])
    # The control: with 128 rows per scale a row does not stand alone.
    assert not same(detgemm.quantize(x[:1], per=128)[0], w[0][:1])


def test_into_arrays_of_any_layout():
    x = adversarial(130, 200, 5)
    q, scales = detgemm.quantize(x)
    out, kept = np.zeros((200, 130), E4M3).T, np.full((130, 9), 7, np.float32)
    found = detgemm.quantize(x, out=out, out_scales=kept[:, 2:6:2])
    assert found[0] is out and same(out, q) and same(kept[:, 2:6:2], scales)
    kept[:, 2:6:2] = 7
    assert (kept == 7).all()
    plain, words = np.zeros((130, 200), np.uint8), np.zeros((130, 2), np.uint8)
    detgemm.quantize(x, scale_type="e8m0", out=plain, out_scales=words, dtypes={"out": "e4m3", "out_scales": "e8m0"})
    wanted = detgemm.quantize(x, scale_type="e8m0")
    assert same(plain.view(E4M3), wanted[0]) and same(words.view(E8M0), wanted[1])
    half = x.astype(ml_dtypes.bfloat16)
    assert all(map(same, detgemm.quantize(half.view(np.uint16), dtypes={"array": "bf16"}), detgemm.quantize(half)))
    assert [y.shape for y in detgemm.quantize(x[:0])] == [(0, 200), (0, 2)]
    assert [y.shape for y in detgemm.quantize(x[:, :0], per=128)] == [(130, 0), (2, 0)]


WRONG = {
    "leaf": (lambda x: detgemm.quantize(x, 0), "leaf is 0: it must be from 1 to 2\\^31"),
    "leaf of text": (lambda x: detgemm.quantize(x, "128"), "leaf is '128': it must be an integer"),
    "per": (lambda x: detgemm.quantize(x, per=2), "per is 2: a scale is that of 1 or 128 lines"),
    "per of a truth value": (lambda x: detgemm.quantize(x, per=True), "per is True: it must be an integer"),
    "k": (lambda x: detgemm.quantize(x, k="depth"), "k is 'depth': it must be \"cols\" or \"rows\""),
    "scale_type": (lambda x: detgemm.quantize(x, scale_type="fp16"), "scale_type is 'fp16': it must be \"fp32\" or \"e8m0\""),
    "type": (lambda x: detgemm.quantize(x.astype(E4M3)), "array.dtype is e4m3: quantize takes bf16, fp16 and fp32"),
    "fp64": (lambda x: detgemm.quantize(x.astype(np.float64)), "array.dtype is float64"),
    "shape": (lambda x: detgemm.quantize(x[0]), r"array has the shape \(200,\): it must have two dimensions"),
    "strides": (lambda x: detgemm.quantize(x[:, ::2]), "one stride must be 1"),
    "no array": (lambda x: detgemm.quantize([1.0]), "array is a list"),
    "out of another type": (lambda x: detgemm.quantize(x, out=x), "out.dtype is fp32: quantize makes e4m3"),
    "out of another shape": (lambda x: detgemm.quantize(x, out=np.zeros((3, 4), E4M3)),
                             r"out has the shape \(3, 4\): it must be \(3, 200\)"),
    "scales of another shape": (lambda x: detgemm.quantize(x, out_scales=x[:2, :2]),
                                r"out_scales has the shape \(2, 2\): it must be \(3, 2\)"),
    "scales of another type": (lambda x: detgemm.quantize(x, out_scales=np.zeros((3, 2), E8M0)),
                               "out_scales.dtype is e8m0: scale_type is fp32"),
    "scales of no type": (lambda x: detgemm.quantize(x, out_scales=np.zeros((3, 2), np.float64)),
                          "out_scales.dtype is float64: a scale is float32 or float8_e8m0fnu"),
    "scales that overlap": (lambda x: detgemm.quantize(x, out_scales=np.lib.stride_tricks.as_strided(
        np.zeros(4, np.float32), (3, 2), (4, 4))), "no two scales may overlap"),
    "scales inside of the array": (lambda x: detgemm.quantize(x, out_scales=x[:, :2]), "from overlaps scales: they must not share memory"),
    "read-only scales": (lambda x: detgemm.quantize(x, out_scales=np.broadcast_to(np.float32(1), (3, 2))),
                         "out_scales is read-only"),
    "backend": (lambda x: detgemm.quantize(x, backend="metal"), '"metal"'),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_call_gets_a_sentence(case):
    call, said = WRONG[case]
    x = adversarial(3, 200, 6)
    before = x.tobytes()
    with pytest.raises(detgemm.DetgemmError, match=said):
        call(x)
    assert x.tobytes() == before


def test_a_backend_that_does_not_quantise_says_so(monkeypatch):
    """What a device without the kernel gives: the backend's own sentence reaches the caller."""
    from detgemm import _library as lib

    class Refusing:
        def __getattr__(self, name):
            return {"detgemm_quantize": lambda *_: lib.UNSUPPORTED,
                    "detgemm_last_error": lambda: b"cuda: this backend does not quantise matrices"}.get(name) or getattr(real, name)

    real = lib.library()
    x = adversarial(3, 200, 6)
    out, scales = detgemm.quantize(x)
    monkeypatch.setattr(lib, "library", Refusing)
    with pytest.raises(detgemm.DetgemmError, match="no backend on the host quantises: cuda: this backend does not quantise"):
        detgemm.quantize(x, out=out, out_scales=scales)
