# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""GEMM whose rows have the same bits whatever batch they ride in, under a written contract.

`detgemm.gemm` multiplies NumPy, CuPy and JAX arrays and whatever exports DLPack. `detgemm.torch` is for
PyTorch: operators, layers, a switch for a whole program, and an audit. Importing this module loads no
library and needs neither PyTorch nor NumPy.
"""
from detgemm._library import DetgemmError, start
from detgemm.arrays import digest, gemm
from detgemm.contract import Contract
from detgemm.grouping import grouped_gemm
from detgemm.info import info, version
from detgemm.scaling import quantize, scaled_gemm
from detgemm.snapping import is_snapped, snap
from detgemm.tuning import use_tuning

__all__ = ["Contract", "DetgemmError", "digest", "gemm", "grouped_gemm", "info", "is_snapped", "quantize", "scaled_gemm",
           "snap", "start", "use_tuning", "version"]
