// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/arithmetic/host_device.hpp"

namespace detgemm::hip::gfx9 {

/// Products that are loaded together: 128 bytes of a row whose k are adjacent, a whole cache line.
inline constexpr int kStage = 64;
/// Shared memory holds a stage in two halves, each of which is filled while the other is
/// multiplied.
inline constexpr int kHalf = kStage / 2;
inline constexpr int kRowBytes = kHalf * 2;
inline constexpr int kPackets =
    kHalf / 4;  ///< packets (4 consecutive k, 8 bytes) per row of a half

/// Floats from row to row of a block of 32 x 32 in the epilogue: rows start at multiples of 16
/// bytes.
inline constexpr int kEpiloguePitch = 36;

/// How an operand lies in memory. `k`: neighbours along k are adjacent. `mn`: neighbours along M or
/// N are adjacent. `any`: any strides and alignment, read element by element.
enum class Major { k, mn, any };

/// A workgroup's tile of D: kM x kN outputs with a grid of waves over it, each of which has blocks
/// of 32 x 32.
///
///        kN ->                      two halves of a stage in shared memory, (kM + kN) rows of 32
///        k:
///   kM  .-------.-------.           one is multiplied while the other is written
///    |  | wave0 | wave1 |
///    v  |-------+-------|           kPhased: the upper half of the waves runs half a step behind
///       | wave2 | wave3 |           the lower one, so that on every SIMD one wave multiplies
///       '-------'-------'           while the other moves data
template <int kRowsM, int kRowsN, int kWavesOverM, int kWavesOverN, bool kHalfStep>
struct Tile {
  static constexpr int kM = kRowsM;
  static constexpr int kN = kRowsN;
  static constexpr int kWavesM = kWavesOverM;
  static constexpr int kWavesN = kWavesOverN;
  static constexpr bool kPhased = kHalfStep;
  static constexpr int kWaves = kWavesM * kWavesN;
  static constexpr int kThreads = kWaves * 64;
  static constexpr int kBlocksM = kM / kWavesM / 32;  ///< a wave's 32 x 32 blocks along M
  static constexpr int kBlocksN = kN / kWavesN / 32;
  /// Rows of A and B in shared memory: as many as all threads fill in whole passes. Those beyond kM
  /// and kN repeat the operand's last row and are never read, so no thread has to ask whether its
  /// row exists.
  static constexpr int kFilledM = (kM + kThreads / 4 - 1) / (kThreads / 4) * (kThreads / 4);
  static constexpr int kFilledN = (kN + kThreads / 4 - 1) / (kThreads / 4) * (kThreads / 4);
  static constexpr int kBufferBytes = (kFilledM + kFilledN) * kRowBytes;
  /// In the epilogue each wave has one block of fp32.
  static constexpr int kEpilogueBytes = kWaves * 32 * kEpiloguePitch * 4;
  static constexpr int kSharedBytes =
      2 * kBufferBytes > kEpilogueBytes ? 2 * kBufferBytes : kEpilogueBytes;
};

using Tile256 = Tile<256, 256, 2, 4, true>;
using Tile256x224 = Tile<256, 224, 8, 1, true>;
using Tile256x192 = Tile<256, 192, 4, 2, true>;
using Tile160x256 = Tile<160, 256, 1, 8, true>;
using Tile256x128 = Tile<256, 128, 4, 2, true>;
using Tile128 = Tile<128, 128, 2, 2, false>;
using Tile64 = Tile<64, 64, 2, 2, false>;

/// The offset in bytes of packet `packet` (0..7) of a row in half a stage. The exclusive or spreads
/// the rows that a wave reads at once (32 rows, one packet) and those that it writes at once (every
/// fourth row) over all banks.
DETGEMM_HD int packet_at(int row, int packet) {
  const int spread = ((row >> 1) & 7) ^ ((row >> 4) & 1);
  return row * kRowBytes + ((packet ^ spread) << 3);
}

/// The row of a 32x32 MFMA's result that is in register i (0..15) of a lane; the column is
/// lane % 32.
DETGEMM_HD int result_row_32(int lane, int i) { return 8 * (i / 4) + 4 * (lane / 32) + i % 4; }
/// The row of a 16x16 MFMA's result that is in register i (0..3); the column is lane % 16.
DETGEMM_HD int result_row_16(int lane, int i) { return 4 * (lane / 16) + i; }

}  // namespace detgemm::hip::gfx9
