// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <cuda_bf16.h>

#include "core/contract/log_results.hpp"
#include "cuda/log_prob/launch.hpp"
#include "cuda/log_prob/words.cuh"
#include "cuda/sm90/ptx/control.cuh"

namespace detgemm::cuda::log_prob {
namespace {

constexpr int kThreads = 256;
constexpr int kEach = 8;  // columns of a thread

constexpr int kTurns = 4;  // of a CTA

/// Whether a row's gradients are those of plain_gradient: an upstream of logp alone, and nothing
/// that turns the +0 of an absent column into NaN.
__device__ __forceinline__ bool is_plain(const arithmetic::LogGradient& g) {
  const auto finite = [](float x) { return fabsf(x) <= 0x1.fffffep+127F; };
  return !g.ignored && !g.has_lse && !g.has_entropy && g.k != arithmetic::kLogSpecial &&
         g.k >= -1024 && finite(g.d_logp) && finite(g.scale) && finite(g.alpha);
}

/// arithmetic::log_gradient before the last two factors and the rounding, for a plain row and a
/// column that is not the target: -d_logp * p. An absent x has n of about -94548, so that p is +0.
__device__ __forceinline__ float plain_gradient(const arithmetic::LogGradient& g, float x) {
  const arithmetic::LogTerm e = arithmetic::log_exponential(fmaxf(x, -arithmetic::kLogLimit));
  const float q = arithmetic::mul_rn(e.f, g.inverse);
  const int moved = static_cast<int>(__float_as_uint(q)) + (max(e.n - g.k, -255) << 23);
  return arithmetic::mul_rn(g.d_logp, -__int_as_float(moved < 0x800000 ? 0 : moved));
}

/// Two numbers as bf16, a zero as +0.
__device__ __forceinline__ std::uint32_t rounded(float first, float second) {
  const auto one = __float2bfloat162_rn(1.0F), zero = __float2bfloat162_rn(0.0F);
  const __nv_bfloat162 pair = __hfma2(__floats2bfloat162_rn(first, second), one, zero);
  return *reinterpret_cast<const std::uint32_t*>(&pair);
}

/// A thread has 8 columns of a row at a time: neighbours, or with kSingle those 256 apart, at any
/// strides. G may be where the logits are.
template <bool k32, bool kSingle>
__global__ void __launch_bounds__(kThreads)
    gradient_kernel(const __grid_constant__ GradientJob job) {
  sm90::ptx::wait_for_earlier_work();
  const std::int64_t row = blockIdx.x;
  const arithmetic::LogGradient g = gradient_row(
      job.rows, job.upstream, job.alpha, row,
      [](const LogProbRows& rows, std::int64_t at) { return usable_scale(rows.scale, at); });
  std::int64_t target = -1;
  if (job.rows.targets.data != nullptr) target = token(job.rows.targets, row, 0) - job.begin;
  const LogitView& z = job.logits;
  const auto value = [&](std::int64_t col, float logit) -> std::uint16_t {
    if (col >= job.existing) return 0;
    return arithmetic::log_gradient(g, arithmetic::mul_rn(logit, g.scale), col == target);
  };
  const std::int64_t base = std::int64_t{blockIdx.y} * kThreads * kEach * kTurns;
  if constexpr (kSingle) {
#pragma unroll 1
    for (int i = 0; i < kEach * kTurns; ++i) {
      const std::int64_t col = base + i * kThreads + threadIdx.x;
      if (col >= job.columns) return;
      const std::int64_t at = row * z.at.row + col * z.at.col;
      const float logit =
          k32 ? static_cast<const float*>(z.data)[at]
              : arithmetic::to_float<DType::bf16>(static_cast<const std::uint16_t*>(z.data)[at]);
      job.g[row * job.to.row + col * job.to.col] = value(col, logit);
    }
  } else {
    const bool plain = is_plain(g);
    const bool factors = g.scale != 1.0F || g.alpha != 1.0F;
    constexpr int kWords = k32 ? 8 : 4;
#pragma unroll 1
    for (int turn = 0; turn < kTurns; ++turn) {
      const std::int64_t col = base + (turn * kThreads + std::int64_t{threadIdx.x}) * kEach;
      if (col >= job.columns) return;
      std::uint32_t words[kWords], out[4];
      load_words(words, z.data, (row * z.at.row + col) * (k32 ? 4 : 2));
      const auto logit = [&](int i) {
        if constexpr (k32) return __uint_as_float(words[i % kWords]);
        return __uint_as_float(i % 2 == 0 ? words[i / 2 % kWords] << 16
                                          : words[i / 2 % kWords] & 0xffff0000U);
      };
      if (plain && col + kEach <= job.existing && (target < col || target >= col + kEach)) {
        float found[kEach];
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
          found[i] = plain_gradient(g, factors ? arithmetic::mul_rn(logit(i), g.scale) : logit(i));
        }
        if (factors) {
#pragma unroll
          for (int i = 0; i < kEach; ++i) {
            found[i] = arithmetic::mul_rn(arithmetic::mul_rn(found[i], g.scale), g.alpha);
          }
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) out[i] = rounded(found[2 * i], found[2 * i + 1]);
      } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          out[i] = value(col + 2 * i, logit(2 * i)) |
                   static_cast<std::uint32_t>(value(col + 2 * i + 1, logit(2 * i + 1))) << 16;
        }
      }
      *reinterpret_cast<uint4*>(job.g + row * job.to.row + col) = {out[0], out[1], out[2], out[3]};
    }
  }
}

