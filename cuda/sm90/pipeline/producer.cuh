// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/ptx/barrier.cuh"
#include "cuda/sm90/ptx/cluster.cuh"
#include "cuda/sm90/ptx/control.cuh"
#include "cuda/sm90/ptx/memory.cuh"
#include "cuda/sm90/ptx/tma.cuh"
#include "cuda/sm90/tile/c_slabs.hpp"
#include "cuda/sm90/tile/tile.hpp"

namespace detgemm::cuda::sm90 {

/// Where things are in a CTA's shared memory:
///
///   | stages: kStages x [ X | Y ] | epilogue | full | empty |
template <class T>
struct SharedLayout {
  std::uint32_t stages;    ///< kStages x (kDepth blocks of X, kDepth blocks of Y), 64 k each
  std::uint32_t epilogue;  ///< staging of D
  std::uint32_t full;      ///< kStages barriers: the stage has been loaded
  std::uint32_t empty;     ///< kStages barriers: the stage has been read

  __device__ explicit SharedLayout(const void* memory) {
    stages = (ptx::shared_address(memory) + (kSharedAlignment - 1U)) & ~(kSharedAlignment - 1U);
    epilogue = stages + T::kStages * T::kStageBytes;
    full = epilogue + T::kEpilogueBytes;
    empty = full + 8 * T::kStages;
  }
  /// The blocks of X in a stage: (kDepth, kXLoad, 64 k), or (kX / 64, 64 k, 64) where X is
  /// MN-major.
  __device__ std::uint32_t x(int stage) const { return stages + stage * T::kStageBytes; }
  /// The blocks of Y in a stage: (kDepth, kN, 64 k), or (kN / 64, 64 k, 64) where Y is MN-major.
  __device__ std::uint32_t y(int stage) const { return x(stage) + T::kDepth * T::kXBytes; }
};

/// A position in the ring of stages: the index and the parity of the current turn.
template <int kStages>
struct RingCursor {
  int stage = 0;
  std::uint32_t parity = 0;
  __device__ void advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1U;
    }
  }
  /// As after so many calls of advance.
  __device__ void skip(int stages) {
    const int to = stage + stages;
    parity ^= static_cast<std::uint32_t>(to / kStages) & 1U;
    stage = to % kStages;
  }
};

/// The tiles of a CTA. A persistent grid takes the raster's tiles in turn. Where CTAs form clusters
/// the raster counts clusters of tiles, whose CTAs are neighbours along y where they share X, and
/// along x where they share Y.
template <class T>
struct TileWalk {
  int at = blockIdx.x / T::kCluster;

  __device__ bool next(const Raster& raster, int& tile_x, int& tile_y) {
    if (at >= raster.tiles()) return false;
    raster.locate(at, tile_x, tile_y);
    if constexpr (T::kCluster > 1) {
      int& mine = T::kSharesX ? tile_y : tile_x;
      mine = mine * T::kCluster + static_cast<int>(ptx::cluster_ctarank());
    }
    at += gridDim.x / T::kCluster;
    return true;
  }
};

/// The first row of X, or of Y, of a tile.
template <class T>
__device__ __forceinline__ int x_of(const LaunchShape& shape, int tile_x) {
  return min(tile_x * T::kX, shape.x_last);
}
template <class T>
__device__ __forceinline__ int y_of(const LaunchShape& shape, int tile_y) {
  return min(tile_y * T::kN, shape.y_last);
}

/// Blocks [begin, end) of 64 k.
struct BlockRange {
  int begin = 0, end = 0;

  /// Calls visit(block) for the first block of every stage of kDepth blocks. All tiles have the
  /// same.
  template <int kDepth, class Walk, class Visit>
  __device__ __forceinline__ void for_stages(const Walk&, Visit&& visit) const {
    for (int block = begin; block < end; block += kDepth) visit(block);
  }
};

