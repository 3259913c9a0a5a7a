// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <utility>

#include "cuda/mma/along.cuh"
#include "cuda/mma/corner.cuh"
#include "cuda/mma/loader.cuh"
#include "cuda/mma/multiply.cuh"
#include "cuda/sm90/ptx/control.cuh"

namespace detgemm::cuda::mma {

/// Pipeline of a chain whose operands run along k, for small tiles (Tile::is_small), which have few
/// products to wait behind: whole blocks are multiplied in a loop without branches, since a branch
/// waits for all fragments on their way. One barrier per stage, amid its products, says both that
/// the next stage is there and that all fragments of this one are in registers, so that it is
/// written again at once:
///
///   stage 0   multiply .. | wait for 1, barrier | .. multiply      copies of 3 | into 0: 4 ..
///   stage 1   multiply .. | wait for 2, barrier | .. multiply         ..  of 4 | into 1: 5 ..
template <DType T, class Shape>
class WholePipeline {
  static constexpr Tile kTile = Shape::tile;
  static constexpr std::uint32_t kStage = kTile.stage_bytes();
  static constexpr std::uint32_t kRing = kTile.stages * kStage;
  using LoadA = AlongLoader<kTile.m, kTile.k, kTile.threads()>;
  using LoadB = AlongLoader<kTile.n, kTile.k, kTile.threads()>;
  static constexpr int kPieces = LoadA::kPieces + LoadB::kPieces;

 public:
  using Multiply = Multiplier<T, Shape, true>;
  using Accumulators = typename Multiply::Accumulators;

  __device__ __forceinline__ WholePipeline(const Params& p, std::uint32_t memory)
      : p_(p), memory_(memory), stage_(memory), to_(memory), next_(p), multiply_(false, false) {}

  /// The sums of a tile, a chain.
  template <class EndLeaf>
  __device__ __forceinline__ void run(std::int64_t tile, Accumulators& acc, EndLeaf&&) {
    if (!filled_) fill(tile);
    Cursor<false> at(p_);
#pragma unroll 1
    while (!at.done()) {
      if (run_whole(at, acc)) continue;
      multiply_.run(
          stage_, acc, [&](int i) { load_slot(i); }, [&] { return next_stage<false>(); });
      at.advance(p_, kTile.k);
    }
  }

 private:
  /// Multiplies as many blocks as there are whole blocks to load for, or all where nothing is left
  /// to load, in a loop without branches; false where the next block to load is not whole.
  __device__ __forceinline__ bool run_whole(Cursor<false>& at, Accumulators& acc) {
    int loads = at.left;
    if (!next_.done()) {
      loads = next_.left - (p_.last < kTile.k ? 1 : 0);
    } else if (has_next_tile()) {
      return false;  // begin_load goes to it, when the copies of the last block have begun
    } else {
      a_.stop();
      b_.stop();
    }
    const int count = at.left < loads ? at.left : loads;
    if (count <= 0) return false;
    const int columns = static_cast<int>(p_.pitch + 7) / 8;
    run_used<Multiply::kAcross>((columns + kTile.warps_n - 1) / kTile.warps_n, count, acc);
    at.left -= count;
    next_.left -= count;
    return true;
  }
  /// Multiplies as many fragments of columns as are used: at least half of those of a tile.
  template <int kUsed>
  __device__ __forceinline__ void run_used(int used, int count, Accumulators& acc) {
    if constexpr (kUsed > Multiply::kAcross / 2 && kUsed > 1) {
      if (used < kUsed) {
        run_used<kUsed - 1>(used, count, acc);
        return;
      }
    }
#pragma unroll 1
    for (; count > 0; --count) {
      multiply_.template run<kUsed>(
          stage_, acc, [&](int i) { load_slot(i); }, [&] { return next_stage<true>(); });
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
      ptx::cp_async_commit_group();
    }
    begin_load();
#pragma unroll
    for (int at = Multiply::kNext; at < Multiply::kSlots; ++at) load_slot(at);
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
    next_ = Cursor<false>(p_);
  }
  /// Whether the ring goes on with another tile of this CTA.
  __device__ __forceinline__ bool has_next_tile() const {
    return p_.goes_on && tile_ + gridDim.x < p_.tiles_m * p_.tiles_n;
  }
  __device__ __forceinline__ static std::uint32_t after(std::uint32_t stage, std::uint32_t memory) {
    return stage + kStage == memory + kRing ? memory : stage + kStage;
  }
  /// The last copies of a block are on their way: waits for the stage that is multiplied next, and
  /// begins to load a block into the place of this one, of which all fragments have been read.
  /// kWhole: it is a whole block.
  template <bool kWhole>
  __device__ __forceinline__ std::uint32_t next_stage() {
    stage_ = after(stage_, memory_);
    ptx::cp_async_commit_group();
    ptx::cp_async_wait_group<kTile.stages - 2>();
    __syncthreads();
    if constexpr (kWhole) {
      begin_copies(true);
    } else {
      begin_load();
    }
    return stage_;
  }
  /// Starts to load the next block, if there is one. What is no whole block is loaded here, whole
  /// blocks in the slots among the products.
  __device__ __forceinline__ void begin_load() {
    if (next_.done() && has_next_tile()) {
      tile_ += gridDim.x;
      seat();
    }
    const int count = next_.done() ? 0 : next_.count(p_, kTile.k);
    const bool whole = count == kTile.k;
    const std::uint32_t to_b = to_ + 2 * kTile.k * kTile.m;
    if (!whole && count > 0) {
      a_.load_part(p_.a, to_, count);
      b_.load_part(p_.b, to_b, count);
    }
    begin_copies(whole);
    next_.advance(p_, kTile.k);
  }
  __device__ __forceinline__ void begin_copies(bool whole) {
    a_.begin(whole, to_);
    b_.begin(whole, to_ + 2 * kTile.k * kTile.m);
    to_ = after(to_, memory_);
  }
  /// The pieces of both operands, in turn, so that each operand's are spread over the stage.
  __device__ __forceinline__ void load_slot(int slot) {
    load_pieces(slot, std::make_integer_sequence<int, kPieces>());
  }
  template <int... i>
  __device__ __forceinline__ void load_pieces(int slot, std::integer_sequence<int, i...>) {
    (load_piece<i>(slot), ...);
  }
  template <int i>
  __device__ __forceinline__ void load_piece(int slot) {
    if (Multiply::slot_of(i, kPieces) != slot) return;
    constexpr int kA = LoadA::kPieces;
    // Of the first i pieces, i * kA / kPieces are A's.
    constexpr int kBefore = i * kA / kPieces;
    if constexpr ((i + 1) * kA / kPieces > kBefore) {
      a_.template load<kBefore>(p_.a);
    } else {
      b_.template load<i - kBefore>(p_.b);
    }
  }
  const Params& p_;
  const std::uint32_t memory_;
  std::uint32_t stage_, to_;  ///< multiplied, and loaded next
  bool filled_ = false;
  std::int64_t tile_ = 0;  ///< of the block that is loaded next
  Cursor<false> next_;
  LoadA a_;
  LoadB b_;
  Multiply multiply_;
};

}  // namespace detgemm::cuda::mma
