/* SPDX-FileCopyrightText: 2026 The detgemm authors
   SPDX-License-Identifier: Apache-2.0 */

/* Whatever answers for cuBLAS in this process, as an engine for the conformance harness:
 *
 *   detgemm preload -- detgemm conform --engine libengine_cublas.so
 *
 * It is linked with a cuBLAS and nothing of detgemm. Plain products are cublasGemmEx, the others
 * cublasLtMatmul. Built with ENGINE_ON_DEVICE its arrays are CUDA's, else the host's, for a fake.
 */

#include "detgemm/engine.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef ENGINE_ON_DEVICE
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
typedef cublasLtMatmulDesc_t desc_t;
typedef cublasLtMatrixLayout_t layout_t;
#else
#include "tests/dropin/fake_cublas/cublas.h"
typedef void* desc_t;
typedef void* layout_t;
#define cublasCreate cublasCreate_v2
#define cublasSetStream cublasSetStream_v2
typedef void* cublasLtHandle_t;
#endif

enum { kHost = 0, kCuda = 1 };
enum { kBf16 = 0, kFp16 = 1, kFp32 = 2 };
enum { kNone = 0, kRelu = 1, kGeluTanh = 3 };
enum { kOpN = 0, kOpT = 1, kCompute32F = 68, kOrderRow = 1 };

static cublasLtHandle_t lt;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static void start(void) {
  if (cublasLtCreate(&lt) != 0) lt = NULL;
}

static int code_of(int dtype) { return dtype == kBf16 ? 14 : dtype == kFp16 ? 2 : 0; }

static int supports(const detgemm_engine_spec* s, char* sentence, size_t size) {
  const int tensor = strcmp(s->arithmetic, "hopper") == 0 && s->input != kFp32;
  const int plain = strcmp(s->arithmetic, "ieee_fma") == 0 && s->input == kFp32;
  if ((!tensor && !plain) || s->input > kFp32 || s->reduction != 0 ||
      (s->output != s->input && s->output != kFp32)) {
    snprintf(sentence, size,
             "contract is %s: the preload's default takes hopper chain of bf16 and fp16, and "
             "ieee_fma chain of fp32",
             s->contract);
    return 1;
  }
  if (s->continue_from_c ||
      (s->activation != kNone && s->activation != kRelu && s->activation != kGeluTanh) ||
      (s->bias >= 0 && s->bias != s->output)) {
    snprintf(sentence, size, "the epilogue is none of cuBLASLt's");
    return 1;
  }
  if (s->alpha == 0.0F) {
    snprintf(sentence, size,
             "alpha is 0: a BLAS then reads neither A nor B, and a contract multiplies");
    return 1;
  }
  return 0;
}

/* A view as cuBLAS describes it: op(column-major) with a leading dimension. */
typedef struct {
  const void* data;
  int64_t rows, cols; /* of the view */
  int64_t ld;
  int in_rows; /* its rows are what runs through memory */
} seen;

static seen look(const detgemm_engine_matrix* m, int op) {
  seen s = {m->data, m->rows, m->cols, 1, 0};
  int64_t row = m->row_stride, col = m->col_stride;
  if (op != 0) {
    s.rows = m->cols, s.cols = m->rows;
    row = m->col_stride, col = m->row_stride;
  }
  if (s.rows <= 1) {
    s.ld = s.cols <= 1 ? 1 : col;
  } else {
    s.in_rows = s.cols <= 1 || col == 1;
    if (s.cols > 1 && row == 1 && col >= s.rows) s.in_rows = 0;
    s.ld = s.in_rows ? row : col;
  }
  const int64_t least = s.in_rows ? s.cols : s.rows;
  if (s.ld < least) s.ld = least;
  if (s.ld < 1) s.ld = 1;
  return s;
}

static seen turned(seen s) {
  const seen t = {s.data, s.cols, s.rows, s.ld, !s.in_rows};
  return t;
}

/* D^T = op(B)^T * op(A)^T where D lies in rows, D = op(A) * op(B) where it lies in columns. */
static int run_gemm(const detgemm_engine_spec* s, const detgemm_engine_call* c, seen a, seen b,
                    seen d) {
  cublasHandle_t handle;
  if (d.in_rows) {
    const seen swap = turned(a);
    a = turned(b);
    b = swap;
    d = turned(d);
  }
  int status = cublasCreate(&handle);
  if (status != 0) return status;
  status = cublasSetStream(handle, c->stream);
  if (status == 0) {
    status = cublasGemmEx_64(handle, a.in_rows ? kOpT : kOpN, b.in_rows ? kOpT : kOpN, d.rows,
                             d.cols, a.cols, &s->alpha, a.data, code_of(s->input), a.ld, b.data,
                             code_of(s->input), b.ld, &s->beta, (void*)(uintptr_t)d.data,
                             code_of(s->output), d.ld, kCompute32F, -1);
  }
#ifdef ENGINE_ON_DEVICE
  cublasDestroy(handle);
#else
  cublasDestroy_v2(handle);
#endif
  return status;
}

