// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace detgemm::cuda::mma {

/// The outputs that a CTA computes at a time, and how. Bit-neutral: an output is one chain per
/// leaf, in the registers of four lanes of one warp.
///
///   CTA: warps in a grid       warp: fragments of 16 x 8           fragment: 32 lanes
///   .-------.-------.          .--.--.--.--.                       row  lane / 4, and 8 below
///   | warp  | warp  |          |  |  |  |  |  16 rows              col  2 * (lane % 4) and the
///   next
///   |-------|-------|          |--|--|--|--|
///   |       |       |           8 columns
struct Tile {
  int m, n;              ///< outputs
  int warps_m, warps_n;  ///< warps of a CTA
  int k;                 ///< products per stage: 32, 64 or 128
  int stages;            ///< in shared memory
  bool leaves;           ///< has registers for a leaf and the sum of the leaves before it
  /// Is compiled for operands of any layout too, and for tf32, of which a stage has half as many
  /// products; others are for 16-bit operands that run along k at multiples of 16 bytes.
  bool general;

  /// Chains of operands along k run in WholePipeline.
  constexpr bool is_small() const { return m <= 32 || k == 128; }
  constexpr int threads() const { return 32 * warps_m * warps_n; }
  constexpr int warp_m() const { return m / warps_m; }
  constexpr int warp_n() const { return n / warps_n; }
  /// fp32 accumulators per thread.
  constexpr int accumulators() const { return m * n / threads(); }
  /// Bytes of a stage: A, then B.
  constexpr int stage_bytes() const { return 2 * k * (m + n); }
  constexpr int ring_bytes() const { return stages * stage_bytes(); }
  /// CTAs of a chain that a multiprocessor of 9.0 has room for; each has registers for its sums,
  /// its fragments and addresses.
  constexpr int ctas() const {
    int count = 227 * 1024 / (ring_bytes() + 1024);
    while (count > 1 && 64 * 1024 / (threads() * count) < accumulators() + 128) --count;
    return count;
  }
  /// Bytes of one level of waiting sums: a subtree of a tree, for every output.
  constexpr int waiting_bytes() const { return 4 * m * n; }
  bool operator==(const Tile&) const = default;
};

/// Every tile that is compiled. LaunchOptions::forced counts in it.
inline constexpr std::array<Tile, 12> kTiles{{
    {128, 128, 2, 2, 64, 3, false, false},  // chains of many tokens
    {128, 128, 2, 4, 64, 3, true, true},
    {64, 128, 1, 4, 64, 4, false, false},
    {64, 64, 2, 2, 64, 4, true, true},
    {64, 96, 2, 2, 64, 4, false, false},
    {64, 32, 2, 1, 128, 4, false, false},
    {32, 64, 2, 2, 128, 4, false, false},
    {32, 32, 1, 2, 64, 8, false, false},
    {16, 128, 1, 4, 64, 5, false, false},
    {16, 64, 1, 4, 128, 4, false, false},
    {16, 32, 1, 2, 128, 8, false, false},  // few tokens
    {16, 32, 1, 2, 64, 8, true, true},
}};
inline constexpr int kTileCount = static_cast<int>(kTiles.size());

/// Bytes of shared memory that every device of compute capability 8.0 and above gives a CTA.
inline constexpr int kMaxShared = 99 * 1024;

/// Of all that a multiprocessor of 9.0 has, so much that at most `each` CTAs share it.
constexpr int shared_for(const Tile& t, int each) {
  const int even = 228 * 1024 / (each + 1);
  return t.ring_bytes() < even ? even : t.ring_bytes();
}

constexpr bool all_fit() {
  for (const Tile& t : kTiles) {
    if (t.ring_bytes() > kMaxShared || t.warp_m() % 16 != 0 || t.warp_n() % 16 != 0) return false;
    if (t.stages < 3 || (t.k != 32 && t.k != 64 && t.k != 128)) return false;
    // The lines of a warp are 2, 4 or 8 chunks across k (Multiplier::Place).
    for (const int chunks : {t.warp_m() / 8, t.warp_n() / 8}) {
      if (t.general && chunks != 2 && chunks != 4 && chunks != 8) return false;
    }
  }
  return true;
}
static_assert(all_fit(), "Every tile fits the smallest shared memory and whole fragments.");

/// For example "mma/64x128", "mma/128x128-8w" of the one with 8 warps, and "mma/16x32-k128" of the
/// one of its size with more k per stage.
std::string name(const Tile& t);

/// Where chunk `chunk` of 16 bytes of a line of shared memory is, in chunks. Lines have `chunks`
/// of them: 2, 4 or a multiple of 8. Chunks of a line change places, so that the eight that
/// ldmatrix reads together, one of each of eight lines, are in different banks.
///
///   8 chunks per line       4 chunks per line       two lines share the 128 bytes of all banks
///   0 1 2 3 4 5 6 7         0 1 2 3  0 1 2 3
///   1 0 3 2 5 4 7 6         1 0 3 2  1 0 3 2
///   2 3 0 1 6 7 4 5 ...     2 3 0 1  2 3 0 1 ...
constexpr int swizzled(int line, int chunk, int chunks) {
  const int width = chunks < 8 ? chunks : 8;
  return line * chunks + (chunk ^ (line / (8 / width) & (width - 1)));
}

}  // namespace detgemm::cuda::mma
