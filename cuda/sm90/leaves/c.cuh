// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/epilogue/general.cuh"
#include "cuda/sm90/leaves/sums.cuh"

// A fold that starts from fp32 C: C on its way into the sum, before or under the first leaf.

namespace detgemm::cuda::sm90 {

/// Asks L2 for the C that a tile will start from, long before it is read: a line a thread and turn.
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
  for (int i = static_cast<int>(threadIdx.x) - 128; i < rows * lines; i += T::kGroups * 128) {
    const int x = tile_x * T::kX + (rows_run_along_y ? i / lines : i % lines * kLine);
    const int y = tile_y * T::kN + (rows_run_along_y ? i % lines * kLine : i / lines);
    if (x >= shape.x_rows || y >= shape.y_rows) continue;
    asm volatile("prefetch.global.L2 [%0];" ::"l"(c + x * along_x + y * along_y));
  }
}

/// A fold's start: fp32 C. Where neighbours along y are neighbours in memory two are one load, so
/// that each 32-byte sector is asked for once; start_from_c may not branch so.
template <class T>
__device__ __forceinline__ void start_sum_from_c(const GemmArguments& g, const LaunchShape& shape,
                                                 int group, int x0, int y0, Accumulators<T>& sum) {
  const std::int64_t along_x = shape.swapped ? g.cs.col : g.cs.row;
  const std::int64_t along_y = shape.swapped ? g.cs.row : g.cs.col;
  const auto* c = static_cast<const float*>(g.c);
  const bool in_pairs = along_y == 1 && along_x % 2 == 0 && shape.y_rows % 2 == 0 &&
                        reinterpret_cast<std::uintptr_t>(c) % 8 == 0;
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

/// Through TMA, where C lies like D: a warp's 16 rows of a slab come into its own piece of D's
/// boxes, which are free while the first leaf runs, and go from there into the sum. Read by
/// ordinary loads, 8 rows an instruction, a tile's C keeps the pipe busy for longer than its adds.
///
///   tensor core | l0, some stages | some more        | some more             | ... | l1
///   C             D is stored       slabs 0 .. 3 come  into sum; 4 .. 7 come   into sum
///
/// The tile's `sum` has no value before the last round. A barrier turns an even number of times a
/// tile, so that the parity to wait for is the round's.
template <class T>
struct IncomingC {
  static constexpr int kSlab = T::kSlabFp32;
  static constexpr int kSlabs = T::kN / kSlab;
  static constexpr int kRounds = (kSlabs + T::kBoxes - 1) / T::kBoxes;
  static constexpr int kStagesARound = 3;
  static constexpr std::uint32_t kRowBytes = kSlab * 4;

  const CUtensorMap& map;
  Accumulators<T>& sum;
  std::uint32_t boxes;     ///< of the group
  std::uint32_t barriers;  ///< of the warp, one a box
  int x, y;
  bool on;

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
  /// The C of another tile into L2.
  __device__ __forceinline__ void prefetch(int tile_x, int tile_y) const {
    if (threadIdx.x % 32 >= kSlabs) return;
    const int lane = static_cast<int>(threadIdx.x % 32);
    ptx::tma_prefetch(&map, tile_y * T::kN + lane * kSlab,
                      tile_x * T::kX + static_cast<int>(threadIdx.x - 128) / 32 * 16);
  }
  __device__ __forceinline__ void ask(int round) {
    if (threadIdx.x % 32 == 0) {
      if (round == 0) ptx::tma_store_wait_read<0>();
#pragma unroll
      for (int b = 0; b < T::kBoxes; ++b) {
        const int slab = round * T::kBoxes + b;
        if (slab >= kSlabs) {
          ptx::mbarrier_arrive(barriers + 8 * b);
          continue;
        }
        ptx::mbarrier_arrive_expect(barriers + 8 * b, 16 * kRowBytes);
        ptx::tma_load(boxes + b * T::kBoxBytes + threadIdx.x / 32 % 4 * 16 * kRowBytes, &map,
                      y + slab * kSlab, x, barriers + 8 * b);
      }
    }
    __syncwarp();
  }
  __device__ __forceinline__ void take(int round) {
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
          asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];"
                       : "=f"(to[0]), "=f"(to[1])
                       : "r"(from)
                       : "memory");
        }
      }
    }
    // The boxes are free. Without the fence TMA may write the next round's C before these loads,
    // which wait in a queue of their own, have read this one's: seen on an H200.
    ptx::fence_proxy_async();
    __syncwarp();
    constexpr bool kOdd = kRounds % 2 != 0;
    if (kOdd && round == kRounds - 1 && lane == 0) {  // one turn more
#pragma unroll
      for (int b = 0; b < T::kBoxes; ++b) ptx::mbarrier_arrive(barriers + 8 * b);
    }
  }
};

}  // namespace detgemm::cuda::sm90
