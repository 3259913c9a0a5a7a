# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Products of NumPy, CuPy and JAX arrays, and of whatever exports DLPack, without PyTorch."""
import ctypes
import math
from numbers import Integral, Real

from detgemm import _library as lib
from detgemm.contract import Contract, contract as parsed
from detgemm.views import SIZES, describe, new_like

ACTIVATIONS = ("none", "relu", "gelu", "gelu_tanh", "silu")


def _contract(given):
    if not isinstance(given, (str, Contract)):
        raise lib.DetgemmError(f'contract is {given!r}: it must be text such as "hopper/bf16/chain->bf16"')
    return given if isinstance(given, Contract) else parsed(given)


def check_promises(stable, **truths):
    """Refuses promises of the wrong kind: a number that the C interface cuts, or what only happens to be true, would be
    another promise."""
    if not isinstance(stable, Integral) or isinstance(stable, bool) or stable not in (0, 1, 2):
        raise lib.DetgemmError(f"stable is {stable!r}: it must be an integer: 0 (no promise), 1 (a) or 2 (b)")
    for name, value in truths.items():
        if not isinstance(value, bool) and type(value).__name__ not in ("bool", "bool_"):
            raise lib.DetgemmError(f"{name} is {value!r}: it must be True or False")


def _check_fp32(name, value):
    """Refuses a factor that is not finite, or that fp32 would make infinite or zero."""
    try:
        wide = float(value)
    except OverflowError:
        raise lib.DetgemmError(f"{name} has more digits than a double: it must be finite in fp32") from None
    narrow = ctypes.c_float(wide).value
    if not math.isfinite(narrow):
        raise lib.DetgemmError(f"{name} is {wide!r}: it must be finite in fp32")
    if narrow == 0 and wide != 0:
        raise lib.DetgemmError(f"{name} is {wide!r}: fp32 would make it 0; it must be 0 or a number that fp32 holds")


def check_options(numbers=(), texts=(), dtypes=None, arrays=()):
    """Refuses options of the wrong kind; each is a pair of a name and what was given. `arrays` are the names that dtypes
    may have."""
    for name, value in numbers:
        if not isinstance(value, Real):
            raise lib.DetgemmError(f"{name} is {value!r}: it must be a number")
        _check_fp32(name, value)
    for name, value in texts:
        if not isinstance(value, str):
            raise lib.DetgemmError(f"{name} is {value!r}: it must be text, empty for the library's own choice")
        lib.encoded(name, value)
    if dtypes is not None and not isinstance(dtypes, dict):
        raise lib.DetgemmError(f"dtypes is {dtypes!r}: it must be a dictionary from names of arguments to number formats")
    for name, fmt in (dtypes or {}).items():
        if name not in arrays:
            raise lib.DetgemmError(f"dtypes names {name!r}: it must be one of {', '.join(arrays)}")
        if not isinstance(fmt, str) or fmt not in SIZES:
            raise lib.DetgemmError(f"dtypes names {fmt!r} for {name}: it must be one of {', '.join(SIZES)}")


def _check_place(view, first):
    if view.place != first.place:
        raise lib.DetgemmError(f"{view.name} is on {view.place_name} and {first.name} is on {first.place_name}: all "
                               "operands must be on one device")


def _stream(first, stream):
    kind, _ = first.place
    handle = stream if stream is not None else first.stream
    if handle is not None and not isinstance(handle, int):
        handle = getattr(handle, "ptr", handle)
    if handle is not None and (not isinstance(handle, int) or isinstance(handle, bool) or not 0 <= handle < 1 << 64):
        raise lib.DetgemmError(f"stream is {stream!r}: it must be a number, the address of a cudaStream_t, or an "
                               "object with such a `ptr`")
    return lib.StreamStruct(kind=kind, handle=None if kind == lib.HOST else handle or None)


