// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/cuda/fma_problem.hpp"

#include <algorithm>
#include <array>

namespace detgemm::test {
namespace {

/// Leaves that end anywhere in a slab, and leaves of whole slabs; short ones only where K is short,
/// since each costs a slab of its own.
Reduction draw_reduction(std::uint64_t r, std::int64_t k) {
  constexpr std::array<std::int64_t, 12> leaves{1, 3, 7, 16, 24, 50, 64, 100, 128, 256, 512, 1000};
  if (r % 5 < 2) return {};
  const auto kind = r % 5 == 2 ? ReductionKind::fold : ReductionKind::tree;
  std::int64_t leaf = leaves[(r >> 8) % leaves.size()];
  while (k / leaf > 300) leaf *= 2;
  return {kind, leaf};
}

}  // namespace

Problem draw_fma_problem(std::uint64_t seed, std::uint64_t index) {
  constexpr std::array inputs{DType::fp32, DType::bf16, DType::fp32, DType::fp16};
  Problem p = draw_problem(seed, index);
  const std::uint64_t r = mix(mix(seed ^ 0xf3a) + index);
  Contract& contract = p.spec.contract;
  contract = *Contract::make(Arithmetic::ieee_fma, inputs[r % inputs.size()],
                             draw_reduction(r >> 4, p.spec.k), contract.output);
  if (contract.reduction.kind == ReductionKind::tree) {
    p.spec.continue_from_c = false;
    p.in_place = p.in_place && p.spec.reads_c();
  }
  return p;
}

}  // namespace detgemm::test
