// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

#include "core/contract/compute_element.hpp"

namespace detgemm::reference {

/// One rectangle of D, computed for all of K by one worker.
struct TileJob {
  const GemmArguments* gemm = nullptr;
  std::int64_t row = 0, rows = 0;  ///< at most TileKernel::rows
  std::int64_t col = 0, cols = 0;  ///< at most TileKernel::cols
  std::byte* scratch = nullptr;    ///< TileKernel::scratch bytes, 256-byte aligned
};

/// A tile kernel for one (arithmetic, input): SIMD across N, k ascending in every lane.
struct TileKernel {
  std::int64_t rows = 0;  ///< the largest tile it takes
  std::int64_t cols = 0;
  std::int64_t row_unit = 1;  ///< rows and columns are computed in whole units
  std::int64_t col_unit = 1;
  std::size_t (*scratch)(std::int64_t leaves) = nullptr;  ///< bytes; grows with log2(leaves)
  void (*run)(const TileJob& job) = nullptr;              ///< null: this pair has no tile kernel
};

/// The kernels of one instruction set, compiled from the same source with other flags.
struct TileSet {
  const char* name;
  TileKernel (*kernel)(Arithmetic arithmetic, DType input);
};

/// The instruction sets this processor can run, the widest first; never empty.
/// Bits do not depend on the choice: lanes are outputs, and every operation is exact or IEEE.
std::size_t tile_sets(const TileSet* const** sets) noexcept;

}  // namespace detgemm::reference
