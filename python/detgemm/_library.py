# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The shared library and its C interface, loaded when first needed."""
import ctypes
import functools
import importlib.util
import os
import pathlib
import threading

ABI_VERSION = 0  # DETGEMM_ABI_VERSION of the headers that this package was written for

HOST, CUDA, HIP = 0, 1, 2
# The names of the C interface's number formats, in the order of its enumeration.
DTYPES = ("bf16", "fp16", "fp32", "tf32", "e4m3", "e5m2")
NONE = -1
UNSUPPORTED, UNAVAILABLE = 2, 4  # statuses of a backend that cannot, now or at all
ALIGNMENT = 256  # of workspaces, in bytes: DETGEMM_WORKSPACE_ALIGNMENT


class DetgemmError(RuntimeError):
    """A refusal: a sentence that names the argument, its value and the rule."""


def folder():
    """Where the shared libraries are: beside this file, or where DETGEMM_LIBRARY names one."""
    named = os.environ.get("DETGEMM_LIBRARY")
    return pathlib.Path(named).parent if named else pathlib.Path(__file__).parent / "lib"


class Struct(ctypes.Structure):
    """A struct of the C interface, which begins with its own size."""

    def __init__(self, **fields):
        super().__init__(struct_size=ctypes.sizeof(self), **fields)


class ContractStruct(Struct):
    _fields_ = [("struct_size", ctypes.c_uint32), ("version", ctypes.c_int32),
                ("arithmetic", ctypes.c_int32), ("input", ctypes.c_int32),
                ("k_block", ctypes.c_int32), ("k_order", ctypes.c_int32),
                ("reduction", ctypes.c_int32), ("rounding", ctypes.c_int32),
                ("leaf_k", ctypes.c_int64), ("output", ctypes.c_int32),
                ("reserved", ctypes.c_uint32)]


class MatrixStruct(Struct):
    _fields_ = [("struct_size", ctypes.c_uint32), ("dtype", ctypes.c_int32),
                ("data", ctypes.c_void_p), ("rows", ctypes.c_int64), ("cols", ctypes.c_int64),
                ("row_stride", ctypes.c_int64), ("col_stride", ctypes.c_int64)]


class VectorStruct(Struct):
    _fields_ = [("struct_size", ctypes.c_uint32), ("dtype", ctypes.c_int32),
                ("data", ctypes.c_void_p), ("size", ctypes.c_int64)]


class StreamStruct(Struct):
    _fields_ = [("struct_size", ctypes.c_uint32), ("kind", ctypes.c_int32),
                ("handle", ctypes.c_void_p)]


SCALE_TYPES = ("fp32", "e8m0")  # the names of the enumeration of scales, in its order


class BlockScalesStruct(Struct):
    _fields_ = [("struct_size", ctypes.c_uint32), ("type", ctypes.c_int32), ("data", ctypes.c_void_p),
                ("per", ctypes.c_int64), ("blocks", ctypes.c_int64), ("leaves", ctypes.c_int64),
                ("stride", ctypes.c_int64), ("leaf_stride", ctypes.c_int64)]


class OptionsStruct(Struct):
    """detgemm_gemm_options_t."""

    _fields_ = [("struct_size", ctypes.c_uint32), ("op_a", ctypes.c_int32),
                ("op_b", ctypes.c_int32), ("activation", ctypes.c_int32),
                ("alpha", ctypes.c_float), ("beta", ctypes.c_float),
                ("continue_from_c", ctypes.c_int32), ("serial_launch", ctypes.c_int32),
                ("c", ctypes.POINTER(MatrixStruct)), ("bias", ctypes.POINTER(VectorStruct)),
                ("backend", ctypes.c_char_p), ("variant", ctypes.c_char_p),
                ("workspace", ctypes.c_void_p), ("workspace_bytes", ctypes.c_size_t),
                ("max_workers", ctypes.c_int32), ("stable", ctypes.c_int32),
                ("a_snapped", ctypes.c_int32), ("b_snapped", ctypes.c_int32),
                ("scale_a", ctypes.POINTER(BlockScalesStruct)), ("scale_b", ctypes.POINTER(BlockScalesStruct))]


