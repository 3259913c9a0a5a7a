# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Ours on torch tensors, through the C interface or through the door of the kernels."""
import ctypes
from ctypes import byref, c_char_p, c_float, c_int32, c_int64, c_size_t, c_uint32, c_void_p, sizeof

import torch

DTYPES = {torch.bfloat16: (0, "bf16"), torch.float16: (1, "fp16")}


class Contract(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("version", c_int32), ("arithmetic", c_int32),
                ("input", c_int32), ("k_block", c_int32), ("k_order", c_int32),
                ("reduction", c_int32), ("rounding", c_int32), ("leaf_k", c_int64),
                ("output", c_int32), ("reserved", c_uint32)]


class Matrix(ctypes.Structure):  # the const one has the same layout
    _fields_ = [("struct_size", c_uint32), ("dtype", c_int32), ("data", c_void_p),
                ("rows", c_int64), ("cols", c_int64), ("row_stride", c_int64),
                ("col_stride", c_int64)]

    def __init__(self, tensor):
        super().__init__(sizeof(Matrix), DTYPES[tensor.dtype][0], tensor.data_ptr(),
                         *tensor.shape, *tensor.stride())


class Stream(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("kind", c_int32), ("handle", c_void_p)]


class GemmOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("op_a", c_int32), ("op_b", c_int32),
                ("activation", c_int32), ("alpha", c_float), ("beta", c_float),
                ("continue_from_c", c_int32), ("serial_launch", c_int32), ("c", c_void_p),
                ("bias", c_void_p), ("backend", c_char_p), ("variant", c_char_p),
                ("workspace", c_void_p), ("workspace_bytes", c_size_t)]


class Library:
    """libdetgemm.so; backend `cuda` on the current torch stream, or `reference` on host tensors."""

    def __init__(self, path, backend="cuda"):
        self.library = ctypes.CDLL(path)
        self.library.detgemm_last_error.restype = c_char_p
        self.library.detgemm_version.restype = c_char_p
        self.backend = backend
        self.name = f"detgemm {self.library.detgemm_version().decode()}, backend {backend}"
        self.check(self.library.detgemm_runtime_start(None))

    def check(self, status):
        if status != 0:
            raise RuntimeError(self.library.detgemm_last_error().decode())

    def __call__(self, a, b, variant=""):
        """a (m x k) times b (k x n), any strides; the transpose is in the strides."""
        lib = self.library
        d = torch.empty((a.shape[0], b.shape[1]), dtype=a.dtype, device=a.device)
        contract, options = Contract(), GemmOptions()
        self.check(lib.detgemm_contract_init(byref(contract), c_size_t(sizeof(contract))))
        self.check(lib.detgemm_gemm_options_init(byref(options), c_size_t(sizeof(options))))
        kind = DTYPES[a.dtype][1]
        self.check(lib.detgemm_contract_parse(f"hopper/{kind}/chain->{kind}".encode(),
                                              byref(contract)))
        options.backend = self.backend.encode()
        options.variant = variant.encode()
        stream = None
        if a.is_cuda:
            stream = Stream(sizeof(Stream), 1, torch.cuda.current_stream().cuda_stream)
        self.check(lib.detgemm_gemm(byref(stream) if stream else None, byref(Matrix(a)),
                                    byref(Matrix(b)), byref(Matrix(d)), byref(contract),
                                    byref(options)))
        return d


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
