// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_fp16.h>

#include "core/arithmetic/formats.hpp"
#include "cuda/simt/params.hpp"
#include "cuda/simt/ptx/memory.cuh"
#include "cuda/simt/tile.hpp"

namespace detgemm::cuda::simt {

/// Which way an operand's memory runs: along k, across lines, or either, which is known at run
/// time.
enum class Way : int { along, across, any };

/// The two elements of a word as fp32, the lower one first: exact, and subnormals are kept.
template <DType T>
__device__ __forceinline__ float2 widen(std::uint32_t pair) {
  if constexpr (T == DType::bf16) {
    return {__uint_as_float(pair << 16), __uint_as_float(pair & 0xffff0000U)};
  } else {
    return __half22float2(*reinterpret_cast<const __half2*>(&pair));
  }
}

/// Brings slabs of one operand to shared memory as fp32, transposed to k-major: [k][line]. A thread
/// owns runs of 16 bytes of memory, `along` k of one line or `across` lines of one k:
///
///   memory, along:  line 0 |k k k k|k k k k|     stage:  k 0 |lines ->      |
///                   line 1 |k k k k|k k k k|             k 1 |              |
///   memory, across: k 0    |l l l l|l l l l|             ...  pitch = kLines + kPad floats
///
/// fp32 across lines is copied asynchronously. Everything else goes through registers, one slab
/// ahead: `step` stores the slab that waits there and loads the one behind it, which then has a
/// whole slab's time to arrive.
///
/// What is outside of the operand is never read: a line that exists takes the place of one that
/// does not, and products at and after `count` keep what their place held. Neither reaches an
/// output that exists.
template <DType T, int kLines, int kK, int kThreads, Way kWay>
class Loader {
  using Element = arithmetic::Storage<T>;
  static constexpr bool kFp32 = T == DType::fp32;
  static constexpr int kRun = 16 / sizeof(Element);
  static constexpr int kRuns = kLines * kK / kRun;
  static constexpr int kPitch = pitch(kLines);
  static constexpr int kAlongRuns = kK / kRun;       // per line
  static constexpr int kAcrossRuns = kLines / kRun;  // per k
  static constexpr int kLineStep = kThreads / kAlongRuns;
  static constexpr int kKStep = kThreads / kAcrossRuns;
  static constexpr bool kStaged = !(kFp32 && kWay == Way::across);
  static_assert(kThreads % kAlongRuns == 0 && kThreads % kAcrossRuns == 0,
                "The runs of a thread have equal distances in a slab.");
  static_assert(kRuns % kThreads == 0 || kRuns < kThreads,
                "Every thread has the same number of runs, or at most one.");

 public:
  static constexpr int kMine = (kRuns + kThreads - 1) / kThreads;  ///< runs per thread
  static constexpr bool kCopied = kFp32 && kWay == Way::across;    ///< none through registers

  __device__ __forceinline__ Loader(const Operand& o, std::int64_t first_line)
      : along_(o.along), vector_(o.vector) {
    const int tid = static_cast<int>(threadIdx.x);
    const std::int64_t left = o.lines - first_line;
    lines_ = left < kLines ? static_cast<int>(left) : kLines;
    line_bytes_ = o.line_stride * static_cast<int>(sizeof(Element));
    k_bytes_ = o.k_stride * static_cast<int>(sizeof(Element));
    line_ = along() ? tid / kAlongRuns : tid % kAcrossRuns * kRun;
    k_ = along() ? tid % kAlongRuns * kRun : tid / kAcrossRuns;
    const char* base = static_cast<const char*>(o.data) + first_line * line_bytes_;
#pragma unroll
    for (int i = 0; i < kMine; ++i) {
      int line = along() ? line_ + i * kLineStep : line_;
      if (line >= lines_) line = along() ? lines_ - 1 : 0;
      const int k = along() ? k_ : k_ + i * kKStep;
      at_[i] = base + line * line_bytes_ + k * k_bytes_;
    }
    if constexpr (kStaged) {
#pragma unroll
      for (int i = 0; i < kMine; ++i) raw_[i] = make_uint4(0, 0, 0, 0);
    }
  }

  __device__ __forceinline__ bool quick() const {
    return vector_ && (along() || lines_ % kRun == 0);
  }

  /// Called before the first step; `count` is the number of products of the first slab.
  __device__ __forceinline__ void first(int count) {
    if (staged()) load(count);
  }
  /// Brings the next slab, of `now` products, to `stage`; the slab behind it has `then` products.
  __device__ __forceinline__ void step(float* stage, int now, int then) {
    if (staged()) {
#pragma unroll
      for (int i = 0; i < kMine; ++i) store(stage, i);
      load(then);
    } else if constexpr (kFp32) {
      copy_across(stage, now);
      advance(now);
    }
  }
  /// Run i of a step where `quick` holds and both slabs have kK products. It has no branch.
  __device__ __forceinline__ void step_quickly(float* stage, int i) {
    if (staged()) {
      store(stage, i);
      if (mine(i)) raw_[kStaged ? i : 0] = ptx::ld_global_nc_v4_u32(at_[i]);
    } else if constexpr (kFp32) {
      if (mine(i)) ptx::cp_async_cg_16(stage + (k_ + i * kKStep) * kPitch + line_, at_[i]);
    }
    at_[i] += kK * k_bytes_;
  }

