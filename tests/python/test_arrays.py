# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""NumPy, DLPack, CuPy and JAX arrays, against the command's own digests and each other."""
import pytest

import detgemm

np = pytest.importorskip("numpy")
ml_dtypes = pytest.importorskip("ml_dtypes")

BF16, FP32 = "hopper/bf16/chain->bf16", "hopper/bf16/chain->fp32"


def operands(m=9, n=32, k=64):
    random = np.random.default_rng(1)
    make = lambda *shape: (random.standard_normal(shape) * np.exp2(random.integers(-6, 7, shape))).astype(ml_dtypes.bfloat16)
    return make(m, k), make(k, n)


def same(x, y):
    return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()


def test_rows_do_not_depend_on_the_batch():
    a, b = operands(64)
    whole = detgemm.gemm(a, b, FP32)
    assert all(same(detgemm.gemm(a[i:i + 1], b, FP32), whole[i:i + 1]) for i in (0, 1, 63))
    # The control: K split in the middle is another order, and these data show it.
    halves = [detgemm.gemm(a[:, s], b[s], FP32) for s in (slice(0, 32), slice(32, 64))]
    assert not same(halves[0] + halves[1], whole)


def test_strides_do_not_change_bits():
    a, b = operands()
    whole = detgemm.gemm(a, b, BF16)
    wide = np.zeros((9, 100), a.dtype)
    wide[:, 7:71] = a
    for other_a, other_b in ((np.asfortranarray(a), b), (a, np.asfortranarray(b)), (wide[:, 7:71], b)):
        assert same(detgemm.gemm(other_a, other_b, BF16), whole)
    out = np.zeros((32, 9), a.dtype).T
    assert detgemm.gemm(a, b, BF16, out=out) is out and same(np.ascontiguousarray(out), whole)


def test_the_program_of_the_readme_has_the_same_digest():
    numbers = lambda m, n: (0x3f80 + np.arange(m * n, dtype=np.uint64) ** 2 % 129).astype(np.uint16).reshape(m, n)
    whole = detgemm.gemm(numbers(257, 4096), numbers(4096, 192), FP32, dtypes={"a": "bf16", "b": "bf16"},
                         out=np.empty((257, 192), np.float32))
    assert detgemm.digest(whole) == "71416be6fc2c9ca9"
    assert detgemm.digest(np.asfortranarray(whole)) == "71416be6fc2c9ca9" != detgemm.digest(whole.T)


def test_epilogues():
    a, b = operands()
    product = detgemm.gemm(a, b, "hopper/bf16/chain->fp32")
    c = np.linspace(-3, 3, 9 * 32, dtype=np.float32).reshape(9, 32)
    bias = np.linspace(-1, 1, 32, dtype=np.float32)
    assert same(detgemm.gemm(a, b, "hopper/bf16/chain->fp32", bias=bias, activation="relu"), np.maximum(product + bias, 0))
    assert same(detgemm.gemm(a, b, "hopper/bf16/chain->fp32", c=c, beta=1), product + c)
    half = [detgemm.gemm(a[:, :32], b[:32], "hopper/bf16/chain->fp32")]
    half.append(detgemm.gemm(a[:, 32:], b[32:], "hopper/bf16/chain->fp32", c=half[0], continue_from_c=True))
    assert same(half[1], product)


def test_cuts_that_are_accepted_keep_the_bits():
    contract = detgemm.Contract("hopper/bf16/fold:16->fp32")
    a, b = operands()
    whole = detgemm.gemm(a, b, contract)

    def cut_at(k):
        first = detgemm.gemm(a[:, :k], b[:k], contract)
        return detgemm.gemm(a[:, k:], b[k:], contract, c=first, continue_from_c=True)

    contract.check_cuts([16, 32, 16])
    assert same(cut_at(48), whole)
    with pytest.raises(detgemm.DetgemmError, match=r"^lengths\[0\] is 40: under hopper/bf16/fold:16->fp32 every length but the "
                                                   "last must be a multiple of 16$"):
        contract.check_cuts(np.array([40, 24]))
    assert not same(cut_at(40), whole)
    for lengths, said in ([[64, 1.5], "1.5: it must be an integer"], [[2**63, 1], "it must be an integer"],
                          [[-16, 16], r"lengths\[0\] is -16: it must not be negative"]):
        with pytest.raises(detgemm.DetgemmError, match=said):
            contract.check_cuts(lengths)
    with pytest.raises(detgemm.DetgemmError, match="a tree's shape depends on the whole of K, so it cannot be cut"):
        detgemm.Contract("hopper/bf16/tree:16").check_cuts((16, 16))


