// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

namespace detgemm::hip::simt {

/// 256 threads, each with kRows x kCols of the kM x kN outputs of a workgroup.
///
///   thread t: rows t / 16 + 16 * i, columns t % 16 + 16 * j
inline constexpr int kThreads = 256;
inline constexpr int kSide = 16;   ///< threads along M and along N
inline constexpr int kStage = 16;  ///< products that a stage of shared memory holds

template <int kRowsEach, int kColsEach>
struct Tile {
  static constexpr int kRows = kRowsEach;
  static constexpr int kCols = kColsEach;
  static constexpr int kM = kSide * kRows;
  static constexpr int kN = kSide * kCols;
  /// Rows in shared memory are one float longer, so that the elements of a column are in different
  /// banks.
  static constexpr int kSharedFloats = kStage * (kM + 1) + kStage * (kN + 1);
};

using Tile64 = Tile<4, 4>;
using Tile16 = Tile<1, 4>;

}  // namespace detgemm::hip::simt
