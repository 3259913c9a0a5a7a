// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/mma/params.hpp"
#include "cuda/mma/tile.hpp"
#include "cuda/sm90/ptx/cp_async.cuh"
#include "cuda/sm90/ptx/memory.cuh"

namespace detgemm::cuda::mma {

namespace ptx = sm90::ptx;

/// The k block that is loaded or computed next. Blocks begin at the leaves, and the last block of a
/// leaf may be short:
///
///   leaf 0                    leaf 1
///   [k .. k+31][k+32 .. end)  [k .. k+31] ...       what is missing of a block is zero
struct Cursor {
  std::int64_t k = 0;    ///< the block's first product
  std::int64_t end = 0;  ///< of its leaf

  __device__ __forceinline__ explicit Cursor(const Params& p)
      : end(p.leaf_k < p.g.k ? p.leaf_k : p.g.k) {}
  __device__ __forceinline__ bool done(const Params& p) const { return k >= p.g.k; }
  __device__ __forceinline__ bool ends_leaf(int block) const { return k + block >= end; }
  __device__ __forceinline__ void advance(const Params& p, int block) {
    if (!ends_leaf(block)) {
      k += block;
      return;
    }
    k = end;
    end = p.g.k - end < p.leaf_k ? p.g.k : end + p.leaf_k;
  }
};

/// Brings one operand's share of a stage to shared memory: kLines lines of kK products. What is
/// outside of the operand or after the leaf is zero, in both operands.
template <int kLines, int kK, int kThreads>
struct Loader {
  static constexpr int kChunks = kLines * kK / 8;  // of 16 bytes
  static constexpr int kEach = (kChunks + kThreads - 1) / kThreads;

  /// The elements of a run of 8 from `first` on that are before `end`.
  static __device__ __forceinline__ int inside(std::int64_t first, std::int64_t end) {
    const std::int64_t left = end - first;
    return left <= 0 ? 0 : left >= 8 ? 8 : static_cast<int>(left);
  }

  static __device__ __forceinline__ void load(const Operand& o, std::int64_t line0,
                                              const Cursor& at, std::uint32_t to) {
    if (o.way == Way::any) {
      load_any(o, line0, at, to);
      return;
    }
    const bool along = o.way == Way::along;
    // A stage is (lines, chunks of k) along k, and (k, chunks of lines) across it.
    constexpr int kPerLine = kK / 8, kPerK = kLines / 8;
    // Unrolled, the addresses of both ways would be kept in registers that accumulators need.
#pragma unroll 1
    for (int i = 0; i < kEach; ++i) {
      const int chunk = i * kThreads + static_cast<int>(threadIdx.x);
      if (kChunks % kThreads != 0 && chunk >= kChunks) break;
      const int row = along ? chunk / kPerLine : chunk / kPerK;
      const int column = along ? chunk % kPerLine : chunk % kPerK;
      const std::int64_t line = line0 + (along ? row : column * 8);
      const std::int64_t k = at.k + (along ? column * 8 : row);
      const int count = along ? (line < o.lines ? inside(k, at.end) : 0)
                              : (k < at.end ? inside(line, o.lines) : 0);
      const std::uint16_t* from =
          count == 0 ? o.data : o.data + line * o.line_stride + k * o.k_stride;
      const int place = along ? swizzled(row, column, kPerLine) : swizzled(row, column, kPerK);
      ptx::cp_async_16_zeros(to + static_cast<std::uint32_t>(place) * 16, from, 2 * count);
    }
  }

 private:
  /// The same for any address, as a stage along k.
  static __device__ __forceinline__ void load_any(const Operand& o, std::int64_t line0,
                                                  const Cursor& at, std::uint32_t to) {
    constexpr int kPerLine = kK / 8;
#pragma unroll 1
    for (int chunk = static_cast<int>(threadIdx.x); chunk < kChunks; chunk += kThreads) {
      const int row = chunk / kPerLine;
      const std::int64_t line = line0 + row;
      const std::int64_t k = at.k + chunk % kPerLine * 8;
      const int count = line < o.lines ? inside(k, at.end) : 0;
      const std::uint16_t* from = o.data + line * o.line_stride + k * o.k_stride;
      std::uint32_t pair[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        pair[i] = 2 * i < count ? from[2 * i * o.k_stride] : 0U;
        if (2 * i + 1 < count) pair[i] |= std::uint32_t{from[(2 * i + 1) * o.k_stride]} << 16;
      }
      const int place = swizzled(row, chunk % kPerLine, kPerLine);
      ptx::st_shared_v4_u32(to + static_cast<std::uint32_t>(place) * 16,
                            make_uint4(pair[0], pair[1], pair[2], pair[3]));
    }
  }
};

}  // namespace detgemm::cuda::mma
