// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/contract/log_results.hpp"
#include "cuda/log_prob/launch.hpp"
#include "cuda/log_prob/words.cuh"

namespace detgemm::cuda::log_prob {
namespace {

constexpr int kThreads = 256;
constexpr int kEach = 8;  // columns of a thread

/// A thread has 8 columns of a row: neighbours, or with kSingle those 256 apart, at any strides.
template <bool k32, bool kSingle>
__global__ void __launch_bounds__(kThreads)
    gradient_kernel(const __grid_constant__ GradientJob job) {
  const std::int64_t row = blockIdx.x;
  const arithmetic::LogGradient g = gradient_row(
      job.rows, job.upstream, job.alpha, row,
      [](const LogProbRows& rows, std::int64_t at) { return usable_scale(rows.scale, at); });
  std::int64_t target = -1;
  if (job.rows.targets.data != nullptr) target = token(job.rows.targets, row, 0) - job.begin;
  const LogitView& z = job.logits;
  const std::int64_t base = std::int64_t{blockIdx.y} * kThreads * kEach;
  const auto value = [&](std::int64_t col, float logit) -> std::uint16_t {
    if (col >= job.existing) return 0;
    return arithmetic::log_gradient(g, arithmetic::mul_rn(logit, g.scale), col == target);
  };
  if constexpr (kSingle) {
#pragma unroll 1
    for (int i = 0; i < kEach; ++i) {
      const std::int64_t col = base + i * kThreads + threadIdx.x;
      if (col >= job.columns) return;
      const std::int64_t at = row * z.at.row + col * z.at.col;
      const float logit =
          k32 ? static_cast<const float*>(z.data)[at]
              : arithmetic::to_float<DType::bf16>(static_cast<const std::uint16_t*>(z.data)[at]);
      job.g[row * job.to.row + col * job.to.col] = value(col, logit);
    }
  } else {
    const std::int64_t col = base + std::int64_t{threadIdx.x} * kEach;
    if (col >= job.columns) return;
    constexpr int kWords = k32 ? 8 : 4;
    std::uint32_t words[kWords];
    load_words(words, z.data, (row * z.at.row + col) * (k32 ? 4 : 2));
    std::uint32_t out[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const std::uint32_t first = k32 ? words[2 * i % kWords] : words[i % kWords] << 16;
      const std::uint32_t second =
          k32 ? words[(2 * i + 1) % kWords] : words[i % kWords] & 0xffff0000U;
      out[i] = value(col + 2 * i, __uint_as_float(first)) |
               static_cast<std::uint32_t>(value(col + 2 * i + 1, __uint_as_float(second))) << 16;
    }
    *reinterpret_cast<uint4*>(job.g + row * job.to.row + col) = {out[0], out[1], out[2], out[3]};
  }
}

bool aligned(const void* data, std::int64_t row, std::int64_t size) {
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && row * size % 16 == 0;
}

}  // namespace

cudaError_t gradient(const GradientJob& job, cudaStream_t stream) {
  if (job.logits.rows == 0 || job.columns == 0) return cudaSuccess;
  const bool is_32 = job.logits.type == DType::fp32;
  const bool vectors = job.logits.at.col == 1 && job.to.col == 1 && job.columns % kEach == 0 &&
                       aligned(job.logits.data, job.logits.at.row, is_32 ? 4 : 2) &&
                       aligned(job.g, job.to.row, 2);
  const auto kernel =
      is_32 ? (vectors ? &gradient_kernel<true, false> : &gradient_kernel<true, true>)
            : (vectors ? &gradient_kernel<false, false> : &gradient_kernel<false, true>);
  constexpr std::int64_t kColumns = kThreads * kEach;
  const auto blocks = static_cast<unsigned>((job.columns + kColumns - 1) / kColumns);
  GradientJob copy = job;
  void* arguments[] = {&copy};
  return cudaLaunchKernel(reinterpret_cast<const void*>(kernel),
                          dim3(static_cast<unsigned>(job.logits.rows), blocks), dim3(kThreads),
                          arguments, 0, stream);
}

}  // namespace detgemm::cuda::log_prob
