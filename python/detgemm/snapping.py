# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Operands rounded once for contracts of `snap`, as arrays of any library."""
import ctypes

from detgemm import _library as lib
from detgemm.arrays import _check_place, _stream
from detgemm.views import describe, new_like

K = ("cols", "rows")


def _spec(leaf, k):
    if not isinstance(leaf, int) or isinstance(leaf, bool):
        raise lib.DetgemmError(f"leaf is {leaf!r}: it must be an integer, a multiple of 64")
    if not 1 <= leaf <= 1 << 31:
        raise lib.DetgemmError(f"leaf is {leaf}: it must be from 1 to 2^31")
    if k not in K:
        raise lib.DetgemmError(f'k is {k!r}: it must be "cols" or "rows"')
    return lib.SnapSpecStruct(leaf_k=leaf, k=K.index(k))


def _matrix(array, name, dtype):
    view = describe(array, name, dtype)
    if len(view.shape) != 2:
        raise lib.DetgemmError(f"{name} has the shape {view.shape}: it must have two dimensions")
    return view


def _backend(view):
    """The first backend for the view's kind of device that is there."""
    refusals = []
    for backend, kind in lib.backends():
        if kind == view.place[0]:
            if lib.library().detgemm_backend_available(backend) == 0:
                return backend
            refusals.append(lib.library().detgemm_last_error().decode())
    raise lib.DetgemmError(f"no backend on {view.place_name} snaps: "
                           + ("; ".join(refusals) or "this build has no backend for it"))


def snap(array, leaf, *, k="cols", out=None, stream=None, dtype=None):
    """A bf16 matrix, rounded as a contract `snap/bf16/fold:LEAF` or `tree:LEAF` rounds its operands.

    Every run of `leaf` numbers along K goes to the finest power-of-two grid on which its sums are exact; the result is bf16 again,
    and snapping it again changes nothing. A product that is told so (`a_snapped`, `b_snapped`) has the bits that the
    contract gives for `array` itself.

    k       "cols": K runs along a row (A as M x K, a layer's weight as N x K). "rows": down a column (B as K x N)
    out     where the result is written, which may be `array`; else a new array of its library
    stream  as for `gemm`
    dtype   "bf16" where the array holds bf16 numbers as plain 16-bit integers

    Errors: DetgemmError with a sentence; then nothing was written.
    """
    spec = _spec(leaf, k)
    view = _matrix(array, "array", dtype)
    if out is None:
        out, finish = new_like(array, view, view.shape, "bf16")
    else:
        finish = None
    result = describe(out, "out", dtype or "bf16", writable=True)
    _check_place(result, view)
    if view.place[0] == lib.HOST:
        lib.started()
    with view.current():
        lib.check("snap", _backend(view), ctypes.byref(_stream(view, stream)), ctypes.byref(spec),
                  ctypes.byref(view.matrix()), ctypes.byref(result.matrix()))
    return out if finish is None else finish()


def is_snapped(array, leaf, *, k="cols", stream=None, dtype=None):
    """Whether `snap` would change no value, which is what `a_snapped` and `b_snapped` promise. Waits for the stream."""
    spec = _spec(leaf, k)
    view = _matrix(array, "array", dtype)
    if view.place[0] == lib.HOST:
        lib.started()
    answer = ctypes.c_int32()
    with view.current():
        lib.check("is_snapped", _backend(view), ctypes.byref(_stream(view, stream)), ctypes.byref(spec),
                  ctypes.byref(view.matrix()), ctypes.byref(answer))
    return answer.value == 1
