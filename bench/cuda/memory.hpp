// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "bench/common/buffers.hpp"

namespace detgemm::bench {

class CudaMemory final : public Memory {
 public:
  void* allocate(std::int64_t bytes) override;
  void release(void* memory) noexcept override;
  void fill_normal(void* memory, std::int64_t bytes, DType type, std::uint64_t seed) override;
  void fill_zero(void* memory, std::int64_t bytes) override;
};

/// Enough for a few hundred copies of small weights: a graph then never meets a warm one.
inline constexpr PoolBytes kCudaPools{std::int64_t{3072} << 20, std::int64_t{512} << 20};

}  // namespace detgemm::bench
