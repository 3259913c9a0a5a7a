// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <vector>

#include "detgemm/contract.hpp"
#include "tests/hip/problem.hpp"

namespace detgemm::test {

/// One arithmetic, input type and reduction.
struct Family {
  Arithmetic arithmetic;
  DType input;
  ReductionKind kind;

  std::string text() const {
    return std::string(name(arithmetic)) + "/" + std::string(name(input)) + "/" +
           std::string(name(kind));
  }
};

/// Problems that are drawn together, and the kernels that run each of them.
struct Unit {
  Family family;
  std::string text;  ///< names the sequence of problems
  std::vector<std::string> variants;
  Suited suited;
};

/// For each variant a unit per layout for which kernels are compiled:
///
///   "cdna3/bf16/chain/256x256/k,mn"          A along K, B along N
///   "cdna3/bf16/tree/stream-parts/nowhere"   no aligned chunks
///   "ieee_fma/fp32/fold/simt-64x64/drawn"    a kernel that takes every layout
///   "cdna3/bf16/tree/roots"                  roots of ranks
std::vector<Unit> units_per_kernel(const Family& family, const std::vector<std::string>& variants);

}  // namespace detgemm::test
