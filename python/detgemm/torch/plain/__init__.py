# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The row operations written with PyTorch's element-wise operations, one rounding per operation.

This is the executable form of docs/python-orders.md. It runs on any device; the operators use it
for CPU tensors, and the tests compare the kernels with it byte for byte. No function here calls a
reduction, a matrix product or a transcendental function of PyTorch.
"""
