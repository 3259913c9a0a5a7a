// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/pipeline/mainloop.cuh"
#include "cuda/sm90/ptx/arithmetic.cuh"
#include "cuda/sm90/ptx/memory.cuh"
#include "cuda/sm90/ptx/mma.cuh"
#include "cuda/sm90/tile/swizzle.hpp"

namespace detgemm::cuda::sm90 {

/// Two accumulators rounded to nearest even and packed, `low` first; NaN becomes 0x7fff.
__device__ __forceinline__ std::uint32_t pack(float low, float high, DType output) {
  return output == DType::bf16 ? ptx::cvt_rn_bf16x2_f32(high, low)
                               : ptx::cvt_rn_f16x2_f32(high, low);
}

/// Rounds a slab of 64 x by kDSlab y to 16-bit outputs in its box. `d` are the accumulators: 4 for
/// each group of 8 columns. With kAlongX, D's neighbours in memory are neighbours along x, and the
/// box is transposed.
template <class T, bool kAlongX>
__device__ __forceinline__ void stage_slab_16(std::uint32_t box, const float* d, DType output,
                                              int lane, int warp) {
  constexpr int kRowBytes = kAlongX ? 128 : T::kDSlab * 2;  // box: (kSlab, 64) or (64, kSlab)
  const int in_matrix = lane % 8;
  if constexpr (T::kDSlab == 8) {  // two 8 x 8 matrices: x 0..7 and x 8..15 of the warp
    const int half = lane / 8 % 2;
    const std::uint32_t to = kAlongX
                                 ? swizzled<128>(box, in_matrix, warp * 2 + half)
                                 : swizzled<kRowBytes>(box, warp * 16 + half * 8 + in_matrix, 0);
    ptx::stmatrix_x2<kAlongX>(to, pack(d[0], d[1], output), pack(d[2], d[3], output));
  } else {
#pragma unroll
    for (int j = 0; j < T::kDSlab / 16; ++j) {  // four: both halves of x, then the next 8 columns
      const int half = lane / 8 % 2;
      const int column = lane / 16;
      const std::uint32_t to =
          kAlongX ? swizzled<128>(box, j * 16 + column * 8 + in_matrix, warp * 2 + half)
                  : swizzled<kRowBytes>(box, warp * 16 + half * 8 + in_matrix, j * 2 + column);
      const float* c = d + j * 8;
      ptx::stmatrix_x4<kAlongX>(to, pack(c[0], c[1], output), pack(c[2], c[3], output),
                                pack(c[4], c[5], output), pack(c[6], c[7], output));
    }
  }
}

/// Stages rounded outputs of a warp, 16 x by 8 or 16 y, in the order of its accumulators: as
/// stage_slab_16, from chunk `chunk` of 8 columns of the slab on.
template <class T, std::size_t kPairs>
__device__ __forceinline__ void stage_chunk_16(std::uint32_t box, bool along_x, int chunk,
                                               const std::uint32_t (&pair)[kPairs], int lane,
                                               int warp) {
  const int in_matrix = lane % 8;
  const int half = lane / 8 % 2;
  if constexpr (kPairs == 2) {
    if (along_x) {
      ptx::stmatrix_x2<true>(swizzled<128>(box, chunk * 8 + in_matrix, warp * 2 + half), pair[0],
                             pair[1]);
    } else {
      ptx::stmatrix_x2<false>(swizzled<T::kSlab * 2>(box, warp * 16 + half * 8 + in_matrix, chunk),
                              pair[0], pair[1]);
    }
  } else {
    const int at = chunk + lane / 16;
    if (along_x) {
      ptx::stmatrix_x4<true>(swizzled<128>(box, at * 8 + in_matrix, warp * 2 + half), pair[0],
                             pair[1], pair[2], pair[3]);
    } else {
      ptx::stmatrix_x4<false>(swizzled<T::kSlab * 2>(box, warp * 16 + half * 8 + in_matrix, at),
                              pair[0], pair[1], pair[2], pair[3]);
    }
  }
}

/// Stages a slab of 64 x by kDSlabFp32 y as fp32. NaN leaves the tensor core as 0x7fffffff, the
/// canonical NaN, and no zero is negative, so fp32 accumulators are stored unchanged.
template <class T, bool kAlongX>
__device__ __forceinline__ void stage_slab_32(std::uint32_t box, const float* d, int lane,
                                              int warp) {
  constexpr int kSlab = T::kDSlabFp32;
#pragma unroll
  for (int j = 0; j < kSlab / 8; ++j) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int x = warp * 16 + half * 8 + lane / 4;
      const int y = j * 8 + lane % 4 * 2;
      const float* c = d + j * 4 + half * 2;
      if constexpr (kAlongX) {  // two boxes of (kSlab, 32): rows of 128 bytes
        const std::uint32_t half_box = box + x / 32 * (kSlab * kSpanBytes);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const std::uint32_t to = swizzled<128>(half_box, y + i, x % 32 / 4) + x % 4 * 4;
          ptx::st_shared_f32(to, c[i]);
        }
      } else {  // one box of (64, kSlab)
        const std::uint32_t to = swizzled<kSlab * 4>(box, x, y / 4) + y % 4 * 4;
        ptx::st_shared_v2_f32(to, {c[0], c[1]});
      }
    }
  }
}

