// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "core/arithmetic/log_sum.hpp"
#include "detgemm/types.hpp"

namespace detgemm {

/// Some columns of one row of logits, from the beginning of a leaf on.
struct LogLeavesJob {
  const void* data = nullptr;  ///< the first column
  DType type = DType::bf16;    ///< bf16 or fp32
  std::int64_t step = 1;       ///< elements from a column to the next
  std::int64_t columns = 0;    ///< the last leaf may be short
  float scale = 1.0F;
  bool entropy = false;
  arithmetic::LogNode* leaves = nullptr;  ///< ceil(columns / 16) of them are written
};

/// The gradient of some columns of one row.
struct LogGradientJob {
  const void* data = nullptr;
  DType type = DType::bf16;
  std::int64_t step = 1;
  std::int64_t columns = 0;
  arithmetic::LogGradient row;
  std::int64_t target = -1;  ///< counted from the first of these columns; may be outside of them
  std::uint16_t* to = nullptr;
  std::int64_t to_step = 1;
};

/// Both loops, as one instruction set has them.
struct LogKernels {
  void (*leaves)(const LogLeavesJob& job);
  void (*gradient)(const LogGradientJob& job);
};

namespace log_detail {

/// Logit `i` of a row.
template <DType T>
DETGEMM_HD float logit(const void* data, std::int64_t i) {
  return arithmetic::to_float<T>(static_cast<const arithmetic::Storage<T>*>(data)[i]);
}

template <DType T, bool kEntropy>
DETGEMM_HD void leaves_of(const LogLeavesJob& job) {
  using namespace arithmetic;
  arithmetic::LogNode* leaf = job.leaves;
  for (std::int64_t first = 0; first < job.columns; first += kLogLeaf) {
    float x[kLogLeaf];
    if (job.columns - first >= kLogLeaf) {
      for (int i = 0; i < kLogLeaf; ++i) {
        x[i] = mul_rn(logit<T>(job.data, (first + i) * job.step), job.scale);
      }
    } else {
      for (int i = 0; i < kLogLeaf; ++i) {
        x[i] = float_of(0x80000000U | kInfBits);  // adds nothing
        if (first + i < job.columns) {
          x[i] = mul_rn(logit<T>(job.data, (first + i) * job.step), job.scale);
        }
      }
    }
    *leaf++ = log_leaf<kEntropy>(x);
  }
}

template <DType T>
DETGEMM_HD void gradient_of(const LogGradientJob& job) {
  using namespace arithmetic;
  const auto gradient = [&](std::int64_t i, bool is_target) {
    const float x = mul_rn(logit<T>(job.data, i * job.step), job.row.scale);
    job.to[i * job.to_step] = log_gradient(job.row, x, is_target);
  };
  for (std::int64_t i = 0; i < job.columns; ++i) gradient(i, false);
  if (job.target >= 0 && job.target < job.columns) gradient(job.target, true);
}

}  // namespace log_detail

/// The leaves of a job. Always inlined, so that each instruction set has a copy of its own.
DETGEMM_HD void compute_leaves(const LogLeavesJob& job) {
  if (job.type == DType::fp32) {
    if (job.entropy) return log_detail::leaves_of<DType::fp32, true>(job);
    return log_detail::leaves_of<DType::fp32, false>(job);
  }
  if (job.entropy) return log_detail::leaves_of<DType::bf16, true>(job);
  return log_detail::leaves_of<DType::bf16, false>(job);
}

/// The gradient of a job.
DETGEMM_HD void compute_gradient(const LogGradientJob& job) {
  if (job.type == DType::fp32) return log_detail::gradient_of<DType::fp32>(job);
  return log_detail::gradient_of<DType::bf16>(job);
}

}  // namespace detgemm