def gemm(a, b, contract, *, out=None, c=None, bias=None, alpha=1.0, beta=0.0, activation="none",
         continue_from_c=False, stable=0, a_snapped=False, b_snapped=False, stream=None, backend="", variant="",
         dtypes=None):
    """act(alpha * A.B + beta * C + bias) under a contract, of arrays in host or device memory.

    a, b      M x K and K x N: NumPy arrays (bfloat16 and float8 with the package ml_dtypes), CuPy and JAX arrays,
              or anything with `__dlpack__`. One stride must be 1 element and the other at least the extent; a
              transposed array is fine
    contract  a Contract or its text
    out       M x N of the contract's output type. Where it is not given, the result is a new array of a's
              library: NumPy, CuPy (on the device of a) or JAX on the host
    c, bias   M x N and N elements
    a_snapped, b_snapped
              promises, for contracts of snap alone, that an operand was snapped (`snap`) along K for the contract's
              LEAF; a broken one gives unspecified values
    stream    where the work is enqueued on a device: the address of a cudaStream_t or an object with `ptr`. By
              default CuPy's current stream, or the stream that an array's CUDA interface names, or the default one.
              Nothing is synchronised
    dtypes    names of number formats for arrays of plain integers that hold them, such as {"a": "bf16"}

    Errors: DetgemmError with a sentence that names the argument; then nothing was written.
    """
    return multiply(a, b, contract, out=out, c=c, bias=bias, alpha=alpha, beta=beta, activation=activation,
                    continue_from_c=continue_from_c, stable=stable, a_snapped=a_snapped, b_snapped=b_snapped, stream=stream,
                    backend=backend, variant=variant, dtypes=dtypes)


