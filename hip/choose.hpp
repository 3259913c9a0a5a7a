// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <optional>
#include <vector>

#include "hip/cost.hpp"

#if !defined(DETGEMM_HIP_FP32_MFMA)
#define DETGEMM_HIP_FP32_MFMA 0
#endif

namespace detgemm::hip {

Shape shape_of(Variant variant, bool leaves);

/// Workgroups of one launch; they loop over the tiles that are left.
inline constexpr std::int64_t kMaxBlocks = std::int64_t{1} << 20;
/// Tiles of one product; their numbers, and those of the turns beyond them, are ints.
inline constexpr std::int64_t kMaxTiles = (std::int64_t{1} << 31) - 1 - kMaxBlocks;

/// Whether the chooser may take the kernel where none is forced. The fp32 matrix cores are taken
/// only in a build with DETGEMM_HIP_FP32_MFMA, as long as no chip has confirmed their bits.
bool may_be_chosen(Variant variant, Chip chip);

/// How an operand's memory suits the matrix-core kernels.
///
/// The operand is `rows` vectors of k elements; neighbouring rows are `row_stride` elements apart
/// and neighbours along k `k_stride`. Tiles want 16-byte chunks along k, or 8-byte ones along the
/// rows; the streaming kernels want 8-byte ones along k.
struct OperandFacts {
  gfx9::Major tile = gfx9::Major::any;
  bool streams = false;
};
OperandFacts facts_of(const void* data, std::int64_t rows, std::int64_t row_stride,
                      std::int64_t k_stride, const GemmArguments& g);

/// Into how many parts a kernel may divide K (hip/parts.hpp): one, or where it spreads K all
/// numbers above one that the contract allows; none where it allows none.
std::vector<int> part_choices(const GemmArguments& g, bool spread);

/// Everything that takes the problem, in the order of `kernels`; `decide` returns the one with the
/// shortest predicted time among those whose roots the workspace holds.
std::vector<Candidate> candidates(const GemmArguments& g, Arithmetic arithmetic,
                                  const LaunchOptions& options);

/// Bytes of roots that suffice for any m up to max_m.
std::int64_t most_root_bytes(const Contract& contract, std::int64_t max_m, std::int64_t n,
                             std::int64_t k, const LaunchOptions& options);

/// Workgroups for so many tiles: as many as there are tiles, or, where each needs scratch, only as
/// many as the device holds at a time.
int blocks_for(std::int64_t tiles, const Shape& shape, bool needs_scratch,
               const LaunchOptions& options);

/// Rows of tiles in a stripe of the raster, for a product with so many of them.
int stripe_rows(const Shape& shape, std::int64_t tiles_m, const LaunchOptions& options);

/// Floats of one workgroup's scratch, which holds `waiting` sums for each of its outputs.
std::int64_t scratch_floats(const Shape& shape, int waiting);

}  // namespace detgemm::hip
