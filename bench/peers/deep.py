# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""DeepGEMM as a rival: its operands, made from ours before anything is timed, and its calls.

Scales of rows lie with the rows first, each column at a multiple of 16 bytes, so that a call is one kernel. The contiguous
form takes groups that begin at multiples of 128 rows: the rows are copied there, with zeros behind each group, and its time
has the products with those zeros in it. Each function gives (run, rows): run() enqueues the product, and rows() are its
rows that count, in our order. An arm with /pdl is launched with programmatic dependent launch, which is off as it comes.

A wheel of DeepGEMM made for another PyTorch refuses every call; its module can be built from source for the one at hand.
"""
import torch

try:
    import deep_gemm as module
    MISSING = None
except Exception as error:  # absent, or made for another PyTorch
    module, MISSING = None, f"DeepGEMM cannot be imported: {type(error).__name__}: {(str(error).splitlines() or [''])[0][:200]}"

ARMS = ("deep", "deep/pdl")
SEGMENT = 128


def version():
    return MISSING or getattr(module, "__version__", "unknown")


def arms():
    """The names of the arms that can run."""
    return () if MISSING else ARMS if hasattr(module, "set_pdl") else ARMS[:1]


def called(arm, run):
    """run as the arm launches it."""
    if arm == "deep":
        return run

    def overlapped():
        module.set_pdl(True)
        try:
            return run()
        finally:
            module.set_pdl(False)
    return overlapped


def aligned(scales):
    """Scales of [groups x] rows x leaves, rows first."""
    *groups, rows, leaves = scales.shape
    pitch = -(-rows // 4) * 4
    strides = (*(leaves * pitch for _ in groups), 1, pitch)
    return scales if scales.stride() == strides else torch.empty_strided(
        scales.shape, strides, dtype=scales.dtype, device=scales.device).copy_(scales)


def padded(size):
    return -(-size // SEGMENT) * SEGMENT


class Segments:
    """Rows of groups that begin at multiples of SEGMENT."""

    def __init__(self, sizes, device):
        self.sizes = [padded(size) for size in sizes]
        groups, places, begin = [], [], 0
        for group, (size, room) in enumerate(zip(sizes, self.sizes)):
            groups += [group] * size + [-1] * (room - size)
            places += range(begin, begin + size)
            begin += room
        self.groups = torch.tensor(groups, dtype=torch.int32, device=device)  # of each row, or -1
        self.places = torch.tensor(places, device=device)

    def spread(self, x):
        raw = x.view(torch.uint8) if x.itemsize == 1 else x
        moved = torch.zeros(len(self.groups), x.shape[1], dtype=raw.dtype, device=x.device)
        moved[self.places] = raw
        return moved.view(x.dtype)

    def result(self, n):
        return torch.zeros(len(self.groups), n, dtype=torch.bfloat16, device=self.groups.device)


def counted(d, sizes):
    return torch.cat([each[:size] for each, size in zip(d, sizes)])


def dense_fp8(a, scale_a, w, scale_w):
    d = torch.zeros(a.shape[0], w.shape[0], device=a.device, dtype=torch.bfloat16)
    scale_a, scale_w = aligned(scale_a), scale_w.contiguous()
    return lambda: (module.fp8_gemm_nt((a, scale_a), (w, scale_w), d), d)[1]


def contiguous_fp8(a, scale_a, w, scale_w, sizes):
    """Of groups with rows one behind the other."""
    segments = Segments(sizes, a.device)
    a, scale_a, scale_w = segments.spread(a), aligned(segments.spread(scale_a)), scale_w.contiguous()
    d = segments.result(w.shape[1])
    return (lambda: (module.m_grouped_fp8_gemm_nt_contiguous((a, scale_a), (w, scale_w), d, segments.groups), d)[1],
            lambda: d[segments.places])


def masked_fp8(a, scale_a, w, scale_w, sizes, counts):
    """Of groups with room for the same number of rows; `counts` are the sizes on the device."""
    scale_a, scale_w = aligned(scale_a), scale_w.contiguous()
    d = torch.zeros(*a.shape[:2], w.shape[1], device=a.device, dtype=torch.bfloat16)
    expected = expected_rows(sizes)
    return (lambda: (module.m_grouped_fp8_gemm_nt_masked((a, scale_a), (w, scale_w), d, counts, expected), d)[1],
            lambda: counted(d, sizes))


def contiguous_bf16(a, w, sizes):
    segments = Segments(sizes, a.device)
    a, d = segments.spread(a), segments.result(w.shape[1])
    return (lambda: (module.m_grouped_bf16_gemm_nt_contiguous(a, w, d, segments.groups), d)[1],
            lambda: d[segments.places])


def masked_bf16(a, w, sizes):
    """The rows of each group are copied into room for SEGMENT of them, or a multiple."""
    room = torch.zeros(len(sizes), padded(max(sizes)), a.shape[1], device=a.device, dtype=a.dtype)
    begin = 0
    for group, size in enumerate(sizes):
        room[group, :size] = a[begin:begin + size]
        begin += size
    d = torch.zeros(*room.shape[:2], w.shape[1], device=a.device, dtype=torch.bfloat16)
    counts, expected = torch.tensor(sizes, dtype=torch.int32, device=a.device), expected_rows(sizes)
    return (lambda: (module.m_grouped_bf16_gemm_nt_masked(room, w, d, counts, expected), d)[1],
            lambda: counted(d, sizes))


def gradient_bf16(a, b, d, sizes):
    """d[g] += a[s]^T b[s], with rows of zeros behind the rows of each group."""
    segments = Segments(sizes, a.device)
    a, b = segments.spread(a), segments.spread(b)
    counts = torch.tensor(segments.sizes, dtype=torch.int32, device=a.device)
    return lambda: (module.k_grouped_bf16_gemm_tn_contiguous(a, b, d, segments.sizes, counts, d), d)[1]


def expected_rows(sizes):
    """What DeepGEMM's tests hand over: its choice of a tile depends on it."""
    return max(1, int(1.2 * sum(sizes) / len(sizes)))
