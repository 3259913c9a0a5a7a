// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/quantize/launch.hpp"

#include <algorithm>

#include "core/contract/reduction.hpp"
#include "cuda/quantize/block.hpp"
#include "cuda/snap/snap.hpp"

namespace detgemm::cuda::quantize {
namespace {

constexpr int kCtasPerSm = 8;

bool is_multiple(const void* address, std::size_t bytes) {
  return reinterpret_cast<std::uintptr_t>(address) % bytes == 0;
}

/// Leaves that a warp holds in registers, at addresses where lanes load kEach numbers at a time.
bool is_short(const QuantizeArguments& q) {
  const bool contiguous = (q.from_at.col == 1 && q.to_at.col == 1) || q.k == 1;
  return q.per == 1 && q.leaf_k <= kShort && q.leaf_k % kEach == 0 && contiguous &&
         q.from_at.row % kEach == 0 && q.to_at.row % kEach == 0 &&
         is_multiple(q.from, size_of(q.type) * kEach) && is_multiple(q.to, kEach);
}

}  // namespace

Launch choose(const QuantizeArguments& q, int sms) {
  if (q.scales.blocks == 0 || q.scales.leaves == 0) return {};
  Launch launch;
  std::int64_t items = q.scales.leaves;
  if (is_short(q)) {
    launch.kernel = q.type == DType::bf16 ? 0 : q.type == DType::fp16 ? 1 : 2;
    items = ceil_div(items, std::int64_t{kLeavesPerWarp});
  }
  constexpr std::int64_t warps = snap::kThreads / 32;
  const std::int64_t most = std::int64_t{sms} * kCtasPerSm;
  std::int64_t all = 0;
  if (__builtin_mul_overflow(items, q.scales.blocks, &all)) all = most * warps;
  launch.grid = static_cast<int>(std::min(most, ceil_div(all, warps)));
  return launch;
}

cudaError_t enqueue(const QuantizeArguments& q, int sms, const Queue& queue) {
  const Launch chosen = choose(q, sms);
  if (chosen.grid == 0) return cudaSuccess;
  QuantizeArguments given = q;
  void* arguments[] = {&given};
  return launch(kernel(chosen.kernel), chosen.grid, queue, arguments);
}

}  // namespace detgemm::cuda::quantize
