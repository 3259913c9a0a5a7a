// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/problem.hpp"

#include <cstring>

namespace detgemm {

Problem::Problem() {
  // 0x3c3c is a normal number in every type, and a byte that nothing writes by chance.
  block_.fill(std::byte{0x3c});
  spec.n = n;
  spec.k = k;
  spec.contract =
      Contract::make(Arithmetic::ieee_fma, DType::bf16, {ReductionKind::tree, 16}, DType::fp32)
          .value();
  spec.beta = 0.5F;
  spec.bias = DType::fp32;
  operands.a = row_major(static_cast<const void*>(place(m * k * 2)), m, k, DType::bf16);
  operands.b = row_major(static_cast<const void*>(place(k * n * 2)), k, n, DType::bf16);
  operands.c = row_major(static_cast<const void*>(place(m * n * 4)), m, n, DType::fp32);
  operands.d = row_major(place(m * n * 4), m, n, DType::fp32);
  operands.bias = {place(n * 4), n, DType::fp32};
  for (int i = 0; i < 2; ++i) {
    roots.push_back(row_major(static_cast<const void*>(place(m * n * 4)), m, n, DType::fp32));
  }
  workspace = {place(4096), 4096};
  before_ = block_;
}

void* Problem::place(std::size_t bytes) {
  std::byte* at = block_.data() + used_;
  used_ += (bytes + 2 * kGap - 1) / kGap * kGap;
  return at;
}

bool Problem::untouched() const { return std::memcmp(block_.data(), before_.data(), kBlock) == 0; }

bool Problem::untouched_d() const {
  const auto at = static_cast<const std::byte*>(operands.d.data) - block_.data();
  return std::memcmp(block_.data() + at, before_.data() + at, m * n * 4) == 0;
}

bool Problem::untouched_outside_d() const {
  const auto* d = static_cast<const std::byte*>(operands.d.data);
  const auto* scratch = static_cast<const std::byte*>(workspace.data);
  for (std::size_t i = 0; i < kBlock; ++i) {
    const std::byte* at = block_.data() + i;
    if (at >= d && at < d + m * n * 4) continue;
    if (at >= scratch && at < scratch + workspace.bytes) continue;
    if (*at != before_[i]) return false;
  }
  return true;
}

}  // namespace detgemm
