// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda.h>

#include "core/contract/gemm_arguments.hpp"
#include "cuda/sm90/tile/geometry.hpp"
#include "cuda/sm90/tile/raster.hpp"
#include "detgemm/types.hpp"

namespace detgemm::cuda::sm90 {

inline constexpr int kBlockK = 64;  ///< k of one shared-memory row: 128 bytes, one swizzle span

/// Tensor maps a wgmma kernel is launched with; `d` in plain kernels only.
struct LaunchMaps {
  CUtensorMap x, y, d;
};
/// The same for fold and tree; `c` where a fold starts from C through TMA.
struct LeafMaps : LaunchMaps {
  CUtensorMap c;
};

struct LaunchShape {
  Raster raster;
  int x_rows = 0, y_rows = 0;
  int k_blocks = 0;           ///< of kBlockK; the last one is padded with zeros
  bool whole_blocks = false;  ///< k is a multiple of kBlockK: maps have a third dimension
  bool x_stable = false, y_stable = false;
  bool d_x_contiguous = false;
  bool swapped = false;
  DType output = DType::bf16;
};

/// What a kernel does around its chains.
enum class Form {
  plain,    ///< operands and D suit TMA; D is the rounded accumulator
  general,  ///< operands suit TMA; any strides of D, any epilogue
  from_c,   ///< general, and the accumulator starts from fp32 C (`continue`)
};

/// A wgmma kernel at compile time.
template <DType kT, Geometry kG, bool kXMnT, bool kYMnT, Form kFormT>
struct Tile {
  static constexpr DType kInput = kT;
  static constexpr int kGroups = kG.groups, kBlocks = kG.blocks, kN = kG.n, kDepth = kG.depth;
  static constexpr int kCtas = kG.ctas, kCluster = kG.cluster;
  static constexpr bool kSharesX = kG.shares_x;
  static constexpr bool kXMn = kXMnT, kYMn = kYMnT;
  static constexpr Form kForm = kFormT;
  static constexpr bool kGeneral = kForm != Form::plain;

  static constexpr int kX = kG.x();
  /// The tensor core reads 64 rows whatever was loaded; what lies behind the loaded ones makes
  /// rows of the tile that do not exist in the problem and are never stored.
  static constexpr int kXLoad = kG.load;
  static constexpr int kXBytes = kXLoad * 128;  ///< one k block
  static constexpr int kYBytes = kG.stage_bytes(kYMn) / kDepth - kXBytes;
  static constexpr int kStageBytes = kG.stage_bytes(kYMn);
  static constexpr int kThreads = 128 * (kGroups + 1);
  /// Of a thread, where groups share out the 64 K that a multiprocessor has.
  static constexpr int kConsumerRegisters = kGroups == 3 ? 160 : kBlocks * kN > 256 ? 240 : 232;
  static constexpr int kProducerRegisters = kGroups == 3 ? 32 : kBlocks * kN > 256 ? 24 : 40;

  static constexpr int kSlab = kG.slab(), kSlabFp32 = kG.fp32_slab();
  static constexpr int kBoxBytes = 128 * kSlab > 256 * kSlabFp32 ? 128 * kSlab : 256 * kSlabFp32;
  /// Plain: a group's boxes of D. General: 8 rows of kColumns fp32 a warp, padded against bank
  /// conflicts.
  static constexpr int kBoxes = 2;
  static constexpr int kColumns = kN < 64 ? kN : 64;
  static constexpr int kPitch = kColumns + 8;
  static constexpr int kEpilogueBytes =
      kGeneral ? kGroups * 4 * 8 * kPitch * 4 : kGroups * kBoxes * kBoxBytes;
  static constexpr int kGroupBoxes = kBoxes * kBoxBytes;  ///< from a group's boxes to the next's
  static constexpr int kStages = kG.stages(kYMn, kEpilogueBytes);
  /// Stages by which the second group runs behind, where the ring can spare them: the rest of it
  /// hides L2's latency.
  static constexpr int kLag = kStages >= 6 ? 2 : 0;
  static constexpr int kSharedBytes = kStages * kStageBytes + kEpilogueBytes + 16 * kStages + 1024;

  static_assert(kN % 8 == 0 && kN <= 256 && kStages >= 3);
  static_assert(kG.takes_mn_major() || (!kXMn && !kYMn));
  static_assert(!kGeneral || (kN % 64 == 0 && kCluster == 1));
  static_assert(kXLoad == kX || kStageBytes + kEpilogueBytes >= kDepth * kXBytes + 8192);
};

}  // namespace detgemm::cuda::sm90
