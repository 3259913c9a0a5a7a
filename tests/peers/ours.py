# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Ours on torch tensors, through the Python package or through the door of the kernels."""
import ctypes
import os
import pathlib
import sys
from ctypes import c_int32, c_int64, c_void_p

import torch

DTYPES = {torch.bfloat16: (0, "bf16"), torch.float16: (1, "fp16")}


def package(path):
    """The Python package of this checkout on this library."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
    os.environ["DETGEMM_LIBRARY"] = path
    import detgemm
    return detgemm


class Library:
    """libdetgemm.so; backend `cuda` on the current torch stream, or `reference` on host tensors."""

    def __init__(self, path, backend="cuda"):
        self.detgemm, self.backend = package(path), backend
        self.name = f"detgemm {self.detgemm.version()}, backend {backend}"

    def __call__(self, a, b, variant=""):
        """a (m x k) times b (k x n), any strides; the transpose is in the strides."""
        d = torch.empty((a.shape[0], b.shape[1]), dtype=a.dtype, device=a.device)
        kind = DTYPES[a.dtype][1]
        stream = torch.cuda.current_stream().cuda_stream if a.is_cuda else None
        return self.detgemm.gemm(a, b, f"hopper/{kind}/chain->{kind}", out=d, stream=stream, backend=self.backend,
                                 variant=variant)


class Door:
    """The shared object of tests/peers/door.cpp and the kernels."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.name = "detgemm, door of the kernels"
        self.check(self.library.detgemm_door_prepare())

    @staticmethod
    def check(error):
        if error != 0:
            raise RuntimeError(f"the door refused: CUDA error {error}")

    def __call__(self, a, b, variant=""):
        d = torch.empty((a.shape[0], b.shape[1]), dtype=a.dtype, device=a.device)
        sms = torch.cuda.get_device_properties(a.device).multi_processor_count
        numbers = (c_int64 * 7)(a.shape[0], b.shape[1], a.shape[1], *a.stride(), *b.stride())
        stream = torch.cuda.current_stream().cuda_stream
        self.check(self.library.detgemm_door_gemm(
            c_void_p(a.data_ptr()), c_void_p(b.data_ptr()), c_void_p(d.data_ptr()), numbers,
            c_int32(DTYPES[a.dtype][0]), c_int32(sms), variant.encode(), c_void_p(stream)))
        return d
