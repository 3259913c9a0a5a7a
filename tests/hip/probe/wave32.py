# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Executes the probes of the Radeons, which are straight lines of some 30 opcodes, wave by wave of 32 lanes. It knows no
waits and no rounding: operands are whole numbers, so it shows whether a probe finds its operands and results where AMD's
manuals have them. Not run on AMD hardware.

    operands  gfx11   lane l: all 16 numbers of row l % 16           gfx12   lane l: numbers 8 * (l / 16) .. + 7
    results   gfx11   number i: row 2 * i + l / 16, column l % 16    gfx12   number i: row 8 * (l / 16) + i, column l % 16
"""
import re
import struct

LANES, SIDE, WORD = 32, 32, 0xFFFFFFFF
IGNORED = re.compile(r"s_(delay_alu|clause|wait\w*|nop|sendmsg|endpgm)")
PURE = {
    "v_mov_b32": lambda a: a, "v_and_b32": lambda a, b: a & b, "v_or_b32": lambda a, b: a | b, "v_or3_b32": lambda a, b, c: a | b | c,
    "v_and_or_b32": lambda a, b, c: a & b | c, "v_lshl_or_b32": lambda a, b, c: a << (b & 31) | c,
    "v_bfi_b32": lambda a, b, c: a & b | ~a & c, "v_lshrrev_b32": lambda a, b: b >> (a & 31), "v_lshlrev_b32": lambda a, b: b << (a & 31),
    "v_add_nc_u32": lambda a, b: a + b, "v_lshl_add_u32": lambda a, b, c: (a << (b & 31)) + c, "v_add_lshl_u32": lambda a, b, c: a + b << (c & 31),
    "s_lshl_b32": lambda a, b: a << (b & 31), "s_and_b32": lambda a, b: a & b, "s_or_b32": lambda a, b: a | b, "s_mov_b32": lambda a: a,
}


def e4m3(code):
    field, fraction = code >> 3 & 15, code & 7
    value = fraction * 2.0**-9 if field == 0 else (8 + fraction) * 2.0**(field - 10)
    return -value if code & 128 else value


def bf16(code):
    return struct.unpack("<f", struct.pack("<I", code << 16))[0]


class Wave:
    """One wave of a probe, in a memory of bytes whose addresses start at 0."""

    def __init__(self, memory, argument, group, gfx12):
        self.memory, self.gfx12, self.vcc = memory, gfx12, [0] * LANES
        self.vector = {0: list(range(LANES))}
        # The group is behind the user registers, of which gfx11 has 15 or 2; on gfx12 it is in ttmp9.
        self.scalar = {"s0": argument, "s1": 0, "s2": group, "s15": group, "ttmp9": group}

    def read(self, name, lane):
        """A register, or a constant; 64 bits where it names a pair."""
        pair = re.fullmatch(r"([vs])\[(\d+):(\d+)\]", name)
        if pair:
            first = int(pair.group(2))
            return self.read(f"{pair.group(1)}{first}", lane) | self.read(f"{pair.group(1)}{first + 1}", lane) << 32
        if name.startswith("v"):
            return self.vector[int(name[1:])][lane]
        return self.scalar[name] if name in self.scalar else int(name, 0) & WORD

    def write(self, name, lane, value):
        self.vector.setdefault(int(name[1:]), [0] * LANES)[lane] = value & WORD

    def words(self, address, count):
        return struct.unpack_from(f"<{count}I", self.memory, address)

    def step(self, line):
        """One instruction."""
        name, _, rest = line.partition(" ")
        name = re.sub(r"_e(32|64)$", "", name)
        offset = int((re.search(r"offset:(\d+)", rest) or [0, 0])[1])
        x = [word.strip() for word in re.sub(r"offset:\d+", "", rest).split(",")]
        if IGNORED.match(name):
            return
        if name.startswith("s_load_b"):
            first = int(re.match(r"s\[(\d+)", x[0]).group(1))
            for i, word in enumerate(self.words(self.read(x[1], 0) + int(x[2], 0), int(name[8:]) // 32)):
                self.scalar[f"s{first + i}"] = word
        elif name in PURE and name.startswith("s_"):
            self.scalar[x[0]] = PURE[name](*(self.read(word, 0) for word in x[1:])) & WORD
        elif name == "v_wmma_f32_16x16x16_bf16" or name == "v_wmma_f32_16x16x16_fp8_fp8":
            self.matrix(*(int(re.match(r"v\[(\d+)", word).group(1)) for word in x), "fp8" in name)
        else:
            for lane in range(LANES):
                self.of_lane(name, x, offset, lane)

    def of_lane(self, name, x, offset, lane):
        value = [self.read(word, lane) for word in x[1:] if word not in ("vcc_lo", "off", "null")]
        if name in PURE:
            self.write(x[0], lane, PURE[name](*value))
        elif name == "v_lshlrev_b64":
            first, result = int(re.match(r"v\[(\d+)", x[0]).group(1)), value[1] << (value[0] & 63)
            self.write(f"v{first}", lane, result)
            self.write(f"v{first + 1}", lane, result >> 32)
        elif name in ("v_add_co_u32", "v_add_co_ci_u32"):
            result = value[0] + value[1] + (self.vcc[lane] if "_ci_" in name else 0)
            self.vcc[lane] = result >> 32
            self.write(x[0], lane, result)
        elif name.startswith("global_load_b"):
            first, count = int(re.match(r"v\[?(\d+)", x[0]).group(1)), int(name[13:]) // 32
            for i, word in enumerate(self.words(value[0] + (value[1] if len(value) > 1 else 0) + offset, count)):
                self.write(f"v{first + i}", lane, word)
        elif name == "global_store_b32":
            address = self.read(x[0], lane) + (0 if x[2] == "off" else self.read(x[2], lane)) + offset
            struct.pack_into("<I", self.memory, address, self.read(x[1], lane))
        else:
            raise ValueError(f"unknown instruction: {name} {x}")

    def matrix(self, to, a, b, c, fp8):
        """D = A * B + C of whole numbers."""
        each, bits, number = (8 if self.gfx12 else 16), (8 if fp8 else 16), (e4m3 if fp8 else bf16)

        def operand(first, row, k):
            lane, at = row + k // each * 16, k % each * bits
            codes = [self.vector[first + at // 32][other] >> at % 32 & (1 << bits) - 1 for other in ([lane] if self.gfx12 else [row, row + 16])]
            if len(set(codes)) != 1:
                raise ValueError("the halves of a wave differ")
            return number(codes[0])

        for lane in range(LANES):
            for i in range(8):
                row = 8 * (lane // 16) + i if self.gfx12 else 2 * i + lane // 16
                start = struct.unpack("<f", struct.pack("<I", self.vector[c + i][lane]))[0]
                total = start + sum(operand(a, row, k) * operand(b, lane % 16, k) for k in range(16))
                self.write(f"v{to + i}", lane, struct.unpack("<I", struct.pack("<f", total))[0])


def run(lines, gfx12, fp8):
    """The 32 x 32 results of a probe, and those that it should have."""
    a, b = ([[(7 * i + 3 * k * sign + i * k) % 9 - 4 for k in range(16)] for i in range(SIDE)] for sign in (1, -1))
    c = [[(5 * i + 11 * j) % 17 - 8 for j in range(SIDE)] for i in range(SIDE)]
    code = {float(e4m3(x)): x for x in range(256)} if fp8 else None
    narrow = [code[float(x)] if fp8 else struct.unpack("<I", struct.pack("<f", x))[0] >> 16 for rows in (a, b) for row in rows for x in row]
    packed = struct.pack(f"<{len(narrow)}{'B' if fp8 else 'H'}", *narrow)
    half, at_c = len(packed) // 2, 64 + len(packed)
    at_d = at_c + SIDE * SIDE * 4
    memory = bytearray(struct.pack("<4Q", 64, 64 + half, at_c, at_d) + bytes(32) + packed)
    memory += struct.pack(f"<{SIDE * SIDE}f", *(x for row in c for x in row)) + bytes(SIDE * SIDE * 4)
    for group in range(4):
        wave = Wave(memory, 0, group, gfx12)
        for line in lines:
            for part in line.split(" :: "):
                wave.step(part.replace("v_dual_", "v_", 1))
    results = struct.unpack_from(f"<{SIDE * SIDE}f", memory, at_d)
    expected = [c[i][j] + sum(a[i][k] * b[j][k] for k in range(16)) for i in range(SIDE) for j in range(SIDE)]
    return list(results), expected
