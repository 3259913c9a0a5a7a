// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/fp8/tile.hpp"
#include "cuda/sm90/pipeline/producer.cuh"
#include "cuda/sm90/ptx/arithmetic.cuh"
#include "cuda/sm90/ptx/cp_async.cuh"

namespace detgemm::cuda::sm90 {

/// The slot of a stage: (kX) scales of rows, then (kN) or 1 of columns, fp32.
template <class T>
__device__ __forceinline__ std::uint32_t scale_slot(const SharedLayout<T>& shared, int stage) {
  return shared.epilogue + T::kStagingBytes + stage * T::kSlotBytes;
}

/// The slot of the scales of whole lines of a tile: (kX) of rows, then (kN) of columns, fp32.
template <class T>
__device__ __forceinline__ std::uint32_t line_slot(const SharedLayout<T>& shared, int slot) {
  return shared.epilogue + T::kStagingBytes + slot * T::kLineBytes;
}
/// Its barriers: they have been brought, and they have been read.
template <class T>
__device__ __forceinline__ std::uint32_t lines_full(const SharedLayout<T>& shared, int slot) {
  return line_slot(shared, T::kLineSlots) + 16 * slot;
}
template <class T>
__device__ __forceinline__ std::uint32_t lines_empty(const SharedLayout<T>& shared, int slot) {
  return lines_full(shared, slot) + 8;
}

/// The scales of one operand for a tile, as one of kScaleThreads threads brings them: lines
/// first + thread, first + thread + 64 ... of `kLines`. A leaf's address is advanced from that of
/// the leaf before: a warp that computed it for every stage took longer than the stage's products.
/// Lines behind the last one, whose outputs are not stored, take the scale of the last one.
template <int kLines>
struct ScaleCopies {
  const std::byte* leaf;  ///< where the scales of the next leaf begin
  int line;               ///< the first one of this thread

  __device__ __forceinline__ void begin(const SideScales& s, int first) {
    leaf = static_cast<const std::byte*>(s.data);
    line = first + thread();
  }
  /// Into a slot. fp32 is copied asynchronously, e8m0 is converted on the way.
  __device__ __forceinline__ void bring(const SideScales& s, int lines, std::uint32_t slot) const {
#pragma unroll
    for (int i = 0; i < kLines; i += kScaleThreads) {
      if (kLines % kScaleThreads != 0 && i + thread() >= kLines) break;
      const std::int64_t at = scale_index(s, min(line + i, lines - 1), 0);
      const std::uint32_t to = slot + 4 * (i + thread());
      if (s.e8m0) {
        ptx::st_shared_f32(to, e8m0_value(*reinterpret_cast<const std::uint8_t*>(leaf + at)));
      } else {
        ptx::cp_async_4(to, leaf + 4 * at);
      }
    }
  }
  __device__ __forceinline__ void next_leaf(const SideScales& s) {
    leaf += s.leaf_stride * (s.e8m0 ? 1 : 4);
  }

 private:
  static __device__ __forceinline__ int thread() { return threadIdx.x % kScaleThreads; }
};

/// Brings the scales of a tile's leaves, stage by stage, as one of kScaleThreads threads.
template <class T>
struct TileScales {
  ScaleCopies<T::kX> x;
  ScaleCopies<T::kJoin == Join::one ? 1 : T::kN> y;
  int left = 0;  ///< stages of the leaf that are still to come

  /// Before the first stage of a tile: its first lines of scales.
  __device__ __forceinline__ void begin(const Fp8Shape& fp8, int x_first, int y_first) {
    x.begin(fp8.x, x_first);
    y.begin(fp8.y, y_first);
    left = fp8.leaf_blocks;
  }
  /// Those of the next stage, into its slot, of so many lines in all. Each thread arrives once.
  __device__ __forceinline__ void bring(const Fp8Shape& fp8, int x_lines, int y_lines,
                                        std::uint32_t slot, std::uint32_t full) {
    x.bring(fp8.x, x_lines, slot);
    y.bring(fp8.y, y_lines, slot + 4 * T::kX);
    // Ordinary stores are ordered by an ordinary arrival, copies by one that waits for them.
    if (fp8.x.e8m0 || fp8.y.e8m0) {
      ptx::cp_async_wait_all();
      ptx::mbarrier_arrive(full);
    } else {
      ptx::cp_async_mbarrier_arrive_noinc(full);
    }
    if (--left == 0) {
      x.next_leaf(fp8.x);
      y.next_leaf(fp8.y);
      left = fp8.leaf_blocks;
    }
  }
};

/// The same by one thread, where the scales of a tile's rows of a leaf are one copy of TMA and its
/// columns share one: 64 threads that ask for four bytes each took longer than the stage's
/// products.
template <class T>
struct RowCopies {
  const float* x;
  const float* y;
  int bytes;  ///< of the rows that there are
  int left = 0;