class SpecStruct(Struct):
    """detgemm_gemm_spec_t."""

    _fields_ = [("struct_size", ctypes.c_uint32), ("op_a", ctypes.c_int32), ("n", ctypes.c_int64),
                ("k", ctypes.c_int64), ("contract", ctypes.POINTER(ContractStruct)),
                ("op_b", ctypes.c_int32), ("activation", ctypes.c_int32), ("alpha", ctypes.c_float),
                ("beta", ctypes.c_float), ("bias", ctypes.c_int32),
                ("continue_from_c", ctypes.c_int32), ("a_snapped", ctypes.c_int32),
                ("b_snapped", ctypes.c_int32), ("line_scales", ctypes.c_int32)]


class OperandsStruct(Struct):
    """detgemm_operands_t."""

    _fields_ = [("struct_size", ctypes.c_uint32), ("reserved", ctypes.c_uint32),
                *((name, ctypes.POINTER(MatrixStruct)) for name in "abdc"), ("bias", ctypes.POINTER(VectorStruct))]


class PlanOptionsStruct(Struct):
    """detgemm_plan_options_t."""

    _fields_ = [("struct_size", ctypes.c_uint32), ("max_workers", ctypes.c_int32), ("variant", ctypes.c_char_p),
                ("stable", ctypes.c_int32), ("serial_launch", ctypes.c_int32)]


class GroupedSpecStruct(Struct):
    _fields_ = [("struct_size", ctypes.c_uint32), ("kind", ctypes.c_int32), ("gemm", ctypes.POINTER(SpecStruct)),
                ("groups", ctypes.c_int64)]


class GroupedOperandsStruct(Struct):
    _fields_ = [("struct_size", ctypes.c_uint32), ("offset_type", ctypes.c_int32),
                ("arrays", ctypes.POINTER(OperandsStruct)), ("offsets", ctypes.c_void_p), ("offset_count", ctypes.c_int64),
                ("a_group", ctypes.c_int64), ("b_group", ctypes.c_int64), ("d_group", ctypes.c_int64),
                ("c_group", ctypes.c_int64), ("bias_group", ctypes.c_int64)]


class SnapSpecStruct(Struct):
    _fields_ = [("struct_size", ctypes.c_uint32), ("k", ctypes.c_int32), ("leaf_k", ctypes.c_int64)]


class QuantizeSpecStruct(Struct):
    _fields_ = [("struct_size", ctypes.c_uint32), ("k", ctypes.c_int32), ("leaf_k", ctypes.c_int64),
                ("per", ctypes.c_int64)]


class ScalesOutStruct(Struct):
    _fields_ = [("struct_size", ctypes.c_uint32), ("type", ctypes.c_int32), ("data", ctypes.c_void_p),
                ("blocks", ctypes.c_int64), ("leaves", ctypes.c_int64), ("stride", ctypes.c_int64),
                ("leaf_stride", ctypes.c_int64)]


class RuntimeStruct(Struct):
    _fields_ = [("struct_size", ctypes.c_uint32), ("threads", ctypes.c_int32)]


def backends():
    """Handles of the backends in order of preference, with the kind of device of each."""
    for index in range(library().detgemm_backend_count()):
        backend = HANDLE(library().detgemm_backend_at(ctypes.c_size_t(index)))
        kind = ctypes.c_int32()
        check("backend_device_kind", backend, ctypes.byref(kind))
        yield backend, kind.value


TEXT = ctypes.c_char_p
HANDLE = ctypes.c_void_p
# Functions that return text or a handle; all others return a status.
RETURNS = {"version": TEXT, "last_error": TEXT, "dtype_name": TEXT, "arithmetic_name": TEXT,
           "reduction_name": TEXT, "evidence": TEXT, "backend_name": TEXT,
           "backend_description": TEXT, "backend_at": HANDLE, "backend_count": ctypes.c_size_t}


