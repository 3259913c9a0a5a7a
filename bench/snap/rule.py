# SPDX-FileCopyrightText: 2026 The detgemm authors
# SPDX-License-Identifier: Apache-2.0
"""The rule of `snap` in NumPy, written from the contract's text alone and without any code of the library.

    leaf of a row:   a_0 ... a_(n-1)                       n <= LEAF products of K
    grid:            2^t, t the least in -62 .. 51 with    sum of rint(a_k 2^-t)^2 <= 2^24
    snapped:         a'_k = rint(a_k 2^-t) 2^t             still a bf16 number; a zero is +0

Arrays are float64 here, which holds every bf16 number and every product of two of them exactly.
"""
import numpy

LEAST, GREATEST, BUDGET = -62, 51, 2.0**24


def to_bf16(x):
    """The nearest bf16 numbers (ties to even) of float64 values that float32 holds without overflow, as float64."""
    bits = numpy.ascontiguousarray(x, dtype=numpy.float32).view(numpy.uint32).astype(numpy.uint64)
    bits = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16
    return bits.astype(numpy.uint32).view(numpy.float32).astype(numpy.float64)


def leaves(x, leaf):
    """Rows x K as rows x leaves x LEAF, the last leaf padded with zeros, which change no grid and no sum."""
    rows, k = x.shape
    padded = numpy.zeros((rows, -(-k // leaf) * leaf))
    padded[:, :k] = x
    return padded.reshape(rows, -1, leaf)


def units(x, t):
    """x in units of 2^t of its leaf, to nearest even. A power of two scales exactly."""
    return numpy.rint(x * numpy.ldexp(1.0, -t)[..., None])


def exponents(cut):
    """t of every leaf, and GREATEST + 1 where none is coarse enough. The sums are exact: where a grid is tried, no number
    has more than 2^14 units."""
    finite = numpy.where(numpy.isfinite(cut), cut, 0.0)
    top = numpy.abs(finite).max(-1)
    # Below this one the largest element alone has a square above 2^24.
    t = numpy.maximum(LEAST, numpy.where(top > 0, numpy.frexp(top)[1] - 14, LEAST)).astype(numpy.int64)
    open_ = numpy.nonzero(t <= GREATEST)  # leaves whose grid is not found yet
    while len(open_[0]):
        squares = units(finite[open_], t[open_]) ** 2
        coarser = squares.sum(-1) > BUDGET
        open_ = tuple(index[coarser] for index in open_)
        t[open_] += 1
        within = t[open_] <= GREATEST
        open_ = tuple(index[within] for index in open_)
    return t


def snap(x, leaf):
    """Rows x K of bf16 numbers, as float64, snapped along K."""
    cut = leaves(numpy.asarray(x, dtype=numpy.float64), leaf)
    t = exponents(cut)
    with numpy.errstate(invalid="ignore"):
        out = units(cut, t) * numpy.ldexp(1.0, t)[..., None] + 0.0  # -0 + 0 is +0
    out = numpy.where(numpy.isfinite(cut), out, cut)
    out[t > GREATEST] = numpy.nan
    return out.reshape(x.shape[0], -1)[:, :x.shape[1]]


def leaf_sums(a, b, leaf):
    """The exact sums of every leaf of A.B^T for snapped A and B: leaves x M x N. That each is an fp32 number is what
    the contract promises; here it is checked."""
    first, second = leaves(a, leaf), leaves(b, leaf)
    sums = numpy.matmul(first.transpose(1, 0, 2), second.transpose(1, 2, 0))
    if not (sums.astype(numpy.float32) == sums).all():
        raise AssertionError("a leaf's sum needs more than 24 bits")
    return sums.astype(numpy.float32)


def fold(a, b, leaf):
    """A.B^T under snap/bf16/fold:LEAF->fp32: ((+0 + l_0) + l_1) + ..., every addition rounded to fp32."""
    total = numpy.zeros((a.shape[0], b.shape[0]), numpy.float32)
    for each in leaf_sums(snap(a, leaf), snap(b, leaf), leaf):
        total += each
    return total


def split(x, leaf):
    """Rows x K of fp32 numbers, as float64, in the two snapped parts of `snap3`. They must be finite, and far from fp32's
    limits."""
    first = snap(to_bf16(x), leaf)
    return first, snap(to_bf16(x - first), leaf)


def fold3(a, b, leaf):
    """A.B^T under snap3/fp32/fold:LEAF->fp32, and for bf16 numbers under snap3/bf16: three sums per leaf, one by one."""
    (p, q), (first, second) = split(a, leaf), split(b, leaf)
    total = numpy.zeros((a.shape[0], b.shape[0]), numpy.float32)
    for sums in zip(leaf_sums(p, first, leaf), leaf_sums(p, second, leaf), leaf_sums(q, first, leaf)):
        for each in sums:
            total += each
    return total
