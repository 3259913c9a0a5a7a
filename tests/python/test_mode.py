# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Products on the host have the same bits in every floating-point mode of the calling thread."""
import ctypes
import platform
import threading

import pytest
import torch
from conftest import BF16

import detgemm
import detgemm.torch as dt

FP32 = "ieee_fma/fp32/chain"
ROUNDINGS = {"x86_64": (0x400, 0x800, 0xc00), "aarch64": (0x800000, 0x400000, 0xc00000)}.get(platform.machine(), ())


# Made in the default mode.
TINY = torch.linspace(1e-39, 3e-39, 64).repeat(256, 1)
B = torch.linspace(0.5, 1.5, 64 * 8).reshape(64, 8)
A = B.T.contiguous().repeat(32, 1)


def product():
    a, b = TINY, B
    return [dt.gemm(a, b, FP32), dt.gemm(A, b, FP32), torch.from_numpy(detgemm.gemm(A.numpy(), b.numpy(), FP32))]


def same(x, y):
    return all(dt.same_bits(p, q) for p, q in zip(x, y))


def test_flushed_subnormals():
    expected = product()
    assert bool((expected[0] != 0).all()) and dt.same_bits(expected[0], expected[0][:1].expand(256, 8))
    found = []

    def flushed():
        torch.set_flush_denormal(True)
        try:
            found.append(product())
        finally:
            torch.set_flush_denormal(False)

    flushed()
    thread = threading.Thread(target=flushed)
    thread.start()
    thread.join()
    assert len(found) == 2 and all(same(each, expected) for each in found)


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_roundings(rounding):
    libm = ctypes.CDLL("libm.so.6")
    expected = product()
    libm.fesetround(rounding)
    try:
        found = product()
        kept = libm.fegetround()
    finally:
        libm.fesetround(0)
    assert same(found, expected) and kept == rounding


def test_alpha_zero_hides_no_nan_under_the_switch():
    a, b, c = torch.full((2, 16), float("nan"), dtype=torch.bfloat16), torch.ones(16, 2, dtype=torch.bfloat16), torch.ones(2, 2)
    c = c.bfloat16()
    with dt.aten({torch.bfloat16: BF16}, devices="cpu"):
        found = torch.addmm(c, a, b, alpha=0)
    assert bool(found.isnan().all())