bool aligned(const void* data, std::int64_t row, std::int64_t size) {
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && row * size % 16 == 0;
}

cudaError_t launch(GradientJob job, bool vectors, const Queue& queue) {
  const bool is_32 = job.logits.type == DType::fp32;
  const auto kernel =
      is_32 ? (vectors ? &gradient_kernel<true, false> : &gradient_kernel<true, true>)
            : (vectors ? &gradient_kernel<false, false> : &gradient_kernel<false, true>);
  constexpr std::int64_t kColumns = kThreads * kEach * kTurns;
  const auto blocks = static_cast<unsigned>((job.columns + kColumns - 1) / kColumns);
  const Kernel each{reinterpret_cast<const void*>(kernel), kThreads};
  LaunchConfig how(each, static_cast<int>(job.logits.rows), queue);
  how.config.gridDim.y = blocks;
  void* arguments[] = {&job};
  return cudaLaunchKernelExC(&how.config, each.function, arguments);
}

/// The job of columns `first` .. `first + count - 1`.
GradientJob part_of(const GradientJob& job, std::int64_t first, std::int64_t count) {
  GradientJob part = job;
  part.logits.data = static_cast<const char*>(job.logits.data) +
                     first * job.logits.at.col * (job.logits.type == DType::fp32 ? 4 : 2);
  part.begin += first;
  part.existing = job.existing > first ? job.existing - first : 0;
  part.g += first * job.to.col;
  part.columns = count;
  return part;
}

}  // namespace

cudaError_t gradient(const GradientJob& job, const Queue& queue) {
  if (job.logits.rows == 0 || job.columns == 0) return cudaSuccess;
  const bool is_32 = job.logits.type == DType::fp32;
  const bool vectors = job.logits.at.col == 1 && job.to.col == 1 &&
                       aligned(job.logits.data, job.logits.at.row, is_32 ? 4 : 2) &&
                       aligned(job.g, job.to.row, 2);
  const std::int64_t whole = vectors ? job.columns / kEach * kEach : 0;
  if (whole > 0) {
    if (const auto e = launch(part_of(job, 0, whole), true, queue); e != cudaSuccess) return e;
  }
  if (whole == job.columns) return cudaSuccess;
  return launch(part_of(job, whole, job.columns - whole), false, queue);
}

}  // namespace detgemm::cuda::log_prob
