# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""A second, independent writing of the command's digest and of its normal random data."""

import struct

MASK = 2**64 - 1
INCREMENT = 0x9E3779B97F4A7C15
SCALE = float.fromhex("0x1.3988e2p-16")


def mix(z):
    """splitmix64's output function."""
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def normal_bits(seed, role, line, i):
    """fp32 bits of element i of a line; role is 1 for A, 2 for B, 3 for C, 4 for the bias."""
    stream = mix((seed + role * INCREMENT) & MASK)
    key = mix((stream + (line + 1) * INCREMENT) & MASK)
    words = [mix((key + (4 * i + j + 1) * INCREMENT) & MASK) for j in (0, 1)]
    total = sum((word >> part) & 0xFFFF for word in words for part in (0, 16, 32, 48))
    value = (total - 4 * 65535) * SCALE  # exact in fp64; packing rounds once, to nearest even
    return struct.unpack("<I", struct.pack("<f", value))[0]


def to_bf16(bits):
    """fp32 bits to bf16 bits, to nearest even."""
    return (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16


def normal_bf16(seed, role, lines, length):
    """Lines of random bf16 elements as bytes, row-major."""
    return b"".join(
        struct.pack("<H", to_bf16(normal_bits(seed, role, line, i)))
        for line in range(lines)
        for i in range(length)
    )


def fnv(data):
    """64-bit FNV-1a."""
    digest = 0xCBF29CE484222325
    for byte in data:
        digest = ((digest ^ byte) * 0x100000001B3) & MASK
    return f"{digest:016x}"


def matrix_digest(dtype, rows, cols, data):
    """The digest of a packed row-major matrix."""
    return fnv(dtype.encode() + struct.pack("<qq", rows, cols) + data)