/// Stores a box that begins at element `along` of line `line`: of matrix `z` in kernels over
/// groups, whose map of D has a matrix per group.
template <class T>
__device__ __forceinline__ void store_box(const CUtensorMap& map, int along, int line, int z,
                                          std::uint32_t box) {
  if constexpr (requires { T::kStoresByGroup; }) {
    ptx::tma_store(&map, along, line, z, box);
  } else {
    ptx::tma_store(&map, along, line, box);
  }
}

/// Stores a tile of one kind of output, slab by slab through the group's boxes: while TMA stores
/// one box, the next is filled. Where neighbours along y are contiguous, a warp's 16 rows are a box
/// of their own, which the warp fills and stores without waiting for the others. Along x, a row of
/// the box holds all 64 x of the group. `box_index` goes on from tile to tile, because TMA may
/// still read the box it was given last. Where slabs do not cut the tile evenly the last one begins
/// earlier, and what two of them hold is stored twice, with the same bits.
template <class T, bool k16, bool kAlongX>
__device__ __forceinline__ void store_tile(const SharedLayout<T>& shared, const CUtensorMap& map,
                                           DType output, int group, int& box_index,
                                           const Accumulators<T>& acc, int x0, int y0, int z) {
  constexpr int kSlab = k16 ? T::kDSlab : T::kDSlabFp32;
  constexpr int kSlabs = (T::kN + kSlab - 1) / kSlab;
  constexpr int kRowBytes = kSlab * (k16 ? 2 : 4);
  // As of here: addresses that are computed ahead of the main loop would take registers of a tile.
  std::uint32_t thread = threadIdx.x % 128;
  ptx::pin(thread);
  const int lane = static_cast<int>(thread % 32);
  const int warp = static_cast<int>(thread / 32);
  const bool leader = (kAlongX ? thread : thread % 32) == 0;
  const auto sync = [&] {
    if constexpr (kAlongX) {
      ptx::bar_sync(kGroupBarrier + group, 128);
    } else {
      __syncwarp();
    }
  };
  const std::uint32_t boxes = shared.epilogue + group * T::kGroupBoxes;
#pragma unroll
  for (int i = 0; i < T::kBlocks; ++i) {
#pragma unroll
    for (int s = 0; s < kSlabs; ++s) {
      const std::uint32_t box = boxes + box_index * T::kBoxBytes;
      box_index = (box_index + 1) % T::kBoxes;
      if (leader) ptx::tma_store_wait_read<T::kBoxes - 1>();
      sync();
      const int first = s * kSlab < T::kN - kSlab ? s * kSlab : T::kN - kSlab;
      const float* d = acc[i] + first / 2;  // (64, kSlab) of block i
      if constexpr (k16) {
        stage_slab_16<T, kAlongX>(box, d, output, lane, warp);
      } else {
        stage_slab_32<T, kAlongX>(box, d, lane, warp);
      }
      ptx::fence_proxy_async();
      sync();
      if (leader) {
        const int x = x0 + (group * T::kBlocks + i) * 64;
        const int y = y0 + first;
        if constexpr (!kAlongX) {
          store_box<T>(map, y, x + warp * 16, z, box + warp * 16 * kRowBytes);  // (16, kSlab)
        } else if constexpr (k16) {
          store_box<T>(map, x, y, z, box);  // (kSlab, 64)
        } else {
          store_box<T>(map, x, y, z, box);  // (kSlab, 32) twice
          store_box<T>(map, x + 32, y, z, box + kSlab * kSpanBytes);
        }
        ptx::tma_store_commit();
      }
    }
  }
}

/// The epilogue where alpha = 1, there is nothing else, and D suits TMA: round, stage, store.
template <class T>
__device__ __forceinline__ void store_plain(const SharedLayout<T>& shared, const CUtensorMap& map,
                                            const LaunchShape& shape, int group, int& box_index,
                                            const Accumulators<T>& acc, int x0, int y0, int z) {
  const bool is_32 = shape.output == DType::fp32;
  if (shape.d_x_contiguous) {
    if (is_32) {
      store_tile<T, false, true>(shared, map, shape.output, group, box_index, acc, x0, y0, z);
    } else {
      store_tile<T, true, true>(shared, map, shape.output, group, box_index, acc, x0, y0, z);
    }
  } else if (is_32) {
    store_tile<T, false, false>(shared, map, shape.output, group, box_index, acc, x0, y0, z);
  } else {
    store_tile<T, true, false>(shared, map, shape.output, group, box_index, acc, x0, y0, z);
  }
}

}  // namespace detgemm::cuda::sm90