 private:
  __device__ __forceinline__ bool along() const {
    return kWay == Way::any ? along_ : kWay == Way::along;
  }
  __device__ __forceinline__ bool staged() const { return kStaged && (!kFp32 || along()); }
  __device__ __forceinline__ void advance(int count) {
#pragma unroll
    for (int i = 0; i < kMine; ++i) at_[i] += count * k_bytes_;
  }
  __device__ __forceinline__ void load(int count) {
    along() ? load_along(count) : load_across(count);
    advance(count);
  }
  /// Moves run i from registers to the stage.
  __device__ __forceinline__ void store(float* stage, int i) const {
    if constexpr (kStaged) {
      if (mine(i)) along() ? store_along(stage, i) : store_across(stage, i);
    }
  }
  __device__ __forceinline__ static bool mine(int i) {
    return kRuns % kThreads == 0 || static_cast<int>(threadIdx.x) + i * kThreads < kRuns;
  }

  __device__ __forceinline__ void copy_across(float* stage, int count) const {
#pragma unroll
    for (int i = 0; i < kMine; ++i) {
      if (!mine(i) || k_ + i * kKStep >= count) break;
      float* to = stage + (k_ + i * kKStep) * kPitch + line_;
      if (vector_ && line_ + kRun <= lines_) {
        ptx::cp_async_cg_16(to, at_[i]);
        continue;
      }
#pragma unroll 1
      for (int e = 0; e < kRun && line_ + e < lines_; ++e) {
        ptx::cp_async_ca_4(to + e, at_[i] + e * line_bytes_);
      }
    }
  }

  /// Loads a run element by element; elements from `exist` on are zero.
  __device__ __forceinline__ static uint4 load_run(const char* from, std::int64_t step, int exist) {
    std::uint32_t word[4] = {0, 0, 0, 0};
#pragma unroll
    for (int e = 0; e < kRun; ++e) {
      if (e < exist) {
        const std::uint32_t bits = __ldg(reinterpret_cast<const Element*>(from + e * step));
        word[e * 4 / kRun] |= kFp32 ? bits : bits << (16 * (e % 2));
      }
    }
    return make_uint4(word[0], word[1], word[2], word[3]);
  }

  __device__ __forceinline__ void load_along(int count) {
    const bool whole = vector_ && k_ + kRun <= count;
#pragma unroll
    for (int i = 0; i < kMine; ++i) {
      if (!mine(i)) break;
      raw_[kStaged ? i : 0] =
          whole ? ptx::ld_global_nc_v4_u32(at_[i]) : load_run(at_[i], k_bytes_, count - k_);
    }
  }

  __device__ __forceinline__ void load_across(int count) {
    const bool whole = vector_ && line_ + kRun <= lines_;
#pragma unroll
    for (int i = 0; i < kMine; ++i) {
      if (!mine(i) || k_ + i * kKStep >= count) break;
      raw_[kStaged ? i : 0] =
          whole ? ptx::ld_global_nc_v4_u32(at_[i]) : load_run(at_[i], line_bytes_, lines_ - line_);
    }
  }

  /// Element e of a run as fp32.
  __device__ __forceinline__ static void widen_run(const uint4& raw, float (&out)[kRun]) {
    const std::uint32_t word[4] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      if constexpr (kFp32) {
        out[w] = __uint_as_float(word[w]);
      } else {
        const float2 two = widen<T>(word[w]);
        out[2 * w] = two.x;
        out[2 * w + 1] = two.y;
      }
    }
  }

  __device__ __forceinline__ void store_along(float* stage, int i) const {
    float* to = stage + k_ * kPitch + line_ + i * kLineStep;
    float run[kRun];
    widen_run(raw_[kStaged ? i : 0], run);
#pragma unroll
    for (int e = 0; e < kRun; ++e) to[e * kPitch] = run[e];
  }

  __device__ __forceinline__ void store_across(float* stage, int i) const {
    float run[kRun];
    widen_run(raw_[kStaged ? i : 0], run);
    auto* to = reinterpret_cast<float4*>(stage + (k_ + i * kKStep) * kPitch + line_);
#pragma unroll
    for (int q = 0; q < kRun / 4; ++q) {
      to[q] = make_float4(run[4 * q], run[4 * q + 1], run[4 * q + 2], run[4 * q + 3]);
    }
  }

  const char* at_[kMine];  // this thread's runs of the next slab
  std::int64_t k_bytes_, line_bytes_;
  int line_, k_;  // where the first run begins, in the tile and in the slab
  int lines_;     // lines of the tile that exist
  bool along_, vector_;
  uint4 raw_[kStaged ? kMine : 1];
};

}  // namespace detgemm::cuda::simt
