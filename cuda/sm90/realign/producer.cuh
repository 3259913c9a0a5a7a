// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/pipeline/producer.cuh"
#include "cuda/sm90/ptx/memory.cuh"
#include "cuda/sm90/realign/tile.hpp"

namespace detgemm::cuda::sm90 {

/// Elements shift .. shift + 15 of 24. Two selects shift by words, and prmt by a half word.
__device__ __forceinline__ void shift_chunks(const uint4 (&in)[3], int shift,
                                             std::uint32_t (&out)[8]) {
  const std::uint32_t w[12] = {in[0].x, in[0].y, in[0].z, in[0].w, in[1].x, in[1].y,
                               in[1].z, in[1].w, in[2].x, in[2].y, in[2].z, in[2].w};
  std::uint32_t by_two[10], by_one[9];
#pragma unroll
  for (int i = 0; i < 10; ++i) by_two[i] = (shift & 4) != 0 ? w[i + 2] : w[i];
#pragma unroll
  for (int i = 0; i < 9; ++i) by_one[i] = (shift & 2) != 0 ? by_two[i + 1] : by_two[i];
  const std::uint32_t bytes = (shift & 1) != 0 ? 0x5432U : 0x3210U;
#pragma unroll
  for (int i = 0; i < 8; ++i) out[i] = __byte_perm(by_one[i], by_one[i + 1], bytes);
}

/// Moves one warp's two classes of an operand from `raw` to their place in the stage `to`.
///
/// Four lanes take a span of 128 bytes, and each lane two chunks of it, out of three raw chunks. Of
/// the 8 lanes that share a wavefront, four take class 2w and four take class 2w + 1 of
/// neighbouring raw rows. An odd pitch makes chunks of equal parity in neighbouring rows meet banks
/// of different parity, and the swizzle does the same for neighbouring classes, so no wavefront is
/// split.
///
/// Of each class the first `box_rows` rows are there; the others of the stage keep what they held,
/// since they belong to rows that do not exist and are never stored.
template <class R>
__device__ __forceinline__ void realign(std::uint32_t raw, std::uint32_t to, std::uint32_t shifts,
                                        int box_rows, int warp) {
  const int lane = threadIdx.x % 32;
  const int odd = lane / 4 % 2;
  const int c = warp * 2 + odd;
  const int pair = lane % 4 * 2;
  const int shift = static_cast<int>(shifts >> (4 * c)) & 15;
  const std::uint32_t from = raw + c * R::kClassRoom + pair * 16;
  const std::uint32_t chunk[2] = {static_cast<std::uint32_t>((pair ^ c) << 4),
                                  static_cast<std::uint32_t>(((pair + 1) ^ c) << 4)};
  constexpr int kSteps = (R::kStrips + 3) / 4;
  constexpr int kBatch = kSteps % 4 == 0 ? 4 : kSteps % 3 == 0 ? 3 : kSteps % 2 == 0 ? 2 : 1;
#pragma unroll 1
  for (int first = 0; first < kSteps; first += kBatch) {
    uint4 in[kBatch][3];  // all loads of a batch are before its first store: latency is paid once
    std::uint32_t row[kBatch];
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const int strip = ((first + i) * 4 + lane / 8) ^ (R::kStrips > 1 ? odd : 0);
      const int q = strip % R::kBoxRows;
      const int span = strip / R::kBoxRows;
      row[i] = to + span * R::kSpanRoom + (q * kClasses + c) * kSpanBytes;
      if (q >= box_rows || (R::kStrips % 4 != 0 && strip >= R::kStrips)) row[i] = 0;
      if (row[i] == 0) continue;
      const std::uint32_t at =
          from + span / R::kSpans * R::kBoxRoom + q * R::kPitch + span % R::kSpans * kSpanBytes;
#pragma unroll
      for (int chunk = 0; chunk < 3; ++chunk) {
        in[i][chunk] = ptx::ld_shared_v4_u32(at + chunk * 16);
      }
    }
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      if (row[i] == 0) continue;
      std::uint32_t out[8];
      shift_chunks(in[i], shift, out);
      ptx::st_shared_v4_u32(row[i] + chunk[0], {out[0], out[1], out[2], out[3]});
      ptx::st_shared_v4_u32(row[i] + chunk[1], {out[4], out[5], out[6], out[7]});
    }
  }
}

/// Loads one class of an operand for one stage: rows from `row`, k from block `block`.
template <class R>
__device__ __forceinline__ void load_class(const CUtensorMap& map, std::uint32_t to, int row,
                                           int block, std::uint32_t barrier) {
#pragma unroll
  for (int box = 0; box < R::kBoxes; ++box) {
    if constexpr (R::kMn) {
      ptx::tma_load(to + box * R::kBoxRoom, &map, row + box * R::kSpans * 64,
                    block * (kBlockK / kClasses), barrier);
    } else {
      ptx::tma_load(to, &map, block * kBlockK, row / kClasses, barrier);
    }
  }
}