  __device__ __forceinline__ void begin(const Fp8Shape& fp8, int x_first, int y_first,
                                        int x_lines) {
    x = static_cast<const float*>(fp8.x.data) + x_first;
    y = static_cast<const float*>(fp8.y.data) + scale_index(fp8.y, y_first, 0);
    bytes = 4 * max(0, min(T::kX, x_lines - x_first));
    left = fp8.leaf_blocks;
  }
  __device__ __forceinline__ void bring(const Fp8Shape& fp8, std::uint32_t slot,
                                        std::uint32_t full) {
    ptx::mbarrier_arrive_expect_tx(full, static_cast<std::uint32_t>(bytes));
    if (bytes > 0) ptx::bulk_load(slot, x, bytes, full);
    ptx::cp_async_4(slot + 4 * T::kX, y);
    ptx::cp_async_mbarrier_arrive_noinc(full);
    if (--left == 0) {
      x += fp8.x.leaf_stride;
      y += fp8.y.leaf_stride;
      left = fp8.leaf_blocks;
    }
  }
};

/// Brings the scales of whole lines, tile by tile, as one of kScaleThreads threads. A slot is
/// filled as soon as its last tile has been multiplied, so that nobody waits for memory when leaves
/// end.
template <class T>
struct LineSlots {
  RingCursor<T::kLineSlots> cursor{0, 1};  // slots begin empty

  __device__ __forceinline__ void bring(const SharedLayout<T>& shared, const Fp8Shape& fp8,
                                        int x_first, int y_first, int x_lines, int y_lines) {
    ptx::mbarrier_wait(lines_empty(shared, cursor.stage), cursor.parity);
    TileScales<T> scales;
    scales.begin(fp8, x_first, y_first);
    scales.bring(fp8, x_lines, y_lines, line_slot(shared, cursor.stage),
                 lines_full(shared, cursor.stage));
    cursor.advance();
  }
};

/// Loads a box of (kRows, 128 k), or, where a pair shares the operand, this CTA's half of one for
/// both.
template <int kRows, bool kShared>
__device__ __forceinline__ void load_fp8(const CUtensorMap& map, std::uint32_t to, int row,
                                         int block, std::uint32_t barrier) {
  if constexpr (kShared) {
    const int first = static_cast<int>(ptx::cluster_ctarank()) * (kRows / 2);
    ptx::tma_multicast(to + first * kSpanBytes, &map, block * kFp8BlockK, row + first, barrier, 3);
  } else {
    ptx::tma_load(to, &map, block * kFp8BlockK, row, barrier);
  }
}

/// Warp 0 of the producer group loads X, warp 1 loads Y, and warps 2 and 3 bring scales.
template <class T>
__device__ __forceinline__ void run_fp8_producer(const SharedLayout<T>& shared,
                                                 const LaunchMaps& maps, const LaunchShape& shape,
                                                 const Fp8Shape& fp8, int warp) {
  const BlockRange k{0, shape.k_blocks};
  const TileWalk<T> walk;
  const auto no_c = [](int, int, int, int) {};
  if (warp == 0 && ptx::elect_sync()) {
    if (!shape.x_stable) ptx::griddepcontrol_wait();
    const auto load = [&](int stage, int x, int, int block) {  // (kX, 128 k)
      const std::uint32_t full = shared.full + 8 * stage;
      ptx::mbarrier_arrive_expect_tx(full, static_cast<std::uint32_t>(shape.x_stage_bytes));
      load_fp8<T::kX, (T::kCluster > 1 && T::kSharesX)>(maps.x, shared.x(stage), x, block, full);
    };
    produce(shared, shape, false, walk, k, load, no_c);
  } else if (warp == 1 && ptx::elect_sync()) {
    if (!shape.y_stable) ptx::griddepcontrol_wait();
    const auto load = [&](int stage, int, int y, int block) {  // (kN, 128 k)
      const std::uint32_t full = shared.full + 8 * stage;
      ptx::mbarrier_arrive_expect_tx(full, static_cast<std::uint32_t>(shape.y_stage_bytes));
      load_fp8<T::kN, (T::kCluster > 1 && !T::kSharesX)>(maps.y, shared.y(stage), y, block, full);
    };
    produce(shared, shape, false, walk, k, load, no_c);
  } else if (T::kJoin == Join::one && fp8.in_rows && warp >= 2) {
    if (warp > 2 || !ptx::elect_sync()) return;
    ptx::griddepcontrol_wait();
    RowCopies<T> scales;
    const auto load = [&](int stage, int x, int y, int block) {
      if (block == 0) scales.begin(fp8, x, min(y, shape.y_rows - 1), shape.x_rows);
      scales.bring(fp8, scale_slot(shared, stage), shared.full + 8 * stage);
    };
    produce(shared, shape, false, walk, k, load, no_c);
  } else if (T::kScaled && warp >= 2) {
    ptx::griddepcontrol_wait();  // scales are promised by nobody
    TileScales<T> scales;
    const auto load = [&](int stage, int x, int y, int block) {
      if (block == 0) scales.begin(fp8, x, y);
      scales.bring(fp8, shape.x_rows, shape.y_rows, scale_slot(shared, stage),
                   shared.full + 8 * stage);
    };
    produce(shared, shape, false, walk, k, load, no_c);
  } else if (!T::kScaled && warp >= 2 && fp8.of_lines) {
    ptx::griddepcontrol_wait();
    LineSlots<T> lines;
    TileWalk<T> tiles;
    int x, y;
    while (tiles.next(shape.raster, x, y)) {
      lines.bring(shared, fp8, x_of<T>(shape, x), y_of<T>(shape, y), shape.x_rows, shape.y_rows);
    }
  }
}

}  // namespace detgemm::cuda::sm90
