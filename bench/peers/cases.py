# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The shapes and groups of bench/gpu/cases.cpp, for peers written in Python."""

SHAPES = [(6144, 4096), (4096, 4096), (1024, 4096), (28672, 4096), (4096, 14336), (128256, 4096),
          (24576, 4096), (4096, 12288), (151936, 4096), (10240, 8192), (8192, 8192), (57344, 8192),
          (8192, 28672)]

# Group: mode, kind, tokens, tokens of --quick.
GROUPS = {
    "small": ("stream", "forward", [1, 2, 4, 8, 16, 32, 64], [1, 16, 64]),
    "middle": ("stream", "forward", [128, 192, 256, 384, 512], [128, 256, 512]),
    "large": ("burst", "forward", [1024, 2048, 4096, 8192], [1024, 8192]),
    "settled": ("settled", "forward", [1024, 2048, 4096, 8192], [4096]),
    "dA": ("burst", "dA", [512, 1024, 2048, 4096, 8192], [1024, 8192]),
    "dB": ("burst", "dB", [512, 1024, 2048, 4096, 8192], [1024, 8192]),
}


def sizes(kind, tokens, n, k):
    """(m, n, k) of D = A * B for a linear layer with weights n x k."""
    return {"forward": (tokens, n, k), "dA": (tokens, k, n), "dB": (n, k, tokens)}[kind]


def operands(kind, tokens, n, k, take_a, take_b):
    """Views of A (m x k) and B (k x n); take_x(rows, cols) gives row-major memory."""
    if kind == "forward":
        return take_a(tokens, k), take_b(n, k).t()
    if kind == "dA":
        return take_a(tokens, n), take_b(n, k)
    return take_a(tokens, n).t(), take_b(tokens, k)


def parse_shapes(text):
    return [tuple(int(x) for x in one.split("x")) for one in text.split(",")] if text else SHAPES
