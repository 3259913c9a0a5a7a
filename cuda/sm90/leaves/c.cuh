// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/epilogue/general.cuh"
#include "cuda/sm90/leaves/sums.cuh"

// A fold that starts from fp32 C: how C gets into the sum, before the first leaf or while it runs.

namespace detgemm::cuda::sm90 {

/// Brings into L2 the C from which a tile will start, long before it is read: one line per thread
/// and turn.
template <class T>
__device__ __forceinline__ void prefetch_c(const GemmArguments& g, const LaunchShape& shape,
                                           int tile_x, int tile_y) {
  constexpr int kLine = 32;  // floats
  const std::int64_t along_x = shape.swapped ? g.cs.col : g.cs.row;
  const std::int64_t along_y = shape.swapped ? g.cs.row : g.cs.col;
  const bool rows_run_along_y = along_y == 1;
  const int lines = (rows_run_along_y ? T::kN : T::kX) / kLine + 1;
  const int rows = rows_run_along_y ? T::kX : T::kN;
  const auto* c = static_cast<const float*>(g.c);
  std::uint32_t thread = threadIdx.x - 128;
  ptx::pin(thread);  // or its quotients are computed ahead of all tiles, and take their registers
  for (int i = static_cast<int>(thread); i < rows * lines; i += T::kGroups * 128) {
    const int x = x_of<T>(shape, tile_x) + (rows_run_along_y ? i / lines : i % lines * kLine);
    const int y = y_of<T>(shape, tile_y) + (rows_run_along_y ? i % lines * kLine : i / lines);
    if (x >= shape.x_rows || y >= shape.y_rows) continue;
    ptx::prefetch_global_l2(c + x * along_x + y * along_y);
  }
}

/// Starts a fold from fp32 C. Where neighbours along y are neighbours in memory, two of them are
/// one load, so that each 32-byte sector is requested once; start_from_c may not branch like this.
template <class T>
__device__ __forceinline__ void start_sum_from_c(const GemmArguments& g, const LaunchShape& shape,
                                                 int group, int x0, int y0, Accumulators<T>& sum) {
  const std::int64_t along_x = shape.swapped ? g.cs.col : g.cs.row;
  const std::int64_t along_y = shape.swapped ? g.cs.row : g.cs.col;
  const auto* c = static_cast<const float*>(g.c);
  const bool in_pairs = c_lies_in_pairs(c, along_x, along_y, y0, shape.y_rows);
  if (!in_pairs) {
    start_from_c<T>(g, shape, group, x0, y0, sum);
    return;
  }
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32 % 4;
#pragma unroll
  for (int i = 0; i < T::kBlocks; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int x = x0 + (group * T::kBlocks + i) * 64 + warp * 16 + half * 8 + lane / 4;
      const float* row = c + min(x, shape.x_rows - 1) * along_x;
#pragma unroll
      for (int j = 0; j < T::kN / 8; ++j) {
        const int y = min(y0 + j * 8 + lane % 4 * 2, shape.y_rows - 2);
        const float2 pair = *reinterpret_cast<const float2*>(row + y);
        sum[i][j * 4 + half * 2] = pair.x;
        sum[i][j * 4 + half * 2 + 1] = pair.y;
      }
    }
  }
}

/// C through TMA, where it is laid out as D is. A warp's 16 rows of a slab go into its own piece of
/// the boxes of D, which are free while the first leaf runs, and go from there into the sum. With
/// ordinary loads, 8 rows per instruction, a tile's C would keep the load pipe busy for longer than
/// its adds take.
///
///   tensor core | l0, some stages | some more           | some more                | ... | l1
///   C             D is stored       slabs 0 .. 3 arrive   into sum; 4 .. 7 arrive    into sum
///
/// The tile's `sum` has no value before the last round. A barrier completes an even number of
/// phases per tile, so that the parity to wait for is that of the round.
template <class T>
struct IncomingC {
  static constexpr int kSlab = T::kSlabFp32;
  static constexpr int kSlabs = T::kN / kSlab;
  static constexpr int kRounds = (kSlabs + T::kBoxes - 1) / T::kBoxes;
  static constexpr int kStagesPerRound = 3;
  static constexpr std::uint32_t kRowBytes = kSlab * 4;

