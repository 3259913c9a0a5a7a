/* SPDX-FileCopyrightText: 2026 The detgemm authors
   SPDX-License-Identifier: Apache-2.0 */

/* A cuBLAS for machines without one: host memory, naive sums, calls counted by name. */

#include "tests/dropin/fake_cublas/cublas.h"

#include <stdlib.h>

#include "tests/dropin/fake_cublas/arithmetic.h"
#include "tests/dropin/fake_cublas/calls.h"

struct fake_handle {
  void* stream;
  int pointer_mode, math_mode;
};

#define HANDLE(h) \
  if ((h) == NULL) return 1

int cublasCreate_v2(cublasHandle_t* handle) {
  *handle = calloc(1, sizeof(struct fake_handle));
  return *handle == NULL ? 3 : 0;
}
int cublasDestroy_v2(cublasHandle_t handle) {
  HANDLE(handle);
  free(handle);
  return 0;
}
int cublasSetStream_v2(cublasHandle_t handle, void* stream) {
  HANDLE(handle);
  handle->stream = stream;
  return 0;
}
int cublasGetStream_v2(cublasHandle_t handle, void** stream) {
  HANDLE(handle);
  *stream = handle->stream;
  return 0;
}
int cublasSetPointerMode_v2(cublasHandle_t handle, int mode) {
  HANDLE(handle);
  handle->pointer_mode = mode;
  return 0;
}
int cublasGetPointerMode_v2(cublasHandle_t handle, int* mode) {
  HANDLE(handle);
  *mode = handle->pointer_mode;
  return 0;
}
int cublasSetMathMode(cublasHandle_t handle, int mode) {
  HANDLE(handle);
  handle->math_mode = mode;
  return 0;
}
int cublasGetMathMode(cublasHandle_t handle, int* mode) {
  HANDLE(handle);
  *mode = handle->math_mode;
  return 0;
}
int cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, size_t bytes) {
  fake_count("cublasSetWorkspace_v2");
  HANDLE(handle);
  return workspace == NULL && bytes > 0 ? 7 : 0;
}

static float scalar(fake_in at, int compute) {
  const int type = compute == FAKE_COMPUTE_16F   ? FAKE_16F
                   : compute == FAKE_COMPUTE_64F ? FAKE_64F
                                                 : FAKE_32F;
  return fake_load(at, type, 0);
}

static int product(int ta, int tb, int64_t m, int64_t n, int64_t k, fake_in alpha, fake_in a,
                   int type_a, int64_t lda, fake_in b, int type_b, int64_t ldb, fake_in beta,
                   void* c, int type_c, int64_t ldc, int compute) {
  if (m < 0 || n < 0 || k < 0 || alpha == NULL || beta == NULL) return 7;
  if (type_a == FAKE_8I) return 15;
  const fake_matrix d = {c, type_c, 1, ldc};
  fake_product(m, n, k, scalar(alpha, compute), fake_operand(a, type_a, ta, lda),
               fake_operand(b, type_b, tb, ldb), scalar(beta, compute), d, d, 0, NULL, 0);
  return 0;
}

