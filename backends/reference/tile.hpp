// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

#include "core/contract/compute_element.hpp"
#include "core/contract/log_leaves.hpp"

namespace detgemm::reference {

/// One rectangle of D, computed for all of K by one worker.
struct TileJob {
  const GemmArguments* gemm = nullptr;
  const ScalePair* scales = nullptr;  ///< used under `scaled` and with line_scales
  std::int64_t row = 0, rows = 0;     ///< at most TileKernel::rows
  std::int64_t col = 0, cols = 0;     ///< at most TileKernel::cols
  std::byte* scratch = nullptr;       ///< TileKernel::scratch bytes, 256-byte aligned
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

/// One leaf of some lines of a bf16 matrix, to be snapped: number k of line i lies at
/// from + i * from_line + k * from_k and goes to to + i * to_line + k * to_k.
struct SnapJob {
  const std::uint16_t* from = nullptr;
  std::uint16_t* to = nullptr;  ///< may be `from` with its strides
  std::int64_t from_line = 0, from_k = 0;
  std::int64_t to_line = 0, to_k = 0;
  std::int64_t lines = 0, count = 0;
};

/// The kernels of one instruction set, compiled from the same source with other flags. The one for
/// snap takes operands that are snapped.
struct TileSet {
  const char* name;
  TileKernel (*kernel)(Arithmetic arithmetic, DType input);
  void (*snap)(const SnapJob& job);
  LogKernels log_prob;
};

/// The instruction sets this processor can run, the widest first; never empty.
/// Bits do not depend on the choice: lanes are outputs, and every operation is exact or IEEE.
std::size_t tile_sets(const TileSet* const** sets) noexcept;

}  // namespace detgemm::reference
