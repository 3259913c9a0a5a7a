// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace detgemm::cuda::sm90 {

inline constexpr int kSharedBytes = 227 * 1024;  ///< shared memory that a CTA may have
inline constexpr int kReservedShared = 1024;     ///< bytes that each CTA costs besides
inline constexpr int kSharedAlignment = 1024;    ///< of stages: the 128-byte swizzle repeats so

/// The geometry of a wgmma kernel. Every field is bit-neutral.
struct Geometry {
  int groups;     ///< consumer warp groups
  int blocks;     ///< blocks of 64 x rows per group
  int n;          ///< y rows of a tile: the N of the instruction
  int depth;      ///< k blocks per pipeline stage
  int ctas;       ///< CTAs per multiprocessor
  int load;       ///< x rows loaded: fewer than the tile has, where the problem has no more
  int cluster;    ///< CTAs that load one operand together: each loads and multicasts a share
  bool shares_x;  ///< that operand is X, of neighbours along y; else it is Y, of those along x
  int turns = 1;  ///< 2: each group has tiles of its own, and they take turns; else they share one

  constexpr int x() const { return 64 * groups * blocks / turns; }
  /// Rows of X and of Y that one CTA loads.
  constexpr int x_share() const { return shares_x ? load / cluster : load; }
  constexpr int y_share() const { return shares_x ? n : n / cluster; }
  /// Tiles of a cluster along x and along y.
  constexpr int cluster_x() const { return shares_x ? 1 : cluster; }
  constexpr int cluster_y() const { return shares_x ? cluster : 1; }
  /// MN-major operands need whole slabs of 64 rows and one k block per stage.
  constexpr bool takes_mn_major() const {
    return depth == 1 && load == x() && x_share() % 64 == 0 && y_share() % 64 == 0;
  }
  constexpr int stage_bytes(bool y_mn) const {
    return depth * 128 * (load + (y_mn ? (n + 63) / 64 * 64 : n));
  }
  /// Stages that fill the shared memory left by `epilogue_bytes` and the barriers.
  constexpr int stages(bool y_mn, int epilogue_bytes) const {
    const int room = kSharedBytes / ctas - kReservedShared * (ctas - 1) / ctas - epilogue_bytes -
                     kSharedAlignment;
    const int fit = room / (stage_bytes(y_mn) + 16);  // a stage and its two barriers
    return fit < 16 ? fit : 16;
  }
  /// Width along y of an epilogue box: the widest piece, of at most 64, that cuts n evenly.
  constexpr int slab() const { return n % 64 == 0 ? 64 : n % 32 == 0 ? 32 : n % 16 == 0 ? 16 : 8; }
  constexpr int fp32_slab() const { return slab() < 32 ? slab() : 32; }
  /// Width along y of a box of D. Each box takes its time, so boxes are wider than a piece that
  /// cuts n evenly, and the last one overlaps the one before it. They have no more bytes than boxes
  /// of fp32 in pieces of 16, and so cost no stage of the ring.
  ///
  ///   n = 144   | 0 .. 31 | 32 .. 63 | 64 .. 95 | 96 .. 127 |
  ///                                                  | 112 .. 143 |     five in place of nine
  constexpr int d_slab() const {
    int widest = cluster > 2 || slab() >= 32 ? 64 : 32;
    while (widest > n) widest /= 2;
    return widest;
  }
  /// The same of activated outputs, of which as few as possible are computed twice.
  constexpr int activated_slab() const { return slab() == 8 && n > 8 ? 16 : slab(); }
  /// The same of fp32 outputs: half as many columns have as many bytes.
  constexpr int d_fp32_slab() const {
    return d_slab() / 2 > fp32_slab() ? d_slab() / 2 : fp32_slab();
  }
  constexpr int d_slabs() const { return (n + d_slab() - 1) / d_slab(); }
};

/// Accumulators per thread of every kernel of a table, or 0: there is none for this pair of majors.
template <std::size_t kCount>
constexpr std::array<int, kCount> accumulators_of(const std::array<Geometry, kCount>& table,
                                                  bool x_mn, bool y_mn) {
  std::array<int, kCount> all{};
  for (std::size_t i = 0; i < kCount; ++i) {
    const Geometry& g = table[i];
    if (g.takes_mn_major() || (!x_mn && !y_mn)) all[i] = g.blocks * g.n / 2;
  }
  return all;
}

