// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/leaves/tile.hpp"
#include "cuda/sm90/pipeline/producer.cuh"

// Which parts of which tiles a CTA has, and which k blocks a part has.

namespace detgemm::cuda::sm90 {

/// The k blocks of a range of leaves.
__device__ __forceinline__ BlockRange blocks_of(const LeafShape& leaf, LeafRange r, int k_blocks) {
  return {r.begin * leaf.leaf_blocks, min(r.end * leaf.leaf_blocks, k_blocks)};
}

/// The tiles of a CTA where tiles have parts: neighbouring CTAs take the parts of one tile. A pair
/// that shares an operand takes tiles of one part, as the pairs of a chain do.
template <class T>
struct PartWalk {
  int parts;
  int part = T::kCluster > 1 ? 0 : static_cast<int>(blockIdx.x) % parts;
  int at = static_cast<int>(blockIdx.x) / (T::kCluster > 1 ? T::kCluster : parts);
  int tile = 0;

  __device__ explicit PartWalk(const LeafShape& leaf) : parts(leaf.parts) {}
  __device__ bool next(const Raster& raster, int& tile_x, int& tile_y) {
    if (at >= raster.tiles()) return false;
    tile = at;
    raster.locate(at, tile_x, tile_y);
    if constexpr (T::kCluster > 1) {
      int& mine = T::kSharesX ? tile_y : tile_x;
      mine = mine * T::kCluster + static_cast<int>(ptx::cluster_ctarank());
    }
    at += static_cast<int>(gridDim.x) / (T::kCluster > 1 ? T::kCluster : parts);
    return true;
  }
};

/// The same where parts may take several rounds of CTAs, so that a CTA has now one part, now
/// another. Those that meet in a cluster still are one wave: with those that meet in the workspace,
/// no part waits for another.
template <class T>
requires(T::kTakesRounds) struct PartWalk<T> {
  int parts;
  int at = static_cast<int>(blockIdx.x);
  int part = 0;
  int tile = 0;

  __device__ explicit PartWalk(const LeafShape& leaf) : parts(leaf.parts) {}
  __device__ bool next(const Raster& raster, int& tile_x, int& tile_y) {
    tile = at / parts;
    if (tile >= raster.tiles()) return false;
    part = at % parts;
    raster.locate(tile, tile_x, tile_y);
    at += static_cast<int>(gridDim.x);
    return true;
  }
};

/// What the producer brings of every part, in this order: k ascends, in each leaf and, unless the
/// last leaf is first, from leaf to leaf.
template <class T>
struct PartStages {
  const LeafShape& leaf;
  int k_blocks;

  template <int kDepth, class Visit>
  __device__ __forceinline__ void for_stages(const PartWalk<T>& walk, Visit&& visit) const {
    const LeafRange range = part_of(leaf, walk.part);
    if constexpr (T::kFromTheRight) {
      for (int at = range.end - 1; at >= range.begin; --at) {
        const BlockRange k = blocks_of(leaf, {at, at + 1}, k_blocks);
        for (int block = k.begin; block < k.end; block += kDepth) visit(block);
      }
    } else {
      const BlockRange k = blocks_of(leaf, range, k_blocks);
      for (int block = k.begin; block < k.end; block += kDepth) visit(block);
    }
  }
};

}  // namespace detgemm::cuda::sm90
