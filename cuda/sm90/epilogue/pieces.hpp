// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

namespace detgemm::cuda::sm90 {

/// How the general epilogue cuts the accumulators of a warp group into pieces that pass through
/// shared memory, as kRows rows of kPitch fp32. `T` is a Tile, whose boxes of D are the room, or a
/// RealignTile, which has a room of its own.
///
///   tiles of 64 rows and more: a piece has 8 rows and belongs to a warp
///   tiles that load fewer:     a piece has all of these, and belongs to the group
template <class T>
struct Pieces {
  static constexpr bool kInBoxes = requires { T::kGroupBoxes; };
  static constexpr int loaded_rows() {
    if constexpr (kInBoxes) {
      return T::kXLoad;
    } else {
      return T::kX;
    }
  }
  static constexpr bool kOfGroup = loaded_rows() < 64;
  static constexpr int kThreads = kOfGroup ? 128 : 32;
  static constexpr int kRows = kOfGroup ? loaded_rows() : 8;
  static constexpr int kHalves = kOfGroup ? 2 : 1;  ///< of a warp's 16 rows, in one piece
  static constexpr int kRoom = [] {
    if constexpr (kInBoxes) {
      return T::kBoxes * T::kBoxBytes / (kOfGroup ? 1 : 4);
    } else {
      return 8 * T::kPitch * 4;
    }
  }();
  /// Pieces have 64 columns, a warp's lanes with two each, or half as many where the room is small;
  /// the last one may have fewer. The distance of rows is 8 or 24 banks, so that the fragments of 8
  /// rows meet 8 banks each.
  static constexpr int pitch(int columns) { return columns % 16 == 8 ? columns : columns + 8; }
  static constexpr int kColumns = [] {
    int columns = 64;
    while (columns > 8 && (columns / 2 >= T::kN || kRows * pitch(columns) * 4 > kRoom)) {
      columns /= 2;
    }
    return columns;
  }();
  static constexpr int kPitch = pitch(kColumns);
  static constexpr int kAcross = (T::kN + kColumns - 1) / kColumns;
  static constexpr int kCount = kAcross * (kOfGroup ? 1 : 2 * T::kBlocks);

  /// Elements that a thread works on together, as far as accumulators leave it registers.
  static constexpr int kTogether = kInBoxes && T::kBlocks * T::kN <= 256 ? 4 : 2;
  static constexpr int kAtOnce = kTogether == 4 ? 2 : 1;    ///< of these, before a look at them
  static constexpr int kUnroll = kInBoxes ? 4 : 1;          ///< of the stores that matter most
  static constexpr int kUnrollElements = kInBoxes ? 2 : 1;  ///< of other loops
  static constexpr int kBatch = kInBoxes ? 8 : 2;           ///< loads on their way at once

  /// The first column of piece `p`, its columns, the half of the warp's rows, and the block.
  static constexpr int column(int p) { return p % kAcross * kColumns; }
  static constexpr int columns(int p) {
    return T::kN - column(p) < kColumns ? T::kN - column(p) : kColumns;
  }
  static constexpr int half(int p) { return kOfGroup ? 0 : p / kAcross % 2; }
  static constexpr int block(int p) { return kOfGroup ? 0 : p / kAcross / 2; }
  /// Bytes from the room of all groups to a warp's.
  static constexpr int offset(int group, int warp) {
    if constexpr (kInBoxes) {
      return group * T::kGroupBoxes + (kOfGroup ? 0 : warp * kRoom);
    } else {
      return (group * 4 + warp) * kRoom;
    }
  }
  static_assert(kRows * kPitch * 4 <= kRoom, "A piece fits its room.");
  static_assert(!kOfGroup || (T::kGroups == 1 && T::kBlocks == 1),
                "Tiles of few rows have one group of one block.");
};

}  // namespace detgemm::cuda::sm90