/// One of the four producer warps, w: classes 2w and 2w + 1 of both operands, from the copies to
/// the shift. The raw buffers of a class belong to this warp alone, so no other warp has to wait
/// for them.
template <class T>
struct RealignWarp {
  const SharedLayout<T>& shared;
  const RealignMaps& maps;
  const LaunchShape& shape;
  const RealignShifts& shifts;
  int warp;
  TileWalk<T> walk{};
  int tile_x = 0, tile_y = 0, block = 0;  ///< what is copied next
  bool more = false;                      ///< whether there is such a block

  __device__ void start() { more = shape.k_blocks > 0 && walk.next(shape.raster, tile_x, tile_y); }
  __device__ void advance() {
    block += T::kDepth;
    if (block < shape.k_blocks) return;
    block = 0;
    more = walk.next(shape.raster, tile_x, tile_y);
  }
  __device__ std::uint32_t raw(int stage) const {
    return shared.epilogue + T::kStagingBytes + stage * T::kRawBytes;
  }
  __device__ std::uint32_t raw_full(int stage) const {
    return shared.empty + 8 * T::kStages + (stage * 4 + warp) * 8;
  }
  __device__ void load_x(int stage) const {
#pragma unroll
    for (int c = 2 * warp; c < 2 * warp + 2; ++c) {
      load_class<typename T::RawX>(maps.x[c], raw(stage) + c * T::RawX::kClassRoom,
                                   x_of<T>(shape, tile_x), block, raw_full(stage));
    }
  }
  __device__ void load_y(int stage) const {
#pragma unroll
    for (int c = 2 * warp; c < 2 * warp + 2; ++c) {
      load_class<typename T::RawY>(maps.y[c], raw(stage) + T::RawX::kRoom + c * T::RawY::kClassRoom,
                                   y_of<T>(shape, tile_y), block, raw_full(stage));
    }
  }
  __device__ void announce(int stage) const {
    const int bytes = T::RawX::class_bytes(shifts.x_box_rows) +  // of two classes each
                      T::RawY::class_bytes(shifts.y_box_rows);
    ptx::mbarrier_arrive_expect_tx(raw_full(stage), static_cast<std::uint32_t>(2 * bytes));
  }
};

/// The loop of a producer warp.
///
///   raw ring of kRawStages (filled by TMA) -> shift -> ring of kStages (read by wgmma)
template <class T>
__device__ __forceinline__ void run_realigner(const SharedLayout<T>& shared,
                                              const RealignMaps& maps, const LaunchShape& shape,
                                              const RealignShifts& shifts, int warp) {
  RealignWarp<T> ahead{shared, maps, shape, shifts, warp};
  ahead.start();
  // The first copies of a stable operand start before earlier kernels have ended.
  RealignWarp<T> first = ahead;
  int filled = 0;
  for (; filled < T::kRawStages && ahead.more; ++filled, ahead.advance()) {
    if (!ptx::elect_sync()) continue;
    ahead.announce(filled);
    if (shape.x_stable) ahead.load_x(filled);
    if (shape.y_stable) ahead.load_y(filled);
  }
  if (!shape.x_stable || !shape.y_stable) {
    ptx::griddepcontrol_wait();
    for (int stage = 0; stage < filled; ++stage, first.advance()) {
      if (!ptx::elect_sync()) continue;
      if (!shape.x_stable) first.load_x(stage);
      if (!shape.y_stable) first.load_y(stage);
    }
  }
  RingCursor<T::kRawStages> raw;
  RingCursor<T::kStages> cursor;
  cursor.parity = 1;  // a fresh barrier counts as one turn ahead, so that the ring starts empty
  while (filled > 0) {
    ptx::mbarrier_wait(ahead.raw_full(raw.stage), raw.parity);
    ptx::mbarrier_wait(shared.empty + 8 * cursor.stage, cursor.parity);
    realign<typename T::RawX>(ahead.raw(raw.stage), shared.x(cursor.stage), shifts.x,
                              shifts.x_box_rows, warp);
    realign<typename T::RawY>(ahead.raw(raw.stage) + T::RawX::kRoom, shared.y(cursor.stage),
                              shifts.y, shifts.y_box_rows, warp);
    // For wgmma, which reads the stage, and for TMA, which refills the raw buffer.
    ptx::fence_proxy_async();
    __syncwarp();
    if (ptx::elect_sync()) {
      ptx::mbarrier_arrive(shared.full + 8 * cursor.stage);
      if (ahead.more) {
        ahead.announce(raw.stage);
        ahead.load_x(raw.stage);
        ahead.load_y(raw.stage);
      }
    }
    __syncwarp();
    if (ahead.more) {
      ahead.advance();
    } else {
      --filled;
    }
    raw.advance();
    cursor.advance();
  }
}

}  // namespace detgemm::cuda::sm90
