# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Safetensors files, written a second time, and matrices under the page's model of snap: for the tests of `snap`."""

import json
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "contract"))
import snap as rule
from formats import encode

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


def snapped(leaf):
    """A leaf of bf16 words after the rule, as the model of the contract's page has it."""
    t, units = rule.snapped(tuple(leaf))
    return [0x7FFF if x == rule.NAN else word if rule.special(x) else encode("bf16", int(x < 0), abs(x), t)
            for word, x in zip(leaf, units)]


def value(word):
    """What a finite bf16 word stands for."""
    return struct.unpack("<f", struct.pack("<I", word << 16))[0]


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
