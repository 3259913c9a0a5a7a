// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/contract/gemm_arguments.hpp"

namespace detgemm::test {

/// How an operand's lines are laid out: `along` and `across` with rows at multiples of 16 bytes,
/// the same at odd ones, and every element apart.
enum class Lie { along, across, odd_along, odd_across, apart };
inline constexpr Lie kLies[] = {Lie::along, Lie::across, Lie::odd_along, Lie::odd_across,
                                Lie::apart};

/// A GEMM for a kernel on the host.
struct MmaProblem {
  Arithmetic arithmetic = Arithmetic::hopper;
  DType input = DType::bf16;
  std::int64_t m = 1, n = 1, k = 1;
  Reduction reduction;
  Lie a = Lie::along, b = Lie::along, d = Lie::along;
  DType output = DType::fp32;
  Epilogue epilogue;
  DType bias_type = DType::fp32;
  bool from_c = false;
  int data = 0;  ///< the kind of numbers: 0 .. 3
  std::uint64_t seed = 1;

  std::string text() const;
};

/// A problem that is a function of the seed, for tiles of about `tile_m` x `tile_n`.
MmaProblem draw_mma_problem(std::uint64_t seed, std::int64_t tile_m, std::int64_t tile_n,
                            bool leaves);

/// Its arrays in memory of their own. What is around the elements of A and B is NaN, and of D a
/// pattern that no kernel may change.
class MmaScene {
 public:
  explicit MmaScene(const MmaProblem& problem);

  const GemmArguments& arguments() const { return g_; }
  /// D, and everything around it, as the contract has it.
  const std::vector<unsigned char>& expected() const { return expected_; }
  /// D as it is now.
  std::vector<unsigned char>& d() { return d_; }
  void reset_d();

 private:
  GemmArguments g_;
  std::vector<std::uint16_t> a_, b_;
  std::vector<unsigned char> c_, bias_, d_, expected_;
};

}  // namespace detgemm::test
