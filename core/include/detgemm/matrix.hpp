// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "detgemm/types.hpp"

namespace detgemm {

/// A read-only strided view: element (i, j) is at data + i * row_stride + j * col_stride,
/// where strides count elements. One of the two strides must be 1, and the other at least the
/// extent along the unit stride, so that no two elements overlap. A stride along an extent of 0 or
/// 1 is ignored. `data` is aligned to the size of an element; it may be null where there is no
/// element.
struct ConstMatrix {
  const void* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t row_stride = 0;
  std::int64_t col_stride = 1;
  DType dtype = DType::bf16;
};

/// A writable strided view under the same rules.
struct Matrix {
  void* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t row_stride = 0;
  std::int64_t col_stride = 1;
  DType dtype = DType::bf16;

  /// The same elements, read-only.
  operator ConstMatrix() const {  // NOLINT: a writable view is a readable one
    return {data, rows, cols, row_stride, col_stride, dtype};
  }
};

/// A read-only contiguous vector of `size` elements.
struct ConstVector {
  const void* data = nullptr;
  std::int64_t size = 0;
  DType dtype = DType::fp32;
};

/// Row-major views; `ld` is the distance between rows in elements (0: packed).
inline Matrix row_major(void* data, std::int64_t rows, std::int64_t cols, DType dtype,
                        std::int64_t ld = 0) {
  return {data, rows, cols, ld == 0 ? cols : ld, 1, dtype};
}
/// The same of read-only memory.
inline ConstMatrix row_major(const void* data, std::int64_t rows, std::int64_t cols, DType dtype,
                             std::int64_t ld = 0) {
  return {data, rows, cols, ld == 0 ? cols : ld, 1, dtype};
}
/// Column-major views; `ld` is the distance between columns in elements (0: packed).
inline Matrix col_major(void* data, std::int64_t rows, std::int64_t cols, DType dtype,
                        std::int64_t ld = 0) {
  return {data, rows, cols, 1, ld == 0 ? rows : ld, dtype};
}
/// The same of read-only memory.
inline ConstMatrix col_major(const void* data, std::int64_t rows, std::int64_t cols, DType dtype,
                             std::int64_t ld = 0) {
  return {data, rows, cols, 1, ld == 0 ? rows : ld, dtype};
}

}  // namespace detgemm