#define FAKE_DEFINE(WIDTH, INT)                                                                    \
  int cublasSgemm_v2##WIDTH(cublasHandle_t h, int ta, int tb, INT m, INT n, INT k, fake_in alpha,  \
                            fake_in a, INT lda, fake_in b, INT ldb, fake_in beta, void* c,         \
                            INT ldc) {                                                             \
    fake_count("cublasSgemm_v2" #WIDTH);                                                           \
    HANDLE(h);                                                                                     \
    return product(ta, tb, m, n, k, alpha, a, FAKE_32F, lda, b, FAKE_32F, ldb, beta, c, FAKE_32F,  \
                   ldc, FAKE_COMPUTE_32F);                                                         \
  }                                                                                                \
  int cublasHgemm##WIDTH(cublasHandle_t h, int ta, int tb, INT m, INT n, INT k, fake_in alpha,     \
                         fake_in a, INT lda, fake_in b, INT ldb, fake_in beta, void* c, INT ldc) { \
    fake_count("cublasHgemm" #WIDTH);                                                              \
    HANDLE(h);                                                                                     \
    return product(ta, tb, m, n, k, alpha, a, FAKE_16F, lda, b, FAKE_16F, ldb, beta, c, FAKE_16F,  \
                   ldc, FAKE_COMPUTE_16F);                                                         \
  }                                                                                                \
  int cublasDgemm_v2##WIDTH(cublasHandle_t h, int ta, int tb, INT m, INT n, INT k, fake_in alpha,  \
                            fake_in a, INT lda, fake_in b, INT ldb, fake_in beta, void* c,         \
                            INT ldc) {                                                             \
    fake_count("cublasDgemm_v2" #WIDTH);                                                           \
    HANDLE(h);                                                                                     \
    /* As the real one, it uses cublasLt by its public names. */                                   \
    cublasLtMatmul(NULL, NULL, alpha, a, NULL, b, NULL, beta, c, NULL, c, NULL, NULL, NULL, 0,     \
                   NULL);                                                                          \
    return product(ta, tb, m, n, k, alpha, a, FAKE_64F, lda, b, FAKE_64F, ldb, beta, c, FAKE_64F,  \
                   ldc, FAKE_COMPUTE_64F);                                                         \
  }                                                                                                \
  int cublasGemmEx##WIDTH(cublasHandle_t h, int ta, int tb, INT m, INT n, INT k, fake_in alpha,    \
                          fake_in a, int type_a, INT lda, fake_in b, int type_b, INT ldb,          \
                          fake_in beta, void* c, int type_c, INT ldc, int compute, int algo) {     \
    fake_count("cublasGemmEx" #WIDTH);                                                             \
    (void)algo;                                                                                    \
    HANDLE(h);                                                                                     \
    return product(ta, tb, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc,   \
                   compute);                                                                       \
  }                                                                                                \
  int cublasSgemmEx##WIDTH(cublasHandle_t h, int ta, int tb, INT m, INT n, INT k,                  \
                           const float* alpha, fake_in a, int type_a, INT lda, fake_in b,          \
                           int type_b, INT ldb, const float* beta, void* c, int type_c, INT ldc) { \
    fake_count("cublasSgemmEx" #WIDTH);                                                            \
    HANDLE(h);                                                                                     \
    return product(ta, tb, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc,   \
                   FAKE_COMPUTE_32F);                                                              \
  }                                                                                                \
  int cublasGemmStridedBatchedEx##WIDTH(                                                           \
      cublasHandle_t h, int ta, int tb, INT m, INT n, INT k, fake_in alpha, fake_in a, int type_a, \
      INT lda, long long sa, fake_in b, int type_b, INT ldb, long long sb, fake_in beta, void* c,  \
      int type_c, INT ldc, long long sc, INT batch, int compute, int algo) {                       \
    fake_count("cublasGemmStridedBatchedEx" #WIDTH);                                               \
    (void)algo;                                                                                    \
    HANDLE(h);                                                                                     \
    for (INT i = 0; i < batch; ++i) {                                                              \
      const int s = product(ta, tb, m, n, k, alpha, fake_at(a, type_a, i * sa), type_a, lda,       \
                            fake_at(b, type_b, i * sb), type_b, ldb, beta,                         \
                            fake_at(c, type_c, i * sc), type_c, ldc, compute);                     \
      if (s != 0) return s;                                                                        \
    }                                                                                              \
    return 0;                                                                                      \
  }                                                                                                \
  int cublasSgemmStridedBatched##WIDTH(cublasHandle_t h, int ta, int tb, INT m, INT n, INT k,      \
                                       fake_in alpha, fake_in a, INT lda, long long sa, fake_in b, \
                                       INT ldb, long long sb, fake_in beta, void* c, INT ldc,      \
                                       long long sc, INT batch) {                                  \
    fake_count("cublasSgemmStridedBatched" #WIDTH);                                                \
    return cublasGemmStridedBatchedEx##WIDTH(h, ta, tb, m, n, k, alpha, a, FAKE_32F, lda, sa, b,   \
                                             FAKE_32F, ldb, sb, beta, c, FAKE_32F, ldc, sc, batch, \
                                             FAKE_COMPUTE_32F, -1);                                \
  }                                                                                                \
  int cublasGemmBatchedEx##WIDTH(cublasHandle_t h, int ta, int tb, INT m, INT n, INT k,            \
                                 fake_in alpha, fake_ins a, int type_a, INT lda, fake_ins b,       \
                                 int type_b, INT ldb, fake_in beta, fake_outs c, int type_c,       \
                                 INT ldc, INT batch, int compute, int algo) {                      \
    fake_count("cublasGemmBatchedEx" #WIDTH);                                                      \
    (void)algo;                                                                                    \
    HANDLE(h);                                                                                     \
    for (INT i = 0; i < batch; ++i) {                                                              \
      const int s = product(ta, tb, m, n, k, alpha, a[i], type_a, lda, b[i], type_b, ldb, beta,    \
                            c[i], type_c, ldc, compute);                                           \
      if (s != 0) return s;                                                                        \
    }                                                                                              \
    return 0;                                                                                      \
  }                                                                                                \
  int cublasSgemv_v2##WIDTH(cublasHandle_t h, int trans, INT m, INT n, fake_in alpha, fake_in a,   \
                            INT lda, fake_in x, INT incx, fake_in beta, void* y, INT incy) {       \
    fake_count("cublasSgemv_v2" #WIDTH);                                                           \
    HANDLE(h);                                                                                     \
    const fake_matrix in = {(void*)(uintptr_t)x, FAKE_32F, incx, 0};                               \
    const fake_matrix out = {y, FAKE_32F, incy, 0};                                                \
    fake_product(trans == FAKE_N ? m : n, 1, trans == FAKE_N ? n : m, *(const float*)alpha,        \
                 fake_operand(a, FAKE_32F, trans, lda), in, *(const float*)beta, out, out, 0,      \
                 NULL, 0);                                                                         \
    return 0;                                                                                      \
  }                                                                                                \
  int cublasTSTgemvStridedBatched##WIDTH(cublasHandle_t h, int trans, INT m, INT n, fake_in alpha, \
                                         fake_in a, INT lda, long long sa, fake_in x, INT incx,    \
                                         long long sx, fake_in beta, void* y, INT incy,            \
                                         long long sy, INT batch) {                                \
    fake_count("cublasTSTgemvStridedBatched" #WIDTH);                                              \
    HANDLE(h);                                                                                     \
    (void)trans, (void)m, (void)n, (void)alpha, (void)a, (void)lda, (void)sa, (void)x;             \
    (void)incx, (void)sx, (void)beta, (void)y, (void)incy, (void)sy, (void)batch;                  \
    return 15;                                                                                     \
  }                                                                                                \
  int cublasHSHgemvBatched##WIDTH(cublasHandle_t h, int trans, INT m, INT n, fake_in alpha,        \
                                  fake_ins a, INT lda, fake_ins x, INT incx, fake_in beta,         \
                                  fake_outs y, INT incy, INT batch) {                              \
    fake_count("cublasHSHgemvBatched" #WIDTH);                                                     \
    HANDLE(h);                                                                                     \
    (void)trans, (void)m, (void)n, (void)alpha, (void)a, (void)lda, (void)x;                       \
    (void)incx, (void)beta, (void)y, (void)incy, (void)batch;                                      \
    return 15;                                                                                     \
  }
FAKE_DEFINE(, int)
FAKE_DEFINE(_64, int64_t)
