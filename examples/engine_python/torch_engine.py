# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's products, or DeepGEMM's, behind detgemm/engine.h: see engine.c and README.md.

Every function gets addresses and returns 0; an exception is the sentence that the harness prints.
"""
import ctypes
import os

import torch

CUDA = os.environ.get("DETGEMM_ENGINE_DEVICE") == "cuda"
DEEP_GEMM = os.environ.get("DETGEMM_ENGINE_LIBRARY") == "deep_gemm"
if DEEP_GEMM:
    import deep_engine

BF16, FP32, E4M3 = 0, 2, 4
TYPES = {BF16: torch.bfloat16, 1: torch.float16, FP32: torch.float32, E4M3: torch.float8_e4m3fn}
BATCHED, BY_ROWS, MASKED, BY_K = range(4)
SCALED = 3
I32, I64, PTR, CHARS, F32 = (ctypes.c_int32, ctypes.c_int64, ctypes.c_void_p, ctypes.c_char_p,
                             ctypes.c_float)


class Matrix(ctypes.Structure):
    _fields_ = [("data", PTR), ("rows", I64), ("cols", I64), ("row_stride", I64),
                ("col_stride", I64), ("dtype", I32), ("reserved", I32)]


class Spec(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("n", I64), ("k", I64), ("contract", CHARS),
                ("arithmetic", CHARS), ("input", I32), ("output", I32), ("k_block", I32),
                ("reduction", I32), ("leaf_k", I64), ("op_a", I32), ("op_b", I32), ("alpha", F32),
                ("beta", F32), ("bias", I32), ("activation", I32), ("continue_from_c", I32),
                ("max_workers", I32), ("variant", CHARS), ("line_scales", I32), ("a_snapped", I32),
                ("b_snapped", I32), ("reserved", I32)]


class Scales(ctypes.Structure):
    _fields_ = [("data", PTR), ("type", I32), ("per", I32), ("blocks", I64), ("leaves", I64),
                ("stride", I64), ("leaf_stride", I64)]


class Call(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("a", Matrix), ("b", Matrix), ("c", Matrix),
                ("d", Matrix), ("bias", PTR), ("stream", PTR), ("workspace", PTR),
                ("workspace_bytes", ctypes.c_size_t), ("kernel", PTR),
                ("kernel_size", ctypes.c_size_t), ("sentence", PTR), ("sentence_size", ctypes.c_size_t),
                ("scale_a", Scales), ("scale_b", Scales)]


class Groups(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("kind", I32), ("offset_type", I32),
                ("count", I64), ("offsets", PTR)] + [(x, I64) for x in ("a", "b", "c", "d", "bias", "scale_a", "scale_b")]


def memory(address, size, cuda=CUDA):
    """So many bytes as a tensor, without a copy."""
    if not cuda:
        return torch.frombuffer((ctypes.c_ubyte * size).from_address(address), dtype=torch.uint8)
    class Array:
        __cuda_array_interface__ = {"shape": (size,), "typestr": "|u1", "data": (address, False),
                                    "version": 3}
    return torch.as_tensor(Array(), device="cuda")


def view(m, transposed=0, groups=None, distance=0):
    """op(matrix), or that of all groups; nothing is copied."""
    shape, strides = [m.rows, m.cols], [m.row_stride, m.col_stride]
    if transposed:
        shape.reverse(), strides.reverse()
    if groups is not None:
        shape, strides = [groups] + shape, [distance] + strides
    dtype = TYPES[m.dtype]
    if 0 in shape:
        return torch.empty(shape, dtype=dtype, device="cuda" if CUDA else "cpu")
    last = sum((x - 1) * s for x, s in zip(shape, strides))
    flat = memory(m.data, (last + 1) * dtype.itemsize).view(dtype)
    return flat.as_strided(shape, strides)


def supports(spec, groups, _):
    s = Spec.from_address(spec)
    contract = s.contract.decode()
    if s.alpha != 1 or s.beta != 0 or s.bias >= 0 or s.activation or s.continue_from_c:
        raise ValueError("an epilogue is asked: this engine computes plain products")
    if DEEP_GEMM:
        return supports_deep_gemm(s, contract, groups and Groups.from_address(groups).kind)
    if s.input not in (BF16, E4M3) or s.output not in (BF16, FP32) or s.reduction != 0:
        raise ValueError(f"contract is {contract}: this engine takes chains of bf16 and e4m3 alone")
    if s.input == E4M3 and groups:
        raise ValueError("groups of e4m3 are asked: this engine calls torch._scaled_mm for single products alone")
    if s.line_scales and (s.input != E4M3 or not CUDA):
        raise ValueError("line_scales is 1: torch._scaled_mm takes scales of rows for e4m3 on a GPU alone")
    return 0


def supports_deep_gemm(s, contract, kind):
    scaled = s.input == E4M3 and s.reduction == SCALED and s.leaf_k == 128 and s.output == BF16
    if not scaled and (s.input != BF16 or s.reduction != 0 or s.output != BF16):
        raise ValueError(f"contract is {contract}: DeepGEMM takes bf16/chain->bf16 and e4m3/scaled:128->bf16 alone")
    if s.line_scales:
        raise ValueError("line_scales is 1: DeepGEMM takes scales of 128 products alone")
    if kind == BY_K:
        raise ValueError("the kind is k_grouped: this engine calls DeepGEMM for the others alone")
    return 0


def product(a, b, d):
    if 0 in a.shape:
        return d.zero_()
    if d.dtype != a.dtype:  # torch rounds to the type of its operands
        a, b = a.float(), b.float()
    d.copy_(torch.matmul(a, b))


def scales_of(s, groups=None, distance=0):
    """([blocks, leaves] of fp32, how many rows or columns share one), of all groups where there are groups; None without scales."""
    if not s.data:
        return None
    shape, strides = [s.blocks, s.leaves], [s.stride, s.leaf_stride]
    if groups is not None:
        shape, strides = [groups] + shape, [distance] + strides
    if 0 in shape:
        return torch.ones(shape, device="cuda" if CUDA else "cpu"), s.per
    last = sum((x - 1) * stride for x, stride in zip(shape, strides))
    raw = memory(s.data, (last + 1) * (1 if s.type else 4))
    if s.type == 0:
        return raw.view(torch.float32).as_strided(shape, strides), s.per
    exponent = raw.as_strided(shape, strides).int()  # 2^(x - 127): 0 is subnormal, 255 NaN
    word = torch.where(exponent == 0, 0x00400000, torch.where(exponent == 255, 0x7fc00000, exponent << 23))
    return word.int().view(torch.float32), s.per


def lines(s, count):
    """A scale for each row of op(A) or column of op(B)."""
    scales, per = scales_of(s)
    return scales[:, 0].repeat_interleave(per)[:count].contiguous()


def scaled_product(s, c, a, b, d):
    """torch's kernel takes K and N in whole 16: operands are copied, with zeros behind them."""
    m, k, n = *a.shape, b.shape[1]
    if 0 in (m, n, k):
        return d.zero_()
    wide, deep = -(-n // 16) * 16, -(-k // 16) * 16
    rows = torch.zeros([m, deep], dtype=a.dtype, device=a.device)
    columns = torch.zeros([wide, deep], dtype=b.dtype, device=b.device)
    rows[:, :k], columns[:n, :k] = a, b.t()
    scales = [torch.ones([], device=a.device)] * 2
    if s.line_scales:
        scales = [lines(c.scale_a, m)[:, None], torch.ones([1, wide], device=a.device)]
        scales[1][0, :n] = lines(c.scale_b, n)
    out = torch._scaled_mm(rows, columns.t(), scale_a=scales[0], scale_b=scales[1],
                           out_dtype=torch.bfloat16 if s.line_scales else d.dtype)
    d.copy_(out[:, :n])


def named(call, kernel):
    text = kernel.encode()[: call.kernel_size - 1]
    ctypes.memmove(call.kernel, text + b"\0", len(text) + 1)
    return 0


def on_stream(call):
    if not CUDA:
        return torch.no_grad()
    return torch.cuda.stream(torch.cuda.ExternalStream(call.stream or 0))


def run(spec, call, _):
    s, c = Spec.from_address(spec), Call.from_address(call)
    a, b, d = view(c.a, s.op_a), view(c.b, s.op_b), view(c.d)
    with on_stream(c):
        if DEEP_GEMM:
            return named(c, deep_product(c, a, b, d))
        if s.input == E4M3:
            scaled_product(s, c, a, b, d)
            return named(c, "torch._scaled_mm")
        product(a, b, d)
    return named(c, "torch.matmul")


def deep_product(c, a, b, d):
    if 0 in a.shape + b.shape:
        d.zero_()
        return "torch.zeros"
    return deep_engine.single(a, b, d, scales_of(c.scale_a), scales_of(c.scale_b))


def run_groups(spec, groups, call):
    s, g, c = Spec.from_address(spec), Groups.from_address(groups), Call.from_address(call)
    with on_stream(c):
        return named(c, compute_groups(s, g, c))


def compute_groups(s, g, c):
    whole = g.kind in (BATCHED, MASKED)
    a = view(c.a, s.op_a, g.count, g.a) if whole else view(c.a, s.op_a)
    b = view(c.b, s.op_b) if g.kind == BY_K else view(c.b, s.op_b, g.count, g.b)
    d = view(c.d) if g.kind == BY_ROWS else view(c.d, 0, g.count, g.d)
    if g.kind == BATCHED and not DEEP_GEMM:
        product(a, b, d)
        return "torch.bmm"
    dtype = torch.int64 if g.offset_type else torch.int32
    if g.kind == BATCHED:
        offsets = torch.full([g.count], c.d.rows, dtype=dtype, device=d.device)
    else:
        offsets = memory(g.offsets, g.count * dtype.itemsize).view(dtype)
    if DEEP_GEMM and 0 not in a.shape + b.shape:
        scale_b = scales_of(c.scale_b, g.count, g.scale_b)
        if g.kind == BY_ROWS:
            return deep_engine.segments(a, b, d, offsets.tolist(), scales_of(c.scale_a), scale_b) if offsets[-1] else "nothing"
        return deep_engine.masked(a, b, d, offsets.int(), scales_of(c.scale_a, g.count, g.scale_a), scale_b)
    if g.kind in (BY_ROWS, BY_K) and d.dtype == a.dtype and 0 not in a.shape + b.shape:
        return grouped_mm(g, a, b, d, offsets.int())
    ends = [0] + offsets.tolist()
    for i in range(g.count):
        if g.kind in (BATCHED, MASKED):
            product(a[i, : ends[i + 1]], b[i], d[i, : ends[i + 1]])
        elif g.kind == BY_ROWS:
            product(a[ends[i] : ends[i + 1]], b[i], d[ends[i] : ends[i + 1]])
        else:
            product(a[:, ends[i] : ends[i + 1]], b[ends[i] : ends[i + 1]], d[i])
    return "torch.matmul of each group"


def grouped_mm(g, a, b, d, offsets):
    """torch's kernel takes lines in whole 16 bytes: operands are copied, with zeros behind them."""
    def padded(x):
        whole = [n if i < x.dim() - 2 else -(-n // 8) * 8 for i, n in enumerate(x.shape)]
        copy = torch.zeros(whole, dtype=x.dtype, device=x.device)
        copy[tuple(slice(n) for n in x.shape)] = x
        return copy
    out = torch._grouped_mm(padded(a), padded(b), offs=offsets)
    out = out[tuple(slice(n) for n in d.shape)]
    if g.kind == BY_ROWS:  # rows of no group keep their bytes
        rows = torch.arange(d.shape[0], device=d.device)[:, None] < offsets[-1]
        out = torch.where(rows, out, d)
    d.copy_(out)
    return "torch._grouped_mm"


# Memory and streams of a GPU.
streams = {}


def memory_bytes(*_):
    return torch.cuda.mem_get_info()[1]


def allocate(size, *_):
    return torch.cuda.caching_allocator_alloc(size)


def release(address, *_):
    torch.cuda.caching_allocator_delete(address)
    return 0


def to_device(device, host, size):
    memory(device, size).copy_(memory(host, size, cuda=False))
    torch.cuda.synchronize()
    return 0


def to_host(host, device, size):
    memory(host, size, cuda=False).copy_(memory(device, size))
    return 0


def create_stream(*_):
    stream = torch.cuda.Stream()
    streams[stream.cuda_stream] = stream
    return stream.cuda_stream


def destroy_stream(handle, *_):
    streams.pop(handle, None)
    return 0


def synchronize(handle, *_):
    streams[handle].synchronize()
    return 0
