// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/contract/leaf_scales.hpp"
#include "cuda/sm90/tile/tile.hpp"

namespace detgemm::cuda::sm90 {

inline constexpr int kFp8BlockK =
    128;  ///< k of a K-major row in shared memory: one span, 128 bytes

/// Threads that bring scales: two warps of the producer group. One warp would need more registers
/// than it has.
inline constexpr int kScaleThreads = 64;
/// Those that bring them where the scales of rows are one bulk copy: a lane for these (RowCopy),
/// and one for columns. The lane that loads X has no time for them: 64 x 16 x 128 lasts 160 clocks.
inline constexpr int kRowThreads = 2;

/// The kernels of e4m3. A leaf, or two, and a sum are in registers.
inline constexpr auto kFp8Geometries = [] {
  using namespace geometry;
  std::array<Geometry, 16> all{};
  int i = 0;
  for (const int n : {16, 32, 64, 128}) all[i++] = tile(1, 1, n);
  for (const int n : {64, 96, 112, 128, 192}) all[i++] = tile(2, 1, n);
  // At the peak rate a stage of 128 x 128 lasts 512 clocks and loads 32 KiB from L2, which is more
  // than a multiprocessor is given. A pair loads three quarters of it.
  for (const int n : {128, 192}) {
    all[i++] = pair(2, 1, n, false);
    all[i++] = pair(2, 1, n, true);
  }
  // Two blocks of rows per group, whose leaves of 128 k take turns in the same registers.
  all[i++] = tile(2, 2, 128);
  all[i++] = pair(2, 2, 128, false);
  all[i++] = pair(2, 2, 128, true);
  return all;
}();

/// Whether a geometry is compiled for segments of rows too: from few rows per group to many. Two
/// blocks of rows have no registers for a C there (starts_from_c).
constexpr bool is_fp8_group_geometry(std::size_t index) {
  const Geometry& g = kFp8Geometries[index];
  if (g.cluster > 1) return false;
  return g.groups == 1 ? g.n <= 64 : g.n == 64 || g.n >= 128;
}

/// Whether there is a kernel: scales of 128 columns each require tiles that begin at a multiple of
/// 64 columns, and for two blocks of rows there are no registers for a scale per column. (Widths of
/// 96, 112, 144 and 160 under Join::one were never the fastest.)
constexpr bool has_join(const Geometry& g, Join join) {
  if (join == Join::columns) return g.blocks == 1;
  return join == Join::add || 128 % g.n == 0 || g.n == 192;
}
/// Whether it takes leaves of so many k blocks: two blocks of rows share the registers of a leaf,
/// so that none may outlast its stage.
constexpr bool takes_leaves(const Geometry& g, int leaf_blocks) {
  return g.blocks == 1 || leaf_blocks == 1;
}
/// Whether it continues from C, there.
constexpr bool starts_from_c(const Geometry& g, bool over_groups) {
  return g.blocks == 1 || !over_groups;
}
/// The same over segments of rows, where wide tiles with a scale per column would spill.
constexpr bool has_group_join(std::size_t index, Join join) {
  const Geometry& g = kFp8Geometries[index];
  return is_fp8_group_geometry(index) && has_join(g, join) &&
         !(join == Join::columns && g.groups == 2 && g.n > 64) &&
         (g.blocks == 1 || join == Join::one);
}

/// The scales of the operand on one side as a kernel reads them; scale_index says where.
struct SideScales {
  const void* data = nullptr;
  std::int64_t stride = 0, leaf_stride = 0;
  int shift = 0;  ///< 0 or 7: a scale for 1 line or for 128
  bool e8m0 = false;
};

DETGEMM_HD std::int64_t scale_index(const SideScales& s, int line, int leaf) {
  return (line >> s.shift) * s.stride + leaf * s.leaf_stride;
}

/// What a kernel of e4m3 is told beside LaunchShape.
struct Fp8Shape {
  int leaf_blocks = 1;    ///< k blocks of 128 per leaf
  bool from_c = false;    ///< the sum starts from fp32 C
  bool of_lines = false;  ///< under Join::add: the scales are those of whole lines
  /// Under Join::one: those of a tile's rows are neighbours, which one bulk copy brings.
  bool in_rows = false;
  SideScales x, y;  ///< under Join::add of leaf 0, and with of_lines alone
};

/// A kernel of e4m3 at compile time: a Tile whose ring is smaller by scales.
///
///   Join::one:   | boxes of D | a slot per stage: (kX + 4 scales of rows, 1 or 2 of columns) |
///   others:      | boxes of D | kSlots slots: (kX scales of rows, kN of columns) fp32 | their
///                  barriers |
///
/// kReserved: bytes of static shared memory that the kernel has beside.
template <Geometry kG, Join kJoinT, int kReserved = 0>
struct Fp8Tile : Tile<DType::e4m3, kG, false, false, false> {
  using Base = Tile<DType::e4m3, kG, false, false, false>;
  static constexpr Join kJoin = kJoinT;
  static constexpr bool kScaled = kJoin != Join::add;
  /// Whether a leaf joins while the next one runs: registers hold two leaves beside the sum.
  static constexpr bool kOverlaps = kG.blocks * kG.n <= 128;
  /// Else a group queries its next stage before a leaf joins, and has the answer behind it. With
  /// two leaves that made it wait instead, and folds took a third longer.
  static constexpr bool kLooksAhead = !kOverlaps;
  /// Over groups two blocks of rows have no registers for the addresses of a C.
  static constexpr bool kStartsFromC = starts_from_c(kG, kReserved > 0);
  /// Leaves that start together.
  static constexpr int kTogether =
      kJoin == Join::one && kG.n <= 64 && (kG.groups == 1 || kReserved == 0) ? 2 : 1;
  /// And reads the scales of its next leaf while the last steps of this one run. Two blocks of rows
  /// gain 1 % by it, and 192 columns lose as much.
  static constexpr bool kReadsAhead = kLooksAhead && kJoin == Join::one && kG.blocks == 2;
  /// Whether the groups start their stages in turn. Groups that happen to start together join
  /// together as well, and the tensor core waits for both: 128x192 took 700 or 860 us for the same
  /// product, by where a load stood. Two blocks per group lose 2 % by it.
  static constexpr bool kTakesTurns =
      kG.groups == 2 && kG.blocks == 1 && (!kOverlaps || (kJoin == Join::one && kG.n == 128));
  /// Scales of columns per tile under Join::one: 192 columns are of two blocks of 128.
  static constexpr int kColumnBlocks = kG.n > 128 ? 2 : 1;
  static constexpr bool kLoadsBiasEarly = false;  // sums and leaves have the registers
  /// Whether the scales of a leaf arrive with its first stage, and share its barriers: each wait,
  /// arrival and load per leaf takes time. A thread reads them before it starts the stage. Those of
  /// a column each are read while the leaf joins, and those of whole lines behind all leaves: these
  /// have slots with barriers of their own, so that no stage is handed back late.
  static constexpr bool kStageScales = kJoin == Join::one;
  /// A slot: (kRowScales) scales of rows, then (kColumnScales) of columns, in whole chunks of 16
  /// bytes. A bulk copy begins at a chunk, up to three scales before the tile's first row.
  static constexpr int kRowScales = Base::kX + (kStageScales ? 4 : 0);
  static constexpr int kColumnScales = kJoin == Join::one ? kColumnBlocks : kG.n;
  static constexpr int kSlotBytes = 4 * kRowScales + (4 * kColumnScales + 15) / 16 * 16;
  static constexpr int kSlotRoom = kSlotBytes + (kStageScales ? 0 : 16);  ///< with two barriers
  static constexpr int staging(int boxes) { return kG.groups * boxes * Base::kBoxBytes; }
  /// Stages that fit beside so many slots and boxes of D.
  static constexpr int ring_stages(int slots, int boxes) {
    const int fixed = staging(boxes) + (kStageScales ? 0 : slots * kSlotRoom) + kReserved;
    const int per_stage = Base::kStageBytes + 16 + (kStageScales ? kSlotRoom : 0);
    const int fit = (sm90::kSharedBytes - kSharedAlignment - fixed) / per_stage;
    return fit < 16 ? fit : 16;
  }
  static constexpr int kMinSlots = kScaled ? 4 : 1;
  /// One box of D per group where the second would cost a stage: the ring is short, and L2 slow.
  /// Tiles of 128 columns under Join::one have a box for all that a group stores, at the cost of a
  /// stage: they took up to 5 % less, where those of 192 columns gained with short K alone.
  static constexpr int kBoxes = kJoin == Join::one && kG.groups == 2 && kG.n == 128 ? kG.blocks * 2
                                : ring_stages(kMinSlots, 1) > ring_stages(kMinSlots, 2) ? 1
                                                                                        : 2;
  static constexpr int boxes_of_tile(int slab) { return kG.blocks * ((kG.n + slab - 1) / slab); }
  /// Whether each tile begins with the first of its group's boxes.
  static constexpr bool kBeginsWithFirstBox =
      boxes_of_tile(Base::kDSlab) % kBoxes == 0 && boxes_of_tile(Base::kDSlabFp32) % kBoxes == 0;
  static constexpr int kGroupBoxes = kBoxes * Base::kBoxBytes;
  static constexpr int kStagingBytes = staging(kBoxes);
  /// Twice as many where they do not cost a stage, so that scales arrive early.
  static constexpr int kOwnSlots =
      ring_stages(2 * kMinSlots, kBoxes) == ring_stages(kMinSlots, kBoxes) ? 2 * kMinSlots
                                                                           : kMinSlots;
  static constexpr int kStages = ring_stages(kOwnSlots, kBoxes);
  static constexpr int kSlots = kStageScales ? kStages : kOwnSlots;
  static constexpr int kEpilogueBytes = kStagingBytes + kSlots * kSlotRoom;
  static constexpr int kSharedBytes =
      kStages * Base::kStageBytes + kEpilogueBytes + 16 * kStages + kSharedAlignment;

  /// Arrivals that hand back a slot: one per consumer warp, whose own loads have ended then.
  static constexpr int kWarps = 4 * kG.groups;
  /// And those that hand back a stage: one per consumer warp of the pair, since both of its CTAs
  /// write to the stages of both.
  static constexpr int kEmpty = kWarps * kG.cluster;

  static_assert(kG.depth == 1 && kG.cluster <= 2 && kG.ctas == 1 && kG.load == kG.x(),
                "A stage is a k block of whole tiles.");
  static_assert(kStages >= (kTogether == 2 ? 4 : 3),
                "Three stages hide latency; leaves in twos hold four.");
  static_assert(kTogether == 1 || kG.blocks == 1, "Leaves in twos have one block of rows.");
  static_assert(kSlotBytes % 16 == 0, "The barriers behind the slots are aligned to 8 bytes.");
};

}  // namespace detgemm::cuda::sm90
