// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

#include "detgemm/matrix.hpp"

namespace detgemm {

/// FNV-1a, 64 bit; chain calls by passing the previous value.
inline constexpr std::uint64_t kDigestSeed = 0xcbf29ce484222325U;
DETGEMM_API std::uint64_t digest_bytes(const void* data, std::size_t bytes,
                                       std::uint64_t seed = kDigestSeed) noexcept;

/// Digest of a host matrix: type name, rows and cols (as little-endian 64-bit integers), then
/// its elements row by row as little-endian bytes. Strides and address do not enter.
DETGEMM_API Result<std::uint64_t> digest_matrix(const ConstMatrix& matrix);

}  // namespace detgemm
