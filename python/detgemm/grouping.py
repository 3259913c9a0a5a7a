# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""Many products in one call, of arrays of any library."""
import ctypes

from detgemm import _library as lib
from detgemm.arrays import ACTIVATIONS, _check_place, _contract, _stream, check_options, check_promises, device_scratch
from detgemm.views import describe, new_like

BATCHED, M_GROUPED, M_MASKED, K_GROUPED = range(4)
OFFSETS = ("int32", "int64")


def _integers(array, name):
    """The view of ends or counts, and the number of their type."""
    view = describe(array, name, any_type=True)
    kind = str(getattr(array, "dtype", "unknown")).removeprefix("torch.")
    if kind not in OFFSETS:
        raise lib.DetgemmError(f"{name}.dtype is {kind}: it must be int32 or int64")
    if len(view.shape) != 1 or (view.shape[0] > 1 and view.strides[0] != 1):
        raise lib.DetgemmError(f"{name} has the shape {view.shape} and the strides {view.strides}: it must have one "
                               "dimension and stride 1")
    return view, OFFSETS.index(kind)


def _kind(a, b, offs, counts):
    """The kind of problem, how many groups it has, and the shape of its result."""
    batch = len(a) == 3 and len(b) == 3
    for name, shape in (("a", a), ("b", b)):
        if len(shape) not in (2, 3):
            raise lib.DetgemmError(f"{name} has the shape {shape}: it must have two or three dimensions")
    if len(a) == 3 and len(b) == 2:
        raise lib.DetgemmError("a has three dimensions and b has two: segments of columns are those of rows of the "
                               "transposed problem; pass b.T, the transposed matrices of a, and transpose the result")
    if batch and offs is not None:
        raise lib.DetgemmError("offs is given and a and b have three dimensions: segments need one operand of two")
    if not batch and (offs is None or counts is not None):
        raise lib.DetgemmError("offs is None: it must hold the end of each group" if offs is None else
                               "counts is given: it counts the rows of a and b of three dimensions")
    if a[-1] != b[-2]:
        raise lib.DetgemmError(f"a has {a[-1]} columns and b has {b[-2]} rows: both are K and must be equal")
    if batch:
        if a[0] != b[0]:
            raise lib.DetgemmError(f"b has {b[0]} matrices and a has {a[0]}: the numbers must be equal")
        return BATCHED if counts is None else M_MASKED, a[0], (a[0], a[1], b[2])
    if len(b) == 3:
        return M_GROUPED, b[0], (a[0], b[2])
    return K_GROUPED, None, (a[0], b[1])


def _zero(out):
    out[...] = 0


