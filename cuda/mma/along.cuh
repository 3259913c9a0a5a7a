// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/mma/params.hpp"
#include "cuda/mma/tile.hpp"
#include "cuda/sm90/ptx/cp_async.cuh"
#include "cuda/sm90/ptx/memory.cuh"

namespace detgemm::cuda::mma {

namespace ptx = sm90::ptx;

/// Brings an operand that runs along k (Way::along) to shared memory: kLines lines of kK products.
/// What Loader says of tails and of lines outside holds here too.
///
/// Eight threads in a row copy eight chunks of a line, which are in different banks; of a line of
/// 16 chunks a thread copies two, which share an address and a comparison.
template <int kLines, int kK, int kThreads>
class AlongLoader {
  static constexpr int kPerLine = kK / 8;
  static constexpr int kEach = kLines * kPerLine / kThreads;
  static constexpr int kHalves = kPerLine > 8 && kEach % 2 == 0 ? 2 : 1;
  static constexpr int kAcross = kPerLine / kHalves;  // threads per line
  static constexpr int kRows = kThreads / kAcross;    // lines from one of a thread to its next
  static constexpr int kMine = kEach / kHalves;       // lines of a thread
  static_assert(kMine * kRows == kLines && kRows % 8 == 0,
                "The swizzle is the same for all lines of a thread.");

 public:
  static constexpr int kPieces = kEach;

  /// Goes to the first block of lines [line0, end).
  __device__ __forceinline__ void seat(const Operand& o, std::int64_t line0, std::int64_t end) {
    const int row = thread() / kAcross;
    const std::int64_t line = line0 + row;
    const auto* from =
        reinterpret_cast<const char*>(o.data + line * o.line_stride + column() * 8 - kK);
#pragma unroll
    for (int i = 0; i < kMine; ++i) at_[i] = from + 2 * kRows * i * o.line_stride;
    const std::int64_t left = (end < o.lines ? end : o.lines) - line;
    left_ = left <= 0 ? 0 : left >= kLines ? kLines : static_cast<int>(left);
    place_ = static_cast<std::uint32_t>(swizzled(row, column(), kPerLine)) * 16;
  }

  /// A stage begins: a whole block is copied into it piece by piece, if there is one.
  __device__ __forceinline__ void begin(bool whole, std::uint32_t to) {
    // All addresses change here, when the copies of the stage before have read them.
#pragma unroll
    for (int i = 0; i < kMine; ++i) at_[i] = ptx::kept(at_[i] + (whole ? 2 * kK : 0));
    to_ = to;
    now_ = whole ? left_ : 0;
  }
  /// Nothing is copied from the next stage on.
  __device__ __forceinline__ void stop() { left_ = 0; }
  /// Pieces 0 .. kPieces - 1. Those of a line are apart: side by side, under one comparison, ptxas
  /// makes a branch of them.
  template <int piece>
  __device__ __forceinline__ void load(const Operand&) {
    constexpr int kLine = piece % kMine, kHalf = piece / kMine;
    ptx::cp_async_16_if<kLine * kRows>(to_ + place(kLine, kHalf), at_[kLine] + kHalf * kAcross * 16,
                                       now_);
  }

  /// A block of `count` products, and zeros after them, before the pieces, which are not copied
  /// then.
  __device__ __forceinline__ void load_part(const Operand&, std::uint32_t to, int count) {
#pragma unroll
    for (int half = 0; half < kHalves; ++half) {
      const int left = count - (column() + half * kAcross) * 8;
      const int bytes = left <= 0 ? 0 : left >= 8 ? 16 : 2 * left;
#pragma unroll
      for (int i = 0; i < kMine; ++i) {
        const char* from = at_[i] + 2 * kK + half * kAcross * 16;
        if (i * kRows < left_) ptx::cp_async_16_zeros(to + place(i, half), from, bytes);
      }
    }
#pragma unroll
    for (int i = 0; i < kMine; ++i) at_[i] += 2 * count;
  }

 private:
  static __device__ __forceinline__ int thread() { return static_cast<int>(threadIdx.x); }
  static __device__ __forceinline__ int column() { return thread() % kAcross; }

  /// Of a chunk in a stage, in bytes.
  __device__ __forceinline__ std::uint32_t place(int line, int half) const {
    const auto right = static_cast<std::uint32_t>(half * kAcross * 16);
    return place_ + right + static_cast<std::uint32_t>(2 * line * kRows * kK);
  }

  const char* at_[kMine];  ///< a thread's first chunks in the block before the next one
  int left_;               ///< lines of the tile from the thread's first one on, at most kLines
  std::uint32_t place_;    ///< of the first chunk in a stage
  int now_;                ///< left_, or 0 where no piece is copied
  std::uint32_t to_;       ///< the stage
};

}  // namespace detgemm::cuda::mma
