# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""PyTorch for ROCm, as far as the operators see it, on a PyTorch without a GPU: tensors with device type "cuda" in memory of
the emulator's libamdhip64, a libtorch_hip.so that gives its streams, and torch.version.hip. What PyTorch itself computes on
such tensors is computed on the CPU, over the same memory. Not run on AMD hardware.
"""
import contextlib
import ctypes
import os
import types

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

GPU = torch.device("cuda", 0)
STREAM_NON_BLOCKING, CAPTURE_THREAD_LOCAL = 1, 1


class DLTensor(ctypes.Structure):
    """DLManagedTensor of dlpack.h, which begins with the tensor."""

    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


ROCM = 10  # of DLDeviceType
CODES = {torch.bfloat16: 4, torch.float16: 2, torch.float32: 2}
_exported = []  # what capsules point to


def dlpack(x, **_):
    """As PyTorch for ROCm exports a tensor; this PyTorch would ask CUDA whose the memory is."""
    if x.device.type != "cuda":
        return torch._C._to_dlpack(x)
    sizes, strides = ((ctypes.c_int64 * x.dim())(*numbers) for numbers in (x.shape, x.stride()))
    tensor = DLTensor(x.data_ptr(), (ctypes.c_int32 * 2)(ROCM, 0), x.dim(), CODES[x.dtype], 8 * x.dtype.itemsize, 1, sizes,
                      strides, 0, None, None)
    _exported.append((tensor, sizes, strides, x))
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(ctypes.addressof(tensor), b"dltensor", None)


class Runtime:
    """Functions of the emulator's libamdhip64; one that fails raises."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)

    def __call__(self, name, *arguments):
        error = getattr(self.library, "hip" + name)(*arguments)
        if error != 0:
            raise RuntimeError(f"hip{name}: error {error}")

    def pointer(self, name, *arguments):
        found = ctypes.c_void_p()
        self(name, ctypes.byref(found), *arguments)
        return found


class Rocm:
    """One emulated device. `late` leaves the runtime to be loaded by `load_runtime`."""

    def __init__(self, late=False):
        torch.version.hip = "7.2"
        torch._C._ensureCUDADeviceGuardSet()
        torch.cuda._lazy_init = lambda: None
        torch.cuda._exchange_device = torch.cuda._maybe_exchange_device = lambda index: 0
        torch.cuda.get_device_properties = lambda device: types.SimpleNamespace(
            gcnArchName=os.environ["GCN_ARCH"] + ":sramecc+:xnack-")
        torch.Tensor.__dlpack__ = dlpack
        self.reserved = []
        self.stub = ctypes.CDLL(os.environ["DETGEMM_ROCM_STUB"])
        self.hip = None
        if not late:
            self.load_runtime()
        self.library = torch.library.Library("aten", "IMPL")
        for name, function in (("empty_strided", self.empty_strided), ("copy_", self.copy_), ("zero_", self.zero_)):
            self.library.impl(name, function, "CUDA")

    def load_runtime(self):
        self.hip = Runtime(os.environ["DETGEMM_ROCM_RUNTIME"])

    def empty_strided(self, size, stride, *, dtype=None, layout=None, device=None, pin_memory=None):
        """A tensor in the device's memory."""
        dtype = dtype or torch.float32
        elements = 1 + sum((n - 1) * step for n, step in zip(size, stride)) if all(size) else 0
        wanted = max(1, elements) * dtype.itemsize
        # PyTorch's allocator has memory left over while a graph is captured, where none may be asked for. Nothing is
        # given back: a few MB in all.
        block = next((kept for kept in self.reserved if kept[0] >= wanted), None)
        if block is not None:
            self.reserved.remove(block)
        memory = block[1] if block else self.hip.pointer("Malloc", ctypes.c_size_t(wanted))
        storage = torch._C._construct_storage_from_data_pointer(memory.value, GPU, wanted)
        tensor = torch._C._construct_CUDA_Tensor_From_Storage_And_Metadata(
            dict(size=tuple(size), stride=tuple(stride), dtype=dtype, storage_offset=0, device=GPU), storage)
        return tensor

    @contextlib.contextmanager
    def captured(self, stream, reserve=(1 << 22,) * 4):
        """What is put on the stream becomes a graph; gives a list whose only element is, afterwards, its launch."""
        self.reserved = [(size, self.hip.pointer("Malloc", ctypes.c_size_t(size))) for size in reserve]
        self.use_stream(stream)
        launch = []
        self.hip("StreamBeginCapture", stream, CAPTURE_THREAD_LOCAL)
        graph, exec_ = ctypes.c_void_p(), ctypes.c_void_p()
        try:
            yield launch
        finally:
            self.reserved = []
            self.use_stream(None)
            error = self.hip.library.hipStreamEndCapture(stream, ctypes.byref(graph))
        if error:
            raise RuntimeError(f"hipStreamEndCapture: error {error}")
        self.hip("GraphInstantiate", ctypes.byref(exec_), graph, None, None, ctypes.c_size_t(0))
        launch.append(lambda: self.hip("GraphLaunch", exec_, stream))

    def copy_(self, to, source, non_blocking=False):
        on_cpu(to).copy_(on_cpu(source))
        return to

    def zero_(self, to):
        on_cpu(to).zero_()
        return to

    def put(self, tensor):
        """A tensor of the CPU, with its strides, in the device's memory."""
        copy = self.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype)
        on_cpu(copy).copy_(tensor)
        return copy

    def stream(self):
        return self.hip.pointer("StreamCreateWithFlags", STREAM_NON_BLOCKING)

    def use_stream(self, stream):
        self.stub.detgemm_fake_set_stream(stream)


