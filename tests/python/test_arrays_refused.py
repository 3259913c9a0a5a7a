# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays and options that would silently mean something else: other byte orders, masks, numbers and texts that C would cut."""
import numpy as np
import pytest

import detgemm

FP32 = "ieee_fma/fp32/chain"
SNAP = "snap/bf16/fold:64->bf16"
EYE = np.eye(4, dtype=np.float32)
E4M3 = {name: "e4m3" for name in ("a", "b")}
CODES = np.ones((4, 4), np.uint8)
ENDS = np.array([2, 4], np.int32)


def swapped(array):
    return array.astype(array.dtype.newbyteorder())


def masked(array):
    return np.ma.masked_array(array, mask=np.zeros(array.shape, bool))


def gemm(**given):
    return detgemm.gemm(**{"a": EYE, "b": EYE, "contract": FP32, **given})


def scaled(**given):
    scale = np.ones((4, 1), np.float32)
    return detgemm.scaled_gemm(**{"a": CODES, "scale_a": scale, "b": CODES, "scale_b": scale.T, "dtypes": E4M3,
                                  "contract": "hopper/e4m3/scaled:128->fp32", "out": np.zeros((4, 4), np.float32), **given})


def grouped(**given):
    return detgemm.grouped_gemm(**{"a": EYE, "b": np.stack([EYE, EYE]), "offs": ENDS, "contract": FP32, **given})


def quantized(**given):
    return detgemm.quantize(**{"array": EYE, "out": np.zeros((4, 4), np.uint8), "out_scales": np.zeros((4, 1), np.float32),
                               "dtypes": {"out": "e4m3"}, **given})


WHOLE = np.zeros((2, 64), np.uint16)
# Every argument that is an array.
ARRAYS = {
    "gemm a": lambda of: gemm(a=of(EYE)), "gemm b": lambda of: gemm(b=of(EYE)),
    "gemm c": lambda of: gemm(c=of(EYE), beta=1.0), "gemm bias": lambda of: gemm(bias=of(EYE[0])),
    "gemm out": lambda of: gemm(out=of(EYE)), "gemm a as bf16": lambda of: gemm(
        a=of(WHOLE), b=WHOLE.T, contract="hopper/bf16/chain->fp32", dtypes={"a": "bf16", "b": "bf16"}),
    "gemm a of fp16": lambda of: gemm(a=of(EYE.astype(np.float16)), b=EYE.astype(np.float16), contract="hopper/fp16/chain->fp16"),
    "scaled scale_a": lambda of: scaled(scale_a=of(np.ones((4, 1), np.float32))),
    "scaled scale_b": lambda of: scaled(scale_b=of(np.ones((1, 4), np.float32))),
    "scaled c": lambda of: scaled(c=of(EYE), beta=1.0), "scaled out": lambda of: scaled(out=of(EYE)),
    "grouped a": lambda of: grouped(a=of(EYE)), "grouped b": lambda of: grouped(b=of(np.stack([EYE, EYE]))),
    "grouped offs": lambda of: grouped(offs=of(ENDS)), "grouped bias": lambda of: grouped(bias=of(EYE[:2])),
    "grouped counts": lambda of: detgemm.grouped_gemm(EYE[None], EYE[None], None, FP32, counts=of(ENDS[:1])),
    "grouped out": lambda of: grouped(out=of(EYE)),
    "quantize array": lambda of: quantized(array=of(EYE)),
    "quantize out_scales": lambda of: quantized(out_scales=of(np.zeros((4, 1), np.float32))),
    "digest": lambda of: detgemm.digest(of(EYE)), "digest of integers": lambda of: detgemm.digest(of(ENDS)),
    "snap": lambda of: detgemm.snap(of(WHOLE), 64, out=WHOLE.copy(), dtype="bf16"),
    "snap out": lambda of: detgemm.snap(WHOLE, 64, out=of(WHOLE), dtype="bf16"),
    "is_snapped": lambda of: detgemm.is_snapped(of(WHOLE), 64, dtype="bf16"),
}


@pytest.mark.parametrize("call", ARRAYS)
def test_another_byte_order_is_refused(call):
    ARRAYS[call](np.copy)
    with pytest.raises(detgemm.DetgemmError, match=r"\w+.dtype is >\w\d, in the other byte order: it must be in this machine's"):
        ARRAYS[call](swapped)


@pytest.mark.parametrize("call", ARRAYS)
def test_a_mask_is_refused(call):
    with pytest.raises(detgemm.DetgemmError, match="is a masked array: a product has no masks"):
        ARRAYS[call](masked)


def test_nothing_is_written_into_a_refused_result():
    out = swapped(np.full((4, 4), 7, np.float32))
    with pytest.raises(detgemm.DetgemmError):
        gemm(out=out)
    assert (out == 7).all()


class Exported:
    """An array whose `__dlpack__` returns, or raises, what it was given."""

    def __init__(self, given):
        self.given = given

    def __dlpack__(self, **_):
        if isinstance(self.given, Exception):
            raise self.given
        return self.given

    def __dlpack_device__(self):
        return 1, 0


class HalfAnInterface:
    """An array on a device that does not say where."""

    __cuda_array_interface__ = {"shape": (4, 4), "typestr": "<f4", "version": 3}