def multiply(a, b, contract, *, out, c, bias, alpha, beta, activation, continue_from_c, stable, stream, backend, variant,
             dtypes, a_snapped=False, b_snapped=False, scales=None):
    """`gemm`; with `scales`, those of a and of b, it is `scaled_gemm`."""
    check_options((("alpha", alpha), ("beta", beta)), (("backend", backend), ("variant", variant)), dtypes,
                  ("a", "b", "c", "bias", "out") + (() if scales is None else ("scale_a", "scale_b")))
    check_promises(stable, continue_from_c=continue_from_c, a_snapped=a_snapped, b_snapped=b_snapped)
    wanted = _contract(contract)
    dtypes = dtypes or {}
    for name, needs_c in (("beta", beta != 0), ("continue_from_c", continue_from_c)):
        if needs_c and c is None:
            raise lib.DetgemmError(f"c is None: it must be given where {name} is {beta if name == 'beta' else True}")
    if scales is not None and wanted.reduction == "tree":
        raise lib.DetgemmError(f'contract is "{wanted.text}": scaled_gemm needs a reduction of scaled:LEAF, such as '
                               "hopper/e4m3/scaled:128->bf16, or of fold:LEAF or chain with a scale per row and column")
    views = {name: describe(array, name, dtypes.get(name))
             for name, array in (("a", a), ("b", b), ("c", c), ("bias", bias)) if array is not None or name in ("a", "b")}
    first = views["a"]
    for name in ("a", "b"):
        if len(views[name].shape) != 2:
            raise lib.DetgemmError(f"{name} has the shape {views[name].shape}: it must have two dimensions")
    if views["a"].shape[1] != views["b"].shape[0]:
        raise lib.DetgemmError(f"a has {views['a'].shape[1]} columns and b has {views['b'].shape[0]} rows: both are K "
                               "and must be equal")
    factors = {}
    if scales is not None:
        leaves = -(-first.shape[1] // wanted.leaf_k) if wanted.reduction == "scaled" else 1
        for name, array, lines in zip(("scale_a", "scale_b"), scales, (first.shape[0], views["b"].shape[1])):
            view = describe(array, name, dtypes.get(name), scales=True)
            _check_place(view, first)
            factors[name] = ctypes.pointer(view.scales(lines, leaves, name == "scale_a"))
    if out is None:
        out, finish = new_like(a, first, (first.shape[0], views["b"].shape[1]), wanted.output)
    else:
        finish = None
    result = describe(out, "out", dtypes.get("out") or (wanted.output if finish else None), writable=True)
    for view in (*views.values(), result):
        _check_place(view, first)
    size = (first.shape[0], views["b"].shape[1])
    if result.shape != size:
        raise lib.DetgemmError(f"out has the shape {result.shape}: it must be {size}, the rows of a and the columns of b")
    if result.dtype != wanted.output:
        raise lib.DetgemmError(f"out.dtype is {result.dtype}: it must be {wanted.output}, the output of {wanted.text}")
    if activation not in ACTIVATIONS:
        raise lib.DetgemmError(f'activation is {activation!r}: it must be one of {", ".join(ACTIVATIONS)}')
    options = lib.OptionsStruct(alpha=alpha, beta=beta, activation=ACTIVATIONS.index(activation),
                                continue_from_c=int(bool(continue_from_c)), stable=stable,
                                a_snapped=int(bool(a_snapped)), b_snapped=int(bool(b_snapped)),
                                backend=lib.encoded("backend", backend), variant=lib.encoded("variant", variant), **factors)
    if c is not None:
        options.c = ctypes.pointer(views["c"].matrix())
    if bias is not None:
        options.bias = ctypes.pointer(views["bias"].vector())
    if first.place[0] == lib.HOST:
        lib.started()
    with first.current():
        scratch = _workspace(first, result, views, wanted, options)
    if scratch is not None:
        options.workspace, options.workspace_bytes = scratch.data.ptr, scratch.nbytes
    with first.current():
        lib.check("gemm", ctypes.byref(_stream(first, stream)), ctypes.byref(views["a"].matrix()),
                  ctypes.byref(views["b"].matrix()), ctypes.byref(result.matrix()),
                  ctypes.byref(wanted.struct), ctypes.byref(options))
    return out if finish is None else finish()


def _workspace(first, result, views, wanted, options):
    """Scratch memory on a device, from CuPy's pool, in the order of its current stream; None where no backend
    requires any. On the host the library allocates it."""
    if first.place[0] == lib.HOST:
        return None
    bias = lib.DTYPES.index(views["bias"].dtype) if "bias" in views else lib.NONE
    spec = lib.SpecStruct(n=result.shape[-1], k=first.shape[1], contract=ctypes.pointer(wanted.struct),
                          activation=options.activation, alpha=options.alpha, beta=options.beta, bias=bias,
                          continue_from_c=options.continue_from_c, a_snapped=options.a_snapped,
                          b_snapped=options.b_snapped,
                          line_scales=int(bool(options.scale_a) and wanted.reduction != "scaled"))
    most = 0
    for backend, kind in lib.backends():
        plan = ctypes.c_void_p()
        if kind != first.place[0] or lib.library().detgemm_plan_create(
                backend, ctypes.byref(spec), None, ctypes.byref(plan)) != 0:
            continue
        needed = ctypes.c_size_t()
        lib.check("plan_workspace_size", plan, ctypes.c_int64(first.shape[0]), ctypes.byref(needed))
        lib.library().detgemm_plan_destroy(plan)
        most = max(most, needed.value)
        break
    return device_scratch(most, wanted) if most > 0 else None


def device_scratch(size, wanted):
    """Memory from CuPy's pool, on its current device and in the order of its current stream."""
    try:
        import cupy
    except ImportError:
        raise lib.DetgemmError(f"contract is {wanted.text}: it needs {size} bytes of scratch memory on the device, which "
                               "are taken from CuPy, and that is not installed; detgemm.torch needs no CuPy") from None
    return cupy.empty(size, cupy.uint8)


def digest(array, dtype=None):
    """64 bits of a matrix's type, shape and elements, as 16 hexadecimal digits; `detgemm run` prints the same.

    Strides do not enter. An array of another type, such as integers, is digested as bytes.
    """
    view = describe(array, "array", dtype, any_type=True)
    if view.place[0] != lib.HOST:
        raise lib.DetgemmError(f"array is on {view.place_name}: copy it to the host first")
    number = ctypes.c_uint64()
    if view.dtype is None or len(view.shape) != 2:
        data = view.packed()
        lib.check("digest_bytes", ctypes.c_void_p(view.data), ctypes.c_size_t(data),
                  ctypes.c_uint64(0xcbf29ce484222325), ctypes.byref(number))
    else:
        lib.check("digest_matrix", ctypes.byref(view.matrix()), ctypes.byref(number))
    return f"{number.value:016x}"

