// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "core/contract/gemm_arguments.hpp"

namespace detgemm::cuda::sm90 {

/// An operand as the kernels see it: `rows` vectors of k elements. In a K-major operand a vector
/// runs along memory, and vectors are `ld` elements apart. In an MN-major one the elements of one
/// k, from all vectors, run along memory, and successive k are `ld` elements apart.
struct Operand {
  const void* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t ld = 0;
  bool mn_major = false;
};

/// T[x, y] = sum over k of X[x, k] * Y[y, k]. X feeds the 64-row side of the tensor core and Y the
/// narrow one. D is T or its transpose. Which matrix takes which side is bit-neutral, because
/// products commute and every output is a chain of its own.
struct Sides {
  Operand x, y;
  std::int64_t k = 0;
  std::int64_t d_x = 0;  ///< distance, in elements, of D's neighbours along x; 0 for an extent of 1
  std::int64_t d_y = 0;  ///< the same along y
  bool swapped = false;  ///< x walks along N and y along M
  bool x_stable = false;  ///< no earlier work of the stream writes X
  bool y_stable = false;  ///< the same for Y
  /// Whether neighbours along x (else neighbours along y) are side by side in memory.
  bool d_x_contiguous() const { return d_x == 1 && x.rows > 1 && (d_y != 1 || y.rows == 1); }
};

/// One operand from its view. The stride of an extent of 1 means nothing and is 0.
inline Operand make_operand(const void* data, std::int64_t rows, std::int64_t k,
                            std::int64_t row_stride, std::int64_t k_stride) {
  if (k_stride == 1 || k <= 1) {
    const std::int64_t packed = (k + 7) / 8 * 8;  // a single row: any legal distance
    return {data, rows, rows > 1 ? row_stride : packed, false};
  }
  return {data, rows, k_stride, true};
}

/// The problem of a GEMM; `swapped` puts B's columns on the x side.
inline Sides make_sides(const GemmArguments& g, bool swapped, bool a_stable, bool b_stable) {
  const Operand a = make_operand(g.a, g.m, g.k, g.as.row, g.as.col);
  const Operand b = make_operand(g.b, g.n, g.k, g.bs.col, g.bs.row);
  if (swapped) return {b, a, g.k, g.ds.col, g.ds.row, true, b_stable, a_stable};
  return {a, b, g.k, g.ds.row, g.ds.col, false, a_stable, b_stable};
}

}  // namespace detgemm::cuda::sm90
