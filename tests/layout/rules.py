#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""rules.py ROOT: checks that the folders of a source tree are what the architecture says.

Each rule is a generator of (path, line, sentence); line 0 speaks of the whole file.
"""
import pathlib
import re
import statistics
import sys

import tree

# Public headers of which core/contract itself is made; values, no plans and no backends.
KERNEL_TYPES = ["detgemm/types.hpp", "detgemm/contract.hpp"]

# Folder: what it may include in quotes. The longest folder that matches counts.
MAY_INCLUDE = {
    "core/include": ["detgemm/"],
    "core/arithmetic": ["core/arithmetic/", "detgemm/"],
    "core/contract": ["core/contract/", "core/arithmetic/", "detgemm/"],
    "core/api": ["core/api/", "core/contract/", "core/arithmetic/", "detgemm/"],
    "core/capi": ["core/capi/", "detgemm/"],
    # Number formats are facts, not a way of computing: the tools may decode values with them. A thread's mode is no
    # way of computing either.
    "core/conformance": ["core/conformance/", "detgemm/", "core/arithmetic/formats.hpp",
                         "core/arithmetic/floating_point_mode.hpp"],
    # The engines with planted faults compute with the contract's own code and change one thing in it.
    "core/conformance/controls": ["core/conformance/controls/", "core/contract/", "core/arithmetic/",
                                  "backends/skeleton/skeleton.hpp", "detgemm/"],
    "core/cli": ["core/cli/", "core/conformance/", "cluster/conformance/", "detgemm/",
                 "core/arithmetic/formats.hpp", "core/contract/near_miss.hpp",
                 "core/arithmetic/floating_point_mode.hpp"],
    "backends": ["backends/", "core/api/", "core/contract/", "core/arithmetic/", "detgemm/"],
    # What GPU backends share is written against a concept: no vendor's header, not even a public one.
    "backends/gpu": ["backends/gpu/", "core/contract/", "core/arithmetic/", "detgemm/backend.hpp",
                     "detgemm/contract.hpp", "detgemm/device.hpp", "detgemm/gemm_spec.hpp",
                     "detgemm/status.hpp"],
    "backends/cuda": ["backends/", "core/api/", "core/contract/", "core/arithmetic/", "detgemm/",
                      "cuda/launch.hpp", "cuda/log_prob/", "cuda/quantize/", "cuda/sm90/host/log_prob.hpp"],
    "backends/cuda/peer_memory.hpp": ["backends/", "detgemm/", "cuda/peers/launch.hpp"],
    "backends/hip": ["backends/", "core/api/", "core/contract/", "core/arithmetic/", "detgemm/",
                     "hip/launch.hpp"],
    # Kernels know types and the problem that core/contract flattens for them, nothing of plans.
    "cuda": ["cuda/", "core/contract/", "core/arithmetic/", *KERNEL_TYPES],
    "hip": ["hip/", "core/contract/", "core/arithmetic/", *KERNEL_TYPES],
    # Ranks know plans and transports by their public headers, and no vendor.
    "cluster": ["cluster/", "detgemm/"],
    # The C interface of clusters shares the parts of the other one.
    "cluster/capi": ["cluster/capi/", "core/capi/", "detgemm/"],
    "cluster/mpi": ["cluster/", "core/capi/", "detgemm/"],
    # The harness on all ranks of a job; its planted faults compute with the skeleton.
    "cluster/conformance": ["cluster/", "core/conformance/random.hpp",
                            "backends/skeleton/skeleton.hpp", "detgemm/"],
    # Stand-ins are programs on the public interface; alpha may be fp16, which is decoded.
    "dropin": ["dropin/", "detgemm/", "core/arithmetic/formats.hpp", "core/arithmetic/floating_point_mode.hpp"],
    # PyTorch's operators stand on the C interface, as any program would.
    "python/torch_ops": ["python/torch_ops/", "detgemm/detgemm.h", "detgemm/detgemm_grouped.h", "detgemm/detgemm_log_prob.h",
                         "detgemm/export.hpp"],
    # The experiment knows no device; a device's folder knows the experiment.
    "bench/common": ["bench/common/", "detgemm/"],
    "bench/suite": ["bench/common/", "bench/suite/", "detgemm/"],
    "bench/suite/main.cpp": ["bench/cluster/suite.hpp", "bench/suite/", "detgemm/"],
    "bench/cluster": ["bench/cluster/", "bench/common/", "bench/suite/", "detgemm/"],
    "bench/host": ["bench/common/", "bench/host/", "bench/suite/", "detgemm/"],
    "bench/hip": ["bench/common/", "bench/hip/", "bench/host/memory.hpp", "bench/suite/", "detgemm/"],
    # The ceiling of wgmma is a loop of the kernels' own instruction.
    "bench/cuda": ["bench/common/", "bench/cuda/", "bench/suite/", "detgemm/",
                   "cuda/sm90/ptx/wgmma.cuh"],
}

# The folders of cuda/ from the lowest to the highest, and which files of the others each may include. A row names
# folders above it in this list alone (the rule one_way), so no two folders include each other.
KERNEL = "cuda/kernel.hpp"
FAMILIES = [KERNEL, "cuda/device_model.hpp", "cuda/driver.hpp", "cuda/families.hpp", "cuda/launch.hpp"]
CUDA = {
    "cuda/simt/ptx": [],
    "cuda/peers/ptx": [],
    "cuda/sm90/ptx": [],
    "cuda/sm90/tile": [],
    "cuda": ["cuda/sm90/tile/"],
    "cuda/sm90/pipeline": ["cuda/sm90/ptx/", "cuda/sm90/tile/"],
    "cuda/sm90/epilogue": ["cuda/sm90/pipeline/", "cuda/sm90/ptx/", "cuda/sm90/tile/"],
    "cuda/sm90/pack": [KERNEL, "cuda/sm90/ptx/"],
    "cuda/sm90/chain": [KERNEL, "cuda/sample.hpp", "cuda/sm90/epilogue/", "cuda/sm90/pipeline/", "cuda/sm90/tile/"],
    "cuda/log_prob": [KERNEL, "cuda/sm90/ptx/control.cuh"],
    "cuda/sm90/log_prob": [KERNEL, "cuda/sample.hpp", "cuda/log_prob/", "cuda/sm90/epilogue/", "cuda/sm90/pipeline/", "cuda/sm90/ptx/",
                           "cuda/sm90/tile/"],
    "cuda/sm90/leaves": ["cuda/sample.hpp", "cuda/sm90/chain/", "cuda/sm90/epilogue/", "cuda/sm90/pipeline/",
                         "cuda/sm90/ptx/", "cuda/sm90/tile/"],
    "cuda/sm90/realign": ["cuda/sample.hpp", "cuda/sm90/chain/", "cuda/sm90/epilogue/", "cuda/sm90/pipeline/",
                          "cuda/sm90/ptx/", "cuda/sm90/tile/"],
    "cuda/sm90/gather": ["cuda/walk.cuh", "cuda/sm90/chain/", "cuda/sm90/ptx/"],
    "cuda/sm90/grouped": [KERNEL, "cuda/sample.hpp", "cuda/walk.cuh", "cuda/sm90/epilogue/", "cuda/sm90/pipeline/",
                          "cuda/sm90/tile/"],
    "cuda/sm90/fp8": [KERNEL, "cuda/sample.hpp", "cuda/sm90/epilogue/", "cuda/sm90/leaves/", "cuda/sm90/pipeline/",
                      "cuda/sm90/ptx/", "cuda/sm90/tile/"],
    "cuda/simt": [*FAMILIES, "cuda/group_grid.hpp", "cuda/sample.hpp", "cuda/walk.cuh", "cuda/simt/ptx/"],
    "cuda/mma": [*FAMILIES, "cuda/sample.hpp", "cuda/sm90/ptx/"],
    "cuda/snap": [KERNEL, "cuda/sm90/ptx/"],
    "cuda/quantize": [KERNEL, "cuda/snap/"],
    "cuda/peers": [KERNEL, "cuda/peers/ptx/", "cuda/sm90/ptx/"],
    "cuda/sm90/host": [*FAMILIES, "cuda/group_grid.hpp", "cuda/sm90/chain/", "cuda/sm90/fp8/", "cuda/sm90/gather/",
                       "cuda/sm90/grouped/", "cuda/sm90/leaves/", "cuda/log_prob/", "cuda/sm90/log_prob/", "cuda/sm90/pack/", "cuda/sm90/realign/",
                       "cuda/sm90/tile/"],
    "cuda/host": [*FAMILIES, "cuda/sample.hpp", "cuda/mma/", "cuda/simt/", "cuda/snap/", "cuda/sm90/host/",
                  "cuda/sm90/tile/"],
}
# The same for cluster/.
CLUSTER = {
    "cluster/common": [],
    "cluster/peers": ["cluster/common/"],
    "cluster/join": ["cluster/common/", "cluster/peers/"],
    "cluster/api": ["cluster/common/", "cluster/peers/", "cluster/join/"],
    "cluster/threads": ["cluster/common/"],
    "cluster/nccl": ["cluster/common/"],
    "cluster/capi": [],
    "cluster/mpi": ["cluster/common/", "cluster/capi/"],
    "cluster/conformance": ["cluster/common/"],
}

# Folder: headers in angle brackets besides the standard ones; [] is the standard library alone.
SYSTEM = {
    "core": [],
    "core/include/detgemm/cuda.hpp": [r"cuda_runtime_api\.h"],
    "core/include/detgemm/hip.hpp": [r"hip/hip_runtime_api\.h"],
    "core/include/detgemm/mpi.hpp": [r"mpi\.h"],
    "core/include/detgemm/detgemm_mpi.h": [r"mpi\.h"],
    "core/include/detgemm/kokkos.hpp": [r"Kokkos_Core\.hpp"],  # header-only, for applications of Kokkos
    "core/conformance": [r"nlohmann/.*", r"dlfcn\.h", r"sys/utsname\.h"],
    "core/cli": [r"CLI/.*", r"nlohmann/.*", r"dlfcn\.h", r"unistd\.h", r"sys/.*", r"fcntl\.h",
                 r"fnmatch\.h"],
    # Guard pages and child processes are the operating system's.
    "core/conformance/controls/paper_gpu.cpp": [r"sys/mman\.h"],  # as much as a GPU has
    "core/conformance/guarded_memory.cpp": [r"sys/mman\.h", r"unistd\.h"],
    "core/conformance/isolate.cpp": [r"poll\.h", r"sys/wait\.h"],
    "core/conformance/worker.cpp": [r"fcntl\.h", r"sys/(prctl|resource|wait)\.h"],
    "core/conformance/worker.hpp": [r"sys/types\.h", r"unistd\.h"],
    "backends": [],
    "backends/reference": [r"Kokkos_.*"],
    "backends/cuda": [r"cuda.*"],
    "backends/hip": [r"dlfcn\.h"],  # the runtime is found while a program runs
    "backends/hip/find_runtime.cpp": [r"dlfcn\.h", r"link\.h"],
    "backends/hip/place.cpp": [r"sys/mman\.h", r"unistd\.h"],  # whether an APU's address is mapped
    "cuda": [r"cuda.*", r"cooperative_groups\.h"],
    "hip": [],
    "cluster": [],
    "cluster/peers": [r"fcntl\.h", r"sys/mman\.h", r"unistd\.h"],  # memory that processes share
    "cluster/nccl": [r"dlfcn\.h"],  # the library is the one that the program has loaded
    # Dynamic linking, signals, forks and descriptors are the operating system's.
    "dropin": [r"dlfcn\.h", r"link\.h", r"pthread\.h", r"fcntl\.h", r"unistd\.h"],
    "python/torch_ops": [r"dlfcn\.h"],  # PyTorch's own headers are not needed, see torch_abi.h
}
STANDARD = re.compile(r"[a-z_0-9]+$|(std(int|def|bool|io|lib)|string|math|float|limits)\.h$")

LONGEST = 600
MEDIAN = 150
# Folder: the most lines of its sources together. The interpreter of gfx9 assembly stays one that a
# person reads in a day, or nobody can say what its verdicts are worth.
MOST = {"tests/gcn/emulator": 3320}
FAST_MATH = re.compile(r"-ffast-math|-Ofast|-funsafe-math|-fassociative-math|-freciprocal-math"
                       r"|-ffinite-math|-mdaz-ftz|use_fast_math|-ftz=true|-ffp-contract=(?!off)")
MAY_NAME_FAST_MATH = {"cmake/DetgemmFloatingPoint.cmake", "tests/layout", "tests/consumers"}
# Where inline assembly is written: one instruction per function, in a folder of this name. A planted
# fault is a whole kernel and shows its instructions.
ASSEMBLY_FOLDER = "ptx"
ASSEMBLY = re.compile(r"\basm\s*(volatile\s*)?\(")
NO_ASSEMBLY = {"cuda", "tests/cuda"}
MAY_PLANT_ASSEMBLY = {"tests/cuda/resources/planted"}
MUST_EXPLAIN_ASSERTIONS = {"core", "cuda", "hip"}
CELL = 160  # characters of a table's cell in markdown: what a reader takes in at once
# A JSON file holds no more than a person reads through; records are compressed, with a page beside.
JSON_LINES, JSON_BYTES = 600, 100_000
MAY_BE_LONG = {"tests/golden"}
MACHINE_PATH = re.compile(r"(?<![\w.}])/(home|root|work|Users|mnt)/\w")


def lookup(table, path):
    """The entry of the longest folder (or file) of the table that holds path."""
    names = [str(parent) for parent in (path, *path.parents)]
    return next((table[name] for name in names if name in table), None)


def within(names, path):
    return any(str(parent) in names for parent in (path, *path.parents))


def includes(text):
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
        if match:
            yield number, match.group(1), match.group(2)


def folders(path, text):
    """Who includes whom."""
    if not tree.is_code(path):
        return
    allowed = lookup(MAY_INCLUDE, path)
    inside = lookup({**CUDA, **CLUSTER}, path)
    system = lookup(SYSTEM, path)
    for number, kind, name in includes(text):
        if kind == '"' and allowed is not None and not any(name.startswith(a) for a in allowed):
            yield number, f'"{name}" is not for {path.parent}, which may include {allowed}'
        if kind == '"' and inside is not None and name.startswith(path.parts[0] + "/") and str(path.parent) != str(
                pathlib.PurePosixPath(name).parent) and not any(name.startswith(a) for a in inside):
            yield number, f'"{name}" is not for {path.parent}, which may include {inside} of {path.parts[0]}/'
        if kind == "<" and system is not None and not STANDARD.match(name):
            if name.startswith("detgemm/") or not any(re.fullmatch(s, name) for s in system):
                yield number, f"<{name}> is not for {path.parent}"


def one_way(table):
    """Names in a table of folders, lowest first, that are of no folder above their row."""
    above = set()
    for folder, names in table.items():
        above.add(folder)
        for name in names:
            if str(pathlib.PurePosixPath(name).parent if "." in name else pathlib.PurePosixPath(name)) not in above:
                yield f'{folder} may include "{name}", which is of no folder above it in the table'


def licences(path, text):
    """Two SPDX lines on every source."""
    if tree.is_source(path):
        head = "\n".join(text.splitlines()[:4])
        for tag in ("SPDX-FileCopyrightText: ", "SPDX-License-Identifier: Apache-2.0"):
            if tag not in head:
                yield 1, f"the first lines lack {tag.strip()}"


def ascii_only(path, text):
    """Sources are plain ASCII; prose may be more."""
    if tree.is_source(path) and not text.isascii():
        for number, line in enumerate(text.splitlines(), 1):
            if not line.isascii():
                yield number, f"not ASCII: {line.strip().encode('ascii', 'replace').decode()}"


def lengths(path, text):
    """No file over the longest that is read in one go."""
    if tree.is_source(path) and text.count("\n") > LONGEST:
        yield 0, f"{text.count(chr(10))} lines; at most {LONGEST}"


def plain_arithmetic(path, text):
    """No flag relaxes arithmetic anywhere."""
    if (tree.is_source(path) or path.suffix == ".json") and not within(MAY_NAME_FAST_MATH, path):
        for number, line in enumerate(text.splitlines(), 1):
            comment = line.lstrip().startswith("//" if tree.is_code(path) else "#")
            if FAST_MATH.search(line) and not comment:
                yield number, f"relaxes arithmetic: {line.strip()}"


def machine_paths(path, text):
    """Nothing knows where it was written."""
    for number, line in enumerate(text.splitlines(), 1):
        if MACHINE_PATH.search(line) and path.parts[:2] != ("tests", "layout"):
            yield number, f"names a place on some machine: {line.strip()}"


def assembly(path, text):
    """Inline PTX only in ptx folders."""
    if (tree.is_code(path) and within(NO_ASSEMBLY, path) and not within(MAY_PLANT_ASSEMBLY, path)
            and ASSEMBLY_FOLDER not in path.parts):
        for number, line in enumerate(text.splitlines(), 1):
            if ASSEMBLY.search(line.split("//")[0]):
                yield number, f"inline assembly outside of a {ASSEMBLY_FOLDER} folder: {line.strip()}"


def blank_comments(text):
    """The text with the same lines, without comments."""
    pattern = r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/'
    return re.sub(pattern, lambda m: m.group() if m.group()[0] == '"' else
                  "\n" * m.group().count("\n"), text, flags=re.DOTALL)


def assertions(path, text):
    """Every static_assert says in words what must hold."""
    if not tree.is_code(path) or not within(MUST_EXPLAIN_ASSERTIONS, path):
        return
    code = blank_comments(text)
    for match in re.finditer(r'\bstatic_assert\s*\((?:"(?:\\.|[^"\\])*"|[^;"])*', code):
        # What stands before the semicolon: a comma, the pieces of a string, the parenthesis.
        said = re.search(r',((?:\s*"(?:\\.|[^"\\])*")+)\s*\)\s*$', match.group())
        if said is None or len(said.group(1).split()) < 3:
            yield code.count("\n", 0, match.start()) + 1, "a static_assert without a sentence"


def cells(path, text):
    """Tables that can be read: no cell of a paragraph's length."""
    if path.suffix != ".md":
        return
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        fenced ^= line.lstrip().startswith("```")
        if fenced or not line.lstrip().startswith("|"):
            continue
        for cell in re.split(r"(?<!\\)\|", line.strip())[1:]:
            if len(cell.strip()) > CELL:
                yield number, f"a table's cell of {len(cell.strip())} characters; at most {CELL}"


