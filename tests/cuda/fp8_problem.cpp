// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/cuda/fp8_problem.hpp"

#include <array>

namespace detgemm::test {
namespace {

/// Bits of a hash, a few at a time.
class Bits {
 public:
  explicit Bits(std::uint64_t key) : key_(key) {}
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(mix(key_++) % static_cast<std::uint64_t>(n));
  }

 private:
  std::uint64_t key_;
};

Reduction draw_reduction(Bits& r) {
  constexpr std::array<std::int64_t, 8> usual{128, 128, 128, 128, 256, 384, 512, 1024};
  const std::int64_t kind = r.below(4);
  if (kind == 0) return {};
  const std::int64_t leaf =
      r.below(8) == 0 ? 32 * (1 + r.below(12)) : usual[static_cast<std::size_t>(r.below(8))];
  return {kind == 1 ? ReductionKind::fold : ReductionKind::scaled, leaf};
}

ScaleLayout draw_scales(Bits& r, std::int64_t per, std::int64_t lines, std::int64_t leaves) {
  const std::int64_t blocks = (lines + per - 1) / per;
  ScaleLayout s{r.below(4) == 0 ? ScaleType::e8m0 : ScaleType::fp32, per, 0, 0};
  const std::int64_t pad = r.below(2) * r.below(5);
  switch (r.below(8)) {
    case 0:  // a static scale of the whole tensor
      break;
    case 1:  // the same for all leaves
      s.stride = 1 + pad;
      break;
    case 2:
    case 3:
    case 4:  // leaf by leaf
      s.stride = 1;
      s.leaf_stride = blocks + pad;
      break;
    default:  // line by line
      s.stride = leaves + pad;
      s.leaf_stride = 1;
  }
  return s;
}

}  // namespace

Problem draw_fp8_problem(std::uint64_t seed, std::uint64_t index, bool misaligned) {
  Problem p = draw_problem(seed, index, Reductions::all);
  Bits r(mix(seed ^ 0xf8) + 64 * index);
  const std::int64_t k = p.spec.k;
  if (r.below(4) != 0) {
    const std::int64_t line = (k + 15) / 16 * 16;
    p.a = {p.spec.op_a == Op::transpose, line + 16 * r.below(3), 16 * r.below(3)};
    p.b = {p.spec.op_b == Op::none, line + 16 * r.below(3), 16 * r.below(3)};
  }
  if (misaligned) misalign_operands(p);
  p.spec.contract =
      *Contract::make(Arithmetic::hopper, DType::e4m3, draw_reduction(r), p.spec.contract.output);
  p.spec.line_scales = p.spec.contract.reduction.kind != ReductionKind::scaled && r.below(2) == 0;
  const std::int64_t leaves = p.spec.scale_leaves();
  p.scale_a = draw_scales(r, r.below(4) == 0 ? 128 : 1, p.m, leaves);
  p.scale_b = draw_scales(r, r.below(2) == 0 ? 128 : 1, p.spec.n, leaves);
  return p;
}

}  // namespace detgemm::test
