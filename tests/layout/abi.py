#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""abi.py ROOT: the structs of the Python package begin with the fields of the C headers, by name, type and order, and so do
those of the engine in Python (examples/engine_python).

A struct of the package may end early, as any caller's may; what it has is compared. Planted faults, one per kind, must be
found: two fields that change places, another type, another name.
"""
import ast
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
# Class of the engine in Python: detgemm_engine_NAME. That file imports PyTorch, so its classes alone are executed here.
ENGINE = pathlib.PurePosixPath("examples/engine_python/torch_engine.py")
ENGINE_STRUCTS = {"Matrix": "matrix", "Spec": "spec", "Scales": "scales", "Call": "call", "Groups": "groups"}
TYPES = {"int32_t": ctypes.c_int32, "uint32_t": ctypes.c_uint32, "int64_t": ctypes.c_int64, "uint64_t": ctypes.c_uint64,
         "float": ctypes.c_float, "size_t": ctypes.c_size_t}


def headers(root):
    """{NAME: [(field, ctypes type or "pointer"), ...]} of the structs that begin with their size."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(root.glob("core/include/detgemm/*.h")))
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    enums = {name: kind for kind, name in re.findall(r"typedef (int32_t) (detgemm_\w+_t);", text)}
    found = {}
    for body, name in re.findall(r"typedef struct detgemm_\w+ \{(.*?)\} detgemm_(\w+?)(?:_t)?;", text, flags=re.DOTALL):
        fields = []
        for kind, star, field in re.findall(r"(?:const )?(\w+)(\*?)\s+(\w+)(?:\[\w+\])?;", body):
            fields.append((field, "pointer" if star else TYPES.get(enums.get(kind, kind), kind)))
        found[name] = fields
    return found


def engine_structs(root):
    """{NAME: fields} of the engine in Python; a struct in a struct is known by its name in C."""
    tree = ast.parse((root / ENGINE).read_text(encoding="utf-8"))
    kept = [node for node in tree.body
            if isinstance(node, ast.ClassDef) and node.name in ENGINE_STRUCTS or
            isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple) and "ctypes" in ast.unparse(node.value)]
    scope = {"ctypes": ctypes}
    exec(compile(ast.Module(kept, []), str(ENGINE), "exec"), scope)
    c_names = {scope[one]: f"detgemm_engine_{name}" for one, name in ENGINE_STRUCTS.items()}
    return {f"engine_{name}": [(field, c_names.get(kind, kind)) for field, kind in scope[one]._fields_]
            for one, name in ENGINE_STRUCTS.items()}


def kind_of(kind):
    if isinstance(kind, str):
        return kind
    pointer = kind in (ctypes.c_void_p, ctypes.c_char_p) or issubclass(kind, ctypes._Pointer)
    return "pointer" if pointer else kind


def breaches(structs, declared):
    for name, fields in structs.items():
        wanted = declared[name]
        for i, (field, kind) in enumerate(fields):
            if i >= len(wanted) or (field, kind_of(kind)) != wanted[i]:
                yield f"detgemm_{name}: field {i} is {field} in Python and {wanted[i][0] if i < len(wanted) else 'none'} in C"
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
    structs |= engine_structs(root)
    found = [*breaches(structs, declared), *(f"{name} is no row of STRUCTS" for name in unlisted)]
    fields = structs["matrix"]
    planted = ([fields[0], fields[2], fields[1]], [fields[0], ("dtype", ctypes.c_int64)], [fields[0], ("type", fields[1][1])])
    missed = [p for p in planted if not list(breaches({"matrix": p}, declared))]
    print("\n".join(found + [f"{len(structs)} structs, {len(found)} breaches, {len(planted) - len(missed)} of {len(planted)} "
                             "planted faults found"]))
    sys.exit(1 if found or missed else 0)


if __name__ == "__main__":
    main()
