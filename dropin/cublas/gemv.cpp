// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "dropin/cublas/handle.hpp"

// Matrix times vector: a product of one row, which has the bits of that row in any batch.

namespace {

using namespace detgemm::dropin;
using namespace detgemm::dropin::cublas;
using Long = long long;

VectorCall plain(const char* function, int trans, std::int64_t m, std::int64_t n, const void* alpha,
                 const void* a, std::int64_t lda, const void* x, std::int64_t incx,
                 const void* beta, void* y, std::int64_t incy, BlasType type, BlasType type_y) {
  VectorCall call;
  call.function = function;
  call.op = op_of(trans);
  call.m = m;
  call.n = n;
  call.alpha = alpha;
  call.beta = beta;
  call.a = a;
  call.x = x;
  call.y = y;
  call.lda = lda;
  call.incx = incx;
  call.incy = incy;
  call.type = type;
  call.type_y = type_y;
  return call;
}

VectorCall strided(VectorCall call, Long a, Long x, Long y, std::int64_t batch) {
  call.stride_a = a;
  call.stride_x = x;
  call.stride_y = y;
  call.batch = batch;
  return call;
}

VectorCall pointers(VectorCall call, std::int64_t batch) {
  call.addresses = true;
  call.batch = batch;
  return call;
}

}  // namespace

extern "C" {

#define DETGEMM_GEMV(WIDTH, INT, NAME, TYPE, TYPE_Y)                                              \
  DETGEMM_API int NAME##WIDTH(Handle handle, int trans, INT m, INT n, const void* alpha,          \
                              const void* a, INT lda, const void* x, INT incx, const void* beta,  \
                              void* y, INT incy) {                                                \
    return product(                                                                               \
        handle,                                                                                   \
        plain(#NAME #WIDTH, trans, m, n, alpha, a, lda, x, incx, beta, y, incy, TYPE, TYPE_Y),    \
        DETGEMM_VENDOR(NAME##WIDTH, handle, trans, m, n, alpha, a, lda, x, incx, beta, y, incy)); \
  }
DETGEMM_BOTH_WIDTHS(DETGEMM_GEMV, cublasSgemv_v2, BlasType::fp32, BlasType::fp32)

#define DETGEMM_GEMV_STRIDED(WIDTH, INT, NAME, TYPE, TYPE_Y)                                       \
  DETGEMM_API int NAME##WIDTH(Handle handle, int trans, INT m, INT n, const void* alpha,           \
                              const void* a, INT lda, Long sa, const void* x, INT incx, Long sx,   \
                              const void* beta, void* y, INT incy, Long sy, INT batch) {           \
    return product(handle,                                                                         \
                   strided(plain(#NAME #WIDTH, trans, m, n, alpha, a, lda, x, incx, beta, y, incy, \
                                 TYPE, TYPE_Y),                                                    \
                           sa, sx, sy, batch),                                                     \
                   DETGEMM_VENDOR(NAME##WIDTH, handle, trans, m, n, alpha, a, lda, sa, x, incx,    \
                                  sx, beta, y, incy, sy, batch));                                  \
  }
DETGEMM_BOTH_WIDTHS(DETGEMM_GEMV_STRIDED, cublasSgemvStridedBatched, BlasType::fp32, BlasType::fp32)
DETGEMM_BOTH_WIDTHS(DETGEMM_GEMV_STRIDED, cublasHSHgemvStridedBatched, BlasType::fp16,
                    BlasType::fp16)
DETGEMM_BOTH_WIDTHS(DETGEMM_GEMV_STRIDED, cublasHSSgemvStridedBatched, BlasType::fp16,
                    BlasType::fp32)
DETGEMM_BOTH_WIDTHS(DETGEMM_GEMV_STRIDED, cublasTSTgemvStridedBatched, BlasType::bf16,
                    BlasType::bf16)
DETGEMM_BOTH_WIDTHS(DETGEMM_GEMV_STRIDED, cublasTSSgemvStridedBatched, BlasType::bf16,
                    BlasType::fp32)

#define DETGEMM_GEMV_ADDRESSES(WIDTH, INT, NAME, TYPE, TYPE_Y)                                    \
  DETGEMM_API int NAME##WIDTH(Handle handle, int trans, INT m, INT n, const void* alpha,          \
                              const void* const* a, INT lda, const void* const* x, INT incx,      \
                              const void* beta, void* const* y, INT incy, INT batch) {            \
    return product(handle,                                                                        \
                   pointers(plain(#NAME #WIDTH, trans, m, n, alpha, a, lda, x, incx, beta,        \
                                  const_cast<void**>(y), incy, TYPE, TYPE_Y),                     \
                            batch),                                                               \
                   DETGEMM_VENDOR(NAME##WIDTH, handle, trans, m, n, alpha, a, lda, x, incx, beta, \
                                  y, incy, batch));                                               \
  }
DETGEMM_BOTH_WIDTHS(DETGEMM_GEMV_ADDRESSES, cublasSgemvBatched, BlasType::fp32, BlasType::fp32)
DETGEMM_BOTH_WIDTHS(DETGEMM_GEMV_ADDRESSES, cublasHSHgemvBatched, BlasType::fp16, BlasType::fp16)
DETGEMM_BOTH_WIDTHS(DETGEMM_GEMV_ADDRESSES, cublasHSSgemvBatched, BlasType::fp16, BlasType::fp32)
DETGEMM_BOTH_WIDTHS(DETGEMM_GEMV_ADDRESSES, cublasTSTgemvBatched, BlasType::bf16, BlasType::bf16)
DETGEMM_BOTH_WIDTHS(DETGEMM_GEMV_ADDRESSES, cublasTSSgemvBatched, BlasType::bf16, BlasType::fp32)

}  // extern "C"
