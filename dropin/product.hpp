// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "detgemm/gemm_spec.hpp"
#include "dropin/counts.hpp"
#include "dropin/policy.hpp"

namespace detgemm::dropin {

/// A product as the library computes it, of which the first operand's rows may ride in any batch:
/// D = act(alpha * A*B + beta * C + bias), once per entry of a batch. Transposes are strides.
///
/// The vendor's D = op(A)*op(B) is column-major. Its transpose has the same elements at the same
/// addresses, D^T = op(B)^T * op(A)^T, and there the columns of the vendor's D, which are the
/// tokens of a row-major program, are rows. So `a` is a view of the vendor's B, and `b` one of its
/// A.
struct Product {
  Kind kind = Kind::fp32;
  Direction direction = Direction::nn;
  DType output = DType::fp32;
  ConstMatrix a;  ///< M x K
  ConstMatrix b;  ///< K x N
  ConstMatrix c;  ///< M x N
  Matrix d;       ///< M x N
  ConstVector bias{};
  float alpha = 1.0F;
  float beta = 0.0F;
  Activation activation = Activation::none;
  std::int64_t batch = 1;
  /// Distances between the entries of a batch, in elements.
  std::int64_t stride_a = 0, stride_b = 0, stride_c = 0, stride_d = 0, stride_bias = 0;
  /// Arrays of `batch` addresses on the device, in place of the distances.
  const void* const* addresses_a = nullptr;
  const void* const* addresses_b = nullptr;
  void* const* addresses_d = nullptr;
  Stream stream{};        ///< the handle's or the call's; its kind is set by `compute`
  Workspace workspace{};  ///< what the handle or the call has, or nothing
};

/// What became of a product. `why` is empty where it was taken.
struct Outcome {
  Fate fate = Fate::taken;
  std::string why;
};

/// Computes it under the contract that the configuration names, and counts it if it was taken.
/// `passed` means: it was not, and nothing was written. Never throws.
Outcome compute(const char* function, const Product& product) noexcept;

/// The bytes of workspace with which it is fastest, or nothing where it would not be taken.
std::optional<std::size_t> workspace_of(const Product& product) noexcept;

}  // namespace detgemm::dropin
