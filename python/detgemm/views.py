# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays of other libraries as pointers, shapes and strides."""
import contextlib
import ctypes
import sys

from detgemm import _library as lib

# Names of number formats by the names that array libraries give their types.
FORMATS = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32", "float8_e4m3fn": "e4m3",
           "float8_e5m2": "e5m2", "float8_e8m0fnu": "e8m0"}
SIZES = {"bf16": 2, "fp16": 2, "fp32": 4, "e4m3": 1, "e5m2": 1, "e8m0": 1}
SCALES = lib.SCALE_TYPES  # of which e8m0 is a format of scales alone


class DLDevice(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class DLTensor(ctypes.Structure):
    """DLPack's tensor; dlpack.h defines it."""

    _fields_ = [("data", ctypes.c_void_p), ("device", DLDevice), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


class DLManagedTensorVersioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", DLTensor)]


DL_FORMATS = {(2, 16): "fp16", (2, 32): "fp32", (4, 16): "bf16", (10, 8): "e4m3", (12, 8): "e5m2", (14, 8): "e8m0"}
DL_PLACES = {1: lib.HOST, 2: lib.CUDA, 3: lib.HOST, 10: lib.HIP, 13: lib.CUDA}
DL_READ_ONLY = 1


class View:
    """One array: address, shape and strides in elements, number format, and its device."""

    def __init__(self, name, data, shape, strides, dtype, itemsize, place, owner, read_only=False, stream=None):
        self.name, self.data, self.shape, self.strides = name, data, tuple(shape), tuple(strides)
        self.dtype, self.itemsize, self.place = dtype, itemsize, place
        self.owner, self.read_only, self.stream = owner, read_only, stream

    @property
    def place_name(self):
        kind, index = self.place
        return "the host" if kind == lib.HOST else f"{('', 'cuda', 'hip')[kind]}:{index}"

    def matrix(self):
        if len(self.shape) != 2:
            raise lib.DetgemmError(f"{self.name} has the shape {self.shape}: it must have two dimensions")
        return lib.MatrixStruct(dtype=lib.DTYPES.index(self.dtype), data=self.data or None, rows=self.shape[0],
                                cols=self.shape[1], row_stride=self.strides[0], col_stride=self.strides[1])

    def group_matrix(self):
        """A matrix, or the first of several, and how far it is to the next one."""
        if len(self.shape) == 2:
            return self.matrix(), 0
        rows, cols = self.shape[1:]
        return lib.MatrixStruct(dtype=lib.DTYPES.index(self.dtype), data=self.data or None, rows=rows, cols=cols,
                                row_stride=self.strides[1], col_stride=self.strides[2]), self.strides[0]

    def first_row(self):
        """The first row of a matrix, with their stride."""
        if len(self.shape) != 2 or (self.shape[1] > 1 and self.strides[1] != 1):
            raise lib.DetgemmError(f"{self.name} has the shape {self.shape} and the strides {self.strides}: its rows must "
                                   "have stride 1")
        return lib.VectorStruct(dtype=lib.DTYPES.index(self.dtype), data=self.data or None, size=self.shape[1])

    def vector(self):
        if len(self.shape) != 1 or (self.shape[0] > 1 and self.strides[0] != 1):
            raise lib.DetgemmError(f"{self.name} has the shape {self.shape} and the strides {self.strides}: it must "
                                   "have one dimension and stride 1")
        return lib.VectorStruct(dtype=lib.DTYPES.index(self.dtype), data=self.data or None, size=self.shape[0])

    def scales(self, lines, leaves, of_a):
        """The scales of `lines` rows of A, by leaves, or of leaves by columns of B; the shape says whether a scale is that
        of one line or of 128."""
        blocks = -(-lines // 128)
        kinds = "rows of a, one by one or in blocks of 128, by leaves of K" if of_a else \
            "leaves of K by columns of b, one by one or in blocks of 128"
        shapes = [(count, leaves) if of_a else (leaves, count) for count in (lines, blocks)]
        if self.shape not in shapes:
            raise lib.DetgemmError(f"{self.name} has the shape {self.shape}: it must be "
                                   + " or ".join(f"{rows} x {cols}" for rows, cols in shapes) + f", {kinds}")
        found, at = (self.shape[0], 0) if of_a else (self.shape[1], 1)
        return lib.BlockScalesStruct(type=SCALES.index(self.dtype), data=self.data or None, per=1 if found == lines else 128,
                                     blocks=found, leaves=leaves, stride=self.strides[at], leaf_stride=self.strides[1 - at])

    def packed(self):
        """The bytes of a row-major array; one that is not is refused."""
        expected = 1
        for size, stride in zip(reversed(self.shape), reversed(self.strides)):
            if size > 1 and stride != expected:
                raise lib.DetgemmError(f"{self.name} has the strides {self.strides}: it must be row-major")
            expected *= size
        return expected * self.itemsize

    def current(self):
        """A context in which the view's device is the current one, where its library can say so."""
        kind, index = self.place
        if kind == lib.HOST:
            return contextlib.nullcontext()
        # Each of these libraries has one kind of GPU in a process, and calls AMD's CUDA devices too.
        if "cupy" in sys.modules and kind == _cupy_kind():
            return sys.modules["cupy"].cuda.Device(index)
        torch = sys.modules.get("torch")
        if kind == lib.HIP and torch is not None and torch.version.hip is not None:
            return torch.cuda.device(index)
        return contextlib.nullcontext()


def _cupy_kind():
    """Whose devices CuPy's are: a build of it for ROCm keeps CUDA's names."""
    return lib.HIP if getattr(sys.modules["cupy"].cuda.runtime, "is_hip", False) else lib.CUDA


def _elements(name, strides, itemsize, shape):
    """Strides of bytes, as elements."""
    for stride, size in zip(strides, shape):
        if stride % itemsize and size > 1:
            raise lib.DetgemmError(f"{name} has a stride of {stride} bytes: it must be whole elements of {itemsize}")
    return [stride // itemsize for stride in strides]


def _row_major(shape):
    strides, step = [], 1
    for size in reversed(shape):
        strides.insert(0, step)
        step *= max(size, 1)
    return strides


def _check_plain(array, name):
    """Refuses arrays that are more than what their bytes say to this machine."""
    masked = sys.modules.get("numpy.ma")
    if masked is not None and isinstance(array, masked.MaskedArray):
        raise lib.DetgemmError(f"{name} is a masked array: a product has no masks; pass {name}.filled(...) or {name}.data")
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor) and torch.autograd.forward_ad._current_level >= 0:
        if torch.autograd.forward_ad.unpack_dual(array).tangent is not None:
            raise lib.DetgemmError(f"{name} is a dual tensor: it must carry no tangent, which would be lost here")
    if torch is not None and isinstance(array, torch.Tensor) and array.is_neg():
        raise lib.DetgemmError(f"{name} is a negative view, whose memory holds other values: pass {name}.resolve_neg()")
    dtype = getattr(array, "dtype", None)
    if not getattr(dtype, "isnative", True):
        raise lib.DetgemmError(f"{name}.dtype is {dtype.str}, in the other byte order: it must be in this machine's, such as "
                               f"{name}.astype({name}.dtype.newbyteorder('='))")


def _numpy(array, name):
    interface = array.__array_interface__
    address, read_only = interface["data"]
    size = array.dtype.itemsize
    return View(name, address, array.shape, _elements(name, array.strides, size, array.shape),
                FORMATS.get(array.dtype.name), size, (lib.HOST, 0), array, read_only)


def _cuda_interface(array, name):
    interface = array.__cuda_array_interface__
    try:
        address, read_only = interface["data"]
        shape, size = interface["shape"], array.dtype.itemsize
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise lib.DetgemmError(f"{name}.__cuda_array_interface__ is incomplete: {type(error).__name__} {error}") from None
    strides = interface.get("strides")
    strides = _row_major(shape) if strides is None else _elements(name, strides, size, shape)
    index, stream, kind = 0, interface.get("stream"), lib.CUDA
    if type(array).__module__.partition(".")[0] == "cupy":
        index, kind = array.device.id, _cupy_kind()
        with array.device:
            stream = sys.modules["cupy"].cuda.get_current_stream().ptr
    return View(name, address, shape, strides, FORMATS.get(array.dtype.name), size, (kind, index), array,
                read_only, None if stream in (None, 1) else stream)


def _capsule(array):
    kind, _ = array.__dlpack_device__()
    options = {} if DL_PLACES.get(int(kind)) == lib.HOST else {"stream": -1}  # -1: no synchronisation
    try:
        return array.__dlpack__(max_version=(1, 1), **options)
    except TypeError:
        return array.__dlpack__(**options)


def _dlpack(array, name):
    try:
        capsule = _capsule(array)
    except Exception as error:  # whatever an exporter raises is no fault of this library's caller alone
        raise lib.DetgemmError(f"{name} could not be exported through DLPack: {error or type(error).__name__}") from None
    api = ctypes.pythonapi
    api.PyCapsule_IsValid.argtypes = [ctypes.py_object, ctypes.c_char_p]
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    read_only = False
    if api.PyCapsule_IsValid(capsule, b"dltensor_versioned"):
        managed = DLManagedTensorVersioned.from_address(api.PyCapsule_GetPointer(capsule, b"dltensor_versioned"))
        tensor, read_only = managed.tensor, bool(managed.flags & DL_READ_ONLY)
    elif api.PyCapsule_IsValid(capsule, b"dltensor"):
        tensor = DLTensor.from_address(api.PyCapsule_GetPointer(capsule, b"dltensor"))
    else:
        raise lib.DetgemmError(f"{name} could not be exported through DLPack: __dlpack__ returned a {type(capsule).__name__}, "
                               "which is no capsule of a tensor")
    if tensor.device.type not in DL_PLACES:
        raise lib.DetgemmError(f"{name} is on a device of DLPack's type {tensor.device.type}: it must be on the host, "
                               "CUDA or ROCm")
    shape = tensor.shape[:tensor.ndim]
    strides = tensor.strides[:tensor.ndim] if tensor.strides else _row_major(shape)
    kind = DL_PLACES[tensor.device.type]
    return View(name, (tensor.data or 0) + tensor.byte_offset, shape, strides,
                DL_FORMATS.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None, tensor.bits // 8,
                (kind, 0 if kind == lib.HOST else tensor.device.id), (array, capsule), read_only)


def describe(array, name, dtype=None, *, writable=False, any_type=False, scales=False):
    """The view of an array. `dtype` names the number format that plain integers hold. `scales` says that the array holds
    scales, which have formats of their own."""
    library = type(array).__module__.partition(".")[0]
    _check_plain(array, name)
    if library == "numpy" and hasattr(array, "__array_interface__"):
        view = _numpy(array, name)
    elif library == "cupy" or not hasattr(array, "__dlpack__") and hasattr(array, "__cuda_array_interface__"):
        view = _cuda_interface(array, name)
    elif hasattr(array, "__dlpack__"):
        view = _dlpack(array, name)
    else:
        raise lib.DetgemmError(f"{name} is a {type(array).__name__}: it must be a NumPy or CuPy array, or export DLPack")
    if dtype is not None and view.dtype not in (None, dtype):
        given = getattr(array, "dtype", "unknown")
        raise lib.DetgemmError(f'{name} is to be read as "{dtype}": its dtype is {given}, which is no plain integer')
    if dtype is not None and view.dtype is None:
        if SIZES.get(dtype) != view.itemsize:
            raise lib.DetgemmError(f'{name} is to be read as "{dtype}": its elements have {view.itemsize} bytes')
        view.dtype = dtype
    if scales and view.dtype not in SCALES:
        given = getattr(array, "dtype", "unknown")
        raise lib.DetgemmError(f'{name}.dtype is {given}: a scale is float32 or float8_e8m0fnu, or `dtypes` must name "fp32" '
                               'or "e8m0" for plain integers')
    if not scales and not any_type and (view.dtype is None or view.dtype == "e8m0"):
        given = getattr(array, "dtype", "unknown")
        raise lib.DetgemmError(f"{name}.dtype is {given}: it must be bfloat16, float16, float32, float8_e4m3fn or "
                               "float8_e5m2, or `dtypes` must name the format of plain integers")
    if any_type and view.dtype == "e8m0":
        view.dtype = None
    if writable and view.read_only:
        raise lib.DetgemmError(f"{name} is read-only: a result cannot be written into it")
    return view


def _numpy_type(fmt, numpy):
    if fmt in ("fp16", "fp32"):
        return numpy.dtype({"fp16": "float16", "fp32": "float32"}[fmt])
    try:
        import ml_dtypes
    except ImportError:
        raise lib.DetgemmError(f"the result has the type {fmt}, for which NumPy needs the package ml_dtypes: install "
                               "it, or give `out`") from None
    return numpy.dtype({v: getattr(ml_dtypes, k) for k, v in FORMATS.items() if hasattr(ml_dtypes, k)}[fmt])


def new_like(array, view, shape, fmt):
    """A new array for a result, and a function that gives it the type that the caller works with."""
    library = type(array).__module__.partition(".")[0]
    if library == "torch":
        torch = sys.modules["torch"]
        dtype = {v: getattr(torch, k) for k, v in FORMATS.items()}[fmt]
        out = torch.empty(shape, dtype=dtype, device=array.device)
        return out, lambda: out
    if library == "cupy":
        cupy = sys.modules["cupy"]
        try:
            with view.current():
                out = cupy.empty(shape, _numpy_type(fmt, sys.modules["numpy"]))
        except (TypeError, ValueError) as error:
            raise lib.DetgemmError(f"CuPy has no type for a result of {fmt} ({error}): give `out`") from None
        return out, lambda: out
    if view.place[0] == lib.HOST and library in ("numpy", "jax", "jaxlib"):
        import numpy
        out = numpy.empty(shape, _numpy_type(fmt, numpy))
        if library == "numpy":
            return out, lambda: out
        jax_numpy = sys.modules["jax"].numpy
        return out, lambda: jax_numpy.array(out)
    raise lib.DetgemmError(f"a is a {type(array).__name__}: give `out`, an array for the result")
