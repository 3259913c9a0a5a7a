#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""hazards.py CODE_DIR: results that a chip's pipelines deliver late, and that it does not wait for by
itself, are not touched too early on any path through any kernel.

gfx9 chips leave some waiting to the program: after a matrix instruction, say, 11 other instructions (or
as many states of s_nop) have to pass before a vector instruction may read its result. No interpreter
sees this, because it has no time. The rules are those by which LLVM's GCNHazardRecognizer inserts
s_nop (checkMAIHazards90A, checkMAIVALUHazards, checkVALUHazards, checkVMEMHazards, checkDivFMasHazards,
checkRWLaneHazards, checkDPPHazards, checkReadM0Hazards, checkSoftClauseHazards; the number of passes is
SISchedule.td's), written down here once more, per pair of instructions, in `wait_states`. The s_nop of
clang 19 on gfx90a and gfx942 follow from them; of gfx950 no compiler was asked. Assembly statements in a
source, even empty ones, count as instructions to LLVM and not to a chip, which this check sees. Not here:
fp64 matrix instructions and v_dot (none may be used), and RDNA (its hardware waits by itself for nearly all).

Every example in EXAMPLES must be a fault with one state less than its rule says, and none with all of
them; and kernels without their s_nop must be full of faults.
"""
import functools
import pathlib
import re
import sys

import assembly
from assembly import NAMED, SCALARS, registers

VECTORS = (1 << SCALARS) - 1
VCC, EXEC, M0 = 3 << NAMED["vcc"], 3 << NAMED["exec"], 1 << NAMED["m0"]
MATRIX = re.compile(r"v_s?mfmac?_[fi]32_(\d+)x\d+x(\d+)_?(?:\d+b_)?(\w+)")
TRANSCENDENTAL = re.compile(r"v_(exp|log|rcp|rsq|sqrt|sin|cos)_")
TWO_RESULTS = re.compile(r"v_\w+_co_|v_mad_[ui]64_[ui]32|v_div_scale")
ACCUMULATES = re.compile(r"v_(pk_)?(fmac|mac)_|v_smfmac|v_dot\dc")
VMEM = ("global_", "flat_", "buffer_", "tbuffer_", "scratch_")
NO_RESULT = re.compile(r"\w+_store|ds_write|s_(cmp|bitcmp|branch|cbranch|waitcnt|nop|barrier|set|endpgm|sleep)")
LONGEST = 20  # wait states of the longest rule


class Instruction:
    """What the rules ask about an instruction."""

    def __init__(self, line):
        self.name, _, rest = line.partition(" ")
        operands = re.split(r",\s*(?![^\[]*\])", rest) if rest.strip() else []
        masks = [registers(o) for o in operands]
        name = self.name
        self.states = int(operands[0], 0) + 1 if name == "s_nop" else 1
        self.target = operands[0] if name.startswith(("s_branch", "s_cbranch")) else None
        self.matrix = name.startswith(("v_mfma", "v_smfmac"))
        self.vector = name.startswith("v_") and not self.matrix
        self.vmem = name.startswith(VMEM)
        self.memory = self.vmem or name.startswith("ds_")
        results = 2 if TWO_RESULTS.match(name) else 1
        if NO_RESULT.match(name) or " lds" in rest or "_load_lds_" in name:
            results = 0
        self.writes = functools.reduce(int.__or__, masks[:results], 0)
        self.reads = functools.reduce(int.__or__, masks[results:], 0)
        if ACCUMULATES.match(name) or name.startswith("v_swap"):
            self.reads |= self.writes
        if name.startswith("v_swap"):
            self.writes = self.reads
        if name.startswith("v_cmpx"):
            self.writes |= EXEC
        if name.startswith("v_div_fmas"):
            self.reads |= VCC
        if self.matrix:
            self.ab, self.c = masks[1] | masks[2], masks[3]
        # What a store of more than 8 bytes still reads after it was issued.
        self.stores = "_store" in name
        wide = self.vmem and re.search(r"_store_(dwordx[34]|b96|b128)", name)
        self.data = masks[1 if name.startswith(("global", "flat")) else 0] if wide else 0
        self.part = "dst_sel:" in rest and "dst_sel:DWORD" not in rest
        self.lanes = name.startswith(("v_readlane", "v_readfirstlane", "v_writelane"))
        self.dpp = "_dpp" in name or "row_" in rest or "quad_perm" in rest


parse = functools.lru_cache(maxsize=None)(Instruction)


@functools.lru_cache(maxsize=None)
def passes(chip, name):
    """Passes of 4 clocks of a matrix instruction, and whether it runs at the rate of 16-bit inputs;
    None for one that no rule here knows."""
    match = MATRIX.match(name)
    if not match or chip not in ("gfx90a", "gfx942", "gfx950"):
        return None
    rows, k, kind = int(match[1]), int(match[2]), match[3]
    if rows == 4:
        return 2, kind != "f32"
    if chip == "gfx90a":
        return rows // 2, True
    if kind == "xf32" or k >= 8:
        return rows // 4, True
    return rows // 2, kind != "f32"


def after_matrix(chip, first, second):
    """Wait states between a matrix instruction and one that touches its registers."""
    n, fast = passes(chip, first.name)
    more = chip == "gfx950" and fast and n != 2
    late = n + (3 if fast or chip == "gfx90a" else 2) + more
    if second.matrix:
        if first.writes & second.ab:
            return late, "a matrix instruction reads the result of another as A or B"
        if not first.writes & second.c:
            return 0, ""
        if first.writes == second.c:  # handed on inside the pipeline
            return (2 if n == 2 and chip != "gfx90a" else 0), "C is the result of a short matrix instruction"
        overlap = "C overlaps the result of another matrix instruction"
        if chip == "gfx90a":
            return n, overlap
        if not fast:
            return (0 if passes(chip, second.name)[1] else n), overlap
        return n + 1 + more, overlap
    if not second.vector and not second.memory:
        return 0, ""
    if first.writes & second.reads:
        return late, "the result of a matrix instruction is read"
    if first.writes & second.writes:
        return late, "the result of a matrix instruction is overwritten"
    if first.c & second.writes and (fast or chip == "gfx90a"):
        return (1 if n == 2 else n - 1), "C of a matrix instruction is overwritten"
    return 0, ""


def after_vector(chip, first, second):
    """Wait states between a vector instruction and one that uses what it wrote."""
    written = first.writes
    new = chip != "gfx90a"
    if second.matrix and written & VECTORS & second.reads:
        return 2, "a matrix instruction reads what a vector instruction wrote"
    if second.matrix and written & EXEC:
        return 4, "exec, written by a vector instruction, before a matrix instruction"
    if second.vmem and written & ~VECTORS & (second.reads | EXEC):
        return 5, "a memory instruction reads a scalar that a vector instruction wrote"
    if not second.vector:
        return 0, ""
    if second.name.startswith("v_div_fmas") and written & VCC:
        return 4, "v_div_fmas reads vcc that a vector instruction wrote"
    if second.lanes and written & ~VECTORS & (second.reads | (EXEC if new else 0)):
        return 4, "a lane is chosen by a scalar that a vector instruction wrote"
    if second.dpp and written & EXEC:
        return 5, "exec, written by a vector instruction, before DPP"
    if second.dpp and written & VECTORS & second.reads:
        return 2, "DPP reads what a vector instruction wrote"
    if new and written & ~VECTORS & second.reads:
        return 2, "a vector instruction reads a scalar that another wrote"
    if new and second.lanes and written & VECTORS & second.reads:
        return 1, "a lane is read of what a vector instruction wrote"
    if new and written & VECTORS & second.reads:
        if TRANSCENDENTAL.match(first.name) and not TRANSCENDENTAL.match(second.name):
            return 1, "the result of a transcendental instruction is read"
        if first.part:
            return 1, "a register of which a part was written is read"
    return 0, ""


def wait_states(chip, first, second):
    """How many states have to lie between two instructions, and why."""
    if first.matrix:
        return after_matrix(chip, first, second)
    if first.vector:
        return after_vector(chip, first, second)
    if first.data & second.writes and second.vector:
        return (1 if chip == "gfx90a" else 2), "the data of a store of more than 8 bytes is overwritten"
    if first.writes & M0 and (second.name.startswith("s_sendmsg") or "_lds_" in second.name):
        return 1, "m0 is used right after it was written"
    if first.name.startswith("s_setreg") and second.name.startswith(("s_setreg", "s_getreg")):
        return 2, "a hardware register is used right after s_setreg"
    return 0, ""


def horizon(chip, first):
    """After so many states an instruction can do no harm."""
    if first.matrix:
        return LONGEST + 1
    if first.vector:
        return 5 if first.writes & ~VECTORS else 2
    return 2 if first.data or first.writes & M0 or first.name.startswith("s_setreg") else 0


def faults(chip, lines):
    """(index of the later instruction, sentence) of every pair that is too close, over all paths."""
    code, labels = [], {}
    for line in lines:
        if line.endswith(":"):
            labels[line[:-1]] = len(code)
        else:
            code.append(parse(line))
    following = []
    for i, one in enumerate(code):
        after = [] if one.name in ("s_endpgm", "s_branch") else [i + 1]
        following.append(after + ([labels[one.target]] if one.target else []))
    found = dict(clauses(code))
    for i, first in enumerate(code):
        if first.matrix and passes(chip, first.name) is None:
            found[i] = f"{first.name}: no wait states are known"
            continue
        far = horizon(chip, first)
        if far == 0:
            continue
        # Later matrix instructions take registers over: what is then left of the result is `mine`.
        ways = [(j, 0, first.writes) for j in following[i]]
        nearest = {}
        while ways:
            j, states, mine = ways.pop()
            if j >= len(code) or nearest.get((j, mine), far) <= states:
                continue
            nearest[j, mine] = states
            second = code[j]
            if first.matrix and mine != first.writes:
                need, why = handed_on(chip, first, second, mine)
            else:
                need, why = wait_states(chip, first, second)
            if states < need:
                found.setdefault(j, f"{states} of {need} wait states: {why} ({first.name} ... {second.name})")
            if second.matrix:
                mine &= ~second.writes
            ways += [(n, states + second.states, mine) for n in following[j]]
    return sorted(found.items())


def clauses(code):
    """(index, sentence): a chip that retries page faults may execute loads of one kind that follow each
    other directly again, so none may write what one of them reads. LLVM looks at six in a row, and lets
    scalar loads write their own address."""
    clause, kind = [], None
    for i, one in enumerate(code):
        this = "vmem" if one.vmem and not one.stores else "smem" if one.name.startswith("s_load") else None
        clause = clause[-5:] if this == kind else []
        kind = this
        clause.append(one)
        if this and len(clause) > 1 and any(
                x.reads & y.writes for x in clause for y in clause if x is not y or this == "vmem"):
            yield i, f"0 of 1 wait states: loads that may be repeated write what they read ({one.name})"
            clause = [one]


def handed_on(chip, first, second, mine):
    """As wait_states for a matrix instruction of whose result only the registers `mine` are left."""
    if second.matrix:
        touched = (second.ab | second.c) & mine
    else:
        touched = (second.reads | second.writes) & mine | second.writes & first.c
    return wait_states(chip, first, second) if touched else (0, "")


BF16 = {"gfx90a": "v_mfma_f32_{}bf16_1k", "gfx942": "v_mfma_f32_{}_bf16", "gfx950": "v_mfma_f32_{}_bf16"}
FP32 = {"gfx90a": "v_mfma_f32_{}f32", "gfx942": "v_mfma_f32_{}_f32", "gfx950": "v_mfma_f32_{}_f32"}
BIG, SMALL = " v[0:15], v[20:21], v[22:23], v[0:15]", " v[0:3], v[20:21], v[22:23], v[0:3]"
ROUND = " v[32:47], v[20:21], v[22:23], v[0:15]"  # reads C and writes elsewhere
# First instruction, second, and the wait states between them on gfx90a, gfx942 and gfx950.
EXAMPLES = [
    (BF16, "32x32x8", BIG, "v_add_f32_e32 v40, v15, v41", (19, 11, 12)),
    (BF16, "16x16x16", SMALL, "global_store_dword v[50:51], v3, off", (11, 7, 8)),
    (BF16, "16x16x16", SMALL, "ds_write_b64 v50, v[2:3]", (11, 7, 8)),
    (BF16, "32x32x8", BIG, "v_mov_b32_e32 v7, 0", (19, 11, 12)),
    (BF16, "32x32x8", BIG, "global_load_dwordx4 v[12:15], v[50:51], off", (19, 11, 12)),
    (BF16, "32x32x8", ROUND, "v_mov_b32_e32 v7, 0", (15, 7, 7)),
    (BF16, "32x32x8", BIG, ("16x16x16", " v[40:43], v[14:15], v[22:23], 0"), (19, 11, 12)),
    (BF16, "32x32x8", BIG, ("16x16x16", " v[4:7], v[20:21], v[22:23], v[4:7]"), (16, 9, 10)),
    (FP32, "32x32x2", BIG.replace("[20:21]", "20").replace("[22:23]", "22"), "v_add_f32_e32 v40, v15, v41", (19, 18, 18)),
    (FP32, "16x16x4", SMALL.replace("[20:21]", "20").replace("[22:23]", "22"), "ds_write_b32 v40, v1", (11, 10, 10)),
]
OTHERS = [  # the same without a matrix instruction first
    ("v_mov_b32_e32 v20, v1", ("32x32x8", BIG), (2, 2, 2)),
    ("v_cmpx_gt_u32_e32 vcc, 9, v40", ("32x32x8", BIG), (4, 4, 4)),
    ("v_readfirstlane_b32 s2, v1", "global_load_dword v1, v2, s[2:3]", (5, 5, 5)),
    ("v_div_scale_f32 v4, vcc, v1, v2, v3", "v_div_fmas_f32 v1, v5, v6, v7", (4, 4, 4)),
    ("v_readfirstlane_b32 s2, v1", "v_readlane_b32 s3, v2, s2", (4, 4, 4)),
    ("v_cmp_gt_u32_e64 s[2:3], v1, v2", "v_cndmask_b32_e64 v3, v4, v5, s[2:3]", (0, 2, 2)),
    ("v_mov_b32_e32 v1, v2", "v_readfirstlane_b32 s2, v1", (0, 1, 1)),
    ("v_rcp_f32_e32 v1, v2", "v_mul_f32_e32 v3, v1, v4", (0, 1, 1)),
    ("v_mov_b32_e32 v1, v2", "v_mov_b32_dpp v3, v1 row_mirror row_mask:0xf bank_mask:0xf", (2, 2, 2)),
    ("v_mov_b32_sdwa v1, v2 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD",
     "v_mov_b32_e32 v3, v1", (0, 1, 1)),
    ("global_store_dwordx4 v[8:9], v[0:3], off", "v_mov_b32_e32 v2, 0", (1, 2, 2)),
    ("global_load_dword v1, v[8:9], off", "global_load_dword v9, v[10:11], off", (1, 1, 1)),
    ("s_load_dwordx2 s[4:5], s[0:1], 0x0", "s_load_dwordx4 s[0:3], s[0:1], 0x8", (1, 1, 1)),
    ("s_mov_b32 m0, s4", "global_load_lds_dword v[8:9], off", (1, 1, 1)),
]


def examples():
    """(chip, first, second, wait states) of every example."""
    def spelled(what, names, chip):
        return what if isinstance(what, str) else names[chip].format(what[0]) + what[1]

    for at, chip in enumerate(BF16):
        for names, shape, operands, second, states in EXAMPLES:
            yield chip, names[chip].format(shape) + operands, spelled(second, BF16, chip), states[at]
        for first, second, states in OTHERS:
            yield chip, first, spelled(second, BF16, chip), states[at]


def between(states):
    return ["s_nop 0"] * states


def self_test(kernels):
    """Planted faults that were not found, and good code that was called bad."""
    for chip, first, second, states in examples():
        if faults(chip, [first, *between(states), second, "s_endpgm"]):
            yield f"{chip}: {first}; {second}: a fault after {states} states"
        if states and not faults(chip, [first, *between(states - 1), second, "s_endpgm"]):
            yield f"{chip}: {first}; {second}: no fault after {states - 1} states"
    # Around a loop, and only on the path that does not jump.
    matrix, read = "v_mfma_f32_32x32x8_bf16" + BIG, "v_mov_b32_e32 v40, v0"
    if not faults("gfx942", [".LBB0_1:", read, matrix, "s_cbranch_scc1 .LBB0_1", "s_endpgm"]):
        yield "a loop"
    if not faults("gfx942", [matrix, "s_cbranch_scc1 .LBB0_1", *between(9), ".LBB0_1:", read, "s_endpgm"]):
        yield "a jump over the wait"
    for (chip, name), kernel in kernels.items():
        stripped = [line for line in kernel.lines if not line.startswith("s_nop")]
        if len(stripped) != len(kernel.lines) and not faults(chip, stripped):
            yield f"{chip} {name} without its s_nop"


def main():
    code = pathlib.Path(sys.argv[1])
    kernels = {(folder.name, name): kernel
               for folder in sorted(code.iterdir()) if folder.is_dir() and folder.name.startswith("gfx9")
               for path in sorted(folder.glob("*.s")) for name, kernel in assembly.kernels(path).items()}
    found = [f"{chip} {name}: {sentence}" for (chip, name), kernel in kernels.items()
             for _, sentence in faults(chip, kernel.lines)]
    # One kernel of a kind for the planted faults: the chain and the leaves of each tile.
    missed = list(self_test({key: kernel for key, kernel in kernels.items()
                             if re.search(r"bf16_(64x64|stream).*k_k|simt.*bf16", key[1])}))
    for line in found + missed:
        print(line)
    print(f"{len(kernels)} kernels, {len(found)} hazards, {len(missed)} planted faults misjudged")
    sys.exit(1 if found or missed or not kernels else 0)


if __name__ == "__main__":
    main()
