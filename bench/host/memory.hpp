// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "bench/common/buffers.hpp"

namespace detgemm::bench {

class HostMemory final : public Memory {
 public:
  void* allocate(std::int64_t bytes) override;
  void release(void* memory) noexcept override;
  /// A block of random elements, repeated: what a processor multiplies does not set its clock.
  void fill_normal(void* memory, std::int64_t bytes, DType type, std::uint64_t seed) override;
  void fill_zero(void* memory, std::int64_t bytes) override;
};

/// `elements` standard normal elements of a type, as they lie in memory.
std::vector<unsigned char> normal_elements(DType type, std::int64_t elements, std::uint64_t seed);

}  // namespace detgemm::bench