def test_a_misspelt_contract_gets_a_hint():
    for text, said in (("hoper/bf16/chain", "did you mean hopper.$"), ("hopper/bf16/chian", "did you mean chain.$")):
        with pytest.raises(detgemm.DetgemmError, match=said):
            detgemm.Contract(text)


def test_plain_integers_hold_what_dtypes_names():
    a, b = operands()
    assert same(detgemm.gemm(a.view(np.uint16), b, BF16, dtypes={"a": "bf16"}), detgemm.gemm(a, b, BF16))
    e4m3 = a.astype(ml_dtypes.float8_e4m3fn)
    whole = detgemm.gemm(e4m3, b.astype(ml_dtypes.float8_e4m3fn), "hopper/e4m3/chain->bf16")
    assert same(detgemm.gemm(e4m3.view(np.uint8), b.astype(ml_dtypes.float8_e4m3fn), "hopper/e4m3/chain->bf16",
                             dtypes={"a": "e4m3"}), whole)


def test_dlpack():
    class Exported:  # an array library that knows DLPack and nothing else
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__()

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    a, b = (x.astype(np.float32) for x in operands())
    whole = detgemm.gemm(a, b, "ieee_fma/fp32/chain")
    out = np.empty((9, 32), np.float32)
    detgemm.gemm(Exported(a), Exported(np.asfortranarray(b)), "ieee_fma/fp32/chain", out=out)
    assert same(out, whole)
    with pytest.raises(detgemm.DetgemmError, match="give `out`"):
        detgemm.gemm(Exported(a), b, "ieee_fma/fp32/chain")


def test_torch_tensors_without_the_operators():
    torch = pytest.importorskip("torch")
    a, b = operands()
    x, y = (torch.from_numpy(v.view(np.int16)).view(torch.bfloat16) for v in (a, np.ascontiguousarray(b)))
    assert detgemm.gemm(x, y, BF16).view(torch.int16).numpy().tobytes() == detgemm.gemm(a, b, BF16).tobytes()


def test_jax():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_platforms", "cpu")
    a, b = operands()
    result = detgemm.gemm(jax.numpy.asarray(a), jax.numpy.asarray(b), BF16)
    assert isinstance(result, jax.Array) and same(np.asarray(result), detgemm.gemm(a, b, BF16))


def test_cupy():
    cupy = pytest.importorskip("cupy")
    if "cuda" not in detgemm.info()["kinds"] or cupy.cuda.runtime.getDeviceCount() == 0:
        pytest.skip("no CUDA device, or a build without CUDA")
    a, b = (x.astype(np.float16) for x in operands(257, 192, 512))
    for contract in ("hopper/fp16/chain->fp32", "hopper/fp16/tree:64->fp16"):
        with cupy.cuda.Stream(non_blocking=True) as stream:
            result = detgemm.gemm(cupy.asarray(a), cupy.asarray(b), contract)
            stream.synchronize()
        assert same(result.get(), detgemm.gemm(a, b, contract))


@pytest.mark.parametrize("change, said", [
    (dict(a=np.ones((2, 2))), "a.dtype is float64"), (dict(a=[[1.0]]), "a is a list"),
    (dict(a=np.ones(3, np.float32)), "two dimensions"), (dict(a=np.ones((2, 5), np.float32)), "a has 5 columns"),
    (dict(out=np.ones((2, 4), np.float16)), "dtype is fp16"), (dict(out=np.ones((3, 4), np.float32)), "out has the shape"),
    (dict(out=np.broadcast_to(np.float32(1), (2, 4))), "out is read-only"),
    (dict(bias=np.ones((4, 1), np.float32)), "bias has the shape"), (dict(bias=np.ones(3, np.float32)), "bias.size is 3"),
    (dict(activation="swish"), "activation is 'swish'"), (dict(backend="metal"), '"metal"'),
    (dict(a=np.ones((2, 6), np.float32)[:, ::2]), "one stride must be 1"), (dict(stream="x"), "stream is 'x'"),
    (dict(dtypes={"a": "bf16"}, a=np.ones((2, 3), np.int32)), "4 bytes"),
    (dict(contract="hopper/bf16/chain"), "needs bf16"), (dict(stable=7), "stable is 7: it must be")])
def test_wrong_calls_get_sentences(change, said):
    call = dict(a=np.ones((2, 3), np.float32), b=np.ones((3, 4), np.float32), contract="ieee_fma/fp32/chain")
    call.update(change)
    before = call["out"].copy() if "out" in call else None
    with pytest.raises(detgemm.DetgemmError, match=said):
        detgemm.gemm(**call)
    assert before is None or (call["out"] == before).all()
