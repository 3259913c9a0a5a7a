# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""FP8 products with a scale per block, or per line, of each operand, and the quantiser that makes such operands."""
import ctypes

from detgemm import _library as lib
from detgemm.arrays import _check_place, _stream, check_options, multiply
from detgemm.snapping import K
from detgemm.views import describe, new_like


def scaled_gemm(a, scale_a, b, scale_b, contract, *, out=None, c=None, bias=None, alpha=1.0, beta=0.0, activation="none",
                continue_from_c=False, stable=0, stream=None, backend="", variant="", dtypes=None):
    """act(alpha * sum + beta * C + bias) of arrays in host or device memory whose rows and columns bring scales.

    scaled:LEAF    leaf i of K is a chain of LEAF products from +0, and with s_i = scale_a * scale_b of its row, column and
                   leaf, rounded once, the sum goes on as fma(s_i, leaf_i, sum), i ascending
    fold, chain    the finished sum becomes scale_a * (scale_b * sum), each product rounded once: a scale for each row and
                   column, as if K were one leaf below

    a, b      M x K and K x N of the contract's input type, with strides as for `gemm`
    scale_a   M x ceil(K / LEAF), a scale for each row and leaf, or ceil(M / 128) x ceil(K / LEAF), for 128 rows
    scale_b   ceil(K / LEAF) x N, or ceil(K / LEAF) x ceil(N / 128). A weight that is stored as N x K with scales
              N / 128 x K / LEAF is passed as w.T, scales.T
              Both are float32 or float8_e8m0fnu with any strides, of which 0 shares a scale (numpy.broadcast_to): a
              static scale of a whole array is one with two strides of 0. Strides do not change bits
    contract  a Contract or its text, such as "hopper/e4m3/scaled:128->bf16" or "hopper/e4m3/fold:128->bf16"
    c         M x N; with continue_from_c it is fp32, the sum starts from it, and the leaves are those of this call. Cut K
              at multiples of LEAF to have the uncut bits
    and out, bias, activation, stream, backend, variant and dtypes (with "scale_a" and "scale_b") as for `gemm`.

    `quantize` makes a, scale_a and b, scale_b: scaled_gemm(*quantize(x), *quantize(w, per=128, k="rows"), contract).

    Errors: DetgemmError with a sentence that names the argument; then nothing was written. docs/scaled.md says what is
    promised, and which backends compute it.
    """
    return multiply(a, b, contract, out=out, c=c, bias=bias, alpha=alpha, beta=beta, activation=activation,
                    continue_from_c=continue_from_c, stable=stable, stream=stream, backend=backend, variant=variant,
                    dtypes=dtypes, scales=(scale_a, scale_b))


def _check(leaf, per, k, scale_type):
    for name, value in (("leaf", leaf), ("per", per)):
        if not isinstance(value, int) or isinstance(value, bool):
            raise lib.DetgemmError(f"{name} is {value!r}: it must be an integer")
    if not 1 <= leaf <= 1 << 31:
        raise lib.DetgemmError(f"leaf is {leaf}: it must be from 1 to 2^31")
    if per not in (1, 128):
        raise lib.DetgemmError(f"per is {per}: a scale is that of 1 or 128 lines")
    if k not in K:
        raise lib.DetgemmError(f'k is {k!r}: it must be "cols" or "rows"')
    if scale_type not in lib.SCALE_TYPES:
        raise lib.DetgemmError(f'scale_type is {scale_type!r}: it must be "fp32" or "e8m0"')