def grouped_gemm(a, b, offs, contract, *, counts=None, out=None, bias=None, activation="none", stable=0, a_snapped=False,
                 b_snapped=False, accumulate=False, stream=None, backend="", variant="", dtypes=None):
    """Many products under one contract, in one call, of arrays in host or device memory. The dimensions say which kind:

    a          b          also    result
    R x K      G x K x N  offs    R x N      rows offs[g-1] to offs[g] times b[g]: a mixture of experts
    M x R      R x N      offs    G x M x N  products offs[g-1] to offs[g]: gradients of the experts' weights
    G x M x K  G x K x N          G x M x N  a batch
    G x M x K  G x K x N  counts  G x M x N  a batch of which the first counts[g] rows matter

    offs, counts  G numbers, int32 or int64, where a and b are
    out           where the result is written; rows of no group keep their bytes there. A new result, of a's library, has
                  zeros in them
    bias          G x N
    accumulate    whether the sums start from fp32 `out`
    and stream, backend, variant, dtypes and the promises as for `gemm`. Arrays have one stride of 1 in each matrix.

    Errors: DetgemmError with a sentence; then nothing was written. docs/moe.md says what does not change a bit.
    """
    check_options((), (("backend", backend), ("variant", variant)), dtypes, ("a", "b", "bias", "out"))
    check_promises(stable, accumulate=accumulate, a_snapped=a_snapped, b_snapped=b_snapped)
    wanted = _contract(contract)
    dtypes = dtypes or {}
    views = {name: describe(array, name, dtypes.get(name))
             for name, array in (("a", a), ("b", b), ("bias", bias)) if array is not None or name in ("a", "b")}
    first = views["a"]
    kind, groups, shape = _kind(first.shape, views["b"].shape, offs, counts)
    ends, ends_type = _integers(offs, "offs") if offs is not None else (None, 0)
    if counts is not None:
        ends, ends_type = _integers(counts, "counts")
    if kind == K_GROUPED:
        groups = ends.shape[0]
        shape = (groups, *shape)
    elif ends is not None and ends.shape[0] != groups:
        raise lib.DetgemmError(f"{ends.name} has {ends.shape[0]} elements: it must have one for each of {groups} groups")
    if activation not in ACTIVATIONS:
        raise lib.DetgemmError(f'activation is {activation!r}: it must be one of {", ".join(ACTIVATIONS)}')
    if accumulate and out is None:
        raise lib.DetgemmError("out is None: accumulate starts from what it holds")
    if out is None:
        out, finish = new_like(a, first, shape, wanted.output)
        with first.current():
            _zero(out)
    else:
        finish = None
    result = describe(out, "out", dtypes.get("out") or (wanted.output if finish else None), writable=True)
    if result.shape != shape:
        raise lib.DetgemmError(f"out has the shape {result.shape}: it must be {shape}")
    for view in (*views.values(), result, *([ends] if ends else [])):
        _check_place(view, first)
    if bias is not None and views["bias"].shape != (groups, shape[-1]):
        raise lib.DetgemmError(f"bias has the shape {views['bias'].shape}: it must be {(groups, shape[-1])}")
    if groups == 0:
        return out if finish is None else finish()
    if first.place[0] == lib.HOST:
        lib.started()
    spec = lib.SpecStruct(n=shape[-1], k=0 if kind == K_GROUPED else first.shape[-1], contract=ctypes.pointer(wanted.struct),
                          activation=ACTIVATIONS.index(activation), alpha=1.0, beta=0.0,
                          bias=lib.DTYPES.index(views["bias"].dtype) if bias is not None else lib.NONE,
                          continue_from_c=int(bool(accumulate)), a_snapped=int(bool(a_snapped)),
                          b_snapped=int(bool(b_snapped)))
    arrays = {name: view.group_matrix() for name, view in (("a", first), ("b", views["b"]), ("d", result))}
    pointers = {name: ctypes.pointer(matrix) for name, (matrix, _) in arrays.items()}
    distance = {name + "_group": step for name, (_, step) in arrays.items()}
    operands = lib.OperandsStruct(**pointers)
    if accumulate:
        operands.c, distance["c_group"] = pointers["d"], distance["d_group"]
    if bias is not None:
        operands.bias, distance["bias_group"] = ctypes.pointer(views["bias"].first_row()), views["bias"].strides[0]
    grouped = lib.GroupedOperandsStruct(arrays=ctypes.pointer(operands), offset_type=ends_type, **distance)
    if ends is not None:
        grouped.offsets, grouped.offset_count = ends.data or None, ends.shape[0]
    options = lib.PlanOptionsStruct(variant=lib.encoded("variant", variant), stable=stable)
    problem = lib.GroupedSpecStruct(kind=kind, gemm=ctypes.pointer(spec), groups=groups)
    lib.check("grouped_spec_validate", ctypes.byref(problem))
    with first.current():
        plan = ctypes.c_void_p()
        lib.check("grouped_plan_create", _backend(first, problem, backend), ctypes.byref(problem), ctypes.byref(options),
                  ctypes.byref(plan))
        try:
            needed = ctypes.c_size_t()
            lib.check("grouped_plan_workspace_size", plan, ctypes.c_int64(arrays["d"][0].rows),
                      ctypes.c_int64(first.shape[-1] if kind == K_GROUPED else 0), ctypes.byref(needed))
            keep, scratch = _scratch(first, needed.value, wanted)
            lib.check("grouped_plan_run", plan, ctypes.byref(_stream(first, stream)), ctypes.byref(grouped),
                      ctypes.c_void_p(scratch), needed, None)
            del keep
        finally:
            lib.library().detgemm_grouped_plan_destroy(plan)
    return out if finish is None else finish()


def _backend(view, problem, named):
    """The named backend, or the first one for the view's kind of device that computes the groups."""
    if named:
        found = ctypes.c_void_p()
        lib.check("backend_find", lib.encoded("backend", named), ctypes.byref(found))
        return found
    refusals = []
    for backend, kind in lib.backends():
        if kind == view.place[0]:
            if (lib.library().detgemm_backend_available(backend) == 0
                    and lib.library().detgemm_backend_supports_grouped(backend, ctypes.byref(problem)) == 0):
                return backend
            refusals.append(lib.library().detgemm_last_error().decode())
    raise lib.DetgemmError(f"no backend on {view.place_name} computes these groups: "
                           + ("; ".join(refusals) or "this build has no backend for it"))


def _scratch(view, size, contract):
    """What keeps scratch memory alive, and its address."""
    if size == 0:
        return None, None
    if view.place[0] != lib.HOST:
        memory = device_scratch(size, contract)
        return memory, memory.data.ptr
    memory = ctypes.create_string_buffer(size + lib.ALIGNMENT)
    at = ctypes.addressof(memory)
    return memory, -(-at // lib.ALIGNMENT) * lib.ALIGNMENT
