# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Measured choices of kernels, from a file that `detgemm tune` wrote."""
import ctypes
import os

from detgemm import _library as lib


def use_tuning(path, *, backend="cuda"):
    """From now on products of a backend take the kernels that a tuning file names for them, in every thread of this process:
    `detgemm.gemm`, `detgemm.torch` and whatever stands on it. None ends it.

    path     of a file that `detgemm tune --out PATH` wrote on this kind of device with this library, or None
    backend  whose kernels they are

    No bit of a result depends on the file: a row can only name one of a contract's kernels, which all return the same bits, and one
    that does not take the arrays of a call is passed over. Products without a row take the kernel that the model of time chooses.

    Errors: DetgemmError with a sentence, for a file that cannot be read, that was changed, or that is for other kernels or another
    device; what was in use before stays then.
    """
    if not isinstance(backend, str):
        raise lib.DetgemmError(f"backend is {backend!r}: it must be text")
    if path is None:
        lib.check("tuning_use", None)
        return
    if not isinstance(path, (str, os.PathLike)):
        raise lib.DetgemmError(f"path is {path!r}: it must be the path of a file, or None")
    handle, tuning = ctypes.c_void_p(), ctypes.c_void_p()
    lib.check("backend_find", lib.encoded("backend", backend), ctypes.byref(handle))
    lib.check("tuning_load", handle, lib.encoded("path", os.fspath(path)), ctypes.byref(tuning))
    try:
        lib.check("tuning_use", tuning)
    finally:
        lib.library().detgemm_tuning_destroy(tuning)
