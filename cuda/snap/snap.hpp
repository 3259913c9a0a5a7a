// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "core/arithmetic/host_device.hpp"
#include "cuda/kernel.hpp"

namespace detgemm::cuda::snap {

/// What is snapped: vectors of k numbers, rows of op(A) or columns of op(B), each cut into leaves.
/// Number j of vector i lies at from + i * from_vector + j * from_k. `to` may be `from` with the
/// same strides.
///
///     along k   |aaaaaaaa|bbbbbbbb|cccc       a vector, LEAF 8, k 20: a warp per leaf
///
///     across k  aabbcc..   k 0                a vector is a column here, and memory runs to the
///               aabbcc..   k 1                right: a CTA takes one leaf of 64 vectors
struct Operand {
  const std::uint16_t* from = nullptr;
  std::uint16_t* to = nullptr;
  std::int64_t vectors = 0, k = 0;
  std::int64_t from_vector = 0, from_k = 0;  ///< strides in elements
  std::int64_t to_vector = 0, to_k = 0;
  std::int64_t leaf = 64;   ///< products of a leaf; the last one may be short
  int from_bytes = 2;       ///< that may be loaded at a time, along k or across it: 2, 4, 8 or 16
  int to_bytes = 2;         ///< the same for stores
  std::int64_t leaves = 0;  ///< of a vector
};

/// The kernels, in the order of kernel(): how memory runs, the numbers that a leaf may have (0: any
/// number), and leaves that a warp takes at a time.
struct Variant {
  bool along_k;
  int longest;
  int at_once;
};
inline constexpr Variant kVariants[] = {
    {true, 64, 8},   {true, 64, 1},   {true, 128, 4},  {true, 128, 1}, {true, 256, 2},
    {true, 256, 1},  {true, 512, 1},  {true, 1024, 1}, {true, 0, 1},   {false, 64, 1},
    {false, 128, 1}, {false, 256, 1}, {false, 512, 1}, {false, 0, 1},
};
inline constexpr int kVariantCount = sizeof kVariants / sizeof *kVariants;

inline constexpr int kThreads = 256;
inline constexpr int kCtasPerSm = 4;
inline constexpr int kColumns = 64;  ///< vectors that a CTA takes across k

/// A variant's kernel; its argument is an Operand, and the grid may have any size.
Kernel kernel(int variant);

/// How an operand is snapped: a pure function of everything but the numbers.
struct Launch {
  int variant = 0;
  int grid = 0;  ///< CTAs; 0: there is nothing to snap
};
Launch choose(const Operand& o, int sms);

/// An operand whose numbers lie at these strides, with what its addresses allow.
Operand operand(const void* from, std::int64_t from_vector, std::int64_t from_k, void* to,
                std::int64_t to_vector, std::int64_t to_k, std::int64_t vectors, std::int64_t k,
                std::int64_t leaf);

/// Enqueues the snapping of one operand.
cudaError_t enqueue(const Operand& o, int sms, const Queue& queue);

}  // namespace detgemm::cuda::snap
