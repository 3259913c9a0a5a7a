// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/epilogue_general.cuh"
#include "cuda/sm90/leaf_parts.cuh"

namespace detgemm::cuda::sm90 {

/// The tiles of a CTA where tiles have parts: neighbouring CTAs take the parts of one tile.
struct PartWalk {
  int parts;
  int part = static_cast<int>(blockIdx.x) % parts;
  int at = static_cast<int>(blockIdx.x) / parts;
  int tile = 0;

  __device__ explicit PartWalk(const LeafShape& leaf) : parts(leaf.parts) {}
  __device__ bool next(const Raster& raster, int& tile_x, int& tile_y) {
    if (at >= raster.tiles()) return false;
    tile = at;
    raster.locate(at, tile_x, tile_y);
    at += static_cast<int>(gridDim.x) / parts;
    return true;
  }
};

__device__ __forceinline__ BlockRange blocks_of(const LeafShape& leaf, LeafRange r, int k_blocks) {
  return {r.begin * leaf.leaf_blocks, min(r.end * leaf.leaf_blocks, k_blocks)};
}

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

/// The leaves of one part, from left to right:
///
///   leaf  = +0 -> [k 0..15] -> [k 16..31] -> ... -> [last k of the leaf]       tensor core
///   fold:  sum = (((start + l0) + l1) + l2) ...                                fp32 adds
///   tree:  sum waits until its sibling is there:  l0, l0 + l1, | l2, l2 + l3, (l0+l1) + (l2+l3)
///
/// The newest sums stay in registers, sums[0] on top; what lies below them on the stack waits
/// elsewhere.
template <class T>
struct Leaves {
  const LeafShape& leaf;
  LeafRange range;
  int group;
  WaitingSums<T> waiting;
  /// Not initialised: a value that a branch may skip would make ptxas serialise every wgmma.
  Accumulators<T> (&sums)[T::kSums];
  int held = 0;  ///< of sums

  /// Takes leaf number `at`. Nothing here writes to `leaf_value`: the next leaf's steps may be
  /// running, and ptxas lets no other instruction define accumulators then.
  __device__ __forceinline__ void take(int at, const Accumulators<T>& leaf_value) {
    int closed = leaf.tree ? nodes_closed_by(at - range.begin, range.end - range.begin) : held;
    if (closed == 0) make_room();
    each([&](int i, int j) {
      const float value = leaf_value[i][j];
      sums[0][i][j] = closed > 0 ? arithmetic::add_rn(sums[0][i][j], value) : value;
    });
#pragma unroll 1
    for (; closed > 1; --closed) {
      if (T::kSums > 1 && held > 1) {
        each([&](int i, int j) {
          sums[0][i][j] = arithmetic::add_rn(sums[T::kSums > 1][i][j], sums[0][i][j]);
#pragma unroll
          for (int s = 1; s + 1 < T::kSums; ++s) sums[s][i][j] = sums[s + 1][i][j];
        });
        --held;
      } else if constexpr (T::kWaits) {
        waiting.pop_into(sums[0]);
      }
    }
  }