def _offer_runtime():
    """Names the HIP runtime of ROCm's Python packages, which is on no search path and which PyTorch loads, unless the user
    has named one. The library takes the one that the process has loaded before it."""
    if os.environ.get("DETGEMM_HIP_RUNTIME") or importlib.util.find_spec("rocm_sdk") is None:
        return
    try:
        found = importlib.import_module("rocm_sdk").find_libraries("amdhip64")
    except Exception:
        return
    if found:
        os.environ["DETGEMM_HIP_RUNTIME"] = str(found[0])


@functools.cache
def library():
    """The C interface, as a ctypes library. An unknown interface version is refused."""
    _offer_runtime()
    path = os.environ.get("DETGEMM_LIBRARY") or str(folder() / "libdetgemm.so")
    try:
        loaded = ctypes.CDLL(path)
    except OSError as error:
        raise DetgemmError(f"{path} could not be loaded: {error}") from None
    found = loaded.detgemm_abi_version()
    if found != ABI_VERSION:
        raise DetgemmError(f"{path} has version {found} of the C interface: this package needs "
                           f"version {ABI_VERSION}")
    for name, kind in RETURNS.items():
        getattr(loaded, "detgemm_" + name).restype = kind
    return loaded


def text(name, *arguments):
    """What a function that returns text returns."""
    return getattr(library(), "detgemm_" + name)(*arguments).decode()


def encoded(name, given):
    """Text for the C interface, which ends at the first NUL."""
    if "\0" in given:
        raise DetgemmError(f"{name} is {given!r}: it must have no NUL")
    try:
        return given.encode()
    except UnicodeEncodeError:
        raise DetgemmError(f"{name} is {given!r}: it has a surrogate, which is not a character") from None


def check(name, *arguments):
    """Calls a function; any status but success is raised with its sentence."""
    if getattr(library(), "detgemm_" + name)(*arguments) != 0:
        raise DetgemmError(library().detgemm_last_error().decode())


def text_of(name, *arguments):
    """What a function writes into a buffer."""
    needed = ctypes.c_size_t()
    check(name, *arguments, None, ctypes.c_size_t(0), ctypes.byref(needed))
    buffer = ctypes.create_string_buffer(needed.value)
    check(name, *arguments, buffer, ctypes.c_size_t(needed.value), None)
    return buffer.value.decode()


_lock = threading.Lock()
_threads = None
_forked = False
after_fork = []  # called in a child that may not compute on the host


def _child():
    global _forked
    _forked = True
    for call in after_fork:
        call()


def start(threads=1):
    """Starts the reference, which computes on the host with this many threads; 0 stands for all.

    Call it once, on the main thread, before the first product on a CPU and before `detgemm.torch` is
    imported: both start the reference with one thread if it is not running. With one thread a
    process may still fork; with more, products on a CPU are refused in the child, which lacks the threads.
    """
    global _threads
    if not isinstance(threads, int) or isinstance(threads, bool):
        raise DetgemmError(f"threads is {threads!r}: it must be an integer, 0 for all")
    if not 0 <= threads < 1 << 31:
        raise DetgemmError(f"threads is {threads}: it must be from 0, for all, to 2^31 - 1")
    with _lock:
        if _threads is not None:
            if _threads != threads:
                raise DetgemmError(f"threads is {threads}: the reference was started with {_threads} "
                                   "in this process, which cannot be changed")
            return
        check("runtime_start", ctypes.byref(RuntimeStruct(threads=threads)))
        _threads = threads
        if threads != 1:
            os.register_at_fork(after_in_child=_child)


def started():
    """Starts the reference with one thread, unless it was started."""
    if _threads is None:
        start()
    if _forked:
        raise DetgemmError(f"this process was forked after detgemm.start({_threads}): its threads are the "
                           "parent's; start the reference with one thread, or in the child alone")
