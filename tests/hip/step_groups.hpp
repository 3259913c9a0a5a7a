// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/hip/step_models.hpp"

/// Groups of single steps, chosen so that each stage of a matrix core's arithmetic shows.
namespace detgemm::test {

inline constexpr int kSide = 32;

/// 32 x 32 steps: row i of `a` and row j of `b`, each of `count` bf16 numbers, with `c` at (i, j).
struct Steps {
  std::string name, shows;
  int count = 0;
  DType input = DType::bf16;  ///< e4m3: all of a and b are numbers of both fp8 formats too
  std::vector<std::uint16_t> a, b;
  std::vector<std::uint32_t> c;  ///< fp32, row-major

  const std::uint16_t* a_of(int i) const { return &a[static_cast<std::size_t>(i * count)]; }
  const std::uint16_t* b_of(int j) const { return &b[static_cast<std::size_t>(j * count)]; }
  float c_of(int i, int j) const;
};

/// The groups for an instruction with `count` products of `input` (bf16, e4m3), 8 or more; the
/// numbers follow from `seed`.
std::vector<Steps> draw_groups(int count, std::uint64_t seed, DType input = DType::bf16);

/// What is left of all models after some steps: those that gave each result.
class Fit {
 public:
  explicit Fit(int count, DType input = DType::bf16);
  void add(const Steps& steps, const std::vector<std::uint32_t>& results);
  /// Models that gave all results. Named ones come first, so that the first is the winner.
  const std::vector<StepModel>& left() const { return left_; }
  /// "winner: cdna3; 3 more members of the family give the same in all of 9216 steps".
  std::string sentence() const;

 private:
  std::vector<StepModel> left_;
  std::size_t tried_ = 0, steps_ = 0;
};

}  // namespace detgemm::test
