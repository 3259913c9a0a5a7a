// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "tests/cuda/grouped_sweep/problem.hpp"
#include "tests/cuda/scene.hpp"

namespace detgemm::test {

/// A problem over groups lying in device memory, with the oracle's answer, group by group, beside
/// it.
class GroupScene {
 public:
  explicit GroupScene(cudaStream_t stream);
  ~GroupScene();
  GroupScene(const GroupScene&) = delete;
  GroupScene& operator=(const GroupScene&) = delete;

  /// Fills everything and enqueues the oracle.
  void place(const GroupProblem& problem);
  /// What a backend computes: D is poison (or C, in place) again.
  const GroupedOperands& reset();
  /// Waits, and gives what differs in all of D's memory: outputs, and bytes anywhere.
  Difference difference();
  /// Flips one bit of the first output of the last group that has one.
  void plant_bit();
  /// Waits; false if a byte in or around an operand has changed since `place`.
  bool inputs_intact();
  Workspace workspace(std::size_t bytes);
  const GroupProblem& problem() const { return problem_; }

 private:
  void fill_all();
  void fill_results(const Arena& arena, const GroupLayout& layout, DType type);
  void compute_expected();
  unsigned long long sum_of_inputs();
  Draw draw(DType type, std::uint64_t role, std::int64_t group) const;
  template <class Act>
  void each_slice(const GroupedOperands& all, Act&& act) const;

  cudaStream_t stream_;
  GroupProblem problem_;
  GroupedOperands operands_, expected_;
  Arena a_, b_, c_, bias_, scale_a_, scale_b_, offsets_, d_, e_;
  void* workspace_ = nullptr;
  std::size_t workspace_capacity_ = 0;
  unsigned long long sum_ = 0;
  void* scratch_ = nullptr;  // a Difference, then a sum
};

}  // namespace detgemm::test
