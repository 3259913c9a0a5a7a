// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <vector>

#include "detgemm/device.hpp"
#include "detgemm/matrix.hpp"

// A strided matrix in a device's memory, packed line by line on the host: lines run along the unit
// stride. One copy per line, for tests.

namespace detgemm::cluster {

/// The bytes of all elements.
inline std::size_t packed_bytes(const ConstMatrix& view) {
  return static_cast<std::size_t>(view.rows) * static_cast<std::size_t>(view.cols) *
         size_of(view.dtype);
}

/// fn(address of a line, its bytes, where they are when packed) until one fails.
template <class Fn>
Status for_lines(const ConstMatrix& view, Fn&& fn) {
  if (packed_bytes(view) == 0) return {};
  const bool along_rows = view.col_stride == 1 || view.cols == 1;
  const std::int64_t lines = along_rows ? view.rows : view.cols;
  const std::int64_t step = along_rows ? view.row_stride : view.col_stride;
  const std::size_t size = size_of(view.dtype);
  const std::size_t bytes = static_cast<std::size_t>(along_rows ? view.cols : view.rows) * size;
  for (std::int64_t i = 0; i < lines; ++i) {
    const auto* const line =
        static_cast<const std::byte*>(view.data) + i * step * static_cast<std::int64_t>(size);
    if (Status s = fn(line, bytes, static_cast<std::size_t>(i) * bytes); !s) return s;
  }
  return {};
}

inline Result<std::vector<std::byte>> read_packed(Device& device, const ConstMatrix& view) {
  std::vector<std::byte> packed(packed_bytes(view));
  Status s = for_lines(view, [&](const std::byte* line, std::size_t bytes, std::size_t at) {
    return device.to_host(packed.data() + at, line, bytes);
  });
  if (!s) return s;
  return packed;
}

inline Status write_packed(Device& device, const Matrix& view,
                           const std::vector<std::byte>& packed) {
  return for_lines(view, [&](const std::byte* line, std::size_t bytes, std::size_t at) {
    return device.to_device(const_cast<std::byte*>(line), packed.data() + at, bytes);
  });
}

}  // namespace detgemm::cluster