  const CUtensorMap& map;
  Accumulators<T>& sum;
  std::uint32_t boxes;     ///< the group's
  std::uint32_t barriers;  ///< the warp's, one per box
  int x, y;                ///< first row and column of the warp
  bool on;                 ///< C is loaded this way

  __device__ __forceinline__ IncomingC(const LeafShared<T>& shared, const CUtensorMap& c,
                                       bool by_tma, int group, int x0, int y0,
                                       Accumulators<T>& tile_sum)
      : map(c), sum(tile_sum), boxes(shared.epilogue + group * T::kGroupBoxes) {
    const int warp = threadIdx.x / 32 % 4;
    barriers = shared.c_arrived + (group * 4 + warp) * T::kBoxes * 8;
    x = x0 + group * 64 + warp * 16;
    y = y0;
    on = T::kLoadsC && by_tma;
  }
  static __device__ __forceinline__ void init(const LeafShared<T>& shared) {
    if constexpr (T::kLoadsC) {
      for (int i = 0; i < T::kGroups * 4 * T::kBoxes; ++i) {
        ptx::mbarrier_init(shared.c_arrived + 8 * i, 1);
      }
    }
  }
  /// Brings the C of another tile, whose first row and column these are, into L2.
  __device__ __forceinline__ void prefetch(int x0, int y0) const {
    if (threadIdx.x % 32 >= kSlabs) return;
    const int lane = static_cast<int>(threadIdx.x % 32);
    ptx::tma_prefetch(&map, y0 + lane * kSlab, x0 + static_cast<int>(threadIdx.x - 128) / 32 * 16);
  }
  /// Requests the slabs of a round: boxes of (16 rows, kSlab).
  __device__ __forceinline__ void request(int round) {
    if (threadIdx.x % 32 == 0) {
      if (round == 0) ptx::tma_store_wait_read<0>();
#pragma unroll
      for (int b = 0; b < T::kBoxes; ++b) {
        const int slab = round * T::kBoxes + b;
        if (slab >= kSlabs) {
          ptx::mbarrier_arrive(barriers + 8 * b);
          continue;
        }
        ptx::mbarrier_arrive_expect_tx(barriers + 8 * b, 16 * kRowBytes);
        ptx::tma_load(boxes + b * T::kBoxBytes + threadIdx.x / 32 % 4 * 16 * kRowBytes, &map,
                      y + slab * kSlab, x, barriers + 8 * b);
      }
    }
    __syncwarp();
  }
  /// Moves the slabs of a round into the sum.
  __device__ __forceinline__ void receive(int round) {
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32 % 4;
#pragma unroll
    for (int b = 0; b < T::kBoxes; ++b) {
      const int slab = round * T::kBoxes + b;
      if (slab >= kSlabs) break;
      ptx::mbarrier_wait(barriers + 8 * b, round % 2);
#pragma unroll
      for (int j = 0; j < kSlab / 8; ++j) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const std::uint32_t from =
              swizzled<kRowBytes>(boxes + b * T::kBoxBytes, warp * 16 + half * 8 + lane / 4,
                                  j * 2 + lane % 4 / 2) +
              lane % 2 * 8;
          float* to = sum[0] + (slab * kSlab / 8 + j) * 4 + half * 2;
          const float2 pair = ptx::ld_shared_v2_f32(from);
          to[0] = pair.x;
          to[1] = pair.y;
        }
      }
    }
    // The boxes are free now. Without the fence TMA may write the C of the next round before these
    // loads, which wait in a queue of their own, have read that of this one. That was seen on an
    // H200.
    ptx::fence_proxy_async();
    __syncwarp();
    constexpr bool kOdd = kRounds % 2 != 0;
    if (kOdd && round == kRounds - 1 && lane == 0) {  // one phase more
#pragma unroll
      for (int b = 0; b < T::kBoxes; ++b) ptx::mbarrier_arrive(barriers + 8 * b);
    }
  }
};

}  // namespace detgemm::cuda::sm90
