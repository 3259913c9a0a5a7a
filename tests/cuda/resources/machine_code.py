#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""machine_code.py BEFORE AFTER [--cuobjdump PROGRAM] [--save FILE]: whether two builds have the same SASS.

BEFORE and AFTER are folders with the objects of CUDA sources (*.cu.o, searched for in all their folders), or lists that
--save wrote of a folder's. A kernel is known by its architecture and its mangled name, in which the part that nvcc derives
from the path of the source is left out; so objects, folders and targets may change their names. Compared are the bytes of
its instructions, the number of its registers and its static shared memory. Printed is every kernel that differs or that
one side alone has; the last line has the counts and one hash of all kernels of each side.

Exit 0 where no kernel differs and both sides have the same ones, 1 where not, 2 where a side has none.

    python3 tests/cuda/resources/machine_code.py build/before build/cuda-sm90
"""
import argparse
import collections
import hashlib
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

# _GLOBAL__N__1a2b3c4d_9_pack_cu_5e6f7a8b_123 in a mangled name: a hash of the source's path, its name, another hash.
OF_A_FILE = re.compile(r"\d*_GLOBAL__N__[0-9a-f]+_\d+_\w+?_cu_[0-9a-f]{8}(_\d+)?|__nv_static_\d+__[0-9a-f]+_\d+_\w+?_cu_[0-9a-f]{8}_?(\d+_)?")


def sections(cubin):
    """(name, sh_info, bytes) of each section of a 64-bit ELF file; the bytes of NOBITS sections are their size."""
    at, = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names = struct.unpack_from("<HHH", cubin, 0x3a)
    headers = [struct.unpack_from("<IIQQQQIIQQ", cubin, at + i * size) for i in range(count)]
    text = headers[names][4]
    for name, kind, _, _, offset, length, _, info, _, _ in headers:
        end = cubin.index(b"\0", text + name)
        data = str(length).encode() if kind == 8 else cubin[offset:offset + length]
        yield cubin[text + name:end].decode(), info, data


def kernels_of(cubin):
    """{name: bytes of all that is compared} of the functions of a cubin."""
    code = {}
    for name, info, data in sections(cubin):
        if name.startswith(".text."):
            code.setdefault(name[6:], []).append(b"registers %d\n" % (info >> 24) + data)
        elif name.startswith(".nv.shared."):
            code.setdefault(name[11:], []).append(b"shared " + data + b"\n")
    return {name: b"".join(sorted(parts)) for name, parts in code.items() if any(p.startswith(b"registers") for p in parts)}


def hashes_of(folder, cuobjdump):
    """{"sm_90 kernel": [hash, ...]}: a name that several objects have may have several."""
    found = collections.defaultdict(set)
    for path in sorted(pathlib.Path(folder).rglob("*.cu.o")):
        with tempfile.TemporaryDirectory() as place:
            done = subprocess.run([cuobjdump, "-xelf", "all", path.resolve()], cwd=place, capture_output=True, text=True,
                                  check=False)
            cubins = sorted(pathlib.Path(place).glob("*.cubin"))
            if done.returncode != 0 and cubins:
                sys.exit(f"{path}: {done.stderr}")
            for cubin in cubins:
                arch = re.search(r"\.(sm_\w+)\.cubin$", cubin.name).group(1)
                for name, code in kernels_of(cubin.read_bytes()).items():
                    found[f"{arch} {OF_A_FILE.sub('FILE', name)}"].add(hashlib.sha256(code).hexdigest()[:16])
    return {name: sorted(hashes) for name, hashes in sorted(found.items())}


def read(place, cuobjdump):
    path = pathlib.Path(place)
    if path.is_dir():
        return hashes_of(path, cuobjdump)
    return json.loads(path.read_text(encoding="utf-8"))


def digest(kernels):
    return hashlib.sha256(json.dumps(kernels, sort_keys=True).encode()).hexdigest()[:16]


def report(before, after):
    """The lines about kernels that are not the same."""
    for name in sorted({*before, *after}):
        if name not in after:
            yield f"before alone  {name}"
        elif name not in before:
            yield f"after alone   {name}"
        elif before[name] != after[name]:
            yield f"differs       {name}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--cuobjdump", default="cuobjdump")
    parser.add_argument("--save", help="where the hashes of AFTER are written")
    given = parser.parse_args()
    before, after = (read(place, given.cuobjdump) for place in (given.before, given.after))
    if given.save:
        pathlib.Path(given.save).write_text(json.dumps(after, indent=0) + "\n", encoding="utf-8")
    lines = list(report(before, after))
    kinds = collections.Counter(line.split("  ")[0] for line in lines)
    print("\n".join(lines + [f"{len(before)} kernels before ({digest(before)}), {len(after)} after ({digest(after)}): "
                             f"{kinds['differs']} differ, {kinds['before alone']} before alone, {kinds['after alone']} after alone"]))
    if not before or not after:
        sys.exit(2)
    sys.exit(1 if lines else 0)


if __name__ == "__main__":
    main()
