# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""paged_shared.py: prints the bytes of shared memory of attention over pages on Hopper, compiled here without a GPU.

The program with most: 64 rows of a head of 256 elements, in the form that wide heads have, or (argument: narrow) in that of narrow ones,
which does not fit. The stages behind LLVM's text are left out.
"""
import sys

import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, make_backend
from triton._C.libtriton import ir

from detgemm.torch.kernels import paged

POINTERS = {"q": "*bf16", "k": "*bf16", "v": "*bf16", "out": "*bf16", "table": "*i32", "segments": "*i32", "tops": "*fp32", "totals": "*fp32",
            "accs": "*fp32", "scale": "fp32"}


def shared(kernel, constants, form):
    backend = make_backend(GPUTarget("cuda", 90, 32))
    options = backend.parse_options({**form, "enable_fp_fusion": False})
    names = kernel.arg_names
    signature = {name: "constexpr" if name in constants else POINTERS.get(name, "i32") for name in names}
    aligned = {(at,): [["tt.divisibility", 16]] for at, name in enumerate(names) if name in POINTERS and name != "scale" or name[1:] in ("t", "h", "p", "r")}
    source = ASTSource(kernel, signature, {(names.index(name),): value for name, value in constants.items()}, aligned)
    context, metadata, stages = ir.context(), {"target": backend.target, **options.__dict__}, {}
    ir.load_dialects(context)
    backend.load_dialects(context)
    backend.add_stages(stages, options, source.language)
    module = source.make_ir(backend.target, options, backend.get_codegen_implementation(options), backend.get_module_map(), context)
    for name in ("ttir", "ttgir", "llir"):
        module = stages[name](module, metadata)
    return metadata["shared"]


if __name__ == "__main__":
    form = {**(paged.MANY if sys.argv[1:] == ["narrow"] else paged.WIDE)}
    form.pop("rows", None)
    print(shared(paged._by_keys, {"PAGE": 16, "DIM": 256, "WIDTH": 256, "ROWS": 64, "TYPE": tl.bfloat16, "SHORT": 1, "EARLY": True}, form))
