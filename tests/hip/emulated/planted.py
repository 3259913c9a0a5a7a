#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""planted.py DETGEMM GROUPS_TEST CODE_DIR RUNTIME_DIR WORK [--all]: faults planted in the text of a real kernel, one
at a time, must be found by executing it: bits that differ from the reference's, or a launch that the
stand-in runtime refuses to finish. The kernel as it is must pass. --all takes every kind of tile, by hand.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys


# A matrix core that returns -0 for every zero, which the contract allows.
ADVERSE = {"GCN_MFMA": "adverse"}


class Target:
    """A kernel, how it is forced, a problem that runs it, and what is different about the chip."""

    def __init__(self, kernel, variant, contract, shape, faults, data="wide", chip=None, layout="NT"):
        self.kernel, self.variant, self.faults, self.chip = kernel, variant, faults, chip or {}
        self.problem = ["--contract", contract, "--m", shape[0], "--n", shape[1], "--k", shape[2],
                        "--layout", layout, "--dist", data]


def is_mfma(line):
    return line.strip().startswith("v_mfma")


def mfmas_of_one_sum(lines):
    """Indices of the matrix instructions on the first block's sums, in order of k."""
    indices = [i for i, line in enumerate(lines) if is_mfma(line)]
    target = lines[indices[0]].split()[1]
    return [i for i in indices if lines[i].split()[1] == target]


def no_barrier(lines):
    """Removes the barrier between a stage's writes and its reads, the last before the multiplication."""
    first = next(i for i, line in enumerate(lines) if is_mfma(line))
    at = max(i for i in range(first) if lines[i].strip() == "s_barrier")
    del lines[at]


def no_wait_for_memory(lines):
    """Writes loaded values to shared memory before they have arrived."""
    lines[:] = [line for line in lines if not re.match(r"\s*s_waitcnt vmcnt", line)]


def no_wait_for_shared(lines):
    """Removes every wait for shared memory: matrix instructions read what is not there yet."""
    lines[:] = [line for line in lines if not re.match(r"\s*s_waitcnt lgkmcnt", line)]


def wrong_k_order(lines):
    """Multiplies k 8..15 before k 0..7."""
    one, *others = mfmas_of_one_sum(lines)
    two = next(i for i in others if lines[i] != lines[one])
    lines[one], lines[two] = lines[two], lines[one]


def wrong_lanes(lines):
    """Exchanges a block's operands, and with them rows and columns of its result."""
    at = mfmas_of_one_sum(lines)[0]
    lines[at] = re.sub(r"(v_mfma\S+ [^,]+, )([^,]+), ([^,]+), ", r"\1\3, \2, ", lines[at])


def wrong_row(lines):
    """Stores a staged result one place further in the epilogue's block."""
    at = next(i for i, line in enumerate(lines) if re.match(r"\s*ds_write2_b32 .* offset1:\d+$", line))
    lines[at] = re.sub(r"offset1:(\d+)$", lambda m: f"offset1:{int(m.group(1)) + 1}", lines[at])


def shared_slice(lines):
    """Gives every workgroup the first slice of the workspace: what s2, its number, is multiplied by."""
    for i, line in enumerate(lines):
        lines[i] = re.sub(r"(s_mul\w+ [^,]+, [^,]+), s2$", r"\1, 0", line)


def kept_zeros(lines):
    """Removes the additions of +0 by which -0 becomes the contract's +0."""
    lines[:] = [line for line in lines
                if not re.match(r"\s*v_(pk_)?add_f32\w* (v\S+), (0, \2|\2, 0)( |$)", line)]


def misaligned(lines):
    """Moves a fragment's read of 8 bytes by 4."""
    at = next(i for i, line in enumerate(lines) if re.match(r"\s*ds_read_b64 ", line))
    lines[at] = re.sub(r"( offset:(\d+))?$", lambda m: f" offset:{int(m.group(2) or 0) + 4}", lines[at])


def no_barriers(lines):
    """Reads what other waves have not yet put together."""
    lines[:] = [line for line in lines if line.strip() != "s_barrier"]


def finer_grid(lines):
    """Accepts a grid on which the squares of a leaf add up to twice what they may."""
    for i, line in enumerate(lines):
        lines[i] = re.sub(r"0x1000001$", "0x2000001", line)


def whole_rest(lines):
    """Takes the whole number for what its first part leaves of it."""
    for i, line in enumerate(lines):
        lines[i] = re.sub(r"v_sub_f32_e32 (v\d+), (v\d+), v\d+$", r"v_mov_b32_e32 \1, \2", line)