static layout_t layout_of(seen s, int dtype) {
  layout_t layout = NULL;
  cublasLtMatrixLayoutCreate(&layout, code_of(dtype), (uint64_t)s.rows, (uint64_t)s.cols, s.ld);
  if (s.in_rows) {
    const int32_t order = kOrderRow;
    cublasLtMatrixLayoutSetAttribute(layout, 1, &order, sizeof order);
  }
  return layout;
}

/* Always as D^T, whose rows have the bias. */
static int run_lt(const detgemm_engine_spec* s, const detgemm_engine_call* c, seen a, seen b,
                  seen cc, seen d) {
  const uint32_t epilogue = (s->activation == kRelu       ? 2U
                             : s->activation == kGeluTanh ? 32U
                                                          : 0U) |
                            (s->bias >= 0 ? 4U : 0U);
  const uint32_t code = epilogue == 0 ? 1U : epilogue;
  desc_t desc = NULL;
  cublasLtMatmulDescCreate(&desc, kCompute32F, 0);
  cublasLtMatmulDescSetAttribute(desc, 7, &code, sizeof code);
  if (s->bias >= 0) cublasLtMatmulDescSetAttribute(desc, 8, &c->bias, sizeof c->bias);
  const layout_t la = layout_of(turned(b), s->input), lb = layout_of(turned(a), s->input);
  const layout_t lc = layout_of(turned(cc), s->output), ld = layout_of(turned(d), s->output);
  const int status = cublasLtMatmul(lt, desc, &s->alpha, b.data, la, a.data, lb, &s->beta, cc.data,
                                    lc, (void*)(uintptr_t)d.data, ld, NULL, c->workspace,
                                    c->workspace_bytes, c->stream);
  cublasLtMatrixLayoutDestroy(la);
  cublasLtMatrixLayoutDestroy(lb);
  cublasLtMatrixLayoutDestroy(lc);
  cublasLtMatrixLayoutDestroy(ld);
  cublasLtMatmulDescDestroy(desc);
  return status;
}

static int run(const detgemm_engine_spec* s, const detgemm_engine_call* c) {
  pthread_once(&once, start);
  const seen a = look(&c->a, s->op_a), b = look(&c->b, s->op_b), d = look(&c->d, 0);
  const int with_c = s->beta != 0.0F;
  const seen cc = with_c ? look(&c->c, 0) : d;
  const int plain = s->bias < 0 && s->activation == kNone && (!with_c || c->c.data == c->d.data);
  const int status = plain ? run_gemm(s, c, a, b, d) : run_lt(s, c, a, b, cc, d);
  if (status != 0) {
    snprintf(c->sentence, c->sentence_size, "%s returned %d", plain ? "cublasGemmEx" : "cublasLt",
             status);
    return 1;
  }
  snprintf(c->kernel, c->kernel_size, plain ? "cublasGemmEx_64" : "cublasLtMatmul");
  return 0;
}

#ifdef ENGINE_ON_DEVICE
static void* allocate(size_t bytes) {
  void* memory = NULL;
  return cudaMalloc(&memory, bytes) == cudaSuccess ? memory : NULL;
}
static void release(void* memory) { cudaFree(memory); }
static int to_device(void* device, const void* host, size_t bytes) {
  return cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice) != cudaSuccess ||
         cudaDeviceSynchronize() != cudaSuccess;
}
static int to_host(void* host, const void* device, size_t bytes) {
  return cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost) != cudaSuccess;
}
static int create_stream(void** stream) {
  return cudaStreamCreateWithFlags((cudaStream_t*)stream, cudaStreamNonBlocking) != cudaSuccess;
}
static void destroy_stream(void* stream) { cudaStreamDestroy(stream); }
static int synchronize(void* stream) { return cudaStreamSynchronize(stream) != cudaSuccess; }
#endif

static const detgemm_engine engine = {
    .struct_size = sizeof(detgemm_engine),
    .abi_version = DETGEMM_ENGINE_ABI_VERSION,
    .name = "cublas",
    .description = "cublasGemmEx and cublasLtMatmul of this process",
    .supports = supports,
    .run = run,
#ifdef ENGINE_ON_DEVICE
    .device = kCuda,
    .allocate = allocate,
    .release = release,
    .to_device = to_device,
    .to_host = to_host,
    .create_stream = create_stream,
    .destroy_stream = destroy_stream,
    .synchronize = synchronize,
#else
    .device = kHost,
#endif
};

const detgemm_engine* detgemm_engine_query(uint32_t abi_version) {
  return abi_version == DETGEMM_ENGINE_ABI_VERSION ? &engine : NULL;
}
