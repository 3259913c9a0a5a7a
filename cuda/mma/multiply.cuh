// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/mma/tile.hpp"
#include "cuda/sm90/ptx/mma.cuh"
#include "detgemm/types.hpp"

namespace detgemm::cuda::mma {

namespace ptx = sm90::ptx;

/// One stage multiplied by the tensor cores, 16 products of every output per instruction:
///
///   acc -> [k 0..15] -> [k 16..31] -> ...                     9.0, 10.0, 12.0: a step of 16 each
///   acc -> [k 0..7] -> [k 8..15] -> [k 16..23] -> ...         8.x: two steps of 8 each
///
/// The instruction is the same, mma.sync.m16n8k16; the device decides which function it computes,
/// and so which contract a device can have. The fragments of the next 16, or of some more steps,
/// are on their way to registers while these are multiplied, over the ends of stages too.
template <DType T, class Shape, bool kAlong>
struct Multiplier {
  static constexpr Tile kTile = Shape::tile;
  static constexpr int kDown = kTile.warp_m() / 16;   // fragments of 16 rows
  static constexpr int kAcross = kTile.warp_n() / 8;  // fragments of 8 columns
  static constexpr int kSteps = kTile.k / 16;
  /// Steps that fragments are ahead, and sets of them: more where they take few registers, since
  /// products of few outputs take less time than a load.
  static constexpr int kAhead = 4 * kDown + 2 * kAcross > 16 || kSteps < 4 ? 1 : kSteps < 8 ? 2 : 3;
  static constexpr int kSets = kAhead == 1 ? 2 : 4;
  static_assert(kSteps % kSets == 0, "A stage begins with the first set.");
  using Accumulators = float[kDown][kAcross][4];

  struct Fragments {
    std::uint32_t a[kDown][4];
    std::uint32_t b[kAcross / 2][4];  // two fragments of 8 columns each
  };

  /// Where this lane reads an operand: kLines lines of a stage, of which the warp has those from
  /// `first` on.
  ///
  ///   along k    lines are rows of the stage: the next 16 lines are rows below, the next step is
  ///              two chunks to the right, which the swizzle makes an exclusive or
  ///   across k   the other way round
  ///
  /// Lines in blocks of 8 are kApart blocks from one to the next of a warp.
  template <int kLines, int kApart>
  struct Place {
    static constexpr int kWidth = kTile.k / 8;   // chunks per row, along k
    static constexpr int kDownRow = kLines / 8;  // across k
    bool across;
    std::uint32_t base;

    /// `line_half` and `k_half` say which of the four matrices of 8 x 8 the lane has a row of.
    __device__ __forceinline__ Place(bool is_across, int first, int line_half, int k_half)
        : across(!kAlong && is_across) {
      const int row = static_cast<int>(threadIdx.x) % 8;
      const int chunk = across
                            ? swizzled(k_half * 8 + row, first / 8 + line_half * kApart, kDownRow)
                            : swizzled(first + line_half * 8 * kApart + row, k_half, kWidth);
      base = static_cast<std::uint32_t>(chunk) * 16;
    }
    /// Reads the fragments of all lines for a step of 16 products. One branch for all of them: an
    /// instruction under a predicate would wait for the one before that has the same registers.
    template <int kUsed, int kCount>
    __device__ __forceinline__ void load(std::uint32_t stage, int step,
                                         std::uint32_t (&f)[kCount][4]) const {
      const std::uint32_t from = stage + base;
      if (!kAlong && across) {
#pragma unroll
        for (int i = 0; i < kUsed; ++i) {
          ptx::ldmatrix_x4<true>(f[i], (from ^ part(i * kApart)) + down(step * kDownRow));
        }
      } else {
#pragma unroll
        for (int i = 0; i < kUsed; ++i) {
          const std::uint32_t at =
              kTile.is_small() ? stage + (base ^ part(step)) : from ^ part(step);
          ptx::ldmatrix_x4<false>(f[i], at + down(i * kApart * kWidth));
        }
      }
    }

   private:
    static __device__ __forceinline__ std::uint32_t part(int right) {
      return static_cast<std::uint32_t>(right) * 32;
    }
    static __device__ __forceinline__ std::uint32_t down(int chunks) {
      return static_cast<std::uint32_t>(chunks) * 256;
    }
  };