/// For example "128x192", "64x32-load8-depth4", "64x192-pair-y" or "128x96-one-group".
std::string name(const Geometry& geometry);

namespace geometry {

/// A tile whose 64-row blocks are full. A CTA has a multiprocessor to itself.
constexpr Geometry tile(int groups, int blocks, int n) {
  return {groups, blocks, n, 1, 1, 64 * groups * blocks, 1, false};
}
/// The same in pairs of CTAs that share one operand.
constexpr Geometry pair(int groups, int blocks, int n, bool shares_x) {
  return {groups, blocks, n, 1, 1, 64 * groups * blocks, 2, shares_x};
}
/// The same in clusters of four that share Y, each of which loads a quarter of it.
constexpr Geometry quad(int n) { return {1, 1, n, 1, 1, 64, 4, false}; }
/// Two groups, each of which stores or activates a tile while the other one multiplies the next.
constexpr Geometry in_turn(int n) { return {2, 2, n, 1, 1, 128, 1, false, 2}; }
/// Few tokens on the x side against n weights: boxes of about 16 KB of weights in stages of at most
/// 40 KB.
constexpr Geometry stream(int load, int n) {
  int depth = n <= 16 ? 8 : n <= 32 ? 4 : n <= 64 ? 2 : 1;
  while (depth > 1 && depth * (load + n) * 128 > 40 * 1024) depth /= 2;
  return {1, 1, n, depth, 1, load, 1, false};
}
/// 64 weights against few tokens on the y side.
constexpr Geometry narrow(int n, int depth, int ctas) {
  return {1, 1, n, depth, ctas, 64, 1, false};
}

}  // namespace geometry

/// Kernels of chains, for operands that suit TMA, any D and any epilogue.
inline constexpr auto kPlainGeometries = [] {
  using namespace geometry;
  constexpr int kStream[] = {8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 248};
  constexpr int kOne[] = {64, 72, 80, 96, 112, 128, 144, 160, 192, 256};
  constexpr int kTwo[] = {32,  40,  48,  56,  64,  72,  80,  88,  96,  104, 112, 120, 128, 136,
                          144, 152, 160, 168, 176, 192, 200, 208, 216, 224, 232, 240, 256};
  constexpr int kWide[] = {64, 96, 128, 136, 144, 152, 160, 168, 176, 184, 192};
  constexpr int kThree[] = {80, 104, 112, 128, 144, 160, 176, 192, 208};
  constexpr int kQuad[] = {64, 72, 80, 88, 96, 104, 112, 128, 136};
  constexpr int kInTurn[] = {96, 112, 128, 144, 160, 176, 192};
  std::array<Geometry, 3 * 14 + 5 + 4 + 10 + 27 + 11 + 9 + 4 + 2 + 9 + 7> all{};
  int i = 0;
  for (const int load : {8, 16, 32}) {
    for (const int n : kStream) all[i++] = stream(load, n);
  }
  for (const int n : {24, 32, 48, 224, 248}) all[i++] = stream(64, n);  // other widths are below
  all[i++] = narrow(8, 4, 1);
  all[i++] = narrow(16, 4, 1);
  all[i++] = narrow(32, 4, 1);
  all[i++] = narrow(64, 2, 1);
  for (const int n : kOne) all[i++] = tile(1, 1, n);
  // 128 x 96 runs in one wave, where one group has a longer ring than two: two need more boxes of
  // D.
  for (const int n : kTwo) all[i++] = n == 96 ? tile(1, 2, n) : tile(2, 1, n);
  for (const int n : kWide) all[i++] = tile(2, 2, n);
  for (const int n : kThree) all[i++] = tile(3, 1, n);
  // Pairs pay where tiles are light and would each fetch the same streamed weights. Large tiles,
  // where power sets the clock, lost 1 to 10 % as pairs, so those are not compiled.
  for (const int n : {64, 96, 128, 160}) all[i++] = pair(1, 1, n, false);
  all[i++] = pair(2, 1, 48, true);
  all[i++] = pair(1, 2, 96, true);
  // Weights on the x side, and tokens that four CTAs share: from 65 to some 500 tokens, where the
  // fill of shared memory from L2 binds. With 128 rows they lost up to 17 %.
  for (const int n : kQuad) all[i++] = quad(n);
  // Where a CTA has several tiles: a short K, an activation, or many tiles.
  for (const int n : kInTurn) all[i++] = in_turn(n);
  return all;
}();

}  // namespace detgemm::cuda::sm90
