// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "bench/common/sampling.hpp"

namespace detgemm::bench {

/// Readings of the multiprocessors' own clocks, enqueued like any kernel. Between two readings of
/// one multiprocessor, cycles over global time are its mean frequency.
class SmClocks {
 public:
  /// Allocates, and loads its kernel: neither is to happen while something is timed.
  SmClocks();
  ~SmClocks();
  SmClocks(const SmClocks&) = delete;
  SmClocks& operator=(const SmClocks&) = delete;

  /// Null where more readings are held than there is room for.
  Queue::MarkPtr read(cudaStream_t stream);
  /// Median over the multiprocessors that both readings saw; 0 where there is none. Waits.
  double mhz_between(cudaStream_t stream, const Queue::Mark& begin, const Queue::Mark& end) const;

  struct Reading {
    std::uint64_t cycles, nanoseconds, number;
  };

 private:
  struct Slot;
  std::vector<Reading> fetch(cudaStream_t stream, const Queue::Mark& mark) const;

  Reading* memory_ = nullptr;
  int sms_ = 0;
  std::vector<int> free_{};
  std::uint64_t number_ = 0;  ///< of the last reading: tells it from what its slot held before
};

}  // namespace detgemm::bench
