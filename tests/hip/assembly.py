# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Reads the assembly that the kernels' code objects are made of."""
import functools
import re

METADATA = re.compile(r"^\s*\.amdgpu_metadata$(.*?)^\s*\.end_amdgpu_metadata$", re.M | re.S)
ARGUMENT = re.compile(r"\.offset:\s+(\d+)\s+\.size:\s+(\d+)")
# v7, a[0:3], s4, vcc, vcc_lo, exec, m0
REGISTER = re.compile(r"\b([vas])(?:(\d+)|\[(\d+):(\d+)\])(?![\w.])|\b(vcc|exec|m0)(_lo|_hi)?\b")
SCALARS = 512  # bit of s0 in a mask of registers; v0 is bit 0, a0 bit 256
NAMED = {"vcc": SCALARS + 106, "m0": SCALARS + 124, "exec": SCALARS + 126}
DESCRIPTOR = re.compile(r"^\s*\.amdhsa_kernel (\S+)$(.*?)^\s*\.end_amdhsa_kernel$", re.M | re.S)


class Kernel:
    """One kernel: its numbers (metadata and descriptor) and its instructions with labels."""

    def __init__(self, name, numbers, lines):
        self.name = name
        self.numbers = numbers
        self.lines = lines

    def instructions(self):
        return [line for line in self.lines if not line.endswith(":")]

    def count(self, pattern):
        matcher = re.compile(pattern)
        return sum(1 for line in self.instructions() if matcher.match(line))

    def blocks(self):
        """Basic blocks as (label, instructions), in order."""
        found = [("entry", [])]
        for line in self.lines:
            if line.endswith(":"):
                found.append((line[:-1], []))
            else:
                found[-1][1].append(line)
        return found


@functools.lru_cache(maxsize=1 << 18)  # kernels of one source share most of their lines
def registers(text):
    """A mask of the registers that an operand or a whole instruction names."""
    mask = 0
    for file, one, first, last, name, half in REGISTER.findall(text):
        if name:
            mask |= (1 if half or name == "m0" else 3) << (NAMED[name] + (half == "_hi"))
        else:
            low, high = (int(one), int(one)) if one else (int(first), int(last))
            mask |= ((1 << (high - low + 1)) - 1) << ({"v": 0, "a": 256, "s": SCALARS}[file] + low)
    return mask


def body(text, name):
    """A kernel's lines without comments and directives; labels end in a colon."""
    start = re.search(rf"^{re.escape(name)}:", text, re.M).end()
    end = text.index(".Lfunc_end", start)
    lines = []
    for line in text[start:end].splitlines():
        line = re.split(r";|//", line)[0].strip()
        if line and not line.startswith(".") or re.match(r"\.LBB\w+:$", line):
            lines.append(line)
    return lines


def kernels(path):
    """Every kernel of a file, by name."""
    text = path.read_text(encoding="utf-8")
    numbers = {}
    metadata = METADATA.search(text).group(1)
    for entry in re.split(r"^  - ", metadata, flags=re.M)[1:]:
        name = re.search(r"^\s*\.name:\s+(\S+)$", entry, re.M)
        if name and ".kernarg_segment_size" in entry:
            numbers[name.group(1)] = {key: int(value) for key, value in re.findall(
                r"^\s*\.(\w+):\s+(\d+)$", entry, re.M)}
            numbers[name.group(1)]["arguments_end"] = max(
                (int(offset) + int(size) for offset, size in ARGUMENT.findall(entry)), default=0)
    for name, descriptor in DESCRIPTOR.findall(text):
        for key, value in re.findall(r"^\s*\.amdhsa_(\w+) (\d+)$", descriptor, re.M):
            numbers[name]["amdhsa_" + key] = int(value)
    return {name: Kernel(name, numbers[name], body(text, name)) for name in numbers}
