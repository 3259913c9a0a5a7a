# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Other people's products: A . B^T of bf16 matrices, M x K and N x K, as fp32, by libraries that add in orders of their own."""
import ctypes
import re
from ctypes import POINTER, byref, c_float, c_int, c_int32, c_int64, c_size_t, c_uint64, c_void_p

import torch


class NotOffered(RuntimeError):
    """A library that has no product for such a problem."""


class Torch:
    """What PyTorch calls: on a CPU its own BLAS (MKL in wheels for x86-64), on a GPU cuBLAS, with bf16 operands, with the same
    numbers as fp32 on CUDA cores, or on tensor cores as TF32, which holds every bf16 number."""

    def __init__(self, how="fp32"):
        self.how = how

    def said(self):
        return f"PyTorch {torch.__version__}: {' '.join(re.findall(r'BLAS_INFO=[^,]*', torch.__config__.show()))}"

    def __call__(self, a, b):
        if self.how == "bf16":
            return torch.mm(a, b.t(), out_dtype=torch.float32)
        torch.backends.cuda.matmul.allow_tf32 = self.how == "tf32"
        return torch.mm(a.float(), b.float().t())


class OpenBlas:
    """cblas_sgemm of the OpenBLAS that NumPy brought, called by its C interface. Host memory alone."""

    ROW_MAJOR, PLAIN, TRANSPOSED = 101, 111, 112

    def __init__(self):
        import numpy as np
        np.ones((2, 2), np.float32) @ np.ones((2, 2), np.float32)  # now it is loaded
        with open("/proc/self/maps", encoding="ascii", errors="replace") as maps:
            paths = sorted(set(re.findall(r"\S*openblas\S*", maps.read())))
        if not paths:
            raise RuntimeError("NumPy did not load an OpenBLAS into this process: take NumPy's wheels for Linux")
        for path in paths:
            library = ctypes.CDLL(path)
            for before, after, self.integer in (("scipy_", "64_", c_int64), ("scipy_", "", c_int32), ("", "64_", c_int64),
                                                ("", "", c_int32)):
                if hasattr(library, f"{before}cblas_sgemm{after}"):
                    self.sgemm = getattr(library, f"{before}cblas_sgemm{after}")
                    config = getattr(library, f"{before}openblas_get_config{after}")
                    config.restype = ctypes.c_char_p
                    self.name = config().decode()
                    return
        raise RuntimeError(f"{', '.join(paths)} has no cblas_sgemm")

    def said(self):
        return f"NumPy's BLAS: {self.name}"

    def __call__(self, a, b):
        a, b = a.float().contiguous(), b.float().contiguous()
        (m, k), n = a.shape, b.shape[0]
        d = torch.empty(m, n)
        extent = self.integer
        self.sgemm(c_int(self.ROW_MAJOR), c_int(self.PLAIN), c_int(self.TRANSPOSED), extent(m), extent(n), extent(k),
                   c_float(1), c_void_p(a.data_ptr()), extent(k), c_void_p(b.data_ptr()), extent(k), c_float(0),
                   c_void_p(d.data_ptr()), extent(n))
        return d


class Choice(ctypes.Structure):
    """cublasLtMatmulHeuristicResult_t."""

    _fields_ = [("algorithm", c_uint64 * 8), ("workspace", c_size_t), ("state", c_int), ("waves", c_float),
                ("reserved", c_int * 4)]


