# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Triton kernels of the row operations; imported only when a CUDA tensor arrives.

Every kernel is launched with enable_fp_fusion=False: the written orders round a product before it
is added. Sums whose order matters are loops and sums of two, never a reduction of more terms.
"""
