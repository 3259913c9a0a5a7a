// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/leaves/geometry.hpp"
#include "cuda/sm90/leaves/shape.hpp"
#include "cuda/sm90/tile/tile.hpp"

namespace detgemm::cuda::sm90 {

/// Threads of a warp group that hold rows of X which were loaded: 16 rows per warp.
constexpr int holding_threads(const Geometry& g) {
  return g.load < 64 ? (g.load + 15) / 16 * 32 : 128;
}

/// Bytes of one sum of a tile: its fp32 accumulators without the rows that were not loaded.
constexpr int slot_bytes(const Geometry& g) {
  return g.groups * g.blocks * (g.n / 8) * holding_threads(g) * 16;
}

/// How the leaves of a part follow each other. orders.cuh draws all three.
enum class Order {
  overlapped,  ///< a leaf is added while the next one runs: two leaves in registers
  runs,        ///< subtrees of up to 7 leaves, from right to left: two leaves in registers
  sequential,  ///< a leaf is added when its last step has ended: one leaf in registers
};

/// What a thread's registers hold: the leaves that `order` needs, and `sums` sums.
struct Registers {
  Order order;
  int sums;
};
/// `deep` stands for trees of more than two leaves per part. A set is the accumulators of a tile:
/// five sets of 64 x 64 fit, or three of 64 x 128, or two of 64 x 192 (32, 64 and 96 registers per
/// thread).
constexpr Registers registers_of(const Geometry& g, bool deep) {
  const int n = g.blocks * g.n;
  if (n <= 64) return {Order::overlapped, 3};
  if (n <= 128 && deep) return {Order::runs, 1};
  return n <= 128 ? Registers{Order::overlapped, 1} : Registers{Order::sequential, 1};
}
/// Whether `deep` makes a difference.
constexpr bool has_deep(const Geometry& g) { return g.blocks * g.n > 64 && g.blocks * g.n <= 128; }

/// Whether parts that meet in the workspace may be more than CTAs run at once. Elsewhere a part
/// that changes from tile to tile would cost 128x128 a spill, and trees of two leaves per part gain
/// little.
constexpr bool takes_rounds(const Geometry& g, bool deep) {
  return deep && has_deep(g) && g.cluster == 1;
}

/// Whether folds that one CTA per tile adds up from +0 have a kernel of their own (fold.cuh). With
/// fewer columns memory binds.
constexpr bool has_fold(const Geometry& g) {
  return g.load == g.x() && g.depth == 1 && g.ctas == 1 && g.blocks * g.n >= 64;
}

/// Whether that kernel exists for folds that start from fp32 C too. They are sums of gradients:
/// both operands run across k, and there are outputs in plenty for large tiles.
constexpr bool has_fold_from_c(const Geometry& g, bool x_mn, bool y_mn) {
  return has_fold(g) && g.groups == 2 && g.n >= 128 && x_mn && y_mn;
}

/// Whether trees of more than two leaves that one CTA per tile adds up have a kernel of their own
/// (tree.cuh): tiles too wide for a third set of registers. Their sums wait in shared memory, and
/// those of many leaves in the workspace.
constexpr bool has_tree(const Geometry& g) {
  return has_fold(g) && g.groups == 2 && g.blocks == 1 && g.n > 128;
}

/// Slots in shared memory, for parts that arrive and sums that wait: 7, 3, 1 or none, as many as
/// 64 KB hold. A large tile has a use for one only where sums wait.
constexpr int shared_slots(const Geometry& g, bool deep) {
  if (slot_bytes(g) > 32 * 1024 && !deep) return 0;
  for (const int slots : {7, 3, 1}) {
    if (slots * slot_bytes(g) <= 64 * 1024) return slots;
  }
  return 0;
}

/// Whether a kernel can take fp32 C through the boxes of D, where each warp has a piece for its 16
/// rows. With a 16-bit D the pieces of C and of D are the same bytes only if slabs are 64 wide.
/// Tiles of 64 columns have sums of three levels in registers, and C between their stages cost
/// trees 6 to 27 %.
constexpr bool takes_c_by_tma(const Geometry& g, DType output) {
  return g.groups == 2 && g.n > 64 && (output == DType::fp32 || g.slab() == 64);
}

/// Boxes of D per group: four where no stage of the ring has to make room for two of them, else
/// two.
constexpr int boxes_of(const Geometry& g, bool y_mn, int box_bytes, int slots_bytes) {
  const auto stages = [&](int boxes) {
    return g.stages(y_mn, g.groups * boxes * (box_bytes + 32) + slots_bytes + 16);
  };
  return g.groups == 2 && stages(4) == stages(2) ? 4 : 2;
}

/// A kernel of leaves at compile time: a Tile whose ring is smaller by what the slots need.
template <DType kT, Geometry kG, bool kXMnT, bool kYMnT, bool kDeep>
struct LeafTile : Tile<kT, kG, kXMnT, kYMnT, false> {
  using Base = Tile<kT, kG, kXMnT, kYMnT, false>;
  static constexpr int kHolding = holding_threads(kG);
  static constexpr int kSlotBytes = slot_bytes(kG);
  static constexpr int kSlots = shared_slots(kG, kDeep);
  static constexpr Registers kRegisters = registers_of(kG, kDeep);
  static constexpr bool kLoadsBiasEarly = false;  // sums and leaves have the registers
  static constexpr int kSums = kRegisters.sums;
  /// Whether the last leaf is taken first.
  static constexpr bool kFromTheRight = kRegisters.order == Order::runs;
  /// Whether a CTA may have several parts of tiles.
  static constexpr bool kTakesRounds = takes_rounds(kG, kDeep);
  /// Whether sums may have to wait outside of registers; the sum of a fold never does.
  static constexpr bool kWaits = kDeep || !has_deep(kG);
  /// Whether boxes of D are where sums wait: none waits when D is stored, and the ring gains a
  /// stage.
  static constexpr bool kBoxesInSlot = kDeep && kG.groups == 2;
  static constexpr int kSlotsBytes = kSlots * kSlotBytes;
  static constexpr int kBoxes = boxes_of(kG, kYMnT, Base::kBoxBytes, kSlotsBytes);
  static constexpr int kGroupBoxes =
      kBoxesInSlot ? kSlotBytes / kG.groups : kBoxes * Base::kBoxBytes;
  static constexpr int kStagingBytes = kBoxesInSlot ? 0 : kG.groups * kGroupBoxes;
  /// Whether a fold's C is loaded through the boxes of D while the first leaf runs.
  static constexpr bool kLoadsC = takes_c_by_tma(kG, DType::fp32) && !kDeep;
  /// The epilogue's staging, the slots, the barrier on which parts arrive with the word behind it,
  /// and the barriers of C.
  static constexpr int kEpilogueBytes =
      kStagingBytes + kSlotsBytes + 16 + (kLoadsC ? kG.groups * 4 * kBoxes * 8 : 0);
  /// Two sets of 96 registers and what C needs take all that the producer can do without.
  static constexpr bool kTakesMost = kG.groups < 3 && kG.blocks * kG.n > 128;
  static constexpr int kConsumerRegisters = kTakesMost ? 240 : Base::kConsumerRegisters;
  static constexpr int kProducerRegisters = kTakesMost ? 24 : Base::kProducerRegisters;
  static constexpr int kStages = kG.stages(kYMnT, kEpilogueBytes);
  static constexpr int kSharedBytes =
      kStages * Base::kStageBytes + kEpilogueBytes + 16 * kStages + kSharedAlignment;

