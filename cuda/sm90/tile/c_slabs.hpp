// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/tile/geometry.hpp"

namespace detgemm::cuda::sm90 {

/// How the C of a tile is loaded through the ring of stages, which are as large as the operands
/// need. It is cut into slabs of kSlab y like D, and a stage holds as many whole slabs as fit:
///
///   stage:  [ slab 0: 64-row blocks 0 .. kBlocks - 1 ][ slab 1 ] ...      kPerStage slabs
///   block:  (64 x, kSlab y) under TMA's swizzle, or (kSlab y, 64 x) where C's memory runs along x
///
struct CLayout {
  int slab;       ///< y per slab
  int bytes;      ///< room of a slab
  int per_stage;  ///< slabs
  int stages;     ///< per tile

  constexpr CLayout(const Geometry& t, bool y_mn, bool is_16)
      : slab(is_16 ? t.slab() : t.fp32_slab()),
        bytes(t.x() * slab * (is_16 ? 2 : 4)),
        per_stage(t.stage_bytes(y_mn) / bytes < t.n / slab ? t.stage_bytes(y_mn) / bytes
                                                           : t.n / slab),
        stages((t.n / slab + per_stage - 1) / per_stage) {}
};

/// The same at compile time. `T` is a Tile; k16 says whether C has elements of 16 bits, else of 32.
template <class T, bool k16>
struct CSlabs {
  static constexpr CLayout kLayout{T::kGeometry, T::kYMn, k16};
  static constexpr int kSlab = kLayout.slab;
  static constexpr int kRowBytes = kSlab * (k16 ? 2 : 4);
  static constexpr int kBlocks = T::kX / 64;  ///< of 64 x, in a tile
  static constexpr int kBlockBytes = 64 * kRowBytes;
  static constexpr int kBytes = kLayout.bytes;
  static constexpr int kCount = T::kN / kSlab;
  static constexpr int kPerStage = kLayout.per_stage;
  static constexpr int kStages = kLayout.stages;
  static_assert(kBytes == kBlocks * kBlockBytes && kBytes <= T::kStageBytes,
                "A stage holds a slab of C.");
};

}  // namespace detgemm::cuda::sm90
