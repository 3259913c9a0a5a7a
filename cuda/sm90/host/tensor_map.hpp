// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>

#include "detgemm/types.hpp"

namespace detgemm::cuda::sm90 {

/// Elements from one row to the next stay below this: the strides of TMA end at 2^40 bytes.
inline constexpr std::int64_t kMaxStride = std::int64_t{1} << 36;

/// A 2-D or 3-D tensor for TMA: extents and box in elements, x first; strides in bytes.
struct TensorShape {
  const void* data = nullptr;
  DType type = DType::bf16;
  int rank = 2;
  std::uint64_t extent[3] = {1, 1, 1};
  std::uint64_t stride[2] = {16, 16};  ///< of dimensions 1 and 2
  std::uint32_t box[3] = {1, 1, 1};
};

/// Encodes a map whose shared-memory rows are box[0] elements wide. They are swizzled over that
/// width if it is 32, 64 or 128 bytes, and not swizzled otherwise. Writes 128 bytes; no device is
/// involved.
cudaError_t encode(const TensorShape& shape, CUtensorMap* map);

}  // namespace detgemm::cuda::sm90
