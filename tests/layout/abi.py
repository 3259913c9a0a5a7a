#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""abi.py ROOT: the structs of the Python package begin with the fields of the C headers, by name, type and order.

A struct of the package may end early, as any caller's may; what it has is compared. Planted faults, one per kind, must be
found: two fields that change places, another type, another name.
"""
import ctypes
import importlib.util
import pathlib
import re
import sys

# Class of python/detgemm/_library.py: detgemm_NAME_t.
STRUCTS = {"ContractStruct": "contract", "MatrixStruct": "matrix", "VectorStruct": "vector", "StreamStruct": "stream",
           "BlockScalesStruct": "block_scales", "OptionsStruct": "gemm_options", "SpecStruct": "gemm_spec",
           "OperandsStruct": "operands", "PlanOptionsStruct": "plan_options", "GroupedSpecStruct": "grouped_spec",
           "GroupedOperandsStruct": "grouped_operands", "SnapSpecStruct": "snap_spec",
           "QuantizeSpecStruct": "quantize_spec", "ScalesOutStruct": "scales_out", "RuntimeStruct": "runtime_options"}
TYPES = {"int32_t": ctypes.c_int32, "uint32_t": ctypes.c_uint32, "int64_t": ctypes.c_int64, "uint64_t": ctypes.c_uint64,
         "float": ctypes.c_float, "size_t": ctypes.c_size_t}


def headers(root):
    """{NAME: [(field, ctypes type or "pointer"), ...]} of the structs that begin with their size."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(root.glob("core/include/detgemm/*.h")))
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    enums = {name: kind for kind, name in re.findall(r"typedef (int32_t) (detgemm_\w+_t);", text)}
    found = {}
    for body, name in re.findall(r"typedef struct detgemm_\w+_t \{(.*?)\} detgemm_(\w+)_t;", text, flags=re.DOTALL):
        fields = []
        for kind, star, field in re.findall(r"(?:const )?(\w+)(\*?)\s+(\w+)(?:\[\w+\])?;", body):
            fields.append((field, "pointer" if star else TYPES.get(enums.get(kind, kind))))
        found[name] = fields
    return found


def kind_of(kind):
    pointer = kind in (ctypes.c_void_p, ctypes.c_char_p) or issubclass(kind, ctypes._Pointer)
    return "pointer" if pointer else kind


def breaches(structs, declared):
    for name, fields in structs.items():
        wanted = declared[name]
        for i, (field, kind) in enumerate(fields):
            if i >= len(wanted) or (field, kind_of(kind)) != wanted[i]:
                yield f"detgemm_{name}_t: field {i} is {field} in the package and {wanted[i][0] if i < len(wanted) else 'none'} in C"
                break


def main():
    root = pathlib.Path(sys.argv[1])
    spec = importlib.util.spec_from_file_location("library", root / "python" / "detgemm" / "_library.py")
    library = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(library)
    declared = headers(root)
    structs = {name: list(getattr(library, one)._fields_) for one, name in STRUCTS.items()}
    unlisted = [name for name, value in vars(library).items()
                if isinstance(value, type) and issubclass(value, library.Struct) and value is not library.Struct
                and name not in STRUCTS]
    found = [*breaches(structs, declared), *(f"{name} is no row of STRUCTS" for name in unlisted)]
    fields = structs["matrix"]
    planted = ([fields[0], fields[2], fields[1]], [fields[0], ("dtype", ctypes.c_int64)], [fields[0], ("type", fields[1][1])])
    missed = [p for p in planted if not list(breaches({"matrix": p}, declared))]
    print("\n".join(found + [f"{len(structs)} structs, {len(found)} breaches, {len(planted) - len(missed)} of {len(planted)} "
                             "planted faults found"]))
    sys.exit(1 if found or missed else 0)


if __name__ == "__main__":
    main()
