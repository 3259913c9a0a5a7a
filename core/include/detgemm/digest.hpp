// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

#include "detgemm/matrix.hpp"

namespace detgemm {

/// The start value of 64-bit FNV-1a.
inline constexpr std::uint64_t kDigestSeed = 0xcbf29ce484222325U;
/// The 64-bit FNV-1a digest of `bytes` bytes. Pass the previous digest as the seed to continue it.
DETGEMM_API std::uint64_t digest_bytes(const void* data, std::size_t bytes,
                                       std::uint64_t seed = kDigestSeed) noexcept;

/// The digest of a matrix in host memory: its type's name, rows and cols (as little-endian 64-bit
/// integers), then its elements row by row as little-endian bytes. Strides and address do not
/// enter, so equal digests mean equal types, shapes and bits. Refuses (invalid_argument) a view
/// that breaks the rules of matrix.hpp.
DETGEMM_API Result<std::uint64_t> digest_matrix(const ConstMatrix& matrix);

}  // namespace detgemm
