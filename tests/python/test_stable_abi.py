# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The operators against PyTorch's stable ABI: our declarations are PyTorch's, and nothing else is used."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
import torch

import detgemm.torch  # registers the operators
from detgemm import _library


HEADER = pathlib.Path(__file__).parents[2] / "python/torch_ops/torch_abi.h"
LOOKED_UP = {"aoti_torch_get_current_cuda_stream", "torch_dtype_float8_e8m0fnu"}  # by dlsym


def declared(text):
    return set(re.findall(r"\b(?:aoti_)?torch_\w+(?=\()", re.sub(r"/\*.*?\*/", "", text, flags=re.S)))


def test_declarations_are_pytorchs(tmp_path):
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None or not HEADER.exists():
        pytest.skip("no C++ compiler or no source tree")
    include = pathlib.Path(torch.__file__).parent / "include"
    source = tmp_path / "both.cpp"

    def compiles(header):
        source.write_text('#include <torch/csrc/stable/c/shim.h>\n' + header)
        return subprocess.run([compiler, "-std=c++20", "-fsyntax-only", "-DTORCH_TARGET_VERSION=0x020a000000000000",
                               "-I", include, source], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)

    text = HEADER.read_text(encoding="utf-8")
    done = compiles(text)
    assert done.returncode == 0, done.stdout
    for old, new in (("int64_t* dim)", "int32_t* dim)"), ("int32_t* index);", "int32_t index);"),
                     ("StableIValue = uint64_t", "StableIValue = uint32_t"), ("int32_t aoti_torch_dtype_uint8", "int64_t aoti_torch_dtype_uint8")):
        assert old in text
        assert compiles(text.replace(old, new, 1)).returncode != 0, f"a planted difference was not found: {new}"
    known = "".join((include / path).read_text() for path in ("torch/csrc/stable/c/shim.h",
                                                              "torch/csrc/inductor/aoti_torch/c/shim.h"))
    assert declared(text) - declared(known) == set(), "functions that PyTorch's headers do not declare"
    # What is looked up when it is needed may be absent from a release before 2.11, which is refused then.
    old = tuple(map(int, torch.__version__.split(".")[:2])) < (2, 11)
    assert LOOKED_UP - declared(known) <= ({"torch_dtype_float8_e8m0fnu"} if old else set())


def test_a_pytorch_that_hides_its_levels_is_refused(tmp_path):
    """What writes into a tensor looks for a level of forward-mode derivatives by a function that PyTorch's stable interface
    lacks. Where its name is not found, such a call is refused, and others are not."""
    name = b"14ForwardADLevel14try_get_by_idxEm"
    for library in _library.folder().glob("*.so*"):
        shutil.copy(library, tmp_path)
    operators = (tmp_path / "detgemm_torch.so").read_bytes()
    assert operators.count(name) == 1
    (tmp_path / "detgemm_torch.so").write_bytes(operators.replace(name, name.replace(b"idx", b"idy")))
    libraries = os.pathsep.join(filter(None, [str(pathlib.Path(detgemm.__file__).parents[1] / "detgemm.libs"), os.environ.get("LD_LIBRARY_PATH")]))
    code = ("import torch, detgemm.torch as dt\nx, c = torch.ones(8, 8).bfloat16(), 'hopper/bf16/chain->bf16'\ny = dt.gemm(x, x, c)\n"
            "for call in (lambda: torch.ops.detgemm.gemm.out(x, x, c, out=y), lambda: dt.gemm(x, x, c, out=y)):\n"
            "    try: call()\n    except RuntimeError as error: print(error)")
    said = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, env={
        **os.environ, "DETGEMM_LIBRARY": str(tmp_path / "libdetgemm.so"), "LD_LIBRARY_PATH": libraries}).stdout
    assert said.count("gemm.out writes into a given tensor, and this PyTorch lacks torch::autograd::ForwardADLevel") == 2, said


def test_only_the_declared_functions_are_used():
    library = _library.folder() / "detgemm_torch.so"
    listed = subprocess.run(["nm", "-D", "-u", library], stdout=subprocess.PIPE, text=True, check=True).stdout
    names = {line.split()[-1].split("@")[0] for line in listed.splitlines()}
    of_torch = {name for name in names if "torch" in name}
    assert not [name for name in names if name.startswith("Py") or "c10" in name or "at6Tensor" in name]
    assert of_torch == {name for name in declared(HEADER.read_text(encoding="utf-8"))} if HEADER.exists() else of_torch
    assert all(name.startswith(("aoti_torch_", "torch_", "detgemm_")) for name in of_torch)


