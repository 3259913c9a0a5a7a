// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/mma/epilogue.cuh"
#include "cuda/mma/leaves.cuh"
#include "cuda/mma/loader.cuh"
#include "cuda/mma/multiply.cuh"

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
// The barrier is amid the products of the last step of a stage, whose fragments are in registers
// then.
//
// The ring goes on over the ends of leaves. Nothing in this folder includes a test: the functions
// of ptx/ may be replaced by those of a host, which then runs this code (tests/cuda/mma).

namespace detgemm::cuda::mma {

/// Loads and multiplies the blocks of k of one tile.
template <DType T, class Shape, bool kLeaves, bool kAlong>
class Pipeline {
  static constexpr Tile kTile = Shape::tile;
  static constexpr std::uint32_t kStage = kTile.stage_bytes();
  static constexpr std::uint32_t kRing = kTile.stages * kStage;

 public:
  using Multiply = Multiplier<T, Shape, kAlong>;
  using Accumulators = typename Multiply::Accumulators;

  __device__ __forceinline__ Pipeline(const Params& p, std::uint32_t memory, std::int64_t row0,
                                      std::int64_t col0)
      : p_(p),
        memory_(memory),
        next_(p),
        a_(p.a, row0),
        b_(p.b, col0),
        multiply_(p.a.way == Way::across, p.b.way == Way::across) {}

  /// Calls end_leaf() after the last block of each leaf.
  template <class EndLeaf>
  __device__ __forceinline__ void run(Accumulators& acc, EndLeaf&& end_leaf) {
    // With the fragments of a whole stage in registers, its place in the ring is free.
    constexpr int kAhead = kTile.stages - (Multiply::kWholeStage ? 0 : 1);
#pragma unroll 1
    for (int i = 0; i < kAhead; ++i) load_next();
    std::uint32_t stage = memory_;
    ptx::cp_async_wait_group<kAhead - 1>();
    __syncthreads();
    multiply_.begin(stage);
    const auto next = [&] {
      stage = stage + kStage == memory_ + kRing ? memory_ : stage + kStage;
      ptx::cp_async_wait_group<kTile.stages - 2>();
      __syncthreads();
      return stage;
    };
#pragma unroll 1
    for (Cursor<kLeaves> at(p_); !at.done(); at.advance(p_, kTile.k)) {
      if constexpr (Multiply::kWholeStage) {
        next();
        load_next();
        multiply_.run_whole(stage, acc);
      } else {
        multiply_.run(
            stage, acc, [&] { load_next(); }, next);
      }
      if constexpr (kLeaves) {
        if (at.ends_leaf(kTile.k)) end_leaf();
      }
    }
  }

 private:
  /// Starts to load the next block, if there is one; a group of copies either way.
  __device__ __forceinline__ void load_next() {
    if (!next_.done()) {
      const std::uint32_t to = memory_ + next_stage_;
      const bool slow = !kAlong && (p_.a.way == Way::any || p_.b.way == Way::any);
      if (next_.left >= kTile.k && !slow) {
        a_.load(p_.a, to);
        b_.load(p_.b, to + 2 * kTile.k * kTile.m);
      } else {
        const int count = next_.left < kTile.k ? static_cast<int>(next_.left) : kTile.k;
        a_.load_part(p_.a, to, count);
        b_.load_part(p_.b, to + 2 * kTile.k * kTile.m, count);
      }
      next_.advance(p_, kTile.k);
      next_stage_ = next_stage_ + kStage == kRing ? 0 : next_stage_ + kStage;
    }
    ptx::cp_async_commit_group();
  }

  const Params& p_;
  const std::uint32_t memory_;
  Cursor<kLeaves> next_;
  std::uint32_t next_stage_ = 0;
  Loader<T, kTile.m, kTile.k, kTile.threads(), kAlong> a_;
  Loader<T, kTile.n, kTile.k, kTile.threads(), kAlong> b_;
  Multiply multiply_;
};

/// All tiles of one CTA. `memory` is the address of Tile::ring_bytes of shared memory. A chain of a
/// kernel without leaves is its only leaf. kAlong: both operands are Way::along.
template <DType T, class Shape, bool kLeaves, bool kAlong>
__device__ __forceinline__ void compute_tiles(const Params& p, std::uint32_t memory) {
  constexpr Tile kTile = Shape::tile;
  const auto clear = [](auto& sums) {
#pragma unroll
    for (int i = 0; i < Shape::tile.accumulators(); ++i) (&sums[0][0][0])[i] = 0.0F;
  };
  using Work = Pipeline<T, Shape, kLeaves, kAlong>;
#pragma unroll 1
  for (std::int64_t tile = blockIdx.x; tile < p.tiles_m * p.tiles_n; tile += gridDim.x) {
    // Stripes of `band` columns of tiles, so that tiles that run together share what L2 holds.
    const std::int64_t stripe = tile / (p.band * p.tiles_m);
    const std::int64_t first = stripe * p.band;
    const std::int64_t width = p.tiles_n - first < p.band ? p.tiles_n - first : p.band;
    const std::int64_t inside = tile - first * p.tiles_m;
    const std::int64_t row0 = inside / width * kTile.m;
    const std::int64_t col0 = (first + inside % width) * kTile.n;
    typename Work::Accumulators acc;
    const Epilogue<Shape> ends(p, memory, row0, col0);
    Work work(p, memory, row0, col0);
    clear(acc);
    if (p.g.continue_from_c) {
      ends.load_start(acc);
      __syncthreads();  // the ring is free for stages
    }
    if constexpr (kLeaves) {
      typename Work::Accumulators leaf;
      Reducer<Shape> reducer(p);
      clear(leaf);
      work.run(leaf, [&] {
        reducer.add(&leaf[0][0][0], &acc[0][0][0]);
        clear(leaf);
      });
    } else {
      work.run(acc, [] {});
    }
    __syncthreads();  // the ring is free for the epilogue
    ends.store(acc);
    __syncthreads();  // and for the next tile
  }
}

}  // namespace detgemm::cuda::mma
