# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Safetensors files, and the rule of snap in integers: both written a second time, for the tests of `snap`."""

import json
import math
import struct

SIZES = {"BF16": 2, "F32": 4, "I64": 8, "U8": 1}


def pack(tensors, metadata=None, pad=" "):
    """A file of (name, dtype, shape, bytes), padded as writers of the format do."""
    header, at = {}, 0
    if metadata is not None:
        header["__metadata__"] = metadata
    for name, dtype, shape, data in tensors:
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + len(data)]}
        at += len(data)
    return with_header(json.dumps(header) + pad * 3, b"".join(data for *_, data in tensors))


def with_header(text, data):
    head = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(head)) + head + data


def unpack(content):
    """Name: bytes."""
    size, = struct.unpack("<Q", content[:8])
    header = json.loads(content[8:8 + size])
    return {name: content[8 + size + entry["data_offsets"][0]:8 + size + entry["data_offsets"][1]]
            for name, entry in header.items() if name != "__metadata__"}


def decode(word):
    """A bf16 word as an exact pair (integer, exponent): the value is integer * 2^exponent. None for Inf and NaN."""
    field, fraction = word >> 7 & 0xFF, word & 0x7F
    if field == 0xFF:
        return None
    value = (fraction | 0x80, field - 134) if field else (fraction, -133)
    return (-value[0], value[1]) if word >> 15 else value


def rounded(value, t):
    """value * 2^-t, to nearest even."""
    integer, exponent = value
    if exponent >= t:
        return integer << (exponent - t)
    unit = 1 << (t - exponent)
    whole, rest = divmod(abs(integer), unit)
    whole += 2 * rest > unit or (2 * rest == unit and whole % 2 == 1)
    return whole if integer >= 0 else -whole


def grid(leaf):
    """t of a leaf of bf16 words, from the finest grid upwards, or None."""
    finite = [value for value in map(decode, leaf) if value is not None]
    for t in range(-62, 52):
        if sum(rounded(value, t) ** 2 for value in finite) <= 1 << 24:
            return t
    return None


def snapped(leaf):
    """A leaf of bf16 words after the rule."""
    t = grid(leaf)
    out = []
    for word in leaf:
        value = decode(word)
        if value is None:
            out.append(word)
        else:
            units = rounded(value, t)
            bits = struct.unpack("<I", struct.pack("<f", math.ldexp(units, t)))[0]
            assert bits & 0xFFFF == 0, "a snapped number is a bf16 number"
            out.append(bits >> 16)
    return out


def snap(words, cols, leaf, along="cols"):
    """A row-major matrix of bf16 words, snapped."""
    out = list(words)
    rows = len(words) // cols
    count, length = (rows, cols) if along == "cols" else (cols, rows)
    for line in range(count):
        places = [line * cols + i if along == "cols" else i * cols + line for i in range(length)]
        for begin in range(0, length, leaf):
            part = places[begin:begin + leaf]
            for place, word in zip(part, snapped([words[p] for p in part])):
                out[place] = word
    return out


def words_of(data):
    return list(struct.unpack(f"<{len(data) // 2}H", data))


def bytes_of(words):
    return struct.pack(f"<{len(words)}H", *words)
