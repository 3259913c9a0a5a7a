// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime_api.h>

#include "core/contract/gemm_arguments.hpp"

namespace detgemm::cuda::mma {

/// How the elements of an operand reach shared memory.
enum class Way : std::uint8_t {
  along,   ///< runs of 8 along k at multiples of 16 bytes, by cp.async
  across,  ///< runs of 8 lines at multiples of 16 bytes, by cp.async; ldmatrix transposes them
  any,     ///< any strides and addresses: one element at a time, and slow
};

/// An operand as lines of products: rows of A, columns of B. Element (line, k) is at
/// data + line * line_stride + k * k_stride, in units of 2 bytes; a number of tf32 has two of them,
/// so its k are even.
struct Operand {
  const std::uint16_t* data = nullptr;
  std::int64_t lines = 0;
  std::int64_t line_stride = 0, k_stride = 0;
  Way way = Way::any;
  std::int64_t step = 0;   ///< bytes from one chunk of a thread to its next (Loader)
  std::int64_t block = 0;  ///< bytes from one block of k to the next
  std::int64_t back =
      0;  ///< bytes from behind a thread's last chunk to its first of the next block
};

/// The argument of mma_kernel. What runs along k is counted in units of 2 bytes.
struct Params {
  GemmArguments g;
  Operand a, b;
  std::int64_t k = 0;
  std::int64_t leaf_k = 0;                ///< of a leaf; k for chain
  std::int64_t leaves = 0;                ///< their number; 0 for k = 0
  int blocks = 0;                         ///< of a chain, as large as stages
  int last = 0;                           ///< k of the last of them
  std::int64_t tiles_m = 0, tiles_n = 0;  ///< down and across D
  std::int64_t pitch = 0;                 ///< columns from one tile to the next, at most Tile::n
  std::int64_t band = 1;                  ///< columns of tiles per stripe of the raster
  bool plain = false;    ///< the epilogue only rounds, and D takes whole runs of 4 outputs
  bool goes_on = false;  ///< the ring is filled for the next tile while one ends
  /// Where sums of a tree wait: `levels` slots of Tile::waiting_bytes for each CTA.
  float4* waiting = nullptr;
  int levels = 0;
};

}  // namespace detgemm::cuda::mma
