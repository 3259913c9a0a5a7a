// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/epilogue/finish.cuh"
#include "cuda/sm90/grouped/jobs.cuh"
#include "cuda/sm90/pipeline/roles.cuh"

namespace detgemm::cuda::sm90 {

/// The blocks of 64 k of a job.
template <class T>
__device__ __forceinline__ int blocks_of(const LaunchShape& shape, const TileJob& job) {
  if constexpr (T::kByK) return (job.k_end - job.k_begin + kBlockK - 1) / kBlockK;
  return shape.k_blocks;
}

/// Loads one stage of one operand, (kRows, kDepth blocks of 64 k from k), of matrix `z` of its map.
template <int kRows, int kDepth, bool kMn>
__device__ __forceinline__ void load_group_stage(const CUtensorMap& map, std::uint32_t to, int row,
                                                 int k, int z, std::uint32_t barrier) {
  if constexpr (kMn) {
#pragma unroll
    for (int slab = 0; slab < (kRows + 63) / 64; ++slab) {  // boxes of (64 k, 64 rows)
      ptx::tma_load(to + slab * kSlabBytes, &map, row + slab * 64, k, z, barrier);
    }
  } else {
#pragma unroll
    for (int i = 0; i < kDepth; ++i) {  // boxes of (kRows, 64 k)
      ptx::tma_load(to + i * kRows * kSpanBytes, &map, k + i * kBlockK, row, z, barrier);
    }
  }
}

/// One producing lane: the stages of X, or of Y, of every job, and C where the ring brings it.
template <class T, bool kIsX>
__device__ __forceinline__ void produce_jobs(const SharedLayout<T>& shared, const LaunchMaps& maps,
                                             const LaunchShape& shape, const GroupedShape& s,
                                             bool starts_from_c) {
  constexpr int kRows = kIsX ? T::kXLoad : T::kN;
  constexpr bool kMn = kIsX ? T::kXMn : T::kYMn;
  const CUtensorMap& map = kIsX ? maps.x : maps.y;
  const bool tokens = T::kByK || kIsX != shape.swapped;
  const std::uint32_t bytes =
      T::kDepth * (kIsX ? T::kXBytes : T::kYBytes) - (tokens ? s.a_missing : 0);
  JobRing<T> ring(shared);
  RingCursor<T::kStages> cursor;
  cursor.parity = 1;
  TileJob job;
  while (ring.take(job, false)) {
    const int row = kIsX ? job.x_from : job.y_from;
    const int z = job.group * (tokens ? s.a_spread : s.b_step);
    const auto bring_c = [&] {
#pragma unroll 1
      for (int part = 0; part < shape.c.stages; ++part) {
        ptx::mbarrier_wait(shared.empty + 8 * cursor.stage, cursor.parity);
        const std::uint32_t full = shared.full + 8 * cursor.stage;
        if (!kIsX || shape.c.copied) {
          ptx::mbarrier_arrive(full);  // the other lane brings it, or consumers do
        } else if (shape.c.is_16) {
          load_c_stage<T, true>(maps.c, shape.c, shared.x(cursor.stage), job.x, job.y, part, full);
        } else {
          load_c_stage<T, false>(maps.c, shape.c, shared.x(cursor.stage), job.x, job.y, part, full);
        }
        cursor.advance();
      }
    };
    if (starts_from_c) bring_c();
    const int blocks = blocks_of<T>(shape, job);
#pragma unroll 1
    for (int block = 0; block < blocks; block += T::kDepth) {
      ptx::mbarrier_wait(shared.empty + 8 * cursor.stage, cursor.parity);
      const std::uint32_t full = shared.full + 8 * cursor.stage;
      ptx::mbarrier_arrive_expect_tx(full, bytes);
      load_group_stage<kRows, T::kDepth, kMn>(
          map, kIsX ? shared.x(cursor.stage) : shared.y(cursor.stage), row,
          (T::kByK ? job.k_begin : 0) + block * kBlockK, z, full);
      cursor.advance();
    }
    if (!starts_from_c) bring_c();
  }
}

/// Zeros over the products of a stage from `rest` on, which belong to the next group. Both operands
/// have them: a neighbour's Inf or NaN times 0 would be seen. In an MN-major slab each product is a
/// span of 128 bytes, wherever the swizzle puts its chunks. Every group clears all of Y, and its
/// own rows of X: what another one reads meanwhile is zero already.
template <class T>
__device__ __forceinline__ void clear_rest(const SharedLayout<T>& shared, int stage, int group,
                                           int rest) {
  const int pieces = (kBlockK - rest) * (kSpanBytes / 16);  // of 16 bytes, per slab
  const auto clear = [&](std::uint32_t slab) {
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x % 128); i < pieces; i += 128) {
      ptx::st_shared_v4_u32(slab + rest * kSpanBytes + i * 16, {0, 0, 0, 0});
    }
  };
#pragma unroll 1
  for (int i = 0; i < T::kBlocks; ++i) {
    clear(shared.x(stage) + (group * T::kBlocks + i) * kSlabBytes);
  }
#pragma unroll 1
  for (int i = 0; i < (T::kN + 63) / 64; ++i) clear(shared.y(stage) + i * kSlabBytes);
  ptx::fence_proxy_async();
  ptx::bar_sync(kGroupBarrier + group, 128);
}

