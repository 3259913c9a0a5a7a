// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/elements.hpp"

#include <algorithm>

namespace detgemm::conformance {

Elements row_slice(const Elements& source, std::int64_t begin, std::int64_t end) {
  Elements part(source.dtype, end - begin, source.cols);
  if (!part.bytes.empty()) {
    std::memcpy(part.bytes.data(), source.bytes.data() + source.offset(begin, 0),
                part.bytes.size());
  }
  return part;
}

Elements col_slice(const Elements& source, std::int64_t begin, std::int64_t end) {
  Elements part(source.dtype, source.rows, end - begin);
  const std::size_t width = static_cast<std::size_t>(end - begin) * source.element_size();
  for (std::int64_t i = 0; i < source.rows && width != 0; ++i) {
    std::memcpy(part.bytes.data() + part.offset(i, 0),
                source.bytes.data() + source.offset(i, begin), width);
  }
  return part;
}

Elements with_zero_rows(const Elements& source, std::int64_t count) {
  Elements longer(source.dtype, source.rows + count, source.cols);
  std::copy(source.bytes.begin(), source.bytes.end(), longer.bytes.begin());
  return longer;
}

Elements with_zero_cols(const Elements& source, std::int64_t count) {
  Elements wider(source.dtype, source.rows, source.cols + count);
  const std::size_t width = static_cast<std::size_t>(source.cols) * source.element_size();
  for (std::int64_t i = 0; i < source.rows && width != 0; ++i) {
    std::memcpy(wider.bytes.data() + wider.offset(i, 0), source.bytes.data() + source.offset(i, 0),
                width);
  }
  return wider;
}

Elements rows_reversed(const Elements& source) {
  Elements turned(source.dtype, source.rows, source.cols);
  for (std::int64_t i = 0; i < source.rows; ++i) {
    paste_rows(turned, source.rows - 1 - i, row_slice(source, i, i + 1));
  }
  return turned;
}

Elements cols_reversed(const Elements& source) {
  Elements turned(source.dtype, source.rows, source.cols);
  for (std::int64_t i = 0; i < source.rows; ++i) {
    for (std::int64_t j = 0; j < source.cols; ++j) {
      turned.set(i, source.cols - 1 - j, source.get(i, j));
    }
  }
  return turned;
}

Elements transposed(const Elements& source) {
  Elements turned(source.dtype, source.cols, source.rows);
  for (std::int64_t i = 0; i < source.rows; ++i) {
    for (std::int64_t j = 0; j < source.cols; ++j) turned.set(j, i, source.get(i, j));
  }
  return turned;
}

void paste_rows(Elements& target, std::int64_t at, const Elements& part) {
  std::copy(part.bytes.begin(), part.bytes.end(),
            target.bytes.begin() + static_cast<std::ptrdiff_t>(target.offset(at, 0)));
}

}  // namespace detgemm::conformance
