# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Triton's driver for a chip that the emulator of tests/gcn computes: Triton from pip compiles for AMD GPUs without one, and what
it compiled is loaded and launched by the functions of the emulator's libamdhip64. Not run on AMD hardware.
"""
import contextlib
import ctypes
import functools
import os
import pathlib

import torch
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase
from triton.runtime import driver

TYPES = {"i1": ctypes.c_int8, "i8": ctypes.c_int8, "i16": ctypes.c_int16, "i32": ctypes.c_int32, "i64": ctypes.c_int64,
         "u1": ctypes.c_uint8, "u8": ctypes.c_uint8, "u16": ctypes.c_uint16, "u32": ctypes.c_uint32, "u64": ctypes.c_uint64,
         "fp32": ctypes.c_float, "f32": ctypes.c_float, "fp64": ctypes.c_double}
WAVE, LDS = 64, 65536
_compiling = []


def text_of(name, binary):
    """The text that a code object was assembled from: Triton's cache holds both."""
    found = [path for path in pathlib.Path(knobs.cache.dir).glob(f"*/{name}.hsaco") if path.read_bytes() == binary]
    return found[0].with_suffix(".amdgcn").read_text(encoding="utf-8")


class Launcher:
    """A launch through hipModuleLaunchKernel, as Triton's own launcher makes it."""

    def __init__(self, hip, source, metadata):
        self.hip, self.types = hip, list(source.signature.values())
        self.threads, self.shared = metadata.num_warps * WAVE, metadata.shared

    def __call__(self, x, y, z, stream, function, packed, launch_metadata, enter, leave, *arguments):
        if self.hip is None or x * y * z == 0:
            return
        values = []
        for kind, value in zip(self.types, arguments, strict=True):
            if kind == "constexpr":
                continue
            if kind.startswith("*"):
                values.append(ctypes.c_void_p(value.data_ptr() if hasattr(value, "data_ptr") else value))
            else:
                values.append(TYPES[kind](value))
        values += [ctypes.c_void_p(), ctypes.c_void_p()]  # two kinds of scratch memory that no kernel here uses
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
        self.hip("ModuleLaunchKernel", function, x, y, z, self.threads, 1, 1, self.shared, stream, pointers, None)


class Driver(DriverBase):
    """`hip` calls the emulator's functions; None compiles alone. `folder`, one of GCN_CODE's, is where it finds texts. `texts` keeps
    the text of every kernel, by a name of its own."""

    def __init__(self, hip, arch, folder, device=0):
        super().__init__()
        self.hip, self.arch, self.folder, self.device, self.texts = hip, arch, pathlib.Path(folder), device, {}
        self.utils = self  # which Triton asks for the two functions below

    def launcher_cls(self, source, metadata):
        return Launcher(self.hip, source, metadata)

    def load_binary(self, name, binary, shared, device):
        text = text_of(name, binary)
        at = self.folder / f"{self.arch}-{len(self.texts)}"
        self.texts[at.name] = text
        if self.hip is None:
            return None, None, 0, 0, 1024
        at.with_suffix(".s").write_text(text, encoding="utf-8")
        at.with_suffix(".hsaco").write_bytes(binary)
        module = self.hip.pointer("ModuleLoadData", binary)
        return module, self.hip.pointer("ModuleGetFunction", module, name.encode()), 0, 0, 1024

    def get_device_properties(self, device):
        return {"max_shared_mem": LDS, "multiprocessor_count": 304, "warpSize": WAVE}

    def get_current_target(self):
        return GPUTarget("hip", self.arch, WAVE)

    def get_current_device(self):
        return self.device  # Triton keeps what it compiled by this number

    def get_current_stream(self, device):
        return None

    @classmethod
    def is_active(cls):
        return False

    def map_python_to_cpp_type(self, ty):
        raise NotImplementedError("no launcher in C is compiled here")

    def get_active_torch_device(self):
        raise NotImplementedError("nothing here is autotuned")

    get_benchmarker = get_active_torch_device


@functools.cache
def installed(hip):
    """The driver that every launch of Triton in this process goes to from now on."""
    made = Driver(hip, os.environ["GCN_ARCH"], os.environ["DETGEMM_ROCM_TRITON"])
    driver.set_active(made)
    torch.cuda.current_device = lambda: driver.active.get_current_device()
    torch._C._cuda_getCurrentRawStream = lambda device: driver.active.get_current_stream(device)
    return made


@contextlib.contextmanager
def compiling_for(arch):
    """A driver that compiles for a chip, and launches nothing: for tensors of the CPU."""
    before, number = driver.active, 1 + len(_compiling)
    _compiling.append(Driver(None, arch, before.folder, number))
    driver.set_active(_compiling[-1])
    try:
        yield _compiling[-1]
    finally:
        driver.set_active(before)
