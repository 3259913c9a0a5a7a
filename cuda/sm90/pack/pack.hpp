// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "cuda/kernel.hpp"

namespace detgemm::cuda::sm90 {

/// How one operand is copied so that TMA can read it. A line is what runs along memory: the k of
/// one vector (K-major), or the elements of one k (MN-major). Lines of the copy start at multiples
/// of 128 bytes, and every leaf of K begins at a multiple of 64 k with zeros before it:
///
///     line of a K-major operand, LEAF 48   |aaaaaaaaaaaa|bbbbbbbbbbbb|cccc
///     its copy                             |aaaaaaaaaaaa0000|bbbbbbbbbbbb0000|cccc000000000000|
///
/// An MN-major operand gets lines of zeros in the same places.
struct PackOperand {
  const void* from = nullptr;  ///< 16-bit elements at any even address
  void* to = nullptr;          ///< at a multiple of 16 bytes
  std::int64_t ld = 0;         ///< elements from one line to the next
  std::int64_t pitch = 0;      ///< the same in the copy, a multiple of 8
  std::int64_t lines = 0;      ///< of the operand
  std::int64_t copies = 0;     ///< lines of the copy
  int length = 0;              ///< elements of a line
  int chunks = 0;              ///< 16-byte chunks of a line of the copy; the rest is not written
  int leaf = 1, room = 1;      ///< elements of a leaf, and the multiple of 64 that it takes
  bool along_k = true;         ///< leaves follow each other in a line; else lines make leaves
};

/// The argument of the kernel: at most two operands, those that have copies.
struct PackJob {
  PackOperand operand[2];
};

/// Copies operands; the grid may have any size.
Kernel pack_kernel();

/// CTAs of the kernel per multiprocessor, and 16-byte chunks of a line that a warp takes at a time.
inline constexpr int kPackCtasPerSm = 4;
inline constexpr int kPackSegment = 128;

}  // namespace detgemm::cuda::sm90
