// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/gpu/problem.hpp"

namespace detgemm::bench {

/// Pools of device memory that calls step through, so that no operand that ought to be cold is in
/// L2. Operands hold standard normal data; a pool is read as any shape.
class Buffers {
 public:
  struct Call {
    const void* a;
    const void* b;
    void* d;
  };

  explicit Buffers(const std::vector<Case>& cases);
  ~Buffers();
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  Call at(const Problem& problem, int call) const;
  /// As large as the largest D.
  void* scratch() const { return scratch_; }

 private:
  struct Pool {
    char* data = nullptr;
    std::int64_t bytes = 0;
  };
  Pool a_[3], b_[3], d_;  // [0] bf16, [1] fp16, [2] fp32
  void* scratch_ = nullptr;
};

}  // namespace detgemm::bench
