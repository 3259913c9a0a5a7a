// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/cuda/snap_problem.hpp"

namespace detgemm::test {

Problem draw_snap_problem(std::uint64_t seed, std::uint64_t index, bool misaligned) {
  Problem p = draw_problem(seed, index, Reductions::leaves);
  const std::uint64_t r = mix(mix(seed ^ 0x5a9) + index);
  // The largest leaves are longer than those that warps keep in registers.
  constexpr std::int64_t kLong[] = {576, 1088, 2048, 4096};
  const auto set_contract = [&](const Reduction& reduction) {
    const std::int64_t leaf = r % 8 == 0 ? kLong[(r >> 8) % 4] : (reduction.leaf_k + 63) / 64 * 64;
    p.spec.contract = *Contract::make(Arithmetic::snap, DType::bf16, {reduction.kind, leaf},
                                      p.spec.contract.output);
  };
  if (misaligned) misalign_operands(p);
  set_contract(p.spec.contract.reduction);
  p.spec.a_snapped = (r >> 16) % 4 == 0;
  p.spec.b_snapped = (r >> 20) % 2 == 0;
  return p;
}

Problem draw_snap3_problem(std::uint64_t seed, std::uint64_t index, bool misaligned) {
  Problem p = draw_snap_problem(seed, index, misaligned);
  const Contract& of_snap = p.spec.contract;
  const DType input = mix(seed ^ index) % 2 != 0 ? DType::fp32 : DType::bf16;
  p.spec.contract = *Contract::make(Arithmetic::snap3, input, of_snap.reduction, of_snap.output);
  p.spec.a_snapped = p.spec.b_snapped = false;
  return p;
}

}  // namespace detgemm::test
