// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "dropin/calls.hpp"
#include "dropin/cublas/handle.hpp"

// The products of cuBLAS that a contract may take. Each function states its arguments as a
// ColumnMajorCall; the rest is common to all of them.

namespace {

using namespace detgemm::dropin;
using namespace detgemm::dropin::cublas;
using detgemm::dropin::typed;
using Long = long long;

ColumnMajorCall typed(ColumnMajorCall call, int a, int b, int c, int compute) {
  return detgemm::dropin::typed(call, type_of(a), type_of(b), type_of(c), compute_of(compute));
}

ColumnMajorCall pointers(ColumnMajorCall call, std::int64_t batch) {
  call.addresses = true;
  call.batch = batch;
  return call;
}

/// Addresses come as arrays of pointers, of whatever type.
template <class T>
const void* array(const T* addresses) {
  return static_cast<const void*>(addresses);
}

}  // namespace

extern "C" {

#define DETGEMM_GEMM(WIDTH, INT, NAME, TYPE)                                                     \
  DETGEMM_API int NAME##WIDTH(Handle handle, int ta, int tb, INT m, INT n, INT k,                \
                              const void* alpha, const void* a, INT lda, const void* b, INT ldb, \
                              const void* beta, void* c, INT ldc) {                              \
    return product(handle,                                                                       \
                   typed(plain(#NAME #WIDTH, op_of(ta), op_of(tb), {m, n, k}, alpha, a, lda, b,  \
                               ldb, beta, c, ldc),                                               \
                         TYPE),                                                                  \
                   DETGEMM_VENDOR(NAME##WIDTH, handle, ta, tb, m, n, k, alpha, a, lda, b, ldb,   \
                                  beta, c, ldc));                                                \
  }
DETGEMM_BOTH_WIDTHS(DETGEMM_GEMM, cublasSgemm_v2, BlasType::fp32)
DETGEMM_BOTH_WIDTHS(DETGEMM_GEMM, cublasHgemm, BlasType::fp16)

#define DETGEMM_GEMM_STRIDED(WIDTH, INT, NAME, TYPE)                                               \
  DETGEMM_API int NAME##WIDTH(Handle handle, int ta, int tb, INT m, INT n, INT k,                  \
                              const void* alpha, const void* a, INT lda, Long sa, const void* b,   \
                              INT ldb, Long sb, const void* beta, void* c, INT ldc, Long sc,       \
                              INT batch) {                                                         \
    return product(handle,                                                                         \
                   strided(typed(plain(#NAME #WIDTH, op_of(ta), op_of(tb), {m, n, k}, alpha, a,    \
                                       lda, b, ldb, beta, c, ldc),                                 \
                                 TYPE),                                                            \
                           sa, sb, sc, batch),                                                     \
                   DETGEMM_VENDOR(NAME##WIDTH, handle, ta, tb, m, n, k, alpha, a, lda, sa, b, ldb, \
                                  sb, beta, c, ldc, sc, batch));                                   \
  }
DETGEMM_BOTH_WIDTHS(DETGEMM_GEMM_STRIDED, cublasSgemmStridedBatched, BlasType::fp32)
DETGEMM_BOTH_WIDTHS(DETGEMM_GEMM_STRIDED, cublasHgemmStridedBatched, BlasType::fp16)

#define DETGEMM_GEMM_ADDRESSES(WIDTH, INT, NAME, TYPE)                                            \
  DETGEMM_API int NAME##WIDTH(Handle handle, int ta, int tb, INT m, INT n, INT k,                 \
                              const void* alpha, const void* const* a, INT lda,                   \
                              const void* const* b, INT ldb, const void* beta, void* const* c,    \
                              INT ldc, INT batch) {                                               \
    return product(                                                                               \
        handle,                                                                                   \
        pointers(typed(plain(#NAME #WIDTH, op_of(ta), op_of(tb), {m, n, k}, alpha, array(a), lda, \
                             array(b), ldb, beta, const_cast<void**>(c), ldc),                    \
                       TYPE),                                                                     \
                 batch),                                                                          \
        DETGEMM_VENDOR(NAME##WIDTH, handle, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, \
                       batch));                                                                   \
  }
DETGEMM_BOTH_WIDTHS(DETGEMM_GEMM_ADDRESSES, cublasSgemmBatched, BlasType::fp32)
DETGEMM_BOTH_WIDTHS(DETGEMM_GEMM_ADDRESSES, cublasHgemmBatched, BlasType::fp16)

