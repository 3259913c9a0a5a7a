// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/contract/gemm_arguments.hpp"

namespace detgemm::cuda {

/// A product in host memory whose outputs tell one arithmetic from its neighbours: 64 x 64, from
/// fp32 C, into fp32.
struct PinnedProduct {
  const char* name = "";
  GemmArguments g;                  ///< of the arrays below
  std::vector<std::uint16_t> a, b;  ///< a number of tf32 has two of them
  std::vector<float> c, d;
};

/// The pinned products of an input type, bf16, fp16 or tf32: always the same ones. They contradict
/// one more or one less in each constant of section 3.2 of CONTRACT.md that any product can
/// contradict.
std::vector<PinnedProduct> pinned_products(DType input);

constexpr bool has_pinned_products(DType input) {
  return input == DType::bf16 || input == DType::fp16 || input == DType::tf32;
}

/// Computes D of a product whose arrays are in host memory.
using Multiply = std::function<Status(const GemmArguments& g)>;

/// Outputs of pinned products beside the contract's.
struct Compared {
  std::int64_t outputs = 0;
  std::int64_t different = 0;
  std::string first;  ///< in words, the first that differs
};

/// Computes all pinned products with `multiply` and compares every output with the contract's.
Result<Compared> compare_pinned(Arithmetic arithmetic, DType input, const Multiply& multiply);

}  // namespace detgemm::cuda
