// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "core/arithmetic/host_device.hpp"
#include "cuda/kernel.hpp"

namespace detgemm::cuda::snap {

/// Divides numbers below 2^31 by one of 1 .. 2^31 - 1 with a multiplication:
/// magic = ceil(2^shift / divisor), and 2^(shift - 31) is the next power of two.
struct Divisor {
  std::uint32_t magic = 0;
  int shift = 0;

  DETGEMM_HD std::uint32_t quotient(std::uint32_t of) const {
    return static_cast<std::uint32_t>(std::uint64_t{of} * magic >> shift);
  }
};
Divisor divisor(std::uint32_t by);

/// What is snapped: vectors of k numbers, rows of op(A) or columns of op(B), each cut into leaves.
/// Number j of vector i is at from + i * from_vector + j * from_k. `to` may be `from` with the
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
  std::uint32_t total = 0;  ///< leaves of all vectors; 0 if they are 2^31 or more
  Divisor by_leaves;        ///< divides by `leaves`
};

/// The kernels, in the order of kernel(): how memory runs, the numbers that a leaf may have (0: any
/// number), leaves that a warp takes at a time, and lanes per leaf where warps are cut into groups,
/// which need addresses and strides of 16 bytes (groups.hpp). A group takes at_once leaves at a
/// time.
struct Variant {
  bool along_k;
  int longest;
  int at_once;
  int lanes = 0;
};
inline constexpr Variant kVariants[] = {
    {true, 64, 8},      {true, 64, 1},      {true, 128, 4},      {true, 128, 1},
    {true, 256, 2},     {true, 256, 1},     {true, 512, 1},      {true, 1024, 1},
    {true, 0, 1},       {false, 64, 1},     {false, 128, 1},     {false, 256, 1},
    {false, 512, 1},    {false, 0, 1},      {true, 64, 2, 4},    {true, 64, 1, 4},
    {true, 64, 4, 4},   {true, 128, 2, 8},  {true, 128, 1, 8},   {true, 128, 4, 8},
    {true, 256, 2, 16}, {true, 256, 1, 16}, {true, 256, 4, 16},  {true, 512, 2, 32},
    {true, 512, 1, 32}, {true, 512, 4, 32}, {true, 1024, 1, 32},
};
inline constexpr int kVariantCount = sizeof kVariants / sizeof *kVariants;

inline constexpr int kThreads = 256;
inline constexpr int kCtasPerSm = 4;
inline constexpr int kColumns = 64;      ///< vectors that a CTA takes across k
inline constexpr bool kGroups = true;    ///< whether kernels in groups are chosen
inline constexpr int kFewThreads = 128;  ///< of their CTAs, where there are few leaves

/// A variant's kernel; its argument is an Operand, and the grid may have any size.
Kernel kernel(int variant);
/// The same for those that work in groups; any number of warps per CTA, up to kThreads / 32.
Kernel group_kernel(int lanes, int longest, int at_once);

/// How an operand is snapped: a pure function of everything but the numbers.
struct Launch {
  int variant = 0;
  int grid = 0;     ///< CTAs; 0: there is nothing to snap
  int threads = 0;  ///< per CTA, where it is not what the kernel says
};
Launch choose(const Operand& o, int sms);
/// A variant in groups, with at most so many CTAs.
Launch launch_of(const Operand& o, int variant, int threads, int most_ctas);

/// An operand whose numbers are at these strides, with what its addresses allow.
Operand operand(const void* from, std::int64_t from_vector, std::int64_t from_k, void* to,
                std::int64_t to_vector, std::int64_t to_k, std::int64_t vectors, std::int64_t k,
                std::int64_t leaf);

/// Enqueues the snapping of one operand.
cudaError_t enqueue(const Operand& o, int sms, const Queue& queue);

}  // namespace detgemm::cuda::snap
