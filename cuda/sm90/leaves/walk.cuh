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

/// The parts of a CTA: neighbouring CTAs take the parts of one tile. Parts that meet in a cluster
/// are one wave; those that meet in the workspace may take several rounds, since nobody waits for
/// another part. A pair that shares an operand takes tiles of one part, as the pairs of a chain do.
template <class T>
struct PartWalk {
  int parts;
  int at = static_cast<int>(blockIdx.x) / T::kCluster;
  int part = 0;
  int tile = 0;

  __device__ explicit PartWalk(const LeafShape& leaf) : parts(leaf.parts) {}
  __device__ bool next(const Raster& raster, int& tile_x, int& tile_y) {
    tile = T::kCluster > 1 ? at : at / parts;
    if (tile >= raster.tiles()) return false;
    raster.locate(tile, tile_x, tile_y);
    if constexpr (T::kCluster > 1) {
      int& mine = T::kSharesX ? tile_y : tile_x;
      mine = mine * T::kCluster + static_cast<int>(ptx::cluster_ctarank());
    } else {
      part = at % parts;
    }
    at += static_cast<int>(gridDim.x) / T::kCluster;
    return true;
  }
};

/// What the producer brings of every part, in this order: k ascends, in each leaf and, unless the
/// last leaf comes first, from leaf to leaf.
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
