// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "tests/cuda/kernels.hpp"
#include "tests/cuda/problem.hpp"

namespace detgemm::test {

/// Ends the program with what failed: a broken device leaves nothing to test.
void must(cudaError_t error, const char* what);
void must(const Status& status, const char* what);

/// Memory for one array between guards, set aside once and used by every problem.
class Arena {
 public:
  static constexpr std::size_t kGuard = 1024;
  explicit Arena(std::size_t elements);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Takes the first bytes for an array of this extent; what is taken ends with a guard.
  void take(std::size_t elements, std::size_t element_size, std::int64_t offset);
  void* array() const { return static_cast<char*>(memory_) + first_; }
  void* memory() const { return memory_; }
  std::size_t first() const { return first_; }  ///< bytes before element (0, 0)
  std::size_t bytes() const { return bytes_; }  ///< both guards included

 private:
  void* memory_ = nullptr;
  std::size_t capacity_ = 0, first_ = 0, bytes_ = 0;
};

/// A problem lying in device memory, with the oracle's answer beside it.
class Scene {
 public:
  explicit Scene(cudaStream_t stream);
  ~Scene();
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  /// Fills everything and enqueues the oracle.
  void place(const Problem& problem);
  /// What a backend computes: D is poisoned (or C, in place) again.
  const Operands& reset();
  /// Flips one bit of output `index` / one byte outside of all outputs; for the controls.
  void plant_bit(std::uint64_t index);
  void plant_outside();
  /// Waits, and gives what differs from the oracle's range.
  Difference difference();
  /// Waits; false if a byte in or around an operand has changed since `place`.
  bool inputs_intact();
  /// Scratch of exactly this size, as an earlier call has left it (poison at first), with a guard
  /// that `inputs_intact` looks at.
  Workspace workspace(std::size_t bytes);
  const Problem& problem() const { return problem_; }
  cudaStream_t stream() const { return stream_; }

  /// Where things lie, to copy them elsewhere: A, B, C, bias.
  const Arena& a() const { return a_; }
  const Arena& b() const { return b_; }
  const Arena& c() const { return c_; }
  const Arena& bias() const { return bias_; }
  const Arena& scale_a() const { return scale_a_; }
  const Arena& scale_b() const { return scale_b_; }
  const Arena& d() const { return d_; }

 private:
  void take_all();
  void poison(const Arena& arena);
  void fill_output_with_c(const Arena& arena);
  Draw draw(DType type, std::uint64_t role) const;
  unsigned long long sum_of_inputs();

  cudaStream_t stream_;
  Problem problem_;
  Operands operands_, expected_;
  Arena a_, b_, c_, bias_, scale_a_, scale_b_, d_, e_;
  char* workspace_ = nullptr;
  std::size_t workspace_capacity_ = 0, workspace_bytes_ = 0;
  unsigned long long sum_ = 0;
  void* scratch_ = nullptr;  // a Difference, then a sum
};

}  // namespace detgemm::test
