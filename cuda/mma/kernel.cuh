// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <type_traits>
#include <utility>

#include "cuda/mma/corner.cuh"
#include "cuda/mma/epilogue.cuh"
#include "cuda/mma/leaves.cuh"
#include "cuda/mma/loader.cuh"
#include "cuda/mma/multiply.cuh"
#include "cuda/mma/whole.cuh"
#include "cuda/sm90/ptx/control.cuh"

// The kernel of every NVIDIA GPU since compute capability 8.0: cp.async, ldmatrix and mma.sync, no
// TMA and no wgmma. Every output is a chain of k in ascending order per leaf:
//
//   leaf = start -> [k 0..15] -> [k 16..31] -> ... -> [last k, zero-padded]      (multiply.cuh)
//   chain: start is +0 or fp32 C.   fold, tree: it is +0, and leaves join        (leaves.cuh)
//
// A CTA loads stages ahead of what it multiplies; one barrier per stage says both that the next
// stage is there and that the one before it may be written again:
//
//   stage     0 1 2 | 3         wait for 0, barrier, load 3, multiply 0
//               1 2 3 | 0       wait for 1, barrier, load 4 into 0, multiply 1
//
// The barrier is amid the products of a stage, when all of its fragments are on their way to
// registers, and copies begin among the products.
//
// Chains of small tiles have a loop and a ring of their own (whole.cuh).
//
// The ring goes on over the ends of leaves and of tiles. Nothing in this folder includes a test:
// the functions of ptx/ may be replaced by those of a host, which then runs this code
// (tests/cuda/mma).

namespace detgemm::cuda::mma {

/// Loads and multiplies the blocks of k of a CTA's tiles, one tile after the other. The ring goes
/// on over their ends (Params::goes_on): while sums of one are stored, blocks of the next are
/// loaded.
template <DType T, class Shape, bool kLeaves, bool kAlong>
class Pipeline {
  static constexpr Tile kTile = Shape::tile;
  static constexpr std::uint32_t kStage = kTile.stage_bytes();
  static constexpr std::uint32_t kRing = kTile.stages * kStage;
  static constexpr bool kApart = kTile.accumulators() < 128;
  using LoadA = Loader<T, kTile.m, kTile.k, kTile.threads(), kAlong, kApart>;
  using LoadB = Loader<T, kTile.n, kTile.k, kTile.threads(), kAlong, kApart>;
  static constexpr int kPieces = LoadA::kPieces + LoadB::kPieces;

 public:
  using Multiply = Multiplier<T, Shape, kAlong>;
  using Accumulators = typename Multiply::Accumulators;

  __device__ __forceinline__ Pipeline(const Params& p, std::uint32_t memory)
      : p_(p),
        memory_(memory),
        stage_(memory),
        to_(memory),
        next_(p),
        multiply_(p.a.way == Way::across, p.b.way == Way::across) {}

  /// The sums of a tile. Calls end_leaf() after the last block of each leaf.
  template <class EndLeaf>
  __device__ __forceinline__ void run(std::int64_t tile, Accumulators& acc, EndLeaf&& end_leaf) {
    if (!filled_) fill(tile);
    const int blocks = static_cast<int>(p_.pitch + 7) / 8;
    run_used<Multiply::kAcross>((blocks + kTile.warps_n - 1) / kTile.warps_n, acc, end_leaf);
  }

