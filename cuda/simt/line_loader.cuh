// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "cuda/simt/params.hpp"
#include "cuda/simt/ptx/memory.cuh"
#include "cuda/simt/tile.hpp"

namespace detgemm::cuda::simt {

/// Brings slabs of one fp32 operand to shared memory asynchronously, line by line, whatever its
/// strides are: [line][k], pitch(kK) floats apart.
///
///   memory                         copied by                          a warp's copy
///   runs of 16 bytes along k       16 bytes                           kK = 32: 8 runs of 4 lines
///   neighbours across lines        4 bytes, which turns the operand   4 k of 8 lines
///   anything, or part of a slab    4 bytes, in a loop                 32 k of a line, or as above
///
/// The first two are quick: straight-line code in which a thread keeps its addresses. What is
/// outside of the operand is not read. Its place keeps what it held, and no output that exists
/// depends on it.
template <int kLines, int kK, int kThreads>
class LineLoader {
  static constexpr int kPitch = 4 * pitch(kK);  // bytes
  static constexpr int kWarps = kThreads / 32;
  // Runs: a thread has one place along k, and lines kRunStep apart.
  static constexpr int kRunStep = kThreads / (kK / 4);
  static constexpr int kRuns = (kLines + kRunStep - 1) / kRunStep;
  // Words: a warp has pieces of 4 k of 8 lines; the warps of a CTA are along k first.
  static constexpr int kPieces = kK / 4;
  static constexpr int kWordsK = kPieces > kWarps ? kPieces / kWarps : 1;
  static constexpr int kWordStep = kWarps > kPieces ? 8 * (kWarps / kPieces) : 8;
  static constexpr int kWords = (kLines + kWordStep - 1) / kWordStep;
  static constexpr int kPlaces = kRuns > kWordsK ? kRuns : kWordsK;
  static_assert(kThreads % (kK / 4) == 0 && (kPieces % kWarps == 0 || kWarps % kPieces == 0),
                "The copies of a thread have equal distances.");

 public:
  __device__ __forceinline__ LineLoader(const Operand& o, std::int64_t first_line)
      : o_(o), first_line_(first_line), runs_(o.along && o.vector) {
    const std::int64_t left = o.lines - first_line;
    const int lines = left < kLines ? static_cast<int>(left) : kLines;
    const int tid = static_cast<int>(threadIdx.x);
    const int line = runs_ ? tid / (kK / 4) : tid % 8 + tid / 32 / kPieces * 8;
    const int k = runs_ ? tid % (kK / 4) * 4 : tid % 32 / 8 + tid / 32 % kPieces * 4;
    to_ = line * kPitch + 4 * k;
    lines_ = lines - line;
    const char* base = static_cast<const char*>(o.data) + first_line * o.line_stride * 4;
#pragma unroll
    for (int i = 0; i < kPlaces; ++i) {
      const int at = runs_ ? line + i * kRunStep : line;
      at_[i] = base + at * o.line_stride * 4 + (runs_ ? k : k + i * kWarps * 4) * o.k_stride * 4;
    }
    advance_ = kK * o.k_stride * 4;
  }

  /// Whether whole slabs may be copied by copy_quickly.
  __device__ __forceinline__ bool quick() const { return runs_ || o_.line_stride == 1; }

  /// Copies a whole slab to shared memory at `stage`.
  __device__ __forceinline__ void copy_quickly(std::uint32_t stage) {
    const std::uint32_t to = stage + to_;
    if (runs_) {
#pragma unroll
      for (int i = 0; i < kRuns; ++i) {
        if (i * kRunStep < lines_) ptx::cp_async_cg_16(to + i * kRunStep * kPitch, at_[i]);
        at_[i] += advance_;
      }
    } else {
#pragma unroll
      for (int j = 0; j < kWordsK; ++j) {
#pragma unroll
        for (int i = 0; i < kWords; ++i) {
          if (i * kWordStep < lines_) {
            ptx::cp_async_ca_4(to + i * kWordStep * kPitch + j * kWarps * 16,
                               at_[j] + i * kWordStep * 4);
          }
        }
        at_[j] += advance_;
      }
    }
  }

  /// Copies `count` products from k0 on, at any strides.
  __device__ __forceinline__ void copy(std::uint32_t stage, std::int64_t k0, int count) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int wide = o_.along ? 32 : 4;  // a warp's k
    const int lines = static_cast<int>(min(o_.lines - first_line_, std::int64_t{kLines}));
    const std::int64_t line_bytes = o_.line_stride * 4;
    const std::int64_t k_bytes = o_.k_stride * 4;
    const int first = o_.along ? 0 : lane % 8;
    const int k_first = o_.along ? lane : lane / 8;
#pragma unroll 1
    for (int line = first + warp * (32 / wide); line < lines; line += kWarps * (32 / wide)) {
      const char* from = static_cast<const char*>(o_.data) + (first_line_ + line) * line_bytes +
                         (k0 + k_first) * k_bytes;
#pragma unroll 2
      for (int k = k_first; k < count; k += wide) {
        ptx::cp_async_ca_4(stage + line * kPitch + 4 * k, from);
        from += wide * k_bytes;
      }
    }
#pragma unroll
    for (int i = 0; i < kPlaces; ++i) at_[i] += count * k_bytes;
  }

 private:
  const Operand& o_;
  const std::int64_t first_line_;
  const bool runs_;
  int lines_;                // that exist from this thread's first on
  std::uint32_t to_;         // its first place in a stage
  const char* at_[kPlaces];  // its places of the next slab
  std::int64_t advance_;
};

}  // namespace detgemm::cuda::simt
