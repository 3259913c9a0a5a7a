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
template <bool kLeaves>
struct Cursor {
  std::int64_t k = 0;     ///< the block's first product
  std::int64_t leaf_end;  ///< of its leaf

  __device__ __forceinline__ explicit Cursor(const Params& p)
      : leaf_end(p.leaf_k < p.k ? p.leaf_k : p.k) {}
  __device__ __forceinline__ bool done(const Params& p) const { return k >= p.k; }
  __device__ __forceinline__ std::int64_t end(const Params&) const { return leaf_end; }
  __device__ __forceinline__ void advance(const Params& p, int block) {
    if (!ends_leaf(block)) {
      k += block;
      return;
    }
    k = leaf_end;
    leaf_end = p.k - leaf_end < p.leaf_k ? p.k : leaf_end + p.leaf_k;
  }
  __device__ __forceinline__ bool ends_leaf(int block) const { return k + block >= leaf_end; }
};
/// A chain is its only leaf.
template <>
struct Cursor<false> {
  std::int64_t k = 0;

  __device__ __forceinline__ explicit Cursor(const Params&) {}
  __device__ __forceinline__ bool done(const Params& p) const { return k >= p.k; }
  __device__ __forceinline__ std::int64_t end(const Params& p) const { return p.k; }
  __device__ __forceinline__ void advance(const Params&, int block) { k += block; }
};

/// The products [k, end) of a block, and what follows them in their leaf.
struct Block {
  std::int64_t k, end;
};

/// Brings one operand's share of a stage to shared memory: kLines lines of kK products. What is
/// outside of the operand or after the leaf is zero, in both operands.
///
/// A thread copies chunk t, t + kThreads, ... of a stage, which is (lines, chunks of k) along k and
/// (k, chunks of lines) across it. Chunks of a thread are a multiple of 8 rows apart, so the
/// swizzle moves them alike, and one address and one step reach all of them.
template <DType T, int kLines, int kK, int kThreads>
class Loader {
  static constexpr int kChunks = kLines * kK / 8;  // of 16 bytes
  static constexpr int kEach = kChunks / kThreads;
  static constexpr int kPerLine = kK / 8, kPerK = kLines / 8;
  static constexpr int kAlong = kThreads / kPerLine, kAcross = kThreads / kPerK;  // rows of a step
  static_assert(kChunks % kThreads == 0 && kAlong % 8 == 0 && kAcross % 8 == 0,
                "A thread's chunks are whole steps of a multiple of 8 rows.");

 public:
  __device__ __forceinline__ Loader(const Operand& o, std::int64_t line0) {
    const bool along = o.way == Way::along;
    const int thread = static_cast<int>(threadIdx.x);
    const int row = along ? thread / kPerLine : thread / kPerK;
    const int column = along ? thread % kPerLine : thread % kPerK;
    const std::int64_t line = line0 + (along ? row : column * 8);
    from_ = o.data + line * o.line_stride + (along ? column * 8 : row) * o.k_stride;
    step_ = along ? kAlong * o.line_stride : kAcross * o.k_stride;
    const std::int64_t left = o.lines - line;
    left_ = left <= 0 ? 0 : left >= kLines ? kLines : static_cast<int>(left);
    const int place = along ? swizzled(row, column, kPerLine) : swizzled(row, column, kPerK);
    place_ = static_cast<std::uint32_t>(place) * 16;
  }

  __device__ __forceinline__ void load(const Operand& o, std::int64_t line0, const Block& at,
                                       std::uint32_t to) const {
    if (o.way == Way::any) {
      load_any(o, line0, at, to);
    } else if (at.end - at.k < kK) {
      load_tail(o, line0, at, to);
    } else {
      const bool along = o.way == Way::along;
      const std::uint16_t* from = from_ + at.k * o.k_stride;
      const int across = left_ >= 8 ? 16 : 2 * left_;
#pragma unroll
      for (int i = 0; i < kEach; ++i, from += step_) {
        // Of no bytes, the address is not read.
        const int bytes = !along ? across : i * kAlong < left_ ? 16 : 0;
        ptx::cp_async_16_zeros(to + place_ + i * kThreads * 16, from, bytes);
      }
    }
  }

 private:
  /// The elements of a run of 8 from `first` on that are before `end`.
  static __device__ __forceinline__ int inside(std::int64_t first, std::int64_t end) {
    const std::int64_t left = end - first;
    return left <= 0 ? 0 : left >= 8 ? 8 : static_cast<int>(left);
  }

  /// The short block at the end of a leaf.
  static __device__ __forceinline__ void load_tail(const Operand& o, std::int64_t line0,
                                                   const Block& at, std::uint32_t to) {
    const bool along = o.way == Way::along;
#pragma unroll 1
    for (int chunk = static_cast<int>(threadIdx.x); chunk < kChunks; chunk += kThreads) {
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

  /// The same for any address, as a stage along k.
  static __device__ __forceinline__ void load_any(const Operand& o, std::int64_t line0,
                                                  const Block& at, std::uint32_t to) {
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
        const std::uint16_t* at_pair = from + 2 * i * o.k_stride;
        if constexpr (T == DType::tf32) {
          pair[i] = 2 * i < count ? *reinterpret_cast<const std::uint32_t*>(at_pair) : 0U;
        } else {
          pair[i] = 2 * i < count ? at_pair[0] : 0U;
          if (2 * i + 1 < count) pair[i] |= std::uint32_t{at_pair[o.k_stride]} << 16;
        }
      }
      const int place = swizzled(row, chunk % kPerLine, kPerLine);
      ptx::st_shared_v4_u32(to + static_cast<std::uint32_t>(place) * 16,
                            make_uint4(pair[0], pair[1], pair[2], pair[3]));
    }
  }

  const std::uint16_t* from_;  ///< of the thread's first chunk of k block 0
  std::int64_t step_;          ///< elements from one chunk of the thread to the next
  int left_;                   ///< lines of the operand from the chunk's on, at most kLines
  std::uint32_t place_;        ///< of the first chunk in a stage
};

}  // namespace detgemm::cuda::mma
