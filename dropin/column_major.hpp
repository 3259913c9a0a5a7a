// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>

#include "dropin/product.hpp"

namespace detgemm::dropin {

/// What an operation code asks for. A real matrix's conjugate transpose is its transpose.
enum class BlasOp : int { none, transpose, unknown };

/// Element types as far as they have a contract.
enum class BlasType : int { bf16, fp16, fp32, other };

/// What a compute type allows: fp32 sums of products of whole inputs, unless the handle's math mode
/// lets them lose bits; the same whatever the mode is; of inputs that may lose bits; fp16 sums; or
/// something else (fp64, integers).
enum class BlasCompute : int { fp32, fp32_always, fp32_of_fewer_bits, fp16, other };

/// The handle's answers.
struct HandleState {
  void* stream = nullptr;
  bool scalars_on_device = false;
  bool fewer_bits = false;  ///< the math mode allows TF32 for fp32 inputs
  Workspace workspace{};
};

/// D = alpha * op(A)*op(B) + beta * C, as the BLAS states it: column-major, C and D the same array.
/// Sizes and leading dimensions as they came, not yet checked.
struct ColumnMajorCall {
  const char* function = "";
  BlasOp op_a = BlasOp::none, op_b = BlasOp::none;
  std::int64_t m = 0, n = 0, k = 0;
  const void* alpha = nullptr;
  const void* beta = nullptr;
  BlasType type_a = BlasType::other, type_b = BlasType::other, type_c = BlasType::other;
  BlasCompute compute = BlasCompute::other;
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  std::int64_t lda = 0, ldb = 0, ldc = 0;
  std::int64_t stride_a = 0, stride_b = 0, stride_c = 0;
  std::int64_t batch = 1;
  bool addresses = false;  ///< a, b and c are arrays of addresses
};

/// y = alpha * op(A)*x + beta * y, column-major; A is m x n.
struct VectorCall {
  const char* function = "";
  BlasOp op = BlasOp::none;
  std::int64_t m = 0, n = 0;
  const void* alpha = nullptr;
  const void* beta = nullptr;
  BlasType type = BlasType::other, type_y = BlasType::other;
  const void* a = nullptr;
  const void* x = nullptr;
  void* y = nullptr;
  std::int64_t lda = 0, incx = 1, incy = 1;
  std::int64_t stride_a = 0, stride_x = 0, stride_y = 0;
  std::int64_t batch = 1;
  bool addresses = false;
  bool fp16_scalars = false;
};

/// Checks the arguments as the BLAS does and computes what the configuration takes. Counts the call
/// if it is taken.
Outcome compute(const ColumnMajorCall& call, const HandleState& handle) noexcept;
Outcome compute(const VectorCall& call, const HandleState& handle) noexcept;

/// The kind of a product, or nothing and why not.
std::optional<Kind> kind_of(BlasType a, BlasType b, BlasType d, BlasCompute compute,
                            bool fewer_bits, std::string& why);
/// The type in memory; not for `other`.
DType dtype_of(BlasType type) noexcept;

/// alpha or beta as fp32: fp16 or fp32, on the host or, where the file allows to wait, on a device.
Status read_scalar(const void* at, bool fp16, bool on_device, void* stream, float& out);

}  // namespace detgemm::dropin