/// Loads one stage of one operand, (kRows, kDepth blocks of 64 k): rows from `row`, k blocks from
/// `block`.
template <int kRows, int kDepth, bool kMn>
__device__ __forceinline__ void load_stage(const CUtensorMap& map, bool one_box, std::uint32_t to,
                                           int row, int block, std::uint32_t barrier) {
  if constexpr (kMn) {
#pragma unroll
    for (int slab = 0; slab < (kRows + 63) / 64; ++slab) {  // boxes of (64 k, 64 rows)
      ptx::tma_load(to + slab * kSlabBytes, &map, row + slab * 64, block * kBlockK, barrier);
    }
  } else if (kDepth > 1 && one_box) {
    ptx::tma_load(to, &map, 0, row, block, barrier);  // one box of (kDepth, kRows, 64 k)
  } else {
#pragma unroll
    for (int i = 0; i < kDepth; ++i) {  // boxes of (kRows, 64 k)
      ptx::tma_load(to + i * kRows * kSpanBytes, &map, (block + i) * kBlockK, row, barrier);
    }
  }
}

/// Loads a part of a tile's C into a stage: slabs from part * kPerStage.
template <class T, bool k16>
__device__ __forceinline__ void load_c_stage(const CUtensorMap& map, const RingC& c,
                                             std::uint32_t to, int x, int y, int part,
                                             std::uint32_t barrier) {
  using Slabs = CSlabs<T, k16>;
  const int first = part * Slabs::kPerStage;
  const int count = min(Slabs::kPerStage, Slabs::kCount - first);
  ptx::mbarrier_arrive_expect_tx(barrier, static_cast<std::uint32_t>(count * c.slab_bytes));
#pragma unroll 1
  for (int s = 0; s < count; ++s) {
    const int at_y = y + (first + s) * Slabs::kSlab;
    const std::uint32_t slab = to + s * Slabs::kBytes;
    if (!c.x_contiguous) {
      ptx::tma_load(slab, &map, at_y, x, barrier);  // (all rows of the tile, kSlab)
      continue;
    }
#pragma unroll 1
    for (int b = 0; b < Slabs::kBlocks; ++b) {  // (kSlab, 64) each
      ptx::tma_load(slab + b * Slabs::kBlockBytes, &map, x + 64 * b, at_y, barrier);
    }
  }
}

/// The loop of one producer warp, which one elected lane runs: it walks the CTA's tiles and keeps
/// the ring full. `load(stage, x, y, block)` announces the bytes of a stage and issues its copies;
/// x and y are the tile's first rows. `load_c(stage, x, y, part)` does so for a part of C. `k` says
/// which blocks the tile has on which the walk is, in which order.
template <class T, class Walk, class Blocks, class Load, class LoadC>
__device__ __forceinline__ void produce(const SharedLayout<T>& shared, const LaunchShape& shape,
                                        bool starts_from_c, Walk walk, Blocks k, Load&& load,
                                        LoadC&& load_c) {
  RingCursor<T::kStages> cursor;
  cursor.parity = 1;  // a fresh barrier counts as one turn ahead, so that the ring starts empty
  int tile_x, tile_y;
  while (walk.next(shape.raster, tile_x, tile_y)) {
    const auto bring_c = [&] {
#pragma unroll 1
      for (int part = 0; part < shape.c.stages; ++part) {
        ptx::mbarrier_wait(shared.empty + 8 * cursor.stage, cursor.parity);
        load_c(cursor.stage, x_of<T>(shape, tile_x), y_of<T>(shape, tile_y), part);
        cursor.advance();
      }
    };
    if (starts_from_c) bring_c();
    k.template for_stages<T::kDepth>(walk, [&](int block) {
      ptx::mbarrier_wait(shared.empty + 8 * cursor.stage, cursor.parity);
      load(cursor.stage, x_of<T>(shape, tile_x), y_of<T>(shape, tile_y), block);
      cursor.advance();
    });
    if (!starts_from_c) bring_c();
  }
}

