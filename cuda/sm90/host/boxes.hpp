// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/contract/gemm_arguments.hpp"
#include "cuda/sm90/tile/geometry.hpp"
#include "cuda/sm90/tile/sides.hpp"

/// TMA takes longer over a row of a box that does not exist than over one that does: 65 rows of 64
/// in a tile once took twice as long as 128. So no box reaches beyond the rows of an operand: the
/// last tile begins earlier, and an operand of fewer rows than a tile has smaller boxes. What still
/// reaches beyond: MN-major operands by up to 7 rows, operands of fewer rows than a tile that are
/// MN-major or shared by a pair (those of a quad by up to 3 rows), and tiles whose outputs may not
/// be stored twice.
namespace detgemm::cuda::sm90 {

/// How TMA brings one stage of an operand.
struct Boxes {
  int rows;         ///< per box
  int depth;        ///< k blocks per box
  int stage_bytes;  ///< of all boxes together
};
Boxes x_boxes(const Geometry& t, const Sides& p);
Boxes y_boxes(const Geometry& t, const Sides& p);

/// The last row of an operand at which a tile of `tile` rows may begin; INT_MAX where it may not
/// begin earlier than the raster says.
///
///     tiles of 4, 6 rows:   | 0 1 2 3 |
///                               | 2 3 4 5 |     begins at 6 - 4, not at 4
///
/// Rows of an MN-major operand are side by side, and TMA takes a box only from a multiple of 16
/// bytes, which is 8 rows: up to 7 rows then do not exist. The same holds where rows are read by
/// their classes modulo 8 (`by_class`).
int last_origin(const Operand& operand, int tile, bool may_overlap, bool by_class = false);

/// Whether two CTAs may compute and store the same output: not where one could read from C what
/// the other has stored to D.
bool may_store_twice(const GemmArguments& g);

}  // namespace detgemm::cuda::sm90
