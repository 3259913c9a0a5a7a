// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "dropin/column_major.hpp"

/// How the functions of every vendor's BLAS state their arguments as a ColumnMajorCall.
namespace detgemm::dropin {

struct Sizes {
  std::int64_t m, n, k;
};

/// One product, of types that are not yet said.
inline ColumnMajorCall plain(const char* function, BlasOp op_a, BlasOp op_b, Sizes sizes,
                             const void* alpha, const void* a, std::int64_t lda, const void* b,
                             std::int64_t ldb, const void* beta, void* c, std::int64_t ldc) {
  ColumnMajorCall call;
  call.function = function;
  call.op_a = op_a;
  call.op_b = op_b;
  call.m = sizes.m;
  call.n = sizes.n;
  call.k = sizes.k;
  call.alpha = alpha;
  call.beta = beta;
  call.a = a;
  call.b = b;
  call.c = c;
  call.lda = lda;
  call.ldb = ldb;
  call.ldc = ldc;
  return call;
}

inline ColumnMajorCall typed(ColumnMajorCall call, BlasType a, BlasType b, BlasType c,
                             BlasCompute compute) {
  call.type_a = a;
  call.type_b = b;
  call.type_c = c;
  call.compute = compute;
  return call;
}

/// One type for all three matrices and both scalars.
inline ColumnMajorCall typed(ColumnMajorCall call, BlasType type) {
  return typed(call, type, type, type,
               type == BlasType::fp16 ? BlasCompute::fp16 : BlasCompute::fp32);
}

inline ColumnMajorCall strided(ColumnMajorCall call, std::int64_t a, std::int64_t b, std::int64_t c,
                               std::int64_t batch) {
  call.stride_a = a;
  call.stride_b = b;
  call.stride_c = c;
  call.batch = batch;
  return call;
}

}  // namespace detgemm::dropin