def quantize(array, leaf=128, *, per=1, k="cols", scale_type="fp32", out=None, out_scales=None, stream=None, backend="",
             dtypes=None):
    """An e4m3 matrix and its scales, made from bf16, fp16 or fp32 numbers; a pair of arrays that `scaled_gemm` takes.

    A block is `leaf` numbers along K of `per` lines; blocks at the ends may be smaller. In fp32, each operation rounded
    once to nearest even:

      amax   the largest magnitude among the block's finite numbers
      scale  max(amax, 1e-4) / 448; for "e8m0" the least power of two that is not below it
      number x * (1 / scale), to e4m3 to nearest even; beyond 448 it is 448 with x's sign. NaN and Inf become NaN

    array       R x C
    leaf        LEAF of the contract
    per         1, for activations, or 128, for weights
    k           "cols": K runs along a row, lines are rows (A as M x K, a weight as N x K). "rows": down a column, lines are
                columns (B as K x N)
    scale_type  "fp32" or "e8m0"
    out         R x C of e4m3; out_scales ceil(R / per) x ceil(C / leaf) with k = "cols", ceil(R / leaf) x ceil(C / per)
                with "rows". Where they are not given they are new arrays of the array's library
    stream, backend
                as for `gemm`
    dtypes      names of number formats for arrays of plain integers: {"array": ..., "out": ..., "out_scales": ...}

    A block's bits depend on the block alone, so with per = 1 a row has the same bits alone and in any batch. There is no
    scale of a whole batch: it would change with the batch.

    Errors: DetgemmError with a sentence that names the argument; then nothing was written.
    """
    _check(leaf, per, k, scale_type)
    check_options(texts=[("backend", backend)], dtypes=dtypes, arrays=("array", "out", "out_scales"))
    dtypes = dtypes or {}
    view = describe(array, "array", dtypes.get("array"))
    if len(view.shape) != 2:
        raise lib.DetgemmError(f"array has the shape {view.shape}: it must have two dimensions")
    if view.dtype not in ("bf16", "fp16", "fp32"):
        raise lib.DetgemmError(f"array.dtype is {view.dtype}: quantize takes bf16, fp16 and fp32")
    along = k == "cols"
    sizes = (per, leaf) if along else (leaf, per)
    shape = tuple(-(-extent // size) for extent, size in zip(view.shape, sizes))
    finish = finish_scales = None
    if out is None:
        out, finish = new_like(array, view, view.shape, "e4m3")
    if out_scales is None:
        out_scales, finish_scales = new_like(array, view, shape, scale_type)
    result = describe(out, "out", dtypes.get("out"), writable=True)
    scales = describe(out_scales, "out_scales", dtypes.get("out_scales"), writable=True, scales=True)
    if result.dtype != "e4m3":
        raise lib.DetgemmError(f"out.dtype is {result.dtype}: quantize makes e4m3")
    if scales.dtype != scale_type:
        raise lib.DetgemmError(f"out_scales.dtype is {scales.dtype}: scale_type is {scale_type}")
    for made, wanted in ((result, view.shape), (scales, shape)):
        if made.shape != wanted:
            raise lib.DetgemmError(f"{made.name} has the shape {made.shape}: it must be {wanted}")
        _check_place(made, view)
    lines, leaves = (0, 1) if along else (1, 0)
    strides = scales.strides if 0 not in shape else (max(shape[1], 1), 1)  # an empty array's are not used
    to = lib.ScalesOutStruct(type=lib.SCALE_TYPES.index(scale_type), data=scales.data or None, blocks=shape[lines],
                             leaves=shape[leaves], stride=strides[lines], leaf_stride=strides[leaves])
    if view.place[0] == lib.HOST:
        lib.started()
    arguments = (ctypes.byref(_stream(view, stream)), ctypes.byref(lib.QuantizeSpecStruct(k=K.index(k), leaf_k=leaf, per=per)),
                 ctypes.byref(view.matrix()), ctypes.byref(result.matrix()), ctypes.byref(to))
    with view.current():
        _quantize(view, backend, arguments)
    return (out if finish is None else finish()), (out_scales if finish_scales is None else finish_scales())


def _quantize(view, named, arguments):
    """Runs the named backend, or the first one for the view's kind of device that quantises."""
    if named:
        found = ctypes.c_void_p()
        lib.check("backend_find", lib.encoded("backend", named), ctypes.byref(found))
        lib.check("quantize", found, *arguments)
        return
    refusals = []
    for backend, kind in lib.backends():
        if kind != view.place[0]:
            continue
        status = lib.library().detgemm_quantize(backend, *arguments)
        if status == 0:
            return
        refusals.append(lib.library().detgemm_last_error().decode())
        if status not in (lib.UNSUPPORTED, lib.UNAVAILABLE):
            raise lib.DetgemmError(refusals[-1])
    raise lib.DetgemmError(f"no backend on {view.place_name} quantises: "
                           + ("; ".join(refusals) or "this build has no backend for it"))