  static_assert(kG.ctas == 1, "A kernel of leaves takes all registers of a multiprocessor.");
  static_assert(kStages >= 3, "The ring hides latency with at least three stages.");
  static_assert(kSlotBytes % 16 == 0 && kStagingBytes % 16 == 0,
                "Slots and the barriers after them are accessed in pieces of 16 bytes.");
  static_assert(!kBoxesInSlot || (kSlots == 1 && kGroupBoxes >= kBoxes * Base::kBoxBytes),
                "The boxes of D of all groups fit into the one slot where a sum waited.");
  static_assert(!kBoxesInSlot || kGroupBoxes % kSharedAlignment == 0,
                "A box of D begins where the pattern of the 128-byte swizzle does.");
};

/// A kernel of folds at compile time, from +0 or from C.
template <DType kT, Geometry kG, bool kXMnT, bool kYMnT, bool kFromCT = false>
struct FoldTile : Tile<kT, kG, kXMnT, kYMnT, false> {
  using Base = Tile<kT, kG, kXMnT, kYMnT, false>;
  static constexpr bool kFromC = kFromCT;
  static constexpr bool kLoadsBiasEarly = false;  // sums and leaves have the registers
  /// Whether a leaf is added while the next one runs: registers hold two leaves beside the sum.
  static constexpr bool kOverlaps = kG.blocks * kG.n <= 128;
  static constexpr bool kTakesTurns = !kOverlaps && kG.groups == 2;
  static constexpr int kConsumerRegisters = kOverlaps ? Base::kConsumerRegisters : 240;
  static constexpr int kProducerRegisters = kOverlaps ? Base::kProducerRegisters : 24;

  static_assert(kOverlaps || kG.groups < 3, "Three groups share out the registers evenly.");
  static_assert(kFromC ? has_fold_from_c(kG, kXMnT, kYMnT) : has_fold(kG),
                "A stage is a k block of whole tiles.");
};

/// A kernel of trees at compile time.
///
///   | stages | slot of group 0 | slot of group 1 | a barrier per group | full | empty |
template <DType kT, Geometry kG, bool kXMnT, bool kYMnT>
struct TreeTile : Tile<kT, kG, kXMnT, kYMnT, false> {
  using Base = Tile<kT, kG, kXMnT, kYMnT, false>;
  static constexpr bool kLoadsBiasEarly = false;  // sums and leaves have the registers
  static constexpr int kHolding = 128;
  static constexpr bool kTakesTurns = true;
  static constexpr int kSlotBytes = slot_bytes(kG);
  /// Boxes of D are where a sum waits: none does when D is stored.
  static constexpr int kGroupBoxes = kSlotBytes / kG.groups;
  static constexpr int kEpilogueBytes = kSlotBytes + 16;
  static constexpr int kConsumerRegisters = 240;
  static constexpr int kProducerRegisters = 24;
  static constexpr int kStages = kG.stages(kYMnT, kEpilogueBytes);
  static constexpr int kSharedBytes =
      kStages * Base::kStageBytes + kEpilogueBytes + 16 * kStages + kSharedAlignment;

  static_assert(has_tree(kG), "A leaf and a sum are in registers, and a stage is a k block.");
  static_assert(kStages >= 3, "The ring hides latency with at least three stages.");
  static_assert(kGroupBoxes >= Base::kBoxes * Base::kBoxBytes &&
                    kGroupBoxes % kSharedAlignment == 0,
                "The boxes of D of a group fit into its slot, and begin where the pattern of the "
                "128-byte swizzle does.");
};

}  // namespace detgemm::cuda::sm90
