// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "detgemm/export.hpp"
#include "dropin/answer.hpp"
#include "dropin/column_major.hpp"
#include "dropin/cublas/api.hpp"

namespace detgemm::dropin::cublas {

inline constexpr StatusCodes kCodes{kSuccess, kNotInitialized, kInvalidValue, kExecutionFailed,
                                    kNotSupported};

/// Asks cuBLAS for the stream, the pointer mode and the math mode of a handle. Returns cuBLAS's own
/// status: a handle that it does not know is not known here either.
int ask(Handle handle, HandleState& out) noexcept;

inline BlasOp op_of(int operation) noexcept {
  if (operation == kN) return BlasOp::none;
  return operation == kT || operation == kC ? BlasOp::transpose : BlasOp::unknown;
}

inline BlasType type_of(int type) noexcept {
  if (type == k16BF) return BlasType::bf16;
  if (type == k16F) return BlasType::fp16;
  return type == k32F ? BlasType::fp32 : BlasType::other;
}

inline BlasCompute compute_of(int compute) noexcept {
  switch (compute) {
    case kCompute32F:
      return BlasCompute::fp32;
    case kCompute32FPedantic:
    case kCompute32FEmulated16BFx9:
      return BlasCompute::fp32_always;
    case kCompute32FFast16F:
    case kCompute32FFast16BF:
    case kCompute32FFastTf32:
      return BlasCompute::fp32_of_fewer_bits;
    case kCompute16F:
    case kCompute16FPedantic:
      return BlasCompute::fp16;
    default:
      return BlasCompute::other;
  }
}

inline Known known(const ColumnMajorCall& c) { return {c.function, "", c.n, c.m, c.k, c.batch}; }
inline Known known(const VectorCall& c) {
  const bool transposes = c.op == BlasOp::transpose;
  return {c.function, "", 1, transposes ? c.n : c.m, transposes ? c.m : c.n, c.batch};
}

/// The one way of every product: computed under a contract, else as the configuration says.
template <class Call, class Pass>
int product(Handle handle, const Call& call, const Pass& pass) noexcept {
  if (inside_vendor()) return pass();
  HandleState state;
  if (const int status = ask(handle, state); status != kSuccess) {
    note(known(call), Fate::invalid, "the handle is not one of cuBLAS's");
    return status;
  }
  return answer(known(call), compute(call, state), kCodes, pass);
}

}  // namespace detgemm::dropin::cublas

#define DETGEMM_VENDOR(NAME, ...) DETGEMM_VENDOR_OF(blas, cublas::kNotSupported, NAME, __VA_ARGS__)

/// Both widths of integers: NAME takes int, NAME_64 takes int64_t.
#define DETGEMM_BOTH_WIDTHS(FUNCTION, ...) \
  FUNCTION(, int, __VA_ARGS__)             \
  FUNCTION(_64, std::int64_t, __VA_ARGS__)