LONG = 2**64 + 128  # what a 64-bit integer would cut to 128
WRONG = {
    "stable beyond 32 bits": (lambda: gemm(stable=2**40 + 1), r"stable is 1099511627777: it must be an integer: 0 \(no promise\)"),
    "stable 3": (lambda: gemm(stable=3), "stable is 3: it must be"), "stable True": (lambda: gemm(stable=True), "stable is True"),
    "stable 1.0": (lambda: gemm(stable=1.0), "stable is 1.0"),
    "grouped stable": (lambda: grouped(stable=2**32), "stable is 4294967296: it must be"),
    "scaled stable": (lambda: scaled(stable=-1), "stable is -1: it must be"),
    "a_snapped": (lambda: gemm(a_snapped="no"), "a_snapped is 'no': it must be True or False"),
    "b_snapped": (lambda: gemm(b_snapped=2), "b_snapped is 2: it must be True or False"),
    "b_snapped of arrays": (lambda: gemm(b_snapped=EYE[0]), "b_snapped is array.*it must be True or False"),
    "continue_from_c": (lambda: gemm(continue_from_c="False"), "continue_from_c is 'False': it must be True or False"),
    "accumulate": (lambda: grouped(accumulate=None), "accumulate is None: it must be True or False"),
    "contract with a NUL": (lambda: gemm(contract=FP32 + "\0->bf16"), r"contract is 'ieee_fma/fp32/chain\\x00->bf16': it must have no NUL"),
    "Contract with a NUL": (lambda: detgemm.Contract(FP32 + "\0"), "it must have no NUL"),
    "output with a NUL": (lambda: detgemm.Contract(FP32).with_output("bf16\0"), "it must have no NUL"),
    "output of none": (lambda: detgemm.Contract(FP32).with_output(None), "output is None: it must be text"),
    "variant with a NUL": (lambda: gemm(variant="scalar\0x"), "variant is 'scalar.*': it must have no NUL"),
    "backend with a NUL": (lambda: gemm(backend="reference\0"), "backend is 'reference.*': it must have no NUL"),
    "grouped variant": (lambda: grouped(variant="\0"), "variant is .*: it must have no NUL"),
    "quantize backend": (lambda: quantized(backend="reference\0x"), "backend is 'reference.*': it must have no NUL"),
    "contract of a surrogate": (lambda: gemm(contract="ieee\ud800"), r"contract is 'ieee\\ud800': it has a surrogate"),
    "variant of a surrogate": (lambda: gemm(variant="\udfff"), "variant is .*: it has a surrogate"),
    "no a": (lambda: gemm(a=None), "a is a NoneType: it must be a NumPy or CuPy array"),
    "no b": (lambda: gemm(b=None), "b is a NoneType"), "grouped, no a": (lambda: grouped(a=None), "a is a NoneType"),
    "grouped, no b": (lambda: grouped(b=None), "b is a NoneType"), "scaled, no scale": (lambda: scaled(scale_a=None), "scale_a is a NoneType"),
    "no contract": (lambda: gemm(contract=None), "contract is None: it must be text"),
    "no array to quantize": (lambda: quantized(array=None), "array is a NoneType"),
    "no array to snap": (lambda: detgemm.snap(None, 64), "array is a NoneType"), "nothing to digest": (lambda: detgemm.digest(None), "NoneType"),
    "snap's leaf": (lambda: detgemm.snap(WHOLE, LONG, dtype="bf16"), "leaf is 18446744073709551744: it must be from 1 to 2.31"),
    "is_snapped's leaf": (lambda: detgemm.is_snapped(WHOLE, LONG, dtype="bf16"), "leaf is 18446744073709551744"),
    "dtypes of another array": (lambda: gemm(dtypes={"q": "bf16"}), "dtypes names 'q': it must be one of a, b, c, bias, out"),
    "dtypes without a format": (lambda: gemm(dtypes={"a": 3}), "dtypes names 3 for a: it must be one of bf16"),
    "dtypes over a format": (lambda: gemm(dtypes={"a": "bf16"}), 'a is to be read as "bf16": its dtype is float32'),
    "digest over a format": (lambda: detgemm.digest(EYE, "fp16"), 'array is to be read as "fp16": its dtype is float32'),
    "stream beyond an address": (lambda: gemm(stream=2**64), "stream is 18446744073709551616: it must be"),
    "stream below zero": (lambda: gemm(stream=-1), "stream is -1: it must be"),
    "beta without c": (lambda: gemm(beta=0.5), "c is None: it must be given where beta is 0.5"),
    "continue without c": (lambda: gemm(continue_from_c=True), "c is None: it must be given where continue_from_c is True"),
    "out of another shape": (lambda: gemm(out=np.ones((3, 7), np.float32)), r"out has the shape \(3, 7\): it must be"),
    "out of another type": (lambda: gemm(out=np.ones(EYE.shape, np.float16)), "out.dtype is fp16: it must be fp32"),
    "no capsule": (lambda: gemm(a=Exported(5)), "a could not be exported through DLPack: __dlpack__ returned a int"),
    "an exporter that fails": (lambda: gemm(a=Exported(KeyError("lost"))), "a could not be exported through DLPack: 'lost'"),
    "half an interface": (lambda: gemm(a=HalfAnInterface()), "a.__cuda_array_interface__ is incomplete: KeyError 'data'"),
    "threads": (lambda: detgemm.start(2**32 + 1), "threads is 4294967297: it must be from 0, for all, to 2.31 - 1"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_would_be_cut_or_guessed_is_refused(case):
    call, said = WRONG[case]
    with pytest.raises(detgemm.DetgemmError, match=said):
        call()


def test_truth_values_of_numpy_are_truth_values():
    assert (gemm(continue_from_c=np.bool_(False), stable=np.int64(2)) == EYE).all()