def test_schemas_are_an_interface():
    """A schema may gain arguments with a default; nothing else may change."""
    schemas = {str(getattr(getattr(torch.ops.detgemm, name), overload)._schema)
               for name, overload in (("gemm", "default"), ("gemm", "out"), ("accumulate_", "default"), ("linear", "default"),
                                      ("bmm", "default"), ("bmm", "out"), ("snap", "default"), ("grouped_gemm", "default"),
                                      ("grouped_gemm", "out"), ("grouped_accumulate_", "default"), ("scaled_gemm", "default"),
                                      ("scaled_gemm", "out"), ("quantize", "default"))}
    assert schemas == {
        "detgemm::gemm(Tensor a, Tensor b, str contract, Tensor? c=None, Tensor? bias=None, *, float alpha=1., "
        "float beta=0., str? activation=None, bool continue_from_c=False, int stable=0, str? backend=None, "
        "str? variant=None, bool a_snapped=False, bool b_snapped=False) -> Tensor",
        "detgemm::gemm.out(Tensor a, Tensor b, str contract, Tensor? c=None, Tensor? bias=None, *, float alpha=1., "
        "float beta=0., str? activation=None, bool continue_from_c=False, int stable=0, str? backend=None, "
        "str? variant=None, bool a_snapped=False, bool b_snapped=False, Tensor(a!) out) -> ()",
        "detgemm::accumulate_(Tensor(a!) acc, Tensor a, Tensor b, str contract, *, int stable=0, "
        "bool a_snapped=False, bool b_snapped=False) -> ()",
        "detgemm::linear(Tensor x, Tensor weight, Tensor? bias, Tensor? main_grad, Tensor? bias_main_grad, str forward, "
        "str dgrad, str wgrad, *, bool zero_gradient=False, int stable=0, bool weight_snapped=False) -> Tensor",
        "detgemm::bmm(Tensor a, Tensor b, str contract, Tensor? c=None, *, float alpha=1., float beta=0., int stable=0, "
        "bool a_snapped=False, bool b_snapped=False) -> Tensor",
        "detgemm::bmm.out(Tensor a, Tensor b, str contract, Tensor? c=None, *, float alpha=1., float beta=0., "
        "int stable=0, bool a_snapped=False, bool b_snapped=False, Tensor(a!) out) -> ()",
        "detgemm::grouped_gemm(Tensor a, Tensor b, Tensor? offs, str contract, Tensor? bias=None, Tensor? counts=None, "
        "Tensor? scale_a=None, Tensor? scale_b=None, *, "
        "str? activation=None, int stable=0, str? backend=None, str? variant=None, bool a_snapped=False, "
        "bool b_snapped=False) -> Tensor",
        "detgemm::grouped_gemm.out(Tensor a, Tensor b, Tensor? offs, str contract, Tensor? bias=None, Tensor? counts=None, "
        "Tensor? scale_a=None, Tensor? scale_b=None, *, "
        "str? activation=None, int stable=0, str? backend=None, str? variant=None, bool a_snapped=False, "
        "bool b_snapped=False, Tensor(a!) out) -> ()",
        "detgemm::grouped_accumulate_(Tensor(a!) acc, Tensor a, Tensor b, Tensor? offs, str contract, *, int stable=0, "
        "bool a_snapped=False, bool b_snapped=False) -> ()",
        "detgemm::snap(Tensor x, int leaf, str k=\"cols\") -> Tensor",
        "detgemm::scaled_gemm(Tensor a, Tensor scale_a, Tensor b, Tensor scale_b, str contract, Tensor? c=None, "
        "Tensor? bias=None, *, float alpha=1., float beta=0., str? activation=None, bool continue_from_c=False, int stable=0, "
        "str? backend=None, str? variant=None) -> Tensor",
        "detgemm::scaled_gemm.out(Tensor a, Tensor scale_a, Tensor b, Tensor scale_b, str contract, Tensor? c=None, "
        "Tensor? bias=None, *, float alpha=1., float beta=0., str? activation=None, bool continue_from_c=False, int stable=0, "
        "str? backend=None, str? variant=None, Tensor(a!) out) -> ()",
        "detgemm::quantize(Tensor x, int leaf=128, *, int per=1, str k=\"cols\", str scale_type=\"fp32\", "
        "str? backend=None) -> (Tensor, Tensor)"}