class CublasLt:
    """cublasLtMatmul on bf16 operands, by another one of its algorithms at every call, those that split K among them.

    Source of the numbers below: "Using the cuBLASLt API"; bench/cuda/cublaslt_abi.hpp has them too, and a test compares
    that file with NVIDIA's header.
    """

    FP32, BF16, COMPUTE_32F, TRANSPOSED = 0, 14, 68, 1
    TRANS_A, WORKSPACE, TILE, SPLIT_K, REDUCTION, STAGES = 3, 1, 1, 2, 3, 6
    WANTED = 16

    def __init__(self, path=None):
        for name in (path, "libcublasLt.so.13", "libcublasLt.so.12"):
            try:
                self.library = ctypes.CDLL(name) if name else None
            except OSError:
                self.library = None
            if self.library is not None:
                break
        if self.library is None:
            raise RuntimeError("libcublasLt.so was not found")
        self.library.cublasLtGetVersion.restype = c_size_t
        self.version, self.handle, self.calls = self.library.cublasLtGetVersion(), None, 0
        self.problems, self.used, self.split = {}, set(), 0

    def check(self, function, *arguments):
        status = getattr(self.library, "cublasLt" + function)(*arguments)
        if status != 0:
            raise RuntimeError(f"cublasLt{function}: status {status}")

    def layout(self, rows, cols, dtype):
        """A matrix whose columns lie one behind the other."""
        made = c_void_p()
        self.check("MatrixLayoutCreate", byref(made), c_int(dtype), c_uint64(rows), c_uint64(cols), c_int64(rows))
        return made

    def product(self):
        made, transposed = c_void_p(), c_int32(self.TRANSPOSED)
        self.check("MatmulDescCreate", byref(made), c_int(self.COMPUTE_32F), c_int(self.FP32))
        self.check("MatmulDescSetAttribute", made, c_int(self.TRANS_A), byref(transposed), c_size_t(4))
        return made

    def problem(self, m, n, k, room):
        """Descriptors of D^T = B . A^T, since columns come first there, and the algorithms that it is offered."""
        if (m, n, k) in self.problems:
            return self.problems[m, n, k]
        product, preference, found = self.product(), c_void_p(), c_int()
        first, second, out = self.layout(k, n, self.BF16), self.layout(k, m, self.BF16), self.layout(n, m, self.FP32)
        self.check("MatmulPreferenceCreate", byref(preference))
        self.check("MatmulPreferenceSetAttribute", preference, c_int(self.WORKSPACE), byref(c_size_t(room)), c_size_t(8))
        choices = (Choice * self.WANTED)()
        self.library.cublasLtMatmulAlgoGetHeuristic(self.handle, product, first, second, out, out, preference,
                                                    c_int(self.WANTED), choices, byref(found))
        self.check("MatmulPreferenceDestroy", preference)
        usable = [choice for choice in choices[:found.value] if choice.state == 0]
        if not usable:
            raise NotOffered(f"cuBLASLt offers no algorithm for {m} x {n} x {k}")
        self.problems[m, n, k] = product, first, second, out, usable
        return self.problems[m, n, k]

    def setting(self, choice, which):
        for size in (4, 2):
            value, written = c_int32(), c_size_t()
            if self.library.cublasLtMatmulAlgoConfigGetAttribute(byref(choice.algorithm), c_int(which), byref(value),
                                                                 c_size_t(size), byref(written)) == 0:
                return value.value
        return None

    def __call__(self, a, b):
        if self.handle is None:
            self.handle = c_void_p()
            self.check("Create", byref(self.handle))
            self.scratch = torch.empty(64 << 20, dtype=torch.uint8, device=a.device)
        if a.shape[1] % 8:  # lines of whole 16 bytes; zeros change no sum
            a, b = (torch.nn.functional.pad(x, (0, -x.shape[1] % 8)) for x in (a, b))
        (m, k), n = a.shape, b.shape[0]
        product, first, second, out, choices = self.problem(m, n, k, self.scratch.numel())
        choice = choices[self.calls % len(choices)]
        self.calls += 1
        split = self.setting(choice, self.SPLIT_K)
        self.used.add((bytes(choice.algorithm), split))
        self.split += split is not None and split > 1
        d, one, zero = torch.empty(m, n, device=a.device), c_float(1), c_float(0)
        self.check("Matmul", self.handle, product, byref(one), c_void_p(b.data_ptr()), first, c_void_p(a.data_ptr()),
                   second, byref(zero), c_void_p(d.data_ptr()), out, c_void_p(d.data_ptr()), out,
                   ctypes.cast(choice.algorithm, POINTER(c_uint64)), c_void_p(self.scratch.data_ptr()),
                   c_size_t(self.scratch.numel()), c_void_p(torch.cuda.current_stream().cuda_stream))
        return d

    def said(self):
        return (f"cuBLASLt {self.version}: {self.calls} calls by {len(self.used)} settings of algorithms, {self.split} of the "
                "calls split K")
