// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "detgemm/types.hpp"

/// Which kernels of a table are compiled. All are, unless DETGEMM_CUDA_KERNELS is `sample`: a
/// machine without a GPU compiles kernels for the compiler's diagnostics and runs none, and
/// all of them take it ten minutes. Such a build computes nothing (`whole_build` in launch.hpp).
namespace detgemm::cuda {

#ifdef DETGEMM_CUDA_SAMPLE
inline constexpr bool kSampleAlone = true;
#else
inline constexpr bool kSampleAlone = false;
#endif

/// Whether a sample holds entry `index` of a source file's table, given the accumulators per thread
/// of every entry's kernel (0: the file has no such kernel). It holds the first entry and every
/// 144th, and for bf16 the one with the most, which is the one that would spill. fp16 has the same
/// templates with another instruction, and fp32 has short tables (see also sampled_as).
template <std::size_t kCount>
constexpr bool in_sample(const std::array<int, kCount>& accumulators, std::size_t index,
                         DType input) {
  const int own = accumulators[index];
  if (own == 0) return false;
  constexpr std::size_t kStep = 144;
  std::size_t before = 0;
  bool most = input == DType::bf16;
  for (std::size_t i = 0; i < kCount; ++i) {
    if (i < index && accumulators[i] != 0) ++before;
    if (accumulators[i] > own || (accumulators[i] == own && i < index)) most = false;
  }
  return most || before % kStep == 0;
}

/// The input by which the kernels of two majors are sampled, if any are. One operand across k and
/// one along k have nothing that two of either kind have not: one kernel of bf16 stands for both
/// inputs, without the one with the most accumulators.
constexpr std::optional<DType> sampled_as(DType input, bool x_mn, bool y_mn) {
  if (x_mn == y_mn) return input;
  return input == DType::bf16 ? std::optional(DType::fp16) : std::nullopt;
}

/// Whether this build has the kernel.
template <std::size_t kCount>
constexpr bool is_built(const std::array<int, kCount>& accumulators, std::size_t index,
                        std::optional<DType> input) {
  if (!kSampleAlone) return accumulators[index] != 0;
  return input && in_sample(accumulators, index, *input);
}

}  // namespace detgemm::cuda