def no_exchange(lines):
    """Multiplies the packet that belongs to the lane 16 lanes away."""
    for i, line in enumerate(lines):
        lines[i] = re.sub(r"ds_swizzle_b32 (v\d+), (v\d+) offset:swizzle\(SWAP,16\)", r"v_mov_b32_e32 \1, \2", line)


def wrong_partner(lines):
    """Exchanges packets with another column's lane."""
    for i, line in enumerate(lines):
        lines[i] = line.replace("swizzle(SWAP,16)", "swizzle(SWAP,8)")


def wrong_half(lines):
    """Loads a stage's first 64 bytes of a column twice."""
    for i, line in enumerate(lines):
        lines[i] = re.sub(r"(global_load_dwordx4 .*) offset:64$", r"\1", line)


MATRIX = [no_barrier, no_wait_for_memory, no_wait_for_shared, wrong_k_order, wrong_lanes]
EXCHANGE = [no_exchange, wrong_partner, wrong_half]
# What the interpreter's message must say, where one is due.
MESSAGES = {misaligned: "misaligned LDS access of 8 bytes", shared_slice: "race in global memory"}
TARGETS = [
    Target("mfma_bf16_128x128_chain_k_k", "128x128", "cdna3/bf16/chain->fp32", ("128", "128", "96"),
           MATRIX + [wrong_row, misaligned]),
    # The wide stream with most sums: two blocks of columns to a wave, whose weights lanes exchange.
    Target("mfma_bf16_stream96x128_chain_k_k", "stream96x128", "cdna3/bf16/chain->fp32", ("100", "140", "520"),
           MATRIX + EXCHANGE),
    # Several workgroups, each with sums of a tree that wait in its slice of the workspace.
    Target("mfma_bf16_128x128_leaves_k_k", "128x128", "cdna3/bf16/tree:64->fp32", ("256", "256", "256"),
           [shared_slice]),
    # Zeros among the results, and a chip that returns each of them as -0.
    Target("mfma_bf16_128x128_chain_k_k", "128x128", "cdna3/bf16/chain->fp32", ("128", "128", "96"),
           [kept_zeros], "cancel", ADVERSE),
    Target("mfma_bf16_stream64_chain_k_k", "stream64", "cdna3/bf16/chain->fp32", ("70", "70", "1100"),
           MATRIX),
    Target("mfma_bf16_stream64_leaves_k_k", "stream64-parts", "cdna3/bf16/tree:64->fp32",
           ("70", "70", "1100"), MATRIX),
    Target("mfma_bf16_256x128_leaves_k_k", "256x128-parts", "cdna3/bf16/tree:64->fp32",
           ("140", "130", "520"), MATRIX),
    # What rounds the operands of snap, with threads along K (there a leaf's threads are in one wave).
    Target("snap_along_k", "128x128", "snap/bf16/tree:64->fp32", ("40", "40", "200"),
           [no_wait_for_memory, no_wait_for_shared, finer_grid], "normal"),
    Target("snap_along_rows", "128x128", "snap/bf16/tree:64->fp32", ("40", "40", "200"),
           [no_barriers, no_wait_for_memory, no_wait_for_shared, finer_grid], "normal", layout="TN"),
    # What splits the operands of snap3.
    Target("snap3_fp32_along_k", "128x128", "snap3/fp32/tree:64->fp32", ("40", "40", "200"),
           [no_wait_for_memory, finer_grid, whole_rest], "normal"),
    Target("snap3_fp32_along_rows", "128x128", "snap3/fp32/tree:64->fp32", ("40", "40", "200"),
           [no_barriers, whole_rest], "normal", layout="TN"),
    Target("snap3_bf16_along_k", "128x128", "snap3/bf16/tree:64->fp32", ("40", "40", "200"),
           [whole_rest], "normal"),
]


def tile(variant, contract, shape, layouts="k_k"):
    """Every fault of the matrix kernels in one more tile; mn_mn: neither operand has its k adjacent."""
    name = f"mfma_bf16_{variant.removesuffix('-parts')}_{'chain' if 'chain' in contract else 'leaves'}_{layouts}"
    faults = MATRIX + EXCHANGE if re.match("stream.*x128", variant) else MATRIX
    return Target(name, variant, contract, shape, faults, layout="TN" if layouts == "mn_mn" else "NT")


