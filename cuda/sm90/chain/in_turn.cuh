// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/epilogue/finish.cuh"
#include "cuda/sm90/pipeline/roles.cuh"

namespace detgemm::cuda::sm90 {

/// The chain of every output of a tile that one group has to itself, as run_chain. Behind the last
/// stage `next_turn` (a named barrier, or 0) lets the other group begin its tile: not before, since
/// a wait for a stage tells one round of the ring from the next, and no further.
///
///   acc = +0 -> [k 0..15] -> [k 16..31] -> ... -> [last k, zero-padded] -> epilogue
template <class T>
__device__ __forceinline__ void run_chain_in_turn(const SharedLayout<T>& shared, int k_blocks,
                                                  RingCursor<T::kStages>& cursor,
                                                  std::uint32_t next_turn, Accumulators<T>& acc) {
  start_stage<T, true>(shared, 0, cursor, acc);
  int previous = cursor.stage;
  cursor.advance();
#pragma unroll 1
  for (int block = 1; block < k_blocks; ++block) {
    start_stage<T>(shared, 0, cursor, acc);
    ptx::wgmma_wait<1>();
    release<T>(shared, previous);
    previous = cursor.stage;
    cursor.advance();
  }
  if (next_turn != 0) ptx::bar_arrive(next_turn, 256);
  ptx::wgmma_wait<0>();
#pragma unroll
  for (int i = 0; i < T::kBlocks; ++i) ptx::pin(acc[i]);
  release<T>(shared, previous);
}

/// Runs one of two consumer groups that take the tiles of a CTA in turn. There is a stage (K > 0),
/// and no C.
///
///   group 0   | tile 0: multiply | finish | tile 2: multiply | finish |
///   group 1                      | tile 1: multiply | finish | tile 3: multiply | ...
///
/// Stages arrive in the order of the tiles, and each is read and handed back by one group.
template <class T>
__device__ __forceinline__ void run_consumer_in_turn(const SharedLayout<T>& shared,
                                                     const LaunchMaps& maps,
                                                     const LaunchShape& shape,
                                                     const GemmArguments& g, int group) {
  static_assert(T::kGroups == 2 && T::kTurns == 2 && T::kCluster == 1 && T::kDepth == 1,
                "Two groups of a CTA by itself take turns, a block of k per stage.");
  RingCursor<T::kStages> cursor;
  ptx::griddepcontrol_wait();  // they may still read D; loads have begun
  int box_index = 0;
  TileWalk<T> walk;
  int tile_x, tile_y;
#pragma unroll 1
  for (int turn = 0; walk.next(shape.raster, tile_x, tile_y); ++turn) {
    if (turn % 2 != group) {
      cursor.skip(shape.k_blocks);
      continue;
    }
    // The epilogue adds group * kBlocks * 64 to x0, but each group has all rows of its tile here.
    const int x0 = x_of<T>(shape, tile_x) - group * T::kBlocks * 64;
    const int y0 = y_of<T>(shape, tile_y);
    Accumulators<T> acc;  // (64 * kBlocks, kN)
    TileBias<T> bias;
    if constexpr (T::kLoadsBiasEarly) {
      bias.load(g, shape, group, x0, y0);
    } else {
      TileBias<T>::prefetch(g, shape, group, x0, y0);
    }
    if (turn > 0) ptx::bar_sync(kTurnBarrier + group, 256);
    const bool is_last = walk.at >= shape.raster.tiles();  // an arrival that nothing waits for
    run_chain_in_turn<T>(shared, shape.k_blocks, cursor, is_last ? 0 : kTurnBarrier + 1 - group,
                         acc);
    finish<T>(shared, maps, shape, g, group, cursor, bias, box_index, x0, y0, acc);
  }
  ptx::tma_store_wait_read<0>();  // TMA may still read the boxes
}

}  // namespace detgemm::cuda::sm90