/// Loads one stage of the operand that a cluster shares, (kRows, 64 k): every CTA loads its share
/// of the rows and multicasts it, so that the barrier of each CTA sees all rows arrive. In clusters
/// of four shares shrink where the operand has fewer rows than a tile (boxes.hpp): `bytes` are
/// those of the stage.
///
///   rank    0          1          2          3
///           rows 0..21 22..43     44..65     66..87      of a tile of 88, to all four CTAs
///
/// A share may begin inside of the 8 rows after which the swizzle repeats. TMA takes the turn of a
/// row from its address, so that the rows are where one box of all of them would be.
template <int kRows, int kCluster, bool kMn>
__device__ __forceinline__ void multicast_stage(const CUtensorMap& map, std::uint32_t to, int row,
                                                int block, std::uint32_t barrier,
                                                [[maybe_unused]] int bytes) {
  const int share = kCluster <= 2 ? kRows / kCluster : bytes / (kCluster * kSpanBytes);
  constexpr std::uint16_t kAll = (1U << kCluster) - 1;
  const int first = static_cast<int>(ptx::cluster_ctarank()) * share;
  if constexpr (kMn) {
#pragma unroll
    for (int slab = 0; slab < kRows / kCluster / 64; ++slab) {
      const int at = first + slab * 64;
      ptx::tma_multicast(to + at * kSpanBytes, &map, row + at, block * kBlockK, barrier, kAll);
    }
  } else {
    ptx::tma_multicast(to + first * kSpanBytes, &map, block * kBlockK, row + first, barrier, kAll);
  }
}

/// Warp 0 of the producer group loads X and warp 1 loads Y: k blocks `k` of every tile of the walk.
/// An operand that is stable (no earlier work of the stream writes it) is read before earlier
/// kernels have ended.
template <class T, class Walk, class Blocks = BlockRange>
__device__ __forceinline__ void run_producer(const SharedLayout<T>& shared, const LaunchMaps& maps,
                                             const LaunchShape& shape, bool starts_from_c, int warp,
                                             Walk walk, Blocks k) {
  if (warp == 0 && ptx::elect_sync()) {
    if (!shape.x_stable) ptx::griddepcontrol_wait();
    const auto load = [&](int stage, int x, int, int block) {
      const std::uint32_t full = shared.full + 8 * stage;
      ptx::mbarrier_arrive_expect_tx(full, static_cast<std::uint32_t>(shape.x_stage_bytes));
      if constexpr (T::kCluster > 1 && T::kSharesX) {
        multicast_stage<T::kX, T::kCluster, T::kXMn>(maps.x, shared.x(stage), x, block, full,
                                                     shape.x_stage_bytes);
      } else {
        load_stage<T::kXLoad, T::kDepth, T::kXMn>(maps.x, shape.x_one_box, shared.x(stage), x,
                                                  block, full);
      }
    };
    const auto load_c = [&](int stage, int x, int y, int part) {
      ptx::griddepcontrol_wait();  // no one promises C
      const std::uint32_t full = shared.full + 8 * stage;
      if (shape.c.copied) {
        ptx::mbarrier_arrive(full);  // consumers fill the stage
      } else if (shape.c.is_16) {
        load_c_stage<T, true>(maps.c, shape.c, shared.x(stage), x, y, part, full);
      } else {
        load_c_stage<T, false>(maps.c, shape.c, shared.x(stage), x, y, part, full);
      }
    };
    produce(shared, shape, starts_from_c, walk, k, load, load_c);
  } else if (warp == 1 && ptx::elect_sync()) {
    if (!shape.y_stable) ptx::griddepcontrol_wait();
    const auto load = [&](int stage, int, int y, int block) {
      const std::uint32_t full = shared.full + 8 * stage;
      ptx::mbarrier_arrive_expect_tx(full, static_cast<std::uint32_t>(shape.y_stage_bytes));
      if constexpr (T::kCluster > 1 && !T::kSharesX) {
        multicast_stage<T::kN, T::kCluster, T::kYMn>(maps.y, shared.y(stage), y, block, full,
                                                     shape.y_stage_bytes);
      } else {
        load_stage<T::kN, T::kDepth, T::kYMn>(maps.y, shape.y_one_box, shared.y(stage), y, block,
                                              full);
      }
    };
    const auto load_c = [&](int stage, int, int, int) {
      ptx::mbarrier_arrive(shared.full + 8 * stage);  // the other warp brings it
    };
    produce(shared, shape, starts_from_c, walk, k, load, load_c);
  }
}

inline constexpr int kFullArrivals = 2;  ///< arrivals that complete a stage: X's and Y's

}  // namespace detgemm::cuda::sm90