CHAIN, TREE, FOLD = (f"cdna3/bf16/{reduction}->fp32" for reduction in ("chain", "tree:64", "fold:64"))
# Kernels over groups, which no command of detgemm runs: a test of GROUPS_TEST must fail.
GROUPS = [
    ("mfma_bf16_stream64_chain_k_k_groups", "HipGroups.AlignedExpertsTakeEveryKernel", [no_barriers, *MATRIX]),
    ("mfma_bf16_128x128_chain_k_k_groups", "HipGroups.AlignedExpertsTakeEveryKernel", [wrong_row]),
    ("simt_fp32_64x64_chain_groups", "HipGroups.OffsetsThatBreakTheirRulesStayInside", [no_barriers]),
]
MORE = [
    tile("256x256", CHAIN, ("256", "256", "192")),
    tile("256x224", CHAIN, ("256", "224", "192")),
    tile("256x192", CHAIN, ("256", "192", "192")),
    tile("256x128", CHAIN, ("256", "128", "192"), "mn_mn"),
    tile("256x128", TREE, ("256", "128", "512")),
    tile("128x128-parts", FOLD, ("140", "130", "520")),
    tile("64x64", CHAIN, ("70", "70", "192")),
    tile("64x64-parts", TREE, ("70", "70", "520")),
    tile("stream32", CHAIN, ("30", "70", "1100")),
    tile("stream32-parts", TREE, ("30", "70", "1100")),
    tile("160x256", CHAIN, ("160", "256", "192")),
    tile("stream48x128", CHAIN, ("50", "140", "1100")),
    tile("stream48x128-parts", TREE, ("50", "140", "1100")),
    tile("stream64x128", CHAIN, ("70", "140", "1100")),
    tile("stream64x128-parts", TREE, ("70", "140", "1100")),
    tile("stream80x128", CHAIN, ("90", "140", "1100")),
    tile("stream80x128-parts", TREE, ("90", "140", "1100")),
]


def plant(code, work, kernel, fault):
    """A code folder whose text has the fault; the code object, by which it is found, stays."""
    folder = work / (fault.__name__ if fault else "as_it_is")
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "gfx942").mkdir(parents=True)
    shutil.copy(code / "gfx942.hsaco", folder)
    for source in (code / "gfx942").glob("*.s"):
        text = source.read_text()
        start = text.find(f"\n{kernel}:")
        if fault and start >= 0:
            end = text.index(".Lfunc_end", start)
            lines = text[start:end].split("\n")
            before = list(lines)
            fault(lines)
            assert lines != before, f"{fault.__name__} changed nothing"
            text = text[:start] + "\n".join(lines) + text[end:]
        (folder / "gfx942" / source.name).write_text(text)
    return folder


def digest(command, environment):
    """D's digest, or the message that was printed in its place."""
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False)
    found = re.search(r"^digest d +(\w+)", done.stdout, re.M)
    if found:
        return found.group(1)
    message = [line for line in done.stderr.splitlines() if line.startswith("gcn: ")]
    return message[0] if message else done.stderr.strip()


def main():
    cli, groups_test, code, runtime, work = *sys.argv[1:3], *map(pathlib.Path, sys.argv[3:6])
    environment = dict(os.environ, GCN_ARCH="gfx942", LD_LIBRARY_PATH=str(runtime))
    failed = []
    planted = 0
    for target in TARGETS + (MORE if "--all" in sys.argv else []):
        expected = digest([cli, "run", "--backend", "reference", *target.problem], environment)
        for fault in [None, *target.faults]:
            code_folder = plant(code, work, target.kernel, fault)
            got = digest([cli, "run", "--backend", "hip", "--variant", target.variant, *target.problem],
                         dict(environment, GCN_CODE=str(code_folder), **target.chip))
            name = f"{target.kernel}, {fault.__name__ if fault else 'as it is'}"
            print(f"{name}: {'equal' if got == expected else got}")
            planted += 1 if fault else 0
            if (got == expected) == bool(fault) or MESSAGES.get(fault, "") not in got:
                failed.append(name)
    for kernel, test, faults in GROUPS:
        for fault in [None, *faults]:
            code_folder = plant(code, work, kernel, fault)
            done = subprocess.run([groups_test, f"--gtest_filter={test}"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  env=dict(environment, GCN_CODE=str(code_folder)), text=True, check=False)
            name = f"{kernel}, {fault.__name__ if fault else 'as it is'}"
            print(f"{name}: {'equal' if done.returncode == 0 else 'found'}")
            planted += 1 if fault else 0
            if (done.returncode == 0) == bool(fault) or "[==========] 1 test" not in done.stdout:
                failed.append(name)
    print(f"{planted} planted faults, wrong verdicts: {', '.join(failed) or 'none'}")
    sys.exit(1 if failed or not planted else 0)


if __name__ == "__main__":
    main()