/// run_chain over a segment of products, whose last block may have fewer than 64.
template <class T>
__device__ __forceinline__ void run_segment(const SharedLayout<T>& shared, int products, int group,
                                            RingCursor<T::kStages>& cursor, Accumulators<T>& acc) {
  const int rest = products % kBlockK;
  int previous = -1;
#pragma unroll 1
  for (int k = 0; k < products; k += kBlockK) {
    if (k + kBlockK > products) {
      ptx::mbarrier_wait(shared.full + 8 * cursor.stage, cursor.parity);
      clear_rest<T>(shared, cursor.stage, group, rest);
    }
    start_stage<T>(shared, group, cursor, acc);
    ptx::wgmma_wait<1>();
    if (previous >= 0) release<T>(shared, previous);
    previous = cursor.stage;
    cursor.advance();
  }
  ptx::wgmma_wait<0>();
#pragma unroll
  for (int i = 0; i < T::kBlocks; ++i) ptx::pin(acc[i]);
  if (previous >= 0) release<T>(shared, previous);
}

/// Runs one consumer warp group: its share of every job of the CTA, from the start value to D. A
/// tile that is inside of its group is stored as one of a single GEMM; the rows of another group
/// past the end of the last one are left out by ordinary stores, or by a map of D that has a
/// matrix per group.
template <class T>
__device__ __forceinline__ void consume_jobs(const SharedLayout<T>& shared, const LaunchMaps& maps,
                                             const LaunchShape& shape, const GroupedArguments& p,
                                             const GroupedShape& s, int group) {
  RingCursor<T::kStages> cursor;
  JobRing<T> ring(shared);
  TileJob job;
  if (!ring.take(job, true)) return;  // then both groups leave, and neither waits for the other
  const bool lags = s.lags && !p.all.continue_from_c;
  Stagger stagger = Stagger::start<T>(group, lags ? T::kLag : 0, shape.k_blocks);
  int box_index = 0;
  do {
    LaunchShape of_group = shape;
    of_group.x_rows = job.x_end;
    of_group.y_rows = job.y_end;
    const bool whole = shape.swapped ? job.y + T::kN <= job.y_end : job.x + T::kX <= job.x_end;
    of_group.d_by_tma = shape.d_by_tma && (whole || s.d_clips);
    GemmArguments g = p.all;
    g.bias = moved(g.bias, job.group * p.distance.bias, p.bias_bytes);
    g.c = moved(g.c, job.group * s.c_distance, 1);
    g.d = moved(g.d, job.group * s.d_distance, 1);
    Accumulators<T> acc;  // (64 * kBlocks, kN)
    TileBias<T> bias;
    if constexpr (T::kLoadsBiasEarly) {
      bias.load(g, of_group, group, job.x, job.y);
    } else {
      TileBias<T>::prefetch(g, of_group, group, job.x, job.y);
    }
    start_chains<T>(shared, of_group, g, group, cursor, job.x, job.y, acc);
    if constexpr (T::kByK) {
      run_segment<T>(shared, job.k_end - job.k_begin, group, cursor, acc);
    } else {
      run_chain<T>(shared, shape.k_blocks, group, cursor, stagger, acc);
    }
    // A group of threads whose rows are past those of the group of rows has nothing to store.
    const bool none = !shape.swapped && job.x + group * T::kBlocks * 64 >= job.x_end;
    if (none && shape.c.stages == 0) continue;
    finish<T>(shared, maps, of_group, g, group, cursor, bias, box_index, job.x, job.y, acc,
              job.group * s.d_map);
  } while (ring.take(job, true));
  ptx::tma_store_wait_read<0>();  // TMA may still read the boxes
}

/// The wgmma kernel of chains over groups. It is chain_kernel with another walk: warp 2 of the
/// producing group reads the offsets and hands out jobs, each a tile of one group.
///
///   offsets -> [ job | job | job | job ]   ring of jobs
///                 |           |
///              TMA of X, Y   start, run_chain, finish of chain_kernel      -> D
template <class T>
__global__ void __launch_bounds__(T::kThreads, T::kCtas)
    grouped_chain_kernel(const __grid_constant__ LaunchMaps maps,
                         const __grid_constant__ LaunchShape shape,
                         const __grid_constant__ GroupedArguments p,
                         const __grid_constant__ GroupedShape s) {
  extern __shared__ unsigned char memory[];
  const SharedLayout<T> shared(memory);
  const int warp = warp_of_cta();
  if (threadIdx.x == 0) {
    init_ring<T>(shared);
    JobRing<T>(shared).init();
    publish_barriers();
  }
  __syncthreads();
  ptx::griddepcontrol_wait();  // earlier work may still write offsets and operands, or read D
  if (warp < 4) {
    become_producer<T>();
    if (warp == 0 && ptx::elect_sync()) {
      produce_jobs<T, true>(shared, maps, shape, s, p.all.continue_from_c);
    } else if (warp == 1 && ptx::elect_sync()) {
      produce_jobs<T, false>(shared, maps, shape, s, p.all.continue_from_c);
    } else if (warp == 2) {
      hand_out_jobs<T>(shared, p, s, shape);
    }
  } else {
    become_consumer<T>();
    consume_jobs<T>(shared, maps, shape, p, s, warp / 4 - 1);
  }
}

}  // namespace detgemm::cuda::sm90
