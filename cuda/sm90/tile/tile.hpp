// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda.h>

#include "core/contract/gemm_arguments.hpp"
#include "cuda/sm90/tile/geometry.hpp"
#include "cuda/sm90/tile/raster.hpp"
#include "cuda/sm90/tile/swizzle.hpp"
#include "detgemm/types.hpp"

namespace detgemm::cuda::sm90 {

inline constexpr int kBlockK = 64;  ///< k of a K-major row in shared memory: one span, 128 bytes

/// Whether an activation is more than one operation of registers.
constexpr bool takes_chunks(Activation activation) {
  return activation != Activation::none && activation != Activation::relu;
}
/// Whether outputs can leave through TMA after an activation.
constexpr bool suits_chunks(Activation activation, DType output) {
  return !takes_chunks(activation) || output != DType::fp32;
}

/// The tensor maps with which a wgmma kernel is launched. `d` is used where TMA stores D, and `c`
/// where TMA brings C.
struct LaunchMaps {
  CUtensorMap x, y, d, c;
};

/// C as stages of the ring (CSlabs), which the producer fills after the last k block of a tile, or
/// before the first one where the chains start from C.
struct RingC {
  int stages = 0;             ///< per tile; 0: C is not loaded this way
  int slab_bytes = 0;         ///< that TMA brings per slab
  bool x_contiguous = false;  ///< C's neighbours along x are side by side, else those along y
  bool is_16 = false;         ///< elements of 16 bits, else of 32
  bool copied = false;        ///< by the consumers: TMA does not take this C
};

/// The shape of a launch as its kernel sees it.
struct LaunchShape {
  Raster raster;
  int x_rows = 0, y_rows = 0;
  int k_blocks = 0;  ///< blocks of kBlockK; the last one is padded with zeros
  /// No tile begins behind this row, so that the last tile ends where the operand ends and TMA is
  /// given no row that does not exist, which takes longer than one that does. The last tile
  /// then shares outputs with its neighbour, and both store the same bits. INT_MAX where an output
  /// may not be stored twice.
  int x_last = 0, y_last = 0;
  /// Bytes per stage: fewer than the stage has room for where the operand has fewer rows than a
  /// tile.
  int x_stage_bytes = 0, y_stage_bytes = 0;
  /// One box of three dimensions brings the k blocks of a stage; otherwise each has a box.
  bool x_one_box = false, y_one_box = false;
  bool x_stable = false, y_stable = false;
  bool d_x_contiguous = false, d_y_contiguous = false;
  bool swapped = false;
  DType output = DType::bf16;
  RingC c;
  /// Whether anything but rounding is done to the accumulators, in registers.
  bool in_registers = false;
  bool finishes = false;
  /// D leaves through TMA. Else it passes through shared memory again, for what registers do
  /// not do: activations of fp32 outputs, a C that TMA does not bring, and a D that TMA does not
  /// take.
  bool d_by_tma = false;
};

/// How results leave a kernel.
enum class Form {
  plain,    ///< through TMA
  general,  ///< through ordinary stores, to any address and after any epilogue
  from_c,   ///< realigning kernels alone: general, and chains start from fp32 C (`continue`)
};

/// How a leaf joins the sum of a kernel of e4m3.
enum class Join {
  add,      ///< fold: sum + leaf. A chain is the fold of its only leaf.
  one,      ///< scaled, where 128 columns of a tile share their scale: fma(s[row], leaf, sum)
  columns,  ///< scaled, where each column has its own: fma(s[row] * s[column], leaf, sum)
};
inline constexpr int kJoins = 3;

/// A wgmma kernel at compile time. kWideBoxes: D leaves in boxes of d_slab() columns, else in
/// pieces that cut the tile evenly. Kernels of folds, trees and e4m3 have pieces: wide ones were
/// not tried.
template <DType kT, Geometry kG, bool kXMnT, bool kYMnT, bool kWideBoxes = true>
struct Tile {
  static constexpr DType kInput = kT;
  static constexpr Geometry kGeometry = kG;
  static constexpr int kGroups = kG.groups, kBlocks = kG.blocks, kN = kG.n, kDepth = kG.depth;
  static constexpr int kCtas = kG.ctas, kCluster = kG.cluster;
  static constexpr bool kSharesX = kG.shares_x;
  static constexpr bool kXMn = kXMnT, kYMn = kYMnT;
  /// Columns of one instruction. ptxas gives each of 512 threads 128 registers at first and then
  /// refuses an instruction with 104 accumulators (C7602), so two instructions take half each.
  static constexpr int kStepN = kGroups == 3 && kN > 192 ? kN / 2 : kN;