#define DETGEMM_SGEMM_EX(WIDTH, INT, NAME)                                                        \
  DETGEMM_API int NAME##WIDTH(Handle handle, int ta, int tb, INT m, INT n, INT k,                 \
                              const float* alpha, const void* a, int type_a, INT lda,             \
                              const void* b, int type_b, INT ldb, const float* beta, void* c,     \
                              int type_c, INT ldc) {                                              \
    return product(handle,                                                                        \
                   typed(plain(#NAME #WIDTH, op_of(ta), op_of(tb), {m, n, k}, alpha, a, lda, b,   \
                               ldb, beta, c, ldc),                                                \
                         type_a, type_b, type_c, kCompute32F),                                    \
                   DETGEMM_VENDOR(NAME##WIDTH, handle, ta, tb, m, n, k, alpha, a, type_a, lda, b, \
                                  type_b, ldb, beta, c, type_c, ldc));                            \
  }
DETGEMM_BOTH_WIDTHS(DETGEMM_SGEMM_EX, cublasSgemmEx)

#define DETGEMM_GEMM_EX(WIDTH, INT, NAME)                                                         \
  DETGEMM_API int NAME##WIDTH(Handle handle, int ta, int tb, INT m, INT n, INT k,                 \
                              const void* alpha, const void* a, int type_a, INT lda,              \
                              const void* b, int type_b, INT ldb, const void* beta, void* c,      \
                              int type_c, INT ldc, int compute, int algo) {                       \
    return product(handle,                                                                        \
                   typed(plain(#NAME #WIDTH, op_of(ta), op_of(tb), {m, n, k}, alpha, a, lda, b,   \
                               ldb, beta, c, ldc),                                                \
                         type_a, type_b, type_c, compute),                                        \
                   DETGEMM_VENDOR(NAME##WIDTH, handle, ta, tb, m, n, k, alpha, a, type_a, lda, b, \
                                  type_b, ldb, beta, c, type_c, ldc, compute, algo));             \
  }
DETGEMM_BOTH_WIDTHS(DETGEMM_GEMM_EX, cublasGemmEx)

#define DETGEMM_GEMM_STRIDED_EX(WIDTH, INT, NAME)                                                  \
  DETGEMM_API int NAME##WIDTH(                                                                     \
      Handle handle, int ta, int tb, INT m, INT n, INT k, const void* alpha, const void* a,        \
      int type_a, INT lda, Long sa, const void* b, int type_b, INT ldb, Long sb, const void* beta, \
      void* c, int type_c, INT ldc, Long sc, INT batch, int compute, int algo) {                   \
    return product(                                                                                \
        handle,                                                                                    \
        strided(typed(plain(#NAME #WIDTH, op_of(ta), op_of(tb), {m, n, k}, alpha, a, lda, b, ldb,  \
                            beta, c, ldc),                                                         \
                      type_a, type_b, type_c, compute),                                            \
                sa, sb, sc, batch),                                                                \
        DETGEMM_VENDOR(NAME##WIDTH, handle, ta, tb, m, n, k, alpha, a, type_a, lda, sa, b, type_b, \
                       ldb, sb, beta, c, type_c, ldc, sc, batch, compute, algo));                  \
  }
DETGEMM_BOTH_WIDTHS(DETGEMM_GEMM_STRIDED_EX, cublasGemmStridedBatchedEx)

#define DETGEMM_GEMM_ADDRESSES_EX(WIDTH, INT, NAME)                                                \
  DETGEMM_API int NAME##WIDTH(                                                                     \
      Handle handle, int ta, int tb, INT m, INT n, INT k, const void* alpha, const void* const* a, \
      int type_a, INT lda, const void* const* b, int type_b, INT ldb, const void* beta,            \
      void* const* c, int type_c, INT ldc, INT batch, int compute, int algo) {                     \
    return product(                                                                                \
        handle,                                                                                    \
        pointers(typed(plain(#NAME #WIDTH, op_of(ta), op_of(tb), {m, n, k}, alpha, array(a), lda,  \
                             array(b), ldb, beta, const_cast<void**>(c), ldc),                     \
                       type_a, type_b, type_c, compute),                                           \
                 batch),                                                                           \
        DETGEMM_VENDOR(NAME##WIDTH, handle, ta, tb, m, n, k, alpha, a, type_a, lda, b, type_b,     \
                       ldb, beta, c, type_c, ldc, batch, compute, algo));                          \
  }
DETGEMM_BOTH_WIDTHS(DETGEMM_GEMM_ADDRESSES_EX, cublasGemmBatchedEx)

}  // extern "C"
