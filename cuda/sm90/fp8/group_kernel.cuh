// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/fp8/group_place.cuh"
#include "cuda/sm90/fp8/kernel.cuh"
#include "cuda/sm90/pipeline/roles.cuh"

namespace detgemm::cuda::sm90 {

/// As run_fp8_producer, for the tiles of groups: warp 0 loads X, warp 1 loads Y, and warps 2 and 3
/// bring scales. Boxes are as high as tiles: rows behind a group are another's, or zeros.
template <class T>
__device__ __forceinline__ void produce_groups(const SharedLayout<T>& shared,
                                               const LaunchMaps& maps, const LaunchShape& shape,
                                               const GroupedArguments& p, const Fp8Shape& fp8,
                                               const SegmentShape& s, const RowSegment* table,
                                               int warp) {
  SegmentWalk walk = walk_of<T>(table, p, s, shape.swapped);
  const int n = static_cast<int>(p.all.n);
  const auto each_stage = [&](auto&& load) {
    RingCursor<T::kStages> cursor;
    cursor.parity = 1;
    SegmentTile tile;
    while (walk.next(tile)) {
      const GroupPlace at = place_of<T>(tile, s, shape, n);
#pragma unroll 1
      for (int block = 0; block < shape.k_blocks; ++block) {
        ptx::mbarrier_wait(shared.empty + 8 * cursor.stage, cursor.parity);
        load(cursor.stage, tile, at, block, shared.full + 8 * cursor.stage);
        cursor.advance();
      }
    }
  };
  if (warp == 0 && ptx::elect_sync()) {
    each_stage([&](int stage, const SegmentTile& t, const GroupPlace& at, int block,
                   std::uint32_t full) {  // a box of (kX, 128 k)
      ptx::mbarrier_arrive_expect_tx(full, T::kX * kSpanBytes);
      ptx::tma_load(shared.x(stage), &maps.x, block * kFp8BlockK, at.x_from,
                    shape.swapped ? t.group * s.b_step : 0, full);
    });
  } else if (warp == 1 && ptx::elect_sync()) {
    each_stage([&](int stage, const SegmentTile& t, const GroupPlace& at, int block,
                   std::uint32_t full) {  // a box of (kN, 128 k)
      ptx::mbarrier_arrive_expect_tx(full, T::kN * kSpanBytes);
      ptx::tma_load(shared.y(stage), &maps.y, block * kFp8BlockK, at.y_from,
                    shape.swapped ? 0 : t.group * s.b_step, full);
    });
  } else if (warp >= 2 && (T::kScaled || fp8.of_lines)) {
    const auto bring_all = [&](auto scales) {
      ScaleSlots<T> slots;
      SegmentTile tile;
      while (walk.next(tile)) {
        const GroupPlace at = place_of<T>(tile, s, shape, n);
        // A bulk copy may have scales of the next group, which no output of this one sees.
        const int lines = T::kStageScales && fp8.in_rows
                              ? static_cast<int>(shape.swapped ? p.all.n : p.all.m)
                              : at.x_lines;
        scales.begin(shape_of_group(fp8, s, shape.swapped, tile.group), at.x_scale, at.y_scale,
                     lines, at.y_lines, leaves_of(shape, fp8));
        slots.bring_tile(shared, fp8, shape.k_blocks, scales);
      }
    };
    if (T::kJoin == Join::one && fp8.in_rows) {
      if (warp == 2 && ptx::elect_sync()) bring_all(RowCopy<T>{});
      if (warp == 3 && ptx::elect_sync()) bring_all(ColumnCopies<T>{});
    } else {
      bring_all(TileScales<T>{});
    }
  }
}

/// The shape of a launch as a group sees it, which ends where its rows do.
__device__ __forceinline__ LaunchShape bounded(LaunchShape shape, const GroupPlace& at) {
  shape.x_rows = at.x_end;
  shape.y_rows = at.y_end;
  return shape;
}

/// The next tile of a whole warp, which ptxas is told by taking lane 0's: a loop over what was read
/// from shared memory ends for each lane by itself otherwise, and then descriptors and stages are
/// in registers of each lane, from which every step of wgmma would have to fetch them.
__device__ __forceinline__ bool next_of_warp(SegmentWalk& walk, SegmentTile& tile) {
  const auto same = [](int v) { return __shfl_sync(0xffffffffU, v, 0); };
  const bool found = __any_sync(0xffffffffU, walk.next(tile)) != 0;
  tile = {same(tile.group),
          {same(tile.rows.begin), same(tile.rows.count)},
          same(tile.row),
          same(tile.across)};
  return found;
}

/// As run_fp8_consumer. The rows of a consumer group that are inside of their group of rows are
/// stored as those of a single product; where that one ends among them, ordinary stores leave out
/// the rows of the next. A consumer group past the end multiplies nothing:
///
///   rows 0 .. 63    | l0 | join | l1 | join | ...     40 rows in a tile of 128
///   rows 64 .. 127  | pass      | pass      | ...     hands every stage back, and takes its turns
template <class T>
__device__ __forceinline__ void consume_groups(const SharedLayout<T>& shared,
                                               const LaunchMaps& maps, const LaunchShape& shape,
                                               const GroupedArguments& p, const Fp8Shape& fp8,
                                               const SegmentShape& s, const RowSegment* table,
                                               int group) {
  RingCursor<T::kStages> cursor;
  RingCursor<T::kSlots> slots;
  SegmentWalk walk = walk_of<T>(table, p, s, shape.swapped);
  const int n = static_cast<int>(p.all.n);
  int box_index = 0;
  SegmentTile tile;
  if (T::kTakesTurns && group == 1) ptx::bar_arrive(kTurnBarrier, 256);  // group 0 begins
  while (next_of_warp(walk, tile)) {
    Accumulators<T> sum;  // (64 * kBlocks, kN)
    const auto leaves = [&](RowsSkipped skipped) {
      return Fp8Leaves<T>{
          shared,  shape.k_blocks, fp8.leaf_blocks, group, tile.across * T::kN % 128 != 0,
          skipped, cursor,         slots,           sum};
    };
    if (has_no_rows<T>(place_of<T>(tile, s, shape, n), group)) {
      leaves({}).pass();
      if constexpr (!T::kScaled) {
        if (fp8.of_lines) leaves({}).pass_slot();
      }
      continue;
    }
#pragma unroll
    for (int i = 0; i < T::kBlocks; ++i) {
#pragma unroll
      for (int j = 0; j < T::kN / 2; ++j) sum[i][j] = 0.0F;
    }
    if (T::kStartsFromC && fp8.from_c) {
      const GroupPlace at = place_of<T>(tile, s, shape, n);
      start_sum_from_c<T>(p.all, bounded(shape, at), group, at.x, at.y, sum);
    }
    RowsSkipped skipped;
    if constexpr (T::kStageScales) {
      const GroupPlace first = place_of<T>(tile, s, shape, n);
      skipped = RowsSkipped::of(fp8, first.x_scale, first.x_lines);
    }
    leaves(skipped).run();
    if constexpr (!T::kScaled) {
      if (fp8.of_lines) multiply_by_lines<T>(shared, slots, shape.swapped, group, sum);
    }
    // The place is found as of here, so that no register keeps it through the leaves.
    auto row = static_cast<std::uint32_t>(tile.row);
    ptx::pin(row);
    tile.row = static_cast<int>(row);
    tile.rows = table[tile.group];
    const GroupPlace at = place_of<T>(tile, s, shape, n);
    LaunchShape own = bounded(shape, at);
    const int x_behind = at.x + (group + 1) * T::kBlocks * 64;
    const bool whole = shape.swapped ? at.y + T::kN <= at.y_end : x_behind <= at.x_end;
    own.d_by_tma = shape.d_by_tma && whole;
    GemmArguments g = p.all;
    g.bias = moved(g.bias, tile.group * p.distance.bias, p.bias_bytes);
    TileBias<T> bias;
    bias.load(g, own, group, at.x, at.y);
    finish<T>(shared, maps, own, g, group, cursor, bias, box_index, at.x, at.y, sum);
    if constexpr (T::kBeginsWithFirstBox) box_index = 0;  // it is, and needs no register
  }
  if (T::kTakesTurns && group == 0)
    ptx::bar_sync(kTurnBarrier, 256);  // the turn that no group took
  ptx::tma_store_wait_read<0>();       // TMA may still read the boxes
}

/// The kernel of e4m3 over segments of rows. It is fp8_kernel with another walk:
///
///   offsets -> [ begin, count | begin, count | ... ]    read once per CTA, into shared memory
///                     |              |
///              producers, scales   consumers: each walks over the same table
template <class T>
__global__ void __launch_bounds__(T::kThreads, 1)
    fp8_group_kernel(const __grid_constant__ LaunchMaps maps,
                     const __grid_constant__ LaunchShape shape,
                     const __grid_constant__ GroupedArguments p,
                     const __grid_constant__ Fp8Shape fp8, const __grid_constant__ SegmentShape s) {
  extern __shared__ unsigned char memory[];
  __shared__ RowSegment table[kMaxSegments];
  const SharedLayout<T> shared(memory);
  const int warp = warp_of_cta();
  if (threadIdx.x == 0) {
    init_fp8_barriers(shared, fp8.in_rows);
    publish_barriers();
  }
  ptx::griddepcontrol_wait();  // earlier work may still write offsets and operands, or read D
  for (int g = static_cast<int>(threadIdx.x); g < p.groups; g += T::kThreads) {
    const Segment part = part_of_group(p, g);
    table[g] = {static_cast<int>(part.begin), static_cast<int>(part.count)};
  }
  __syncthreads();
  if (warp < 4) {
    become_producer<T>();
    produce_groups<T>(shared, maps, shape, p, fp8, s, table, warp);
  } else {
    become_consumer<T>();
    consume_groups<T>(shared, maps, shape, p, fp8, s, table, warp / 4 - 1);
  }
}

}  // namespace detgemm::cuda::sm90
