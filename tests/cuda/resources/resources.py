#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""resources.py OBJECT... [--spilled OBJECT] [--serialised OBJECT] [--allow NAME=BYTES]...

Reads what ptxas said when each object was compiled (OBJECT.ptxas, written by record.sh). No kernel
may have a stack frame or spill a register, and ptxas may not say that it had to wait inside a chain
of wgmma instructions (C7510 to C7519: "Potential Performance Loss ... serialized", "warpgroup.wait
is injected"): it says so as information, which no flag turns into an error.

Objects that are not device code are passed over. --spilled and --serialised name planted kernels
that must be found guilty of just that. --allow NAME=BYTES: known exceptions, by a part of the
function's name; one that is not needed any more is a fault too.
"""
import argparse
import pathlib
import re
import sys

PROPERTIES = re.compile(r"Function properties for (\S+)\s+(\d+) bytes stack frame, "
                        r"(\d+) bytes spill stores, (\d+) bytes spill loads")
WARNED = re.compile(r"ptxas .*(?:spilled to local memory|Local memory used).*")
SERIALISED = re.compile(r"\(C75\d\d\).*|Potential Performance Loss.*")


class Log:
    """What ptxas said about one object."""

    def __init__(self, object_file):
        self.name = pathlib.Path(object_file).name
        text = pathlib.Path(object_file + ".ptxas").read_text(encoding="utf-8")
        self.bytes = {}  # kernel: stack frame or spills, whichever is more
        for kernel, *sizes in PROPERTIES.findall(text):  # once for each architecture
            worst = max(int(size) for size in sizes)
            self.bytes[kernel] = max(worst, self.bytes.get(kernel, 0))
        self.warnings = WARNED.findall(text)
        self.serialised = SERIALISED.findall(text)

    def spilled(self):
        return {kernel: size for kernel, size in self.bytes.items() if size}


def faults_of(log, allowed, used):
    """Sentences about one object's kernels."""
    if not log.bytes:
        yield f"{log.name}: ptxas told of no kernel"
    for kernel, size in log.spilled().items():
        exception = next((name for name in allowed if name in kernel), None)
        if exception is None or size > allowed[exception]:
            yield f"{log.name}: {size} bytes of stack or spills in {kernel}"
        if exception is not None:
            used.add(exception)
    if len(log.warnings) > 0 and not log.spilled():
        yield f"{log.name}: {log.warnings[0]}"
    for said in log.serialised:
        yield f"{log.name}: {said}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("objects", nargs="+")
    parser.add_argument("--spilled", required=True)
    parser.add_argument("--serialised", required=True)
    parser.add_argument("--allow", action="append", default=[])
    given = parser.parse_args()
    allowed = {name: int(size) for name, size in (each.split("=") for each in given.allow)}
    used = set()
    logs = [Log(name) for name in given.objects if name.endswith((".cu.o", ".cu.obj"))]
    faults = [fault for log in logs for fault in faults_of(log, allowed, used)]
    faults += [f"--allow {name}: nothing needs it" for name in allowed if name not in used]
    if not Log(given.spilled).spilled():
        faults.append("the planted spill was not found")
    if not Log(given.serialised).serialised:
        faults.append("the planted serialised chain was not found")
    kernels = sum(len(log.bytes) for log in logs)
    chains = sum("chain_kernel" in kernel for log in logs for kernel in log.bytes)
    if chains == 0:
        faults.append("no wgmma kernel was among the objects")
    if not any("simt_kernel" in kernel for log in logs for kernel in log.bytes):
        faults.append("no CUDA-core kernel was among the objects")
    print("\n".join(faults + [f"{len(logs)} objects, {kernels} kernels ({chains} of wgmma), "
                              f"{len(faults)} faults"]))
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
