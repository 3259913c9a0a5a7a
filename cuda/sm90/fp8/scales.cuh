// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/fp8/tile.hpp"
#include "cuda/sm90/pipeline/producer.cuh"
#include "cuda/sm90/ptx/arithmetic.cuh"
#include "cuda/sm90/ptx/cp_async.cuh"

namespace detgemm::cuda::sm90 {

/// A slot of scales: (kRowScales) of rows, then (kN), 1 or 2 of columns, fp32.
template <class T>
__device__ __forceinline__ std::uint32_t scale_slot(const SharedLayout<T>& shared, int slot) {
  return shared.epilogue + T::kStagingBytes + slot * T::kSlotBytes;
}
/// Its barriers: the scales have been brought, and they have been read.
template <class T>
__device__ __forceinline__ std::uint32_t scales_full(const SharedLayout<T>& shared, int slot) {
  return scale_slot(shared, T::kSlots) + 16 * slot;
}
template <class T>
__device__ __forceinline__ std::uint32_t scales_empty(const SharedLayout<T>& shared, int slot) {
  return scales_full(shared, slot) + 8;
}

/// Hands a slot back. Every thread of the consumers calls it and arrives for itself, behind what it
/// has read: one arrival per warp behind a __syncwarp orders the same, but racecheck lost it.
template <class T>
__device__ __forceinline__ void release_scales(const SharedLayout<T>& shared, int slot) {
  ptx::mbarrier_arrive(scales_empty(shared, slot));
}

/// The scales of one operand for a tile, as one of kScaleThreads threads brings them: lines
/// first + thread, first + thread + 64 ... of `kLines`. A leaf's address is advanced from that of
/// the leaf before: a warp that computed it again took longer than the leaf's products.
/// Lines past the last one, whose outputs are not stored, take the scale of the last one.
/// kStep: from a line to the next, 128 where that many share a scale.
template <int kLines, int kStep = 1>
struct ScaleCopies {
  const std::byte* leaf;  ///< where the scales of the next leaf begin
  int line;               ///< the first one of this thread