def data(path, text):
    """JSON that a person reads through; what is longer goes compressed."""
    lines, size = text.count("\n"), len(text.encode("utf-8"))
    if path.suffix == ".json" and not within(MAY_BE_LONG, path):
        if lines > JSON_LINES or size > JSON_BYTES:
            yield 0, (f"{lines} lines, {size} bytes of JSON; at most {JSON_LINES} and {JSON_BYTES}: "
                      "scripts/record.py compresses it")


RULES = (folders, licences, ascii_only, lengths, plain_arithmetic, machine_paths, assembly,
         assertions, cells, data)


def check(root):
    """Every breach as (rule, path, line, sentence), and the number of sources seen."""
    breaches = []
    sizes = []
    sums = dict.fromkeys(MOST, 0)
    found = tree.files(root)
    for path in found:
        if path.name == "index.html" and path.with_name("index.md") in found:
            said = "the same content as index.md beside it; bench/report makes it when it is wanted"
            breaches.append(("one_page", path, 0, said))
        try:
            text = (pathlib.Path(root) / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # data
        if tree.is_source(path):
            sizes.append(text.count("\n"))
            for folder in MOST:
                sums[folder] += text.count("\n") if within([folder], path) else 0
        for rule in RULES:
            breaches += [(rule.__name__, path, line, said) for line, said in rule(path, text)]
    for said in [*one_way(CUDA), *one_way(CLUSTER)]:
        breaches.append(("one_way", pathlib.PurePosixPath("tests/layout/rules.py"), 0, said))
    if sizes and statistics.median(sizes) > MEDIAN:
        said = f"the median file has {statistics.median(sizes)} lines; at most {MEDIAN}"
        breaches.append(("median", pathlib.PurePosixPath("."), 0, said))
    for folder, most in MOST.items():
        if sums[folder] > most:
            said = f"{sums[folder]} lines together; at most {most}"
            breaches.append(("sums", pathlib.PurePosixPath(folder), 0, said))
    return breaches, len(sizes)


def main():
    breaches, sources = check(sys.argv[1])
    for rule, path, line, said in breaches:
        print(f"{path}:{line}: {rule}: {said}")
    print(f"{sources} sources, {len(breaches)} breaches")
    sys.exit(1 if breaches or sources < 50 else 0)


if __name__ == "__main__":
    main()
