// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/tile/tile.hpp"

// Operands whose rows start at any 2-byte address. TMA needs 16-byte aligned addresses and strides,
// but every eighth row of any matrix of 16-bit elements starts at the same place inside its 16-byte
// chunk. So an operand is taken as eight matrices (classes), each of which is read through a map of
// its own whose base is rounded down to 16 bytes. The rows arrive 0..7 elements late, each with one
// chunk more than is needed, and the producer's warps move them into place on the way to the
// stage that wgmma reads:
//
//   memory, row r = 8 q + c:        |....aaaa|bbbbbbbb|cccc....|      | = 16 bytes
//   TMA -> raw box of class c:      |....aaaa|bbbbbbbb|cccc....|      pitch: an odd count of chunks
//   8-lane shift -> stage, row r:   |aaaabbbb|bbbbcccc|               under the 128-byte swizzle
//
// A "row" is what runs along memory: a vector of k (K-major), or the elements of one k (MN-major).
//
// What a block of 64 k of a 128 x 256 tile (384 rows) costs, in clocks measured on an H200: the
// copies alone take 2840, against 1597 for boxes without the extra chunk and 870 for aligned rows.
// Shared memory serves 576 wavefronts of loads and 384 of stores for the shift, and 640 for wgmma.
// So the extra chunk is the bottleneck.

namespace detgemm::cuda::sm90 {

inline constexpr int kClasses = 8;  ///< row r belongs to class r % 8

/// The tensor maps of all classes of both operands.
struct RealignMaps {
  CUtensorMap x[kClasses], y[kClasses];
};

/// How the rows of the classes arrive.
struct RealignShifts {
  std::uint32_t x = 0, y = 0;  ///< elements by which those of a class are late, 4 bits per class
  int x_box_rows = 0, y_box_rows = 0;  ///< rows per box: fewer than there is room for in an operand
                                       ///< of fewer rows than a tile, since TMA is slow to bring
                                       ///< rows that do not exist
};

/// How kRows vectors of kDepth k blocks are laid out in a raw buffer.
///
///   raw buffer: [ class 0 | class 1 | ... | class 7 ]      kClassRoom bytes each
///   class:      [ box 0 | ... ]                            kBoxes x kBoxRoom bytes
///   box:        kBoxRows rows of kPitch bytes
template <int kRowsT, int kDepthT, bool kMnT>
struct RawOperand {
  static constexpr int kRows = kRowsT, kDepth = kDepthT;
  static constexpr bool kMn = kMnT;
  /// Spans that one raw row yields: k blocks, or slabs of 64 mn.
  static constexpr int kSpans = kMn ? (kRows % 128 == 0 ? 2 : 1) : kDepth;
  static constexpr int kBoxWidth = kSpans * 64 + 8;  ///< elements
  static constexpr int kPitch = kBoxWidth * 2;
  static constexpr int kBoxRows = kMn ? kBlockK / kClasses : kRows / kClasses;
  static constexpr int kBoxes = kMn ? kRows / (64 * kSpans) : 1;  ///< per class
  static constexpr int kBoxBytes = kBoxRows * kPitch;
  static constexpr int kBoxRoom = (kBoxBytes + 127) / 128 * 128;
  static constexpr int kClassRoom = kBoxes * kBoxRoom;
  /// What TMA delivers of a class where a box has so many rows.
  static constexpr int class_bytes(int box_rows) { return kBoxes * box_rows * kPitch; }
  static constexpr int kRoom = kClasses * kClassRoom;
  static constexpr int kStrips = kBoxes * kSpans * kBoxRows;  ///< spans per class
  /// Distance of neighbouring spans in the stage.
  static constexpr int kSpanRoom = kMn ? kSlabBytes : kRows * kSpanBytes;
  static_assert(kRows % kClasses == 0, "Every class has the same number of rows.");
  static_assert(kBoxWidth <= 256, "A TMA box has at most 256 elements along each dimension.");
  static_assert(!kMn || (kDepth == 1 && kRows % 64 == 0),
                "An MN-major operand needs whole slabs of 64 rows and one k block per stage.");
};

/// A realigning wgmma kernel at compile time: what the consumer reads of a Tile, and raw buffers.
template <DType kT, Geometry kG, bool kXMnT, bool kYMnT, Form kFormT>
struct RealignTile {
  static constexpr DType kInput = kT;
  static constexpr int kGroups = kG.groups, kBlocks = kG.blocks, kN = kG.n, kDepth = kG.depth;
  static constexpr int kStepN = kN;  ///< columns of one instruction
  static constexpr int kCluster = 1;
  static constexpr bool kXMn = kXMnT, kYMn = kYMnT;
  static constexpr Form kForm = kFormT;
  static constexpr int kX = kG.x();
  static constexpr int kXBytes = kX * kSpanBytes, kYBytes = kN * kSpanBytes;
  static constexpr int kStageBytes = kDepth * (kXBytes + kYBytes);
  static constexpr int kThreads = 128 * (kGroups + 1);

  using RawX = RawOperand<kX, kDepth, kXMn>;
  using RawY = RawOperand<kN, kDepth, kYMn>;
  static constexpr int kRawBytes = RawX::kRoom + RawY::kRoom;

  static constexpr int kColumns = kN < 64 ? kN : 64;
  static constexpr int kPitch = kColumns + 8;
  static constexpr int kStagingBytes = kGroups * 4 * 8 * kPitch * 4;
  static constexpr int kBarrierRoom = 512;
  static constexpr int kRoom = kSharedBytes - kSharedAlignment - kBarrierRoom - kStagingBytes;
  /// What is on its way from memory is raw, so raw buffers get all that two stages leave, or three
  /// in small kernels.
  static constexpr int kStages = 3 * (kStageBytes + kRawBytes) <= kRoom ? 3 : 2;
  static constexpr int kFit = (kRoom - kStages * kStageBytes) / kRawBytes;
  static constexpr int kRawStages = kFit < 8 ? kFit : 8;
  /// Staging and then the raw buffers; SharedLayout puts its barriers behind them.
  static constexpr int kEpilogueBytes = kStagingBytes + kRawStages * kRawBytes;
  static constexpr int kTotalBytes =
      kStages * kStageBytes + kEpilogueBytes + 16 * kStages + 32 * kRawStages + kSharedAlignment;

  static_assert(kRawStages >= 2, "Copies go on while a raw stage is shifted.");
  static_assert(kTotalBytes <= kSharedBytes, "A CTA has 227 KB of shared memory.");
  static_assert(kStagingBytes % 128 == 0, "TMA writes raw boxes at multiples of 128 bytes.");
  static_assert(kForm != Form::plain,
                "D of operands at any alignment is stored element by element.");
  static_assert(
      kG.load == kX && kG.ctas == 1 && kG.cluster == 1,
      "A realigning kernel loads whole tiles, and its CTA has a multiprocessor to itself.");
};

}  // namespace detgemm::cuda::sm90
