// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "core/contract/snap3_copies.hpp"
#include "cuda/kernel.hpp"
#include "detgemm/types.hpp"

namespace detgemm::cuda::snap {

/// What snap3 splits: vectors of k numbers, rows of op(A) or columns of op(B). Number j of vector i
/// is at from + i * from_vector + j * from_k. The copy runs along k, whichever way memory does,
/// in lines of three sums per leaf (core/contract/snap3_copies.hpp).
struct SplitOperand {
  const void* from = nullptr;
  std::uint16_t* to = nullptr;  ///< a multiple of 128 bytes
  std::int64_t vectors = 0, k = 0;
  std::int64_t from_vector = 0, from_k = 0;  ///< strides in elements
  std::int64_t to_vector = 0;                ///< a multiple of 64 elements
  std::int64_t leaf = 64;                    ///< numbers of a copy's leaf, a multiple of 64
  std::int64_t leaves = 0;                   ///< of a vector of `from`
  int from_bytes = 2;   ///< that may be loaded at a time along k, up to 16; one number's at least
  bool of_a = true;     ///< whose order of parts
  bool across = false;  ///< neighbouring warps take neighbouring vectors: memory runs across k
};

/// The longest leaf of a kernel that holds a leaf in registers; 0: any leaf.
inline constexpr int kSplitLeaves[] = {64, 128, 256, 512, 1024, 0};
inline constexpr int kSplitCount = sizeof kSplitLeaves / sizeof *kSplitLeaves;

/// The kernel for bf16 (fp32: `wide`) numbers and leaves of kSplitLeaves[index]. Its argument is a
/// SplitOperand, and the grid may have any size.
Kernel split_kernel(int index, bool wide);

/// The operand whose numbers are at these strides, to be copied as `copies` says.
SplitOperand split_operand(const void* from, DType type, std::int64_t from_vector,
                           std::int64_t from_k, void* to, std::int64_t vectors, std::int64_t k,
                           const Snap3Copies& copies, bool of_a);

/// Enqueues the splitting of one operand.
cudaError_t enqueue(const SplitOperand& o, DType type, int sms, const Queue& queue);

}  // namespace detgemm::cuda::snap
