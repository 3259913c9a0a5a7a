// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda.h>

#include "core/contract/compute_element.hpp"
#include "cuda/sm90/geometry.hpp"
#include "cuda/sm90/raster.hpp"
#include "detgemm/types.hpp"

namespace detgemm::cuda::sm90 {

inline constexpr int kBlockK = 64;  ///< k of one shared-memory row: 128 bytes, one swizzle span
/// Tensor maps a wgmma kernel is launched with; `d` in plain kernels only.
struct LaunchMaps {
  CUtensorMap x, y, d;
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

/// The shape of a wgmma kernel, all of it bit-neutral.
/// kGroups consumer warp groups hold kBlocks blocks of 64 x rows each; y is N wide; kDepth k
/// blocks a pipeline stage; kCtas CTAs share a multiprocessor.
template <DType kT, int kGroupsT, int kBlocksT, int kNT, int kDepthT, bool kXMnT, bool kYMnT,
          Form kFormT, int kCtasT = 1>
struct Tile {
  static constexpr DType kInput = kT;
  static constexpr int kGroups = kGroupsT, kBlocks = kBlocksT, kN = kNT;
  static constexpr int kDepth = kDepthT, kCtas = kCtasT;
  static constexpr bool kXMn = kXMnT, kYMn = kYMnT;
  static constexpr Form kForm = kFormT;
  static constexpr bool kGeneral = kForm != Form::plain;

  static constexpr int kX = 64 * kGroups * kBlocks;
  static constexpr int kYSlots = kYMn ? (kN + 63) / 64 * 64 : kN;  ///< rows of space for Y
  static constexpr int kXBytes = kX * 128;                         ///< one k block
  static constexpr int kYBytes = kYSlots * 128;                    ///< one k block
  static constexpr int kStageBytes = kDepth * (kXBytes + kYBytes);
  static constexpr int kThreads = 128 * (kGroups + 1);

  static constexpr int kSlab = Geometry::slab_of(kN);
  static constexpr int kSlabFp32 = Geometry::fp32_slab_of(kN);
  static constexpr int kBoxBytes = 128 * kSlab > 256 * kSlabFp32 ? 128 * kSlab : 256 * kSlabFp32;
  /// Fast: two boxes a group. General: 8 rows of fp32 a warp, padded against bank conflicts.
  static constexpr int kPitch = kN + 8;
  static constexpr int kEpilogueBytes =
      kGeneral ? kGroups * 4 * 8 * kPitch * 4 : kGroups * 2 * kBoxBytes;
  static constexpr int kStages =
      Geometry{"", kGroups, kBlocks, kN, kDepth, kCtas}.stages(kStageBytes, kEpilogueBytes);
  static constexpr int kSharedBytes = kStages * kStageBytes + kEpilogueBytes + 16 * kStages + 1024;

  static_assert(kN % 8 == 0 && kN <= 256);
  static_assert(kDepth == 1 || (!kXMn && !kYMn));
  static_assert(!kGeneral || (kDepth == 1 && kN % 64 == 0));
  static_assert(kStages >= 3);
};

}  // namespace detgemm::cuda::sm90