  Place<kTile.m, 1> a;
  Place<kTile.n, kTile.warps_n> b;

  __device__ __forceinline__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }
  __device__ __forceinline__ static int warp() { return static_cast<int>(threadIdx.x) / 32; }

  // Matrices 0 to 3 of ldmatrix: of A lines first, then k; of B k first, then lines.
  __device__ __forceinline__ Multiplier(bool a_across, bool b_across)
      : a(a_across, warp() / kTile.warps_n * kTile.warp_m(), lane() / 8 % 2, lane() / 16),
        b(b_across, warp() % kTile.warps_n * 8, lane() / 16, lane() / 8 % 2) {}

  /// kUsed: fragments of 8 columns that a warp multiplies. Where tiles are fewer columns apart than
  /// they are wide, each warp has its share of those that count:
  ///
  ///   128 columns, 72 of them used, two warps:   0 1 0 1 0 1 0 1 0 - - - - - - -
  template <int kUsed>
  __device__ __forceinline__ void load(std::uint32_t stage, int step, Fragments& f) const {
    a.template load<kDown>(stage, step, f.a);
    b.template load<(kUsed + 1) / 2>(stage + 2 * kTile.k * kTile.m, step, f.b);
  }

  /// Fragments [kFrom, kTo) of 16 rows; a slot follows each.
  template <int kUsed, int kFrom, int kTo, class Slot>
  static __device__ __forceinline__ void multiply(const Fragments& f, Accumulators& acc, int step,
                                                  Slot&& slot) {
#pragma unroll
    for (int i = kFrom; i < kTo; ++i) {
#pragma unroll
      for (int j = 0; j < kUsed; ++j) {
        const std::uint32_t columns[2] = {f.b[j / 2][j % 2 * 2], f.b[j / 2][j % 2 * 2 + 1]};
        if constexpr (T == DType::tf32) {
          ptx::mma_m16n8k8_tf32(acc[i][j], f.a[i], columns);
        } else {
          ptx::mma_m16n8k16<T>(acc[i][j], f.a[i], columns);
        }
      }
      slot(step * kDown + i);
    }
  }

  /// Places among the products of a stage where a copy may begin: slot(0), slot(1), ... A burst of
  /// copies would keep the loads of fragments waiting behind it.
  static constexpr int kSlots = kSteps * kDown;
  /// WholePipeline: the copies of a stage begin at slot kNext of one run and end before it in the
  /// next one. They are among the products of every second step: ptxas puts three idle instructions
  /// before a copy that follows a load of fragments.
  static constexpr int kNext = (kSteps - kAhead) * kDown + kDown / 2;
  static constexpr int slot_of(int piece, int pieces) {
    constexpr int kGroups = (kSteps + 1) / 2;
    constexpr int kFirst = (kNext + kDown - 1) / kDown * kDown;
    const int place = piece * kGroups * kDown / pieces;
    return (kFirst + place / kDown * 2 * kDown + place % kDown) % kSlots;
  }

  /// Multiplies a stage, kAhead steps behind the fragments. `next()` is called when all fragments
  /// of the stage are on their way: it returns the stage behind this one, which is there then.
  ///
  ///   load 1, multiply 0 | load 2, multiply 1 | .. | half of the last, next, load its 0, the rest
  template <int kUsed = kAcross, class Slot, class Next>
  __device__ __forceinline__ void run(std::uint32_t stage, Accumulators& acc, Slot&& slot,
                                      Next&& next) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      Fragments& now = f_[step % kSets];
      Fragments& later = f_[(step + kAhead) % kSets];
      if (step + kAhead == kSteps) {
        multiply<kUsed, 0, kDown / 2>(now, acc, step, slot);
        stage = next();
        load<kUsed>(stage, 0, later);
        multiply<kUsed, kDown / 2, kDown>(now, acc, step, slot);
      } else {
        load<kUsed>(stage, (step + kAhead) % kSteps, later);
        multiply<kUsed, 0, kDown>(now, acc, step, slot);
      }
    }
  }
  /// The fragments with which run() begins.
  __device__ __forceinline__ void begin(std::uint32_t stage) {
#pragma unroll
    for (int step = 0; step < kAhead; ++step) load<kAcross>(stage, step, f_[step]);
  }

 private:
  Fragments f_[kSets];
};

}  // namespace detgemm::cuda::mma
