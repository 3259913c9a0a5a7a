// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/contract/gemm_arguments.hpp"

namespace detgemm::cuda::simt {

/// An operand as lines of products: rows of A, columns of B. Element (line, k) is at
/// data + line * line_stride + k * k_stride.
struct Operand {
  const void* data;
  std::int64_t lines;
  std::int64_t line_stride, k_stride;
  bool along;   ///< neighbours in memory are neighbours along k
  bool vector;  ///< runs of 16 bytes are at multiples of 16 bytes
};

/// The argument of simt_kernel.
struct Params {
  GemmArguments g;
  Operand a, b;                   ///< whose lines are the rows and the columns of tiles
  bool swapped;                   ///< the rows of tiles are columns of D, and a is B
  std::int64_t leaf_k;            ///< products per leaf; k for chain
  std::int64_t leaves;            ///< their number; 0 for k = 0
  std::int64_t tiles_m, tiles_n;  ///< along the rows and the columns of tiles
  std::int64_t band;              ///< columns of tiles per stripe of the raster
  /// The epilogue only rounds, and D takes whole runs of 4 outputs; where a tile deals them singly,
  /// D is fp32.
  bool plain;
};

}  // namespace detgemm::cuda::simt