def on_cpu(x):
    """A tensor of the CPU over the same memory."""
    if not isinstance(x, torch.Tensor) or x.device.type != "cuda":
        return x
    storage = x.untyped_storage()
    data = (ctypes.c_char * max(1, storage.nbytes())).from_address(storage.data_ptr())
    flat = torch.frombuffer(data, dtype=torch.uint8).untyped_storage()
    view = torch.empty(0, dtype=x.dtype).set_(flat, x.storage_offset(), x.size(), x.stride())
    return view


class OnCpu(TorchDispatchMode):
    """Gives PyTorch's own operators on device tensors to the CPU; detgemm's run as they are."""

    def __init__(self, rocm):
        super().__init__()
        self.rocm = rocm
        self.seen = []
        self.kept = set()  # operators of aten that reach what is registered for the device

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        tensors = [x for x in torch.utils._pytree.tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
        on_device = [x for x in tensors if x.device.type == "cuda"]
        makes = kwargs.get("device") is not None and torch.device(kwargs["device"]).type == "cuda"
        if function.namespace == "detgemm" or function.name() in self.kept:
            self.seen.append(function.name())
            written = torch._library.custom_ops.OPDEFS.get(function._schema.name)
            if written is None:
                return function(*args, **kwargs)
            with self:  # an operator written in Python calls PyTorch's own ones, which are the CPU's again
                return written._init_fn(*args, **kwargs)
        if function._schema.is_mutable and on_device and not makes:
            function(*tree_map(on_cpu, args), **tree_map(on_cpu, kwargs))
            return args[0] if function._schema.returns else None
        if any(r.alias_info is not None for r in function._schema.returns):
            return function(*args, **kwargs)  # a view: the strides alone are another
        if not on_device and not makes:
            return function(*args, **kwargs)
        to_device = makes or kwargs.get("device") is None
        if makes:
            kwargs["device"] = torch.device("cpu")
        result = function(*tree_map(on_cpu, args), **tree_map(on_cpu, kwargs))
        return tree_map(lambda x: self.rocm.put(x) if to_device and isinstance(x, torch.Tensor) else x, result)
