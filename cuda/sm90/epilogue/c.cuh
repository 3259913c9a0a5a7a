// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/sm90/pipeline/mainloop.cuh"
#include "cuda/sm90/ptx/arithmetic.cuh"
#include "cuda/sm90/ptx/memory.cuh"
#include "cuda/sm90/ptx/mma.cuh"
#include "cuda/sm90/tile/c_slabs.hpp"
#include "cuda/sm90/tile/swizzle.hpp"

// How C gets to the accumulators of a warp group: into them, where chains start from it, or beside
// them, where it is added to their products.

namespace detgemm::cuda::sm90 {

/// The stages of the ring that hold C, as the consumers walk through them. All slabs are taken in
/// turn, by all threads of a group.
template <class T, bool k16>
struct RingSlabs {
  using Slabs = CSlabs<T, k16>;
  const SharedLayout<T>& shared;
  int group;
  RingCursor<T::kStages>& cursor;

  /// The group's first block of slab `s`, when it has arrived.
  __device__ __forceinline__ std::uint32_t begin(int s) const {
    if (s % Slabs::kPerStage == 0) {
      ptx::mbarrier_wait(shared.full + 8 * cursor.stage, cursor.parity);
    }
    return at(s);
  }
  __device__ __forceinline__ std::uint32_t at(int s) const {
    return shared.x(cursor.stage) + s % Slabs::kPerStage * Slabs::kBytes +
           group * T::kBlocks * Slabs::kBlockBytes;
  }
  /// Hands the stage back behind its last slab. The fence is for TMA, which would not wait for the
  /// loads of this slab otherwise.
  __device__ __forceinline__ void end(int s) {
    if ((s + 1) % Slabs::kPerStage != 0 && s + 1 != Slabs::kCount) return;
    ptx::fence_proxy_async();
    ptx::bar_sync(kGroupBarrier + group, 128);
    release<T>(shared, cursor.stage);
    cursor.advance();
  }
};

/// The C of 16 rows of a warp by kWidth columns, in the order of the accumulators: of 16 bits, at
/// addresses that mirror those of stage_slab_16. `chunk` counts chunks of 8 columns in the slab.
template <class T, int kWidth>
__device__ __forceinline__ void load_c_16(std::uint32_t block, bool along_x, int chunk, DType type,
                                          int thread, float* c) {
  const int lane = thread % 32;
  const int warp = thread / 32;
  const int in_matrix = lane % 8;
  const int half = lane / 8 % 2;
  const int at = chunk + (kWidth == 16 ? lane / 16 : 0);
  std::uint32_t pair[kWidth / 4];
  if (along_x) {
    const auto from = swizzled<128>(block, at * 8 + in_matrix, warp * 2 + half);
    if constexpr (kWidth == 16) {
      ptx::ldmatrix_x4<true>(pair, from);
    } else {
      ptx::ldmatrix_x2<true>(pair, from);
    }
  } else {
    const auto from = swizzled<T::kSlab * 2>(block, warp * 16 + half * 8 + in_matrix, at);
    if constexpr (kWidth == 16) {
      ptx::ldmatrix_x4<false>(pair, from);
    } else {
      ptx::ldmatrix_x2<false>(pair, from);
    }
  }
  if (type == DType::bf16) {
#pragma unroll
    for (int i = 0; i < kWidth / 4; ++i) {
      c[2 * i] = __uint_as_float(pair[i] << 16);
      c[2 * i + 1] = __uint_as_float(pair[i] & 0xffff0000U);
    }
  } else {
#pragma unroll
    for (int i = 0; i < kWidth / 4; ++i) {
      c[2 * i] = ptx::cvt_f32_f16(pair[i] & 0xffffU);
      c[2 * i + 1] = ptx::cvt_f32_f16(pair[i] >> 16);
    }
  }
}

/// The same for fp32 in rows along y, at addresses that mirror those of stage_slab_32.
template <class T, int kWidth>
__device__ __forceinline__ void load_c_32(std::uint32_t block, int chunk, int thread, float* c) {
  const int lane = thread % 32;
  const int warp = thread / 32;
#pragma unroll
  for (int i = 0; i < kWidth / 4; ++i) {  // both halves of 16 rows, then the next 8 columns
    const int x = warp * 16 + i % 2 * 8 + lane / 4;
    const int y = (chunk + i / 2) * 8 + lane % 4 * 2;
    const float2 pair =
        ptx::ld_shared_v2_f32(swizzled<T::kSlabFp32 * 4>(block, x, y / 4) + y % 4 * 4);
    c[2 * i] = pair.x;
    c[2 * i + 1] = pair.y;
  }
}

/// acc = acc + beta * C, with the C of the ring, for accumulators that were multiplied by alpha.
/// What C is decides only how it is loaded, so that the rest of the code exists once.
template <class T>
__device__ __forceinline__ void add_ring_c(const SharedLayout<T>& shared, const LaunchShape& shape,
                                           float beta, int group, RingCursor<T::kStages>& cursor,
                                           Accumulators<T>& acc) {
  constexpr int kWidth = T::kSlab == 8 ? 8 : 16;
  RingSlabs<T, true> ring_16{shared, group, cursor};
  RingSlabs<T, false> ring_32{shared, group, cursor};
  // As of here: addresses that are computed ahead of the main loop would take registers of a tile.
  std::uint32_t thread = threadIdx.x % 128;
  ptx::pin(thread);
  const auto block_of = [&](auto& ring, int column, int i) {
    using Slabs = typename std::remove_reference_t<decltype(ring)>::Slabs;
    return (column % Slabs::kSlab == 0 && i == 0 ? ring.begin(column / Slabs::kSlab)
                                                 : ring.at(column / Slabs::kSlab)) +
           i * Slabs::kBlockBytes;
  };
#pragma unroll
  for (int column = 0; column < T::kN; column += kWidth) {
#pragma unroll
    for (int i = 0; i < T::kBlocks; ++i) {
      float c[kWidth / 2];
      if (shape.c.is_16) {
        const std::uint32_t block = block_of(ring_16, column, i);
        const int chunk = column % T::kSlab / 8;
        load_c_16<T, kWidth>(block, shape.c.x_contiguous, chunk, shape.output, thread, c);
      } else {
        const std::uint32_t block = block_of(ring_32, column, i);
        load_c_32<T, kWidth>(block, column % T::kSlabFp32 / 8, thread, c);
      }
#pragma unroll
      for (int e = 0; e < kWidth / 2; ++e) {
        float& d = acc[i][column / 2 + e];
        d = arithmetic::add_rn(d, arithmetic::mul_rn(beta, c[e]));
      }
    }
    const int next = column + kWidth;
    if (shape.c.is_16) {
      if (next % T::kSlab == 0) ring_16.end(column / T::kSlab);
    } else {
      if (next % T::kSlabFp32 == 0) ring_32.end(column / T::kSlabFp32);
    }
  }
}

/// Copies the fp32 C of a group's rows of a stage, slabs from `s`, in the layout in which TMA would
/// bring it: ordinary loads, for a C that TMA does not take.
template <class T>
__device__ __forceinline__ void copy_c(const GemmArguments& g, const LaunchShape& shape,
                                       std::uint32_t to, int group, int x0, int y0, int s) {
  using Slabs = CSlabs<T, false>;
  constexpr int kRows = T::kXLoad < 64 ? T::kXLoad : 64 * T::kBlocks;
  constexpr int kInSlab = kRows * Slabs::kSlab;
  const auto* c = static_cast<const float*>(g.c);
  const std::int64_t along_x = shape.swapped ? g.cs.col : g.cs.row;
  const std::int64_t along_y = shape.swapped ? g.cs.row : g.cs.col;
  const int elements = min(Slabs::kPerStage, Slabs::kCount - s) * kInSlab;
#pragma unroll 4
  for (int e = threadIdx.x % 128; e < elements; e += 128) {
    const int in_slab = e % kInSlab;
    const int x = along_y == 1 ? in_slab / Slabs::kSlab : in_slab % kRows;
    const int y = along_y == 1 ? in_slab % Slabs::kSlab : in_slab / kRows;
    const int at_x = x0 + group * 64 * T::kBlocks + x;
    const int at_y = y0 + (s + e / kInSlab) * Slabs::kSlab + y;
    const bool exists = at_x < shape.x_rows && at_y < shape.y_rows;
    const float value = exists ? c[at_x * along_x + at_y * along_y] : 0.0F;
    const std::uint32_t slab = to + e / kInSlab * Slabs::kBytes;
    ptx::st_shared_f32(swizzled<Slabs::kRowBytes>(slab, x, y / 4) + y % 4 * 4, value);
  }
  ptx::bar_sync(kGroupBarrier + group, 128);
}

/// The start of the chains of a tile: +0, or the fp32 C of the ring. C goes into accumulators that
/// are 0 already, by loads that are predicated: along two paths, ptxas would serialise every wgmma.
template <class T>
__device__ __forceinline__ void start_chains(const SharedLayout<T>& shared,
                                             const LaunchShape& shape, const GemmArguments& g,
                                             int group, RingCursor<T::kStages>& cursor, int x0,
                                             int y0, Accumulators<T>& acc) {
  using Slabs = CSlabs<T, false>;
  RingSlabs<T, false> ring{shared, group, cursor};
  const std::uint32_t on = g.continue_from_c ? 1 : 0;
  std::uint32_t thread = threadIdx.x % 128;
  ptx::pin(thread);  // of every tile, as in add_ring_c
  const int lane = thread % 32;
  const int warp = thread / 32;
#pragma unroll
  for (int i = 0; i < T::kBlocks; ++i) {
#pragma unroll
    for (int j = 0; j < T::kN / 2; ++j) acc[i][j] = 0.0F;
  }
#pragma unroll
  for (int s = 0; s < Slabs::kCount; ++s) {
    if (on) {
      ring.begin(s);
      if (shape.c.copied && s % Slabs::kPerStage == 0) {
        copy_c<T>(g, shape, ring.at(s), group, x0, y0, s);
      }
    }
#pragma unroll
    for (int i = 0; i < T::kBlocks; ++i) {
      const std::uint32_t block = ring.at(s) + i * Slabs::kBlockBytes;
#pragma unroll
      for (int j = 0; j < Slabs::kSlab / 8; ++j) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const std::uint32_t from =
              swizzled<Slabs::kRowBytes>(block, warp * 16 + half * 8 + lane / 4,
                                         j * 2 + lane % 4 / 2) +
              lane % 2 * 8;
          ptx::ld_shared_v2_f32_if(on, from, acc[i] + (s * Slabs::kSlab / 8 + j) * 4 + half * 2);
        }
      }
    }
    if (on) ring.end(s);
  }
#pragma unroll
  for (int i = 0; i < T::kBlocks; ++i) ptx::pin(acc[i]);
}

}  // namespace detgemm::cuda::sm90
