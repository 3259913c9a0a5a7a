#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""signatures.py ROOT COMPILER INCLUDE: the stand-in's functions take what NVIDIA's headers declare.

The sources of dropin/cublas are preprocessed, and the arguments of every function that they define are
compared with those of cublas_api.h and cublasLt.h, by what the calling convention sees: an address, 32
or 64 bits of integer. A planted difference must be found.
"""
import pathlib
import re
import subprocess
import sys

SOURCES = ("gemm.cpp", "gemv.cpp", "handle.cpp", "lt.cpp", "others.cpp")
# Types of 8 bytes, and those that are pointers without saying so.
WIDE = {"int64_t", "std::int64_t", "Long", "long long", "long long int", "size_t", "std::size_t"}
POINTERS = {"Handle", "Desc", "Layout", "Preference", "Address", "Addresses", "cudaStream_t",
            "cublasHandle_t", "cublasLtHandle_t", "cublasLtMatmulDesc_t", "cublasLtMatrixLayout_t",
            "cublasLtMatmulPreference_t"}
EXPECTED = 100  # functions; fewer would mean that the text was not understood


def passed_as(argument):
    """"p", "l" or "i"."""
    text = re.sub(r"/\*.*?\*/|\bconst\b", " ", argument).strip()
    if "*" in text or "[" in text:
        return "p"
    words = text.split()
    kind = " ".join(words[:-1]) if len(words) > 1 else text
    if kind in POINTERS:
        return "p"
    return "l" if kind in WIDE else "i"


def arguments(text):
    return "".join(passed_as(each) for each in re.sub(r"\s+", " ", text).split(",") if each.strip())


def declared(text):
    """name: arguments, of every function of NVIDIA's headers."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)
    pattern = r"(?<!static inline )cublasStatus_t\s+CUBLASWINAPI\s+(cublas\w+)\s*\(([^)]*)\)\s*;"
    return {name: arguments(rest) for name, rest in re.findall(pattern, text)}


def defined(root, compiler):
    """The same of every function that the stand-in defines."""
    found = {}
    for source in SOURCES:
        text = subprocess.run(
            [compiler, "-std=c++20", "-E", "-P", f"-I{root}", f"-I{root}/core/include",
             f"{root}/dropin/cublas/{source}"], stdout=subprocess.PIPE, text=True, check=True).stdout
        for name, rest in re.findall(
                r'visibility\s*\(\s*"default"\s*\)\s*\)\s*\)\s*int\s+(cublas\w+)\s*\(([^)]*)\)\s*{',
                text):
            found[name] = arguments(rest)
    return found


def compare(ours, theirs):
    for name, shape in sorted(ours.items()):
        if name not in theirs:
            yield f"{name}: NVIDIA's headers have no such function"
        elif theirs[name] != shape:
            yield f"{name}: takes {shape}, and NVIDIA's takes {theirs[name]}"


def main():
    root, compiler, include = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    theirs = {}
    for header in ("cublas_api.h", "cublasLt.h"):
        theirs.update(declared((include / header).read_text(encoding="utf-8")))
    ours = defined(root, compiler)
    faults = list(compare(ours, theirs))
    for fault in faults:
        print(fault)
    print(f"{len(ours)} functions compared, {len(faults)} differ")
    planted = dict(ours, cublasGemmEx=ours.get("cublasGemmEx", "")[:-1] + "l")
    noticed = any("cublasGemmEx:" in fault for fault in compare(planted, theirs))
    if not noticed:
        print("a planted difference was not noticed")
    sys.exit(1 if faults or len(ours) < EXPECTED or not noticed else 0)


if __name__ == "__main__":
    main()