 private:
  template <class Do>
  __device__ __forceinline__ void each(Do&& act) {
#pragma unroll
    for (int i = 0; i < T::kBlocks; ++i) {
#pragma unroll
      for (int j = 0; j < T::kN / 2; ++j) act(i, j);
    }
  }
  /// Frees sums[0].
  __device__ __forceinline__ void make_room() {
    if constexpr (T::kWaits) {
      if (held == T::kSums) {
        waiting.push(sums[T::kSums - 1]);
        --held;
      }
    }
    each([&](int i, int j) {
#pragma unroll
      for (int s = T::kSums - 1; s > 0; --s) sums[s][i][j] = sums[s - 1][i][j];
    });
    ++held;
  }
};

/// Large tiles: a leaf is taken when its last step has ended. While one warp group adds, the other
/// one's leaf keeps the tensor core busy.
template <class T>
__device__ __forceinline__ void run_leaves_in_turn(const SharedLayout<T>& shared, int k_blocks,
                                                   int group, RingCursor<T::kStages>& cursor,
                                                   Leaves<T>& leaves) {
  Stagger in_step{0};
  for (int at = leaves.range.begin; at < leaves.range.end; ++at) {
    Accumulators<T> acc;
    set_zero<T>(acc);
    const BlockRange k = blocks_of(leaves.leaf, {at, at + 1}, k_blocks);
    run_chain<T>(shared, k.end - k.begin, group, cursor, in_step, acc);
    leaves.take(at, acc);
  }
}

/// Where registers hold two leaves beside the sum: one is taken while the next one's first stage
/// runs.
///
///   tensor core   | l0, stage 0 | l0, stage 1 | l1, stage 0 | l1, stage 1 | l2, stage 0 | ...
///   adds                                      | take l0     |             | take l1     |
template <class T>
__device__ __forceinline__ void run_leaves_under(const SharedLayout<T>& shared, int k_blocks,
                                                 int group, RingCursor<T::kStages>& cursor,
                                                 Leaves<T>& leaves) {
  Accumulators<T> even, odd;
  int previous = -1;
  const auto hand_back = [&] {
    ptx::wgmma_wait<1>();
    if (previous >= 0) release<T>(shared, previous);
    previous = cursor.stage;
    cursor.advance();
  };
  const auto run = [&](int at, Accumulators<T>& mine, Accumulators<T>& other) {
    set_zero<T>(mine);
    const BlockRange k = blocks_of(leaves.leaf, {at, at + 1}, k_blocks);
    start_stage<T>(shared, group, cursor, mine);
    hand_back();  // and the other leaf has ended
    if (at > leaves.range.begin) {
#pragma unroll
      for (int i = 0; i < T::kBlocks; ++i) ptx::pin(other[i]);
      leaves.take(at - 1, other);
    }
#pragma unroll 1
    for (int block = k.begin + T::kDepth; block < k.end; block += T::kDepth) {
      start_stage<T>(shared, group, cursor, mine);
      hand_back();
    }
  };
  int at = leaves.range.begin;
#pragma unroll 1
  for (; at + 1 < leaves.range.end; at += 2) {
    run(at, even, odd);
    run(at + 1, odd, even);
  }
  if (at < leaves.range.end) {
    run(at, even, odd);
    ptx::wgmma_wait<0>();
    release<T>(shared, previous);
    leaves.take(at, even);
  } else {
    ptx::wgmma_wait<0>();
    release<T>(shared, previous);
    leaves.take(at - 1, odd);
  }
}

/// One consumer warp group: its share of every tile, or part of a tile, of the CTA.
template <class T>
__device__ __forceinline__ void run_leaf_consumer(const SharedLayout<T>& shared,
                                                  const LaunchMaps& maps, const LaunchShape& shape,
                                                  const GemmArguments& g, const LeafShape& leaf,
                                                  int group) {
  RingCursor<T::kStages> cursor;
  const LeafShared<T> leaf_shared(shared);
  ptx::wait_for_earlier_kernels();  // they may still read D, write C or use the workspace
  int box_index = 0;
  PartWalk walk(leaf);
  const LeafRange range = part_of(leaf, walk.part);
  int tile_x, tile_y;
  while (walk.next(shape.raster, tile_x, tile_y)) {
    const int x0 = tile_x * T::kX;
    const int y0 = tile_y * T::kN;
    const bool from_c = leaf.from_c && walk.part == 0;
    if (from_c) {
      PartWalk ahead = walk;
      int next_x, next_y;
      if (ahead.next(shape.raster, next_x, next_y)) prefetch_c<T>(g, shape, next_x, next_y);
    }
    Accumulators<T> sums[T::kSums];
    Leaves<T> leaves{leaf, range, group, {leaf, leaf_shared, group}, sums, 0};
    Accumulators<T>& sum = sums[0];
    if (from_c) {
      start_sum_from_c<T>(g, shape, group, x0, y0, sum);
      leaves.held = 1;
    }
    if constexpr (T::kRegisters.leaves == 2) {
      run_leaves_under<T>(shared, shape.k_blocks, group, cursor, leaves);
    } else {
      run_leaves_in_turn<T>(shared, shape.k_blocks, group, cursor, leaves);
    }
    if (leaf.split == Split::cluster) {
      if (!meet_in_cluster<T>(leaf, leaf_shared, group, sum)) continue;
    } else if (leaf.split == Split::grid) {
      if (!meet_in_workspace<T>(leaf, leaf_shared, walk.tile, walk.part, group, sum)) continue;
    }
    if constexpr (T::kGeneral) {
      finish_general<T>(shared, g, shape, group, x0, y0, sum);
    } else {
      store_plain<T>(shared, maps.d, shape, group, box_index, sum, x0, y0);
    }
  }
  if (!T::kGeneral) ptx::tma_store_wait_read<0>();  // shared memory outlives its readers
}

/// The wgmma kernel of fold and tree: warp group 0 produces, groups 1 .. kGroups consume, as in
/// chain_kernel. A cluster here is the parts of one tile.
template <class T>
__global__ void __launch_bounds__(T::kThreads, 1)
    leaf_kernel(const __grid_constant__ LaunchMaps maps, const __grid_constant__ LaunchShape shape,
                const __grid_constant__ GemmArguments g, const __grid_constant__ LeafShape leaf) {
  extern __shared__ unsigned char memory[];
  const SharedLayout<T> shared(memory);
  const int warp = __shfl_sync(0xffffffffU, threadIdx.x / 32, 0);
  if (threadIdx.x == 0) {
    for (int s = 0; s < T::kStages; ++s) {
      ptx::mbarrier_init(shared.full + 8 * s, kFullArrivals);
      ptx::mbarrier_init(shared.empty + 8 * s, T::kGroups);
    }
    expect_parts<T>(leaf, LeafShared<T>(shared));
    ptx::fence_mbarrier_init();
    ptx::let_next_kernel_start();
  }
  ptx::cluster_sync();  // no part may send before part 0 is there
  if (warp < 4) {
    if constexpr (T::kGroups == 2) ptx::registers_decrease<40>();
    const PartWalk walk(leaf);
    run_producer<T>(shared, maps, shape, warp, walk,
                    blocks_of(leaf, part_of(leaf, walk.part), shape.k_blocks));
  } else {
    if constexpr (T::kGroups == 2) ptx::registers_increase<232>();
    run_leaf_consumer<T>(shared, maps, shape, g, leaf, warp / 4 - 1);
  }
}

}  // namespace detgemm::cuda::sm90
