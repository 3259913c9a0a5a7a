// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/tile/tile.hpp"

// Operands whose rows start at any 2-byte address. TMA needs 16-byte aligned addresses and strides,
// but every eighth row of any matrix of 16-bit elements starts at the same place inside its 16-byte
// chunk. So an operand is eight matrices (classes), each read through a map of its own whose base
// is rounded down to 16 bytes; the rows arrive 0..7 elements late, each with one chunk more than
// asked, and the producer's warps move them into place on the way to the stage wgmma reads:
//
//   memory, row r = 8 q + c:        |....aaaa|bbbbbbbb|cccc....|      | = 16 bytes
//   TMA -> raw box of class c:      |....aaaa|bbbbbbbb|cccc....|      pitch: an odd count of chunks
//   8-lane shift -> stage, row r:   |aaaabbbb|bbbbcccc|               128-byte swizzled, as ever
//
// A "row" is what runs along memory: a vector of k (K-major) or the elements of one k (MN-major).
//
// Per 64-k block of a 128 x 256 tile (384 rows), clocks measured on an H200: the copies alone 2840,
// against 1597 for boxes without the extra chunk and 870 for aligned rows; shared-memory wavefronts
// of the shift 576 loads and 384 stores, of wgmma 640. The extra chunk is what binds.

namespace detgemm::cuda::sm90 {

inline constexpr int kClasses = 8;

struct RealignMaps {
  CUtensorMap x[kClasses], y[kClasses];
};

/// Elements by which the rows of each class arrive late, 4 bits a class.
struct RealignShifts {
  std::uint32_t x = 0, y = 0;
};

/// How kRows vectors of kDepth k blocks lie in a raw buffer.
template <int kRowsT, int kDepthT, bool kMnT>
struct RawOperand {
  static constexpr int kRows = kRowsT, kDepth = kDepthT;
  static constexpr bool kMn = kMnT;
  /// Spans of 128 bytes that one raw row yields: k blocks, or slabs of 64 mn.
  static constexpr int kSpans = kMn ? (kRows % 128 == 0 ? 2 : 1) : kDepth;
  static constexpr int kBoxWidth = kSpans * 64 + 8;  ///< elements; at most 256
  static constexpr int kPitch = kBoxWidth * 2;
  static constexpr int kBoxRows = kMn ? kBlockK / kClasses : kRows / kClasses;
  static constexpr int kBoxes = kMn ? kRows / (64 * kSpans) : 1;  ///< a class
  static constexpr int kBoxBytes = kBoxRows * kPitch;
  static constexpr int kBoxRoom = (kBoxBytes + 127) / 128 * 128;
  static constexpr int kClassRoom = kBoxes * kBoxRoom;
  static constexpr int kClassBytes = kBoxes * kBoxBytes;  ///< that TMA delivers
  static constexpr int kRoom = kClasses * kClassRoom;
  static constexpr int kStrips = kBoxes * kSpans * kBoxRows;  ///< spans of 128 bytes a class
  /// Distance of neighbouring spans in the stage.
  static constexpr int kSpanRoom = kMn ? 64 * 128 : kRows * 128;
  static_assert(kRows % kClasses == 0 && kBoxWidth <= 256);
  static_assert(!kMn || (kDepth == 1 && kRows % 64 == 0));
};

/// A realigning wgmma kernel at compile time: what the consumer knows as a Tile, plus raw buffers.
template <DType kT, Geometry kG, bool kXMnT, bool kYMnT, Form kFormT>
struct RealignTile {
  static constexpr DType kInput = kT;
  static constexpr int kGroups = kG.groups, kBlocks = kG.blocks, kN = kG.n, kDepth = kG.depth;
  static constexpr int kCluster = 1;
  static constexpr bool kXMn = kXMnT, kYMn = kYMnT;
  static constexpr Form kForm = kFormT;
  static constexpr int kX = kG.x();
  static constexpr int kXBytes = kX * 128, kYBytes = kN * 128;
  static constexpr int kStageBytes = kDepth * (kXBytes + kYBytes);
  static constexpr int kThreads = 128 * (kGroups + 1);

  using RawX = RawOperand<kX, kDepth, kXMn>;
  using RawY = RawOperand<kN, kDepth, kYMn>;
  static constexpr int kRawBytes = RawX::kRoom + RawY::kRoom;
  /// One warp's two classes.
  static constexpr int kWarpBytes = 2 * (RawX::kClassBytes + RawY::kClassBytes);

  static constexpr int kColumns = kN < 64 ? kN : 64;
  static constexpr int kPitch = kColumns + 8;
  static constexpr int kStagingBytes = kGroups * 4 * 8 * kPitch * 4;
  static constexpr int kRoom = kSharedBytes - 1024 - 512 - kStagingBytes;
  /// Bytes on their way are raw: they get what two stages leave, or three in small kernels.
  static constexpr int kStages = 3 * (kStageBytes + kRawBytes) <= kRoom ? 3 : 2;
  static constexpr int kFit = (kRoom - kStages * kStageBytes) / kRawBytes;
  static constexpr int kRawStages = kFit < 8 ? kFit : 8;
  /// SharedLayout puts its barriers behind this: staging, then the raw buffers.
  static constexpr int kEpilogueBytes = kStagingBytes + kRawStages * kRawBytes;
  static constexpr int kTotalBytes =
      kStages * kStageBytes + kEpilogueBytes + 16 * kStages + 32 * kRawStages + 1024;

  static_assert(kRawStages >= 2 && kTotalBytes <= kSharedBytes && kStagingBytes % 128 == 0);
  static_assert(kForm != Form::plain && kG.load == kX && kG.ctas == 1 && kG.cluster == 1);
};

}  // namespace detgemm::cuda::sm90
