// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "core/contract/group_arguments.hpp"

namespace detgemm {

/// What one call computes: a GEMM, or groups of them of one shape, each with the scales of its
/// operands where the contract has some.
struct Problem {
  GroupedArguments gemms;  ///< a single GEMM is `gemms.all`, and `gemms.groups` is 0
  ScalePair scales;        ///< of group 0, from which distances lead to others'
  Arithmetic arithmetic = Arithmetic::hopper;
  DType input = DType::bf16;

  Problem() = default;
  Problem(const GemmArguments& g, Arithmetic a, DType type, const ScalePair& s = {})
      : scales(s), arithmetic(a), input(type) {
    gemms.all = g;
  }
  Problem(const GroupedArguments& p, Arithmetic a, DType type, const ScalePair& s = {})
      : gemms(p), scales(s), arithmetic(a), input(type) {}

  const GemmArguments& g() const { return gemms.all; }
  bool is_grouped() const { return gemms.groups > 0; }
  /// What kernels are listed by; the output type is not told.
  Contract contract() const {
    Contract c;
    c.arithmetic = arithmetic;
    c.input = input;
    c.reduction = gemms.all.reduction;
    return c;
  }
  /// Group `group` of a batch as a problem of its own.
  Problem group(std::int64_t group) const {
    const Segment part{0, gemms.all.m};
    return {arguments_of_group(gemms, group, part), arithmetic, input,
            scales_of_group(scales, gemms.distance, group, part)};
  }
};

/// Whether a call reads C.
inline bool reads_c(const GemmArguments& g) { return g.continue_from_c || g.epilogue.beta != 0.0F; }

/// Whether C, through its last element, ends before D begins, or D before C. Where C is not read,
/// it does not matter.
inline bool c_and_d_are_apart(const GroupedArguments& p) {
  const GemmArguments& g = p.all;
  if (!reads_c(g)) return true;
  const auto end = [&](const void* data, const Strides& s, std::int64_t distance,
                       std::int64_t bytes) {
    const std::int64_t groups = p.groups > 0 ? p.groups - 1 : 0;
    const std::int64_t last = (g.m - 1) * s.row + (g.n - 1) * s.col + groups * distance;
    return reinterpret_cast<std::uintptr_t>(data) + static_cast<std::uintptr_t>((last + 1) * bytes);
  };
  return end(g.c, g.cs, p.distance.c, p.c_bytes) <= reinterpret_cast<std::uintptr_t>(g.d) ||
         end(g.d, g.ds, p.distance.d, p.d_bytes) <= reinterpret_cast<std::uintptr_t>(g.c);
}

}  // namespace detgemm
