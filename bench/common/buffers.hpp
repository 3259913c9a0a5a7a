// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/common/problem.hpp"

namespace detgemm::bench {

/// The memory of one device, for pools. Each function throws where the device refuses.
class Memory {
 public:
  virtual ~Memory() = default;
  virtual void* allocate(std::int64_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;
  /// Standard normal elements, the same for the same seed.
  virtual void fill_normal(void* memory, std::int64_t bytes, DType type, std::uint64_t seed) = 0;
  virtual void fill_zero(void* memory, std::int64_t bytes) = 0;
};

/// Bytes that operands step through before they come round again: more than twice the last cache.
struct PoolBytes {
  std::int64_t weights = 0;
  std::int64_t others = 0;
};

/// Pools of device memory that calls step through, so that no operand that ought to be cold is in
/// a cache. Operands hold standard normal data; a pool is read as any shape.
class Buffers {
 public:
  struct Call {
    const void* a;
    const void* b;
    void* d;
    const void* c;     ///< lies as D does; null where the problem has no use for one
    const void* bias;  ///< one element per column of D; null where the problem has none
  };

  Buffers(Memory& memory, const std::vector<Problem>& problems, PoolBytes least);
  ~Buffers();
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  Call at(const Problem& problem, int call) const;

 private:
  struct Pool {
    char* data = nullptr;
    std::int64_t bytes = 0;
  };
  static char* copy_of(const Pool& pool, std::int64_t bytes, std::int64_t wanted, int call);

  Memory& memory_;
  Pool a_[6], b_[6], c_[6], d_;  // by DType
};

}  // namespace detgemm::bench
