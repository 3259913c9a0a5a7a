// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "dropin/answer.hpp"
#include "dropin/column_major.hpp"

namespace detgemm::dropin {

/// A matrix as the BLASLt describes it.
struct LtMatrix {
  const void* data = nullptr;
  BlasType type = BlasType::other;
  std::int64_t rows = 0, cols = 0, ld = 0;
  std::int64_t batch = 1, batch_stride = 0;
  bool row_order = false;
  bool known = true;  ///< false: another order, planes, or an array of addresses
};

enum class LtEpilogue : int { none, relu, gelu, other };
enum class LtScalars : int { fp16, fp32, other };
enum class LtPointers : int { host, device, vector };

/// D = epilogue(alpha * op(A)*op(B) + beta * C + bias), where the bias has an element per row of D
/// and the gelu is the one with tanh.
struct LtCall {
  const char* function = "";
  BlasOp op_a = BlasOp::none, op_b = BlasOp::none;
  BlasCompute compute = BlasCompute::other;
  LtScalars scalars = LtScalars::fp32;
  LtPointers mode = LtPointers::host;
  LtEpilogue epilogue = LtEpilogue::none;
  bool with_bias = false;
  bool whole = true;    ///< all of C is read and written as it is: no triangle, no transpose
  bool scaled = false;  ///< a factor or a maximum of a matrix is asked for
  BlasType bias_type = BlasType::other;
  bool bias_type_known = false;  ///< false: the bias has D's type
  const void* bias = nullptr;
  std::int64_t bias_batch_stride = 0;
  const void* alpha = nullptr;
  const void* beta = nullptr;
  LtMatrix a, b, c, d;
  void* stream = nullptr;
  Workspace workspace{};
};

/// Computes what the configuration takes, and counts it then.
Outcome compute(const LtCall& call) noexcept;
/// The bytes of workspace with which it is fastest, or nothing where it would not be taken. No
/// array is looked at.
std::optional<std::size_t> workspace_of(const LtCall& call) noexcept;
/// For the table.
Known known(const LtCall& call) noexcept;

}  // namespace detgemm::dropin
