/* SPDX-FileCopyrightText: 2026 The detgemm authors
   SPDX-License-Identifier: Apache-2.0 */

/* The functions of cuBLAS 13 and cuBLASLt that the fakes of this folder have, as plain C declares
 * them, and what only the fakes have. tests/dropin/signatures.py compares the stand-in's own
 * declarations with NVIDIA's headers where these are installed. */

#ifndef DETGEMM_FAKE_CUBLAS_H
#define DETGEMM_FAKE_CUBLAS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { FAKE_N = 0, FAKE_T = 1, FAKE_C = 2 };
enum { FAKE_32F = 0, FAKE_64F = 1, FAKE_16F = 2, FAKE_8I = 3, FAKE_16BF = 14 };
enum {
  FAKE_COMPUTE_16F = 64,
  FAKE_COMPUTE_32F = 68,
  FAKE_PEDANTIC_32F = 69,
  FAKE_COMPUTE_64F = 70,
  FAKE_FAST_TF32 = 77
};

typedef struct fake_handle* cublasHandle_t;
typedef const void* fake_in;
typedef const void* const* fake_ins;
typedef void* const* fake_outs;

/* How often the fake's own function of that name was called since the last fake_forget. */
long fake_calls(const char* name);
void fake_forget(void);

int cublasCreate_v2(cublasHandle_t* handle);
int cublasDestroy_v2(cublasHandle_t handle);
int cublasSetStream_v2(cublasHandle_t handle, void* stream);
int cublasGetStream_v2(cublasHandle_t handle, void** stream);
int cublasSetPointerMode_v2(cublasHandle_t handle, int mode);
int cublasGetPointerMode_v2(cublasHandle_t handle, int* mode);
int cublasSetMathMode(cublasHandle_t handle, int mode);
int cublasGetMathMode(cublasHandle_t handle, int* mode);
int cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, size_t bytes);

#define FAKE_DECLARE(WIDTH, INT)                                                                   \
  int cublasSgemm_v2##WIDTH(cublasHandle_t, int, int, INT, INT, INT, fake_in, fake_in, INT,        \
                            fake_in, INT, fake_in, void*, INT);                                    \
  int cublasHgemm##WIDTH(cublasHandle_t, int, int, INT, INT, INT, fake_in, fake_in, INT, fake_in,  \
                         INT, fake_in, void*, INT);                                                \
  int cublasDgemm_v2##WIDTH(cublasHandle_t, int, int, INT, INT, INT, fake_in, fake_in, INT,        \
                            fake_in, INT, fake_in, void*, INT);                                    \
  int cublasGemmEx##WIDTH(cublasHandle_t, int, int, INT, INT, INT, fake_in, fake_in, int, INT,     \
                          fake_in, int, INT, fake_in, void*, int, INT, int, int);                  \
  int cublasSgemmEx##WIDTH(cublasHandle_t, int, int, INT, INT, INT, const float*, fake_in, int,    \
                           INT, fake_in, int, INT, const float*, void*, int, INT);                 \
  int cublasGemmStridedBatchedEx##WIDTH(cublasHandle_t, int, int, INT, INT, INT, fake_in, fake_in, \
                                        int, INT, long long, fake_in, int, INT, long long,         \
                                        fake_in, void*, int, INT, long long, INT, int, int);       \
  int cublasSgemmStridedBatched##WIDTH(cublasHandle_t, int, int, INT, INT, INT, fake_in, fake_in,  \
                                       INT, long long, fake_in, INT, long long, fake_in, void*,    \
                                       INT, long long, INT);                                       \
  int cublasGemmBatchedEx##WIDTH(cublasHandle_t, int, int, INT, INT, INT, fake_in, fake_ins, int,  \
                                 INT, fake_ins, int, INT, fake_in, fake_outs, int, INT, INT, int,  \
                                 int);                                                             \
  int cublasSgemv_v2##WIDTH(cublasHandle_t, int, INT, INT, fake_in, fake_in, INT, fake_in, INT,    \
                            fake_in, void*, INT);                                                  \
  int cublasTSTgemvStridedBatched##WIDTH(cublasHandle_t, int, INT, INT, fake_in, fake_in, INT,     \
                                         long long, fake_in, INT, long long, fake_in, void*, INT,  \
                                         long long, INT);                                          \
  int cublasHSHgemvBatched##WIDTH(cublasHandle_t, int, INT, INT, fake_in, fake_ins, INT, fake_ins, \
                                  INT, fake_in, fake_outs, INT, INT);
FAKE_DECLARE(, int)
FAKE_DECLARE(_64, int64_t)
#undef FAKE_DECLARE

typedef struct {
  uint64_t data[8];
} cublasLtMatmulAlgo_t;
typedef struct {
  cublasLtMatmulAlgo_t algo;
  size_t workspaceSize;
  int state;
  float wavesCount;
  int reserved[4];
} cublasLtMatmulHeuristicResult_t;

int cublasLtCreate(void** handle);
int cublasLtDestroy(void* handle);
int cublasLtMatmulDescCreate(void** desc, int compute, int scale);
int cublasLtMatmulDescDestroy(void* desc);
int cublasLtMatmulDescSetAttribute(void* desc, int attribute, const void* value, size_t bytes);
int cublasLtMatmulDescGetAttribute(void* desc, int attribute, void* value, size_t bytes,
                                   size_t* written);
int cublasLtMatrixLayoutCreate(void** layout, int type, uint64_t rows, uint64_t cols, int64_t ld);
int cublasLtMatrixLayoutDestroy(void* layout);
int cublasLtMatrixLayoutSetAttribute(void* layout, int attribute, const void* value, size_t bytes);
int cublasLtMatrixLayoutGetAttribute(void* layout, int attribute, void* value, size_t bytes,
                                     size_t* written);
int cublasLtMatmulPreferenceCreate(void** preference);
int cublasLtMatmulPreferenceDestroy(void* preference);
int cublasLtMatmulPreferenceSetAttribute(void* preference, int attribute, const void* value,
                                         size_t bytes);
int cublasLtMatmulPreferenceGetAttribute(void* preference, int attribute, void* value, size_t bytes,
                                         size_t* written);
int cublasLtMatmulAlgoGetHeuristic(void* handle, void* desc, void* a, void* b, void* c, void* d,
                                   void* preference, int asked,
                                   cublasLtMatmulHeuristicResult_t* results, int* found);
int cublasLtMatmul(void* handle, void* desc, const void* alpha, const void* a, void* layout_a,
                   const void* b, void* layout_b, const void* beta, const void* c, void* layout_c,
                   void* d, void* layout_d, const cublasLtMatmulAlgo_t* algo, void* workspace,
                   size_t bytes, void* stream);

#ifdef __cplusplus
}
#endif

#endif /* DETGEMM_FAKE_CUBLAS_H */
