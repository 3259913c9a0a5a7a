// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "detgemm/types.hpp"

namespace detgemm::conformance {

/// Calls `use` with the size of an element as a constant, so that copies of one are no calls.
template <class Use>
void with_size(std::size_t bytes, Use&& use) {
  if (bytes == 1) {
    use(std::integral_constant<std::size_t, 1>{});
  } else if (bytes == 2) {
    use(std::integral_constant<std::size_t, 2>{});
  } else {
    use(std::integral_constant<std::size_t, 4>{});
  }
}

/// A packed row-major matrix of raw elements in the harness's own memory.
struct Elements {
  DType dtype = DType::fp32;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::vector<std::uint8_t> bytes;

  Elements() = default;
  Elements(DType type, std::int64_t row_count, std::int64_t col_count)
      : dtype(type),
        rows(row_count),
        cols(col_count),
        bytes(static_cast<std::size_t>(row_count * col_count) * size_of(type)) {}

  /// Here and not size_of, which is no inline function: most of the harness's time was such calls.
  std::size_t element_size() const {
    switch (dtype) {
      case DType::e4m3:
      case DType::e5m2:
        return 1;
      case DType::bf16:
      case DType::fp16:
        return 2;
      case DType::fp32:
      case DType::tf32:
        break;
    }
    return 4;
  }
  std::size_t offset(std::int64_t row, std::int64_t col) const {
    return static_cast<std::size_t>(row * cols + col) * element_size();
  }
  std::uint32_t get(std::int64_t row, std::int64_t col) const {
    std::uint32_t bits = 0;  // the formats are little-endian in memory, as the hosts are
    const std::uint8_t* from = bytes.data() + offset(row, col);
    with_size(element_size(), [&](auto size) { std::memcpy(&bits, from, size); });
    return bits;
  }
  void set(std::int64_t row, std::int64_t col, std::uint32_t bits) {
    std::uint8_t* to = bytes.data() + offset(row, col);
    with_size(element_size(), [&](auto size) { std::memcpy(to, &bits, size); });
  }
  bool operator==(const Elements&) const = default;
};

/// Rows [begin, end), columns [begin, end).
Elements row_slice(const Elements& source, std::int64_t begin, std::int64_t end);
Elements col_slice(const Elements& source, std::int64_t begin, std::int64_t end);
/// `count` zero rows or columns appended.
Elements with_zero_rows(const Elements& source, std::int64_t count);
Elements with_zero_cols(const Elements& source, std::int64_t count);
Elements rows_reversed(const Elements& source);
Elements cols_reversed(const Elements& source);
Elements transposed(const Elements& source);
/// Copies the rows of `part` over those of `target` from row `at`.
void paste_rows(Elements& target, std::int64_t at, const Elements& part);

}  // namespace detgemm::conformance
