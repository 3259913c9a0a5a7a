#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""gelu_form.py [--library PATH] [--host]: which GELU is CUBLASLT_EPILOGUE_GELU, with tanh or with erf?

Prints `gelu tanh` or `gelu erf`, with the largest distance to either. The product multiplies x by 1 and
adds zeros, so that D = GELU(x) in fp32; the two forms differ by up to 5e-4. --host gives the library host
memory, for a stand-in. Exit code 1: it is neither. 3: there is no library or no device.
"""
import argparse
import ctypes
import math
import sys

M, N, K = 256, 8, 16
TRANSPOSED, R_32F, COMPUTE_32F = 1, 0, 68
DESC_TRANSA, DESC_EPILOGUE, EPILOGUE_GELU = 3, 7, 32
TO_DEVICE, TO_HOST = 1, 2


class Absent(Exception):
    """There is nothing to ask."""


def library(*names):
    for name in names:
        try:
            return ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
        except OSError as error:
            why = error
    raise Absent(why)


def expect(status, what):
    if status != 0:
        raise Absent(f"{what} returned {status}")


class HostMemory:
    """Arrays of floats where a stand-in reads them."""

    def put(self, values):
        return (ctypes.c_float * len(values))(*values)

    def get(self, array, count):
        return list(array[:count])


class DeviceMemory:
    """The same on the current CUDA device."""

    def __init__(self):
        self.runtime = library("libcudart.so.13", "libcudart.so.12", "libcudart.so")

    def put(self, values):
        host = HostMemory().put(values)
        at = ctypes.c_void_p()
        expect(self.runtime.cudaMalloc(ctypes.byref(at), ctypes.c_size_t(4 * len(values))), "cudaMalloc")
        expect(self.runtime.cudaMemcpy(at, host, ctypes.c_size_t(4 * len(values)), TO_DEVICE), "cudaMemcpy")
        return at

    def get(self, at, count):
        host = (ctypes.c_float * count)()
        expect(self.runtime.cudaMemcpy(host, at, ctypes.c_size_t(4 * count), TO_HOST), "cudaMemcpy")
        return list(host)


def gelu_of(lt, memory, x):
    """GELU(x[i]) for every i, as cuBLASLt computes it: D (M x N) = GELU(A^T (M x K) * B (K x N))."""
    def attribute(value):
        return ctypes.byref(ctypes.c_int32(value)), ctypes.c_size_t(4)

    handle, desc = ctypes.c_void_p(), ctypes.c_void_p()
    expect(lt.cublasLtCreate(ctypes.byref(handle)), "cublasLtCreate")
    expect(lt.cublasLtMatmulDescCreate(ctypes.byref(desc), COMPUTE_32F, R_32F), "cublasLtMatmulDescCreate")
    for code, value in ((DESC_TRANSA, TRANSPOSED), (DESC_EPILOGUE, EPILOGUE_GELU)):
        expect(lt.cublasLtMatmulDescSetAttribute(desc, code, *attribute(value)), f"attribute {code}")

    def layout(rows, cols):
        made = ctypes.c_void_p()
        expect(lt.cublasLtMatrixLayoutCreate(ctypes.byref(made), R_32F, ctypes.c_uint64(rows),
                                             ctypes.c_uint64(cols), ctypes.c_int64(rows)),
               "cublasLtMatrixLayoutCreate")
        return made

    a = memory.put([value if k == 0 else 0.0 for value in x for k in range(K)])
    b = memory.put([1.0 if k == 0 else 0.0 for _ in range(N) for k in range(K)])
    d = memory.put([math.nan] * (M * N))
    one, zero = ctypes.c_float(1), ctypes.c_float(0)
    of_a, of_b, of_d = layout(K, M), layout(K, N), layout(M, N)
    expect(lt.cublasLtMatmul(handle, desc, ctypes.byref(one), a, of_a, b, of_b, ctypes.byref(zero), d, of_d,
                             d, of_d, None, None, ctypes.c_size_t(0), None), "cublasLtMatmul")
    return memory.get(d, M)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--library")
    parser.add_argument("--host", action="store_true")
    asked = parser.parse_args()
    x = [8.0 * i / M - 4.0 for i in range(M)]
    try:
        # What is preloaded answers before the library itself does.
        library(*([asked.library] if asked.library else ["libcublasLt.so.13", "libcublasLt.so.12"]))
        got = gelu_of(ctypes.CDLL(None), HostMemory() if asked.host else DeviceMemory(), x)
    except Absent as error:
        print(error, file=sys.stderr)
        return 3
    forms = {"tanh": [0.5 * v * (1 + math.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v ** 3))) for v in x],
             "erf": [0.5 * v * (1 + math.erf(v / math.sqrt(2))) for v in x]}
    distance = {name: max(abs(g - w) if g == g else math.inf for g, w in zip(got, want))
                for name, want in forms.items()}
    print(*(f"{name} {far:.2e}" for name, far in distance.items()), file=sys.stderr)
    nearest = min(distance, key=distance.get)
    if distance[nearest] > 2e-5:
        print("gelu neither")
        return 1
    print("gelu", nearest)
    return 0


if __name__ == "__main__":
    sys.exit(main())
