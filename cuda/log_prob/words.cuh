// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

namespace detgemm::cuda::log_prob {

/// Neighbouring words from `bytes` behind `data` on, which is a multiple of 16, 16 bytes at a time.
template <int kWords>
__device__ __forceinline__ void load_words(std::uint32_t (&words)[kWords], const void* data,
                                           std::int64_t bytes) {
  static_assert(kWords % 4 == 0, "Words are loaded by fours.");
  const auto* from = reinterpret_cast<const uint4*>(static_cast<const char*>(data) + bytes);
#pragma unroll
  for (int i = 0; i < kWords / 4; ++i) {
    const uint4 four = from[i];
    words[4 * i] = four.x;
    words[4 * i + 1] = four.y;
    words[4 * i + 2] = four.z;
    words[4 * i + 3] = four.w;
  }
}

}  // namespace detgemm::cuda::log_prob
