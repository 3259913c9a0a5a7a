// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "hip/kernel_names.hpp"

namespace detgemm::hip {

/// Outputs of a workgroup's unit of work, and how many workgroups share a compute unit.
struct Shape {
  int m, n;
  int threads;
  int per_unit;
};
Shape shape_of(Variant variant, bool leaves);

/// How an operand's memory suits the matrix-core kernels.
///
/// `rows` vectors of k elements, neighbours `row` and `k` elements apart. Tiles want 16-byte
/// chunks along k, or 8-byte ones along the rows; the streaming kernels 8-byte ones along k.
struct OperandFacts {
  gfx9::Major tile = gfx9::Major::any;
  bool streams = false;
};
OperandFacts facts_of(const void* data, std::int64_t rows, std::int64_t row_stride,
                      std::int64_t k_stride, const GemmArguments& g);

struct Decision {
  KernelKey key;
  Shape shape;
  Raster raster;
  int blocks = 1;
};

/// What runs. Nothing where `options.forced` does not take the problem, or where D has more tiles
/// than 2^31 - 1 (more elements than any memory). Pure.
std::optional<Decision> choose(const GemmArguments& g, Arithmetic arithmetic, DType input,
                               const LaunchOptions& options);

/// Workgroups for so many tiles: all tiles at once, or as many as fit where each needs scratch.
int blocks_for(std::int64_t tiles, const Shape& shape, bool parks, const LaunchOptions& options);

/// Floats of one workgroup's scratch.
std::int64_t scratch_floats(const Shape& shape, int parked);

}  // namespace detgemm::hip