 private:
  /// Multiplies as many fragments of columns as count: at least half of those of a tile.
  template <int kUsed, class EndLeaf>
  __device__ __forceinline__ void run_used(int used, Accumulators& acc, EndLeaf& end_leaf) {
    if constexpr (!kLeaves && kAlong && kUsed > Multiply::kAcross / 2 && kUsed > 1) {
      if (used < kUsed) {
        run_used<kUsed - 1>(used, acc, end_leaf);
        return;
      }
    }
#pragma unroll 1
    for (Cursor<kLeaves> at(p_); !at.done(); at.advance(p_, kTile.k)) {
      begin_load();
      multiply_.template run<kUsed>(
          stage_, acc, [&](int i) { load_slot(i); }, [&] { return next_stage(); });
      end_load();
      if constexpr (kLeaves) {
        if (at.ends_leaf(kTile.k)) end_leaf();
      }
    }
  }
  /// Fills the ring, and reads the first fragments.
  __device__ __forceinline__ void fill(std::int64_t tile) {
    tile_ = tile;
    to_ = stage_;
    seat();
    ptx::wait_for_earlier_work();
#pragma unroll 1
    for (int i = 0; i < kTile.stages - 1; ++i) {
      begin_load();
#pragma unroll
      for (int at = 0; at < Multiply::kSlots; ++at) load_slot(at);
      end_load();
    }
    ptx::cp_async_wait_group<kTile.stages - 2>();
    __syncthreads();
    multiply_.begin(stage_);
    filled_ = p_.goes_on;
  }
  /// Goes to the first block of the tile to load.
  __device__ __forceinline__ void seat() {
    const Corner<Shape> corner(p_, tile_);
    a_.seat(p_.a, corner.row, p_.a.lines);
    b_.seat(p_.b, corner.col, corner.end);
    next_ = Cursor<kLeaves>(p_);
  }
  __device__ __forceinline__ static std::uint32_t after(std::uint32_t stage, std::uint32_t memory) {
    return stage + kStage == memory + kRing ? memory : stage + kStage;
  }
  /// Waits for the stage that is multiplied next. The group that is being filled does not count.
  __device__ __forceinline__ std::uint32_t next_stage() {
    stage_ = after(stage_, memory_);
    ptx::cp_async_wait_group<kTile.stages - 3>();
    __syncthreads();
    return stage_;
  }
  /// Starts to load the next block, if there is one; a group of copies either way. What is no whole
  /// block is loaded here, whole blocks in the slots among the products.
  __device__ __forceinline__ void begin_load() {
    if (next_.done() && p_.goes_on) {
      tile_ += gridDim.x;
      if (tile_ < p_.tiles_m * p_.tiles_n) seat();
    }
    const bool slow = !kAlong && (p_.a.way == Way::any || p_.b.way == Way::any);
    const int count = next_.done() ? 0 : next_.count(p_, kTile.k);
    const bool whole = count == kTile.k && !slow;
    const std::uint32_t to_b = to_ + 2 * kTile.k * kTile.m;
    if (!whole && count > 0) {
      a_.load_part(p_.a, to_, count);
      b_.load_part(p_.b, to_b, count);
    }
    a_.begin(whole, to_);
    b_.begin(whole, to_b);
  }
  /// Pieces are copied in pairs.
  __device__ __forceinline__ void load_slot(int slot) {
    load_pieces(slot, std::make_integer_sequence<int, kPieces>());
  }
  template <int... i>
  __device__ __forceinline__ void load_pieces(int slot, std::integer_sequence<int, i...>) {
    (load_piece<i>(slot), ...);
  }
  template <int i>
  __device__ __forceinline__ void load_piece(int slot) {
    if (i / 2 * 2 * Multiply::kSlots / kPieces != slot) return;
    if constexpr (i < LoadA::kPieces) {
      a_.template load<i>(p_.a);
    } else {
      b_.template load<i - LoadA::kPieces>(p_.b);
    }
  }
  __device__ __forceinline__ void end_load() {
    next_.advance(p_, kTile.k);
    to_ = after(to_, memory_);
    ptx::cp_async_commit_group();
  }

  const Params& p_;
  const std::uint32_t memory_;
  std::uint32_t stage_, to_;  ///< multiplied, and loaded next
  bool filled_ = false;
  std::int64_t tile_ = 0;  ///< of the block that is loaded next
  Cursor<kLeaves> next_;
  LoadA a_;
  LoadB b_;
  Multiply multiply_;
};

/// All tiles of one CTA. `memory` is the address of Tile::ring_bytes of shared memory. A chain of a
/// kernel without leaves is its only leaf. kAlong: both operands are Way::along.
template <DType T, class Shape, bool kLeaves, bool kAlong>
__device__ __forceinline__ void compute_tiles(const Params& p, std::uint32_t memory) {
  const auto clear = [](auto& sums) {
#pragma unroll
    for (int i = 0; i < Shape::tile.accumulators(); ++i) (&sums[0][0][0])[i] = 0.0F;
  };
  using Work = std::conditional_t<!kLeaves && kAlong && Shape::tile.is_small(),
                                  WholePipeline<T, Shape>, Pipeline<T, Shape, kLeaves, kAlong>>;
  Work work(p, memory);
#pragma unroll 1
  for (std::int64_t tile = blockIdx.x; tile < p.tiles_m * p.tiles_n; tile += gridDim.x) {
    typename Work::Accumulators acc;
    clear(acc);
    if (p.g.continue_from_c) {
      ptx::wait_for_earlier_work();
      const Corner<Shape> corner(p, tile);
      Epilogue<Shape>(p, memory, corner.row, corner.col, corner.end).load_start(acc);
      __syncthreads();  // the ring is free for stages
    }
    if constexpr (kLeaves) {
      typename Work::Accumulators leaf;
      Reducer<Shape> reducer(p);
      clear(leaf);
      work.run(tile, leaf, [&] {
        reducer.add(&leaf[0][0][0], &acc[0][0][0]);
        clear(leaf);
      });
    } else {
      work.run(tile, acc, [] {});
    }
    const Corner<Shape> corner(p, tile);
    const Epilogue<Shape> ends(p, memory, corner.row, corner.col, corner.end);
    if (p.plain) {
      ends.store_rounded(acc);
    } else {
      __syncthreads();  // the ring is free for the epilogue
      ends.store(acc);
    }
    if (!p.goes_on) __syncthreads();  // and for the next tile
  }
}

}  // namespace detgemm::cuda::mma
