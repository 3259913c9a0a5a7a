// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "detgemm/digest.hpp"

#include <array>
#include <bit>

#include "core/api/checks.hpp"

namespace detgemm {

std::uint64_t digest_bytes(const void* data, std::size_t bytes, std::uint64_t seed) noexcept {
  const auto* byte = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < bytes; ++i) seed = (seed ^ byte[i]) * 0x100000001b3U;
  return seed;
}

Result<std::uint64_t> digest_matrix(const ConstMatrix& matrix) {
  if (Status status = check_view("matrix", matrix); !status) return status;
  const std::string_view type = name(matrix.dtype);
  std::uint64_t digest = digest_bytes(type.data(), type.size());
  for (std::int64_t extent : {matrix.rows, matrix.cols}) {
    std::array<unsigned char, 8> bytes{};
    for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<unsigned char>(extent >> (8 * i));
    digest = digest_bytes(bytes.data(), bytes.size(), digest);
  }
  if (matrix.rows == 0 || matrix.cols == 0) return digest;  // the other extent may be anything
  static_assert(std::endian::native == std::endian::little, "elements are hashed byte by byte");
  const std::size_t size = size_of(matrix.dtype);
  const auto* base = static_cast<const unsigned char*>(matrix.data);
  for (std::int64_t i = 0; i < matrix.rows; ++i) {
    for (std::int64_t j = 0; j < matrix.cols; ++j) {
      const std::int64_t at = (matrix.rows > 1 ? i * matrix.row_stride : 0) +
                              (matrix.cols > 1 ? j * matrix.col_stride : 0);
      digest = digest_bytes(base + static_cast<std::size_t>(at) * size, size, digest);
    }
  }
  return digest;
}

}  // namespace detgemm