  __device__ __forceinline__ void begin(const SideScales& s, int first) {
    leaf = static_cast<const std::byte*>(s.data);
    line = first + thread() * kStep;
  }
  /// Into a slot. fp32 is copied asynchronously, e8m0 is converted on the way.
  __device__ __forceinline__ void bring(const SideScales& s, int lines, std::uint32_t slot) const {
#pragma unroll
    for (int i = 0; i < kLines; i += kScaleThreads) {
      if (kLines % kScaleThreads != 0 && i + thread() >= kLines) break;
      const std::int64_t at = scale_index(s, min(line + i * kStep, lines - 1), 0);
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

/// Brings the scales of a tile's leaves, one after the other, as one of kScaleThreads threads.
template <class T>
struct TileScales {
  ScaleCopies<T::kX> x;
  ScaleCopies<T::kColumnScales, T::kJoin == Join::one ? 128 : 1> y;
  int x_lines, y_lines;

  /// Before the first leaf of a tile: its first lines of scales, and how many there are in all.
  __device__ __forceinline__ void begin(const Fp8Shape& fp8, int x_first, int y_first, int x_all,
                                        int y_all, int /*leaves*/) {
    x.begin(fp8.x, x_first);
    y.begin(fp8.y, y_first);
    x_lines = x_all;
    y_lines = y_all;
  }
  /// Those of the next leaf, into a slot. Each thread arrives once.
  __device__ __forceinline__ void bring(const Fp8Shape& fp8, std::uint32_t slot,
                                        std::uint32_t full) {
    x.bring(fp8.x, x_lines, slot);
    y.bring(fp8.y, y_lines, slot + 4 * T::kRowScales);
    // Ordinary stores are ordered by an ordinary arrival, copies by one that waits for them.
    if (!T::kScaled || fp8.x.e8m0 || fp8.y.e8m0) {
      ptx::cp_async_wait_all();
      ptx::mbarrier_arrive(full);
    } else {
      ptx::cp_async_mbarrier_arrive_noinc(full);
    }
    x.next_leaf(fp8.x);
    y.next_leaf(fp8.y);
  }
};

/// Where the scales of a tile's rows are in an array, leaf by leaf, if neighbours are neighbours
/// there: (count) scales from `at` on. Chunks are 16 bytes of four:
///
///   chunks   | 128 .. 131 | 132 .. 135 | 136 .. 139 | ...  of a tile from 134 on
///   copied                | 132 .. 135 | 136 .. 139 | ...  and the next leaf's begin elsewhere
///
/// The last chunk of the array may have an end that does not exist.
struct RowPlace {
  const float* base;  ///< at a multiple of 16 bytes
  int at, count;      ///< of the next leaf
  int total;          ///< scales in the array
  int step;           ///< from a leaf to the next

  /// Before the first leaf of a tile: its first line, how many lines there are, and leaves.
  template <class T>
  __device__ __forceinline__ void begin(const SideScales& s, int first, int lines, int leaves) {
    base = static_cast<const float*>(s.data);
    at = min(first, lines - 1);  // a pair may have a tile behind the last line
    count = min(T::kX, lines - at);
    step = static_cast<int>(s.leaf_stride);
    total = (leaves - 1) * step + lines;
  }
  __device__ __forceinline__ int chunk() const { return at & ~3; }
  /// The end of the whole chunks that have a scale of the leaf.
  __device__ __forceinline__ int end() const { return min((at + count + 3) & ~3, total & ~3); }
};
__device__ __forceinline__ int leaves_of(const LaunchShape& shape, const Fp8Shape& fp8) {
  return (shape.k_blocks + fp8.leaf_blocks - 1) / fp8.leaf_blocks;
}

/// The whole chunks of a RowPlace, which one lane brings by a bulk copy per leaf. A thread of the
/// consumers reads them, and multiplies by them, before it hands the stage back: a write of TMA
/// does not wait for loads that were only issued.
template <class T>
struct RowCopy {
  RowPlace rows;

  __device__ __forceinline__ void begin(const Fp8Shape& fp8, int x_first, int /*y_first*/,
                                        int x_all, int /*y_all*/, int leaves) {
    rows.begin<T>(fp8.x, x_first, x_all, leaves);
  }
  __device__ __forceinline__ void bring(const Fp8Shape&, std::uint32_t slot, std::uint32_t full) {
    const int from = rows.chunk();
    const int bytes = 4 * (rows.end() - from);
    if (bytes > 0) {
      ptx::mbarrier_arrive_expect_tx(full, static_cast<std::uint32_t>(bytes));
      ptx::bulk_load(slot, rows.base + from, static_cast<std::uint32_t>(bytes), full);
    } else {
      ptx::mbarrier_arrive(full);
    }
    rows.at += rows.step;
  }
};

/// What another lane brings: the scales of columns, and the last ones of the array.
template <class T>
struct ColumnCopies {
  RowPlace rows;
  const float* y;          ///< of the tile's first columns
  std::int64_t to_second;  ///< to those behind 128 columns

  __device__ __forceinline__ void begin(const Fp8Shape& fp8, int x_first, int y_first, int x_all,
                                        int y_all, int leaves) {
    rows.begin<T>(fp8.x, x_first, x_all, leaves);
    const std::int64_t first = scale_index(fp8.y, min(y_first, y_all - 1), 0);
    y = static_cast<const float*>(fp8.y.data) + first;
    to_second = scale_index(fp8.y, min(y_first + 128, y_all - 1), 0) - first;
  }
  __device__ __forceinline__ void bring(const Fp8Shape& fp8, std::uint32_t slot,
                                        std::uint32_t full) {
    ptx::cp_async_4(slot + 4 * T::kRowScales, y);
    if constexpr (T::kColumnScales > 1) {
      ptx::cp_async_4(slot + 4 * T::kRowScales + 4, y + to_second);
    }
#pragma unroll 1
    for (int i = max(rows.end(), rows.at); i < rows.at + rows.count; ++i) {
      ptx::cp_async_4(slot + 4 * (i - rows.chunk()), rows.base + i);
    }
    ptx::cp_async_mbarrier_arrive_noinc(full);
    y += fp8.y.leaf_stride;
    rows.at += rows.step;
  }
};

/// For a thread that reads a slot: by how many scales a tile's first row is behind the first one
/// that was copied, and by how many more in the next leaf, both modulo 4.
struct RowsSkipped {
  int rows = 0, step = 0;

  __device__ __forceinline__ static RowsSkipped of(const Fp8Shape& fp8, int first, int lines) {
    if (!fp8.in_rows) return {};
    return {min(first, lines - 1) & 3, static_cast<int>(fp8.x.leaf_stride) & 3};
  }
  __device__ __forceinline__ void next_leaf() { rows = (rows + step) & 3; }
};

/// The slots of a CTA as a thread fills them: one per stage, with the barriers of the stage, or
/// some with barriers of their own. Those are filled as soon as their last scales have been read,
/// so that no warp waits for memory when a leaf ends, or when the leaves of a tile end.
template <class T>
struct ScaleSlots {
  RingCursor<T::kSlots> cursor{0, 1};  // slots begin empty

  template <class Scales>
  __device__ __forceinline__ void bring(const SharedLayout<T>& shared, const Fp8Shape& fp8,
                                        bool is_first, Scales& scales) {
    const int at = cursor.stage;
    const std::uint32_t empty = T::kStageScales ? shared.empty + 8 * at : scales_empty(shared, at);
    const std::uint32_t full = T::kStageScales ? shared.full + 8 * at : scales_full(shared, at);
    ptx::mbarrier_wait(empty, cursor.parity);
    if (is_first) {
      scales.bring(fp8, scale_slot(shared, at), full);
    } else {
      ptx::mbarrier_arrive(full);
    }
    cursor.advance();
  }
  /// All those of a tile: of whole lines, or of its leaves. Those of a leaf arrive with the first
  /// of its stages, and nothing with the others.
  template <class Scales>
  __device__ __forceinline__ void bring_tile(const SharedLayout<T>& shared, const Fp8Shape& fp8,
                                             int k_blocks, Scales& scales) {
    if constexpr (!T::kScaled) {
      bring(shared, fp8, true, scales);
    } else {
      const int step = T::kStageScales ? 1 : fp8.leaf_blocks;
      int of_leaf = 0;
#pragma unroll 1
      for (int block = 0; block < k_blocks; block += step) {
        bring(shared, fp8, of_leaf == 0, scales);
        of_leaf = of_leaf + step < fp8.leaf_blocks ? of_leaf + step : 0;
      }
    }
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
  } else if (warp >= 2 && (T::kScaled || fp8.of_lines)) {
    const auto bring_all = [&](auto scales) {
      ptx::griddepcontrol_wait();  // no one promises scales
      ScaleSlots<T> slots;
      TileWalk<T> tiles;
      int x, y;
      while (tiles.next(shape.raster, x, y)) {
        scales.begin(fp8, x_of<T>(shape, x), y_of<T>(shape, y), shape.x_rows, shape.y_rows,
                     leaves_of(shape, fp8));
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

}  // namespace detgemm::cuda::sm90