  /// Groups that take tiles in turn have a whole tile each; else they share one.
  static constexpr int kTurns = kG.turns;
  static constexpr int kReaders = kGroups / kTurns * kCluster;  ///< groups that read a stage
  static constexpr int kX = kG.x();
  /// The tensor core reads 64 rows, whatever was loaded. What is past the loaded rows makes
  /// rows of the tile that do not exist in the problem and are never stored.
  static constexpr int kXLoad = kG.load;
  static constexpr int kXBytes = kXLoad * kSpanBytes;  ///< one k block
  static constexpr int kYBytes = kG.stage_bytes(kYMn) / kDepth - kXBytes;
  static constexpr int kStageBytes = kG.stage_bytes(kYMn);
  static constexpr int kThreads = 128 * (kGroups + 1);
  /// Registers per thread, where groups share out the 65536 of a multiprocessor.
  static constexpr int kConsumerRegisters = kGroups == 3 ? 160 : kBlocks * kN > 256 ? 240 : 232;
  static constexpr int kProducerRegisters = kGroups == 3 ? 32 : kBlocks * kN > 256 ? 24 : 40;

  /// Whether the bias of a tile waits in registers while its chains run.
  static constexpr bool kLoadsBiasEarly = kBlocks * kN <= 256;

  static constexpr int kSlab = kG.slab(), kSlabFp32 = kG.fp32_slab();  ///< of C
  static constexpr int kActivatedSlab = kG.activated_slab();           ///< of D after an activation
  static constexpr int kDSlab = kWideBoxes ? kG.d_slab() : kG.slab();  ///< of D
  static constexpr int kDSlabFp32 = kWideBoxes ? kG.d_fp32_slab() : kG.fp32_slab();
  static constexpr int kBoxBytes =
      128 * kDSlab > 256 * kDSlabFp32 ? 128 * kDSlab : 256 * kDSlabFp32;
  static constexpr int kBoxes = 2;  ///< of D, per group
  static constexpr int kEpilogueBytes = kGroups * kBoxes * kBoxBytes;
  static constexpr int kGroupBoxes = kBoxes * kBoxBytes;  ///< from a group's boxes to the next's
  static constexpr int kStages = kG.stages(kYMn, kEpilogueBytes);
  /// Stages by which the second group runs behind the first, where the ring can spare them: the
  /// rest of the ring hides the latency of L2.
  static constexpr int kLag = kStages >= 6 && kTurns == 1 ? 2 : 0;
  static constexpr int kSharedBytes =
      kStages * kStageBytes + kEpilogueBytes + 16 * kStages + kSharedAlignment;

  static_assert(kN % 8 == 0 && kN <= 256, "The N of a wgmma is a multiple of 8, at most 256.");
  static_assert(kStepN == kN || (!kYMn && kStepN % 8 == 0 && kN % kStepN == 0),
                "The columns of a second instruction begin at a row of the swizzle's pattern.");
  static_assert(kStages >= 3, "The ring hides latency with at least three stages.");
  static_assert(kG.takes_mn_major() || (!kXMn && !kYMn),
                "An MN-major operand needs whole slabs of 64 rows and one k block per stage.");
  static_assert(
      kXLoad == kX || kStageBytes + kEpilogueBytes >= kDepth * kXBytes + kSlabBytes,
      "Where fewer than 64 rows are loaded, the slab that the tensor core reads must still "
      "end inside the CTA's shared memory.");
};

}  // namespace detgemm::cuda::sm90
