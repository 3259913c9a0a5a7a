// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "dropin/cublas/handle.hpp"

// Products of cuBLAS that no contract takes. They are seen so that the table names them, and so
// that `others = refuse` holds for them.

namespace {

using namespace detgemm::dropin;
using namespace detgemm::dropin::cublas;
using Long = long long;
using Address = const void*;
using Addresses = const void* const*;

constexpr const char* kFp64 = "fp64 has no contract";
constexpr const char* kComplex = "complex numbers have no contract";
constexpr const char* kInt8 = "8-bit integers have no contract";
constexpr const char* kGrouped = "grouped products are not taken";
constexpr const char* kTriangle = "products of symmetric or triangular matrices are not taken";

template <class Pass>
int other(const Known& call, const char* why, const Pass& pass) noexcept {
  if (inside_vendor()) return pass();
  try {
    return answer(call, {Fate::passed, why}, kCodes, pass);
  } catch (...) {
    return pass();
  }
}

}  // namespace

extern "C" {

#define DETGEMM_OTHER_GEMM(WIDTH, INT, NAME, WHY)                                                  \
  DETGEMM_API int NAME##WIDTH(Handle handle, int ta, int tb, INT m, INT n, INT k, Address alpha,   \
                              Address a, INT lda, Address b, INT ldb, Address beta, void* c,       \
                              INT ldc) {                                                           \
    return other({#NAME #WIDTH, "", n, m, k}, WHY,                                                 \
                 DETGEMM_VENDOR(NAME##WIDTH, handle, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, \
                                c, ldc));                                                          \
  }
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_GEMM, cublasDgemm_v2, kFp64)
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_GEMM, cublasCgemm_v2, kComplex)
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_GEMM, cublasZgemm_v2, kComplex)
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_GEMM, cublasCgemm3m, kComplex)
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_GEMM, cublasZgemm3m, kComplex)

#define DETGEMM_OTHER_GEMM_EX(WIDTH, INT, NAME, WHY)                                             \
  DETGEMM_API int NAME##WIDTH(Handle handle, int ta, int tb, INT m, INT n, INT k, Address alpha, \
                              Address a, int type_a, INT lda, Address b, int type_b, INT ldb,    \
                              Address beta, void* c, int type_c, INT ldc) {                      \
    return other({#NAME #WIDTH, "", n, m, k}, WHY,                                               \
                 DETGEMM_VENDOR(NAME##WIDTH, handle, ta, tb, m, n, k, alpha, a, type_a, lda, b,  \
                                type_b, ldb, beta, c, type_c, ldc));                             \
  }
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_GEMM_EX, cublasCgemmEx, kComplex)
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_GEMM_EX, cublasCgemm3mEx, kComplex)

#define DETGEMM_OTHER_STRIDED(WIDTH, INT, NAME, WHY)                                             \
  DETGEMM_API int NAME##WIDTH(Handle handle, int ta, int tb, INT m, INT n, INT k, Address alpha, \
                              Address a, INT lda, Long sa, Address b, INT ldb, Long sb,          \
                              Address beta, void* c, INT ldc, Long sc, INT batch) {              \
    return other({#NAME #WIDTH, "", n, m, k, batch}, WHY,                                        \
                 DETGEMM_VENDOR(NAME##WIDTH, handle, ta, tb, m, n, k, alpha, a, lda, sa, b, ldb, \
                                sb, beta, c, ldc, sc, batch));                                   \
  }
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_STRIDED, cublasDgemmStridedBatched, kFp64)
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_STRIDED, cublasCgemmStridedBatched, kComplex)
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_STRIDED, cublasZgemmStridedBatched, kComplex)
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_STRIDED, cublasCgemm3mStridedBatched, kComplex)

#define DETGEMM_OTHER_ADDRESSES(WIDTH, INT, NAME, WHY)                                             \
  DETGEMM_API int NAME##WIDTH(Handle handle, int ta, int tb, INT m, INT n, INT k, Address alpha,   \
                              Addresses a, INT lda, Addresses b, INT ldb, Address beta,            \
                              void* const* c, INT ldc, INT batch) {                                \
    return other({#NAME #WIDTH, "", n, m, k, batch}, WHY,                                          \
                 DETGEMM_VENDOR(NAME##WIDTH, handle, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, \
                                c, ldc, batch));                                                   \
  }
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_ADDRESSES, cublasDgemmBatched, kFp64)
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_ADDRESSES, cublasCgemmBatched, kComplex)
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_ADDRESSES, cublasZgemmBatched, kComplex)
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_ADDRESSES, cublasCgemm3mBatched, kComplex)

#define DETGEMM_OTHER_GEMV(WIDTH, INT, NAME, WHY)                                                 \
  DETGEMM_API int NAME##WIDTH(Handle handle, int trans, INT m, INT n, Address alpha, Address a,   \
                              INT lda, Address x, INT incx, Address beta, void* y, INT incy) {    \
    return other(                                                                                 \
        {#NAME #WIDTH, "", 1, trans == kN ? m : n, trans == kN ? n : m}, WHY,                     \
        DETGEMM_VENDOR(NAME##WIDTH, handle, trans, m, n, alpha, a, lda, x, incx, beta, y, incy)); \
  }
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_GEMV, cublasDgemv_v2, kFp64)
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_GEMV, cublasCgemv_v2, kComplex)
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_GEMV, cublasZgemv_v2, kComplex)

#define DETGEMM_OTHER_GEMV_STRIDED(WIDTH, INT, NAME, WHY)                                         \
  DETGEMM_API int NAME##WIDTH(Handle handle, int trans, INT m, INT n, Address alpha, Address a,   \
                              INT lda, Long sa, Address x, INT incx, Long sx, Address beta,       \
                              void* y, INT incy, Long sy, INT batch) {                            \
    return other({#NAME #WIDTH, "", 1, trans == kN ? m : n, trans == kN ? n : m, batch}, WHY,     \
                 DETGEMM_VENDOR(NAME##WIDTH, handle, trans, m, n, alpha, a, lda, sa, x, incx, sx, \
                                beta, y, incy, sy, batch));                                       \
  }
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_GEMV_STRIDED, cublasDgemvStridedBatched, kFp64)
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_GEMV_STRIDED, cublasCgemvStridedBatched, kComplex)
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_GEMV_STRIDED, cublasZgemvStridedBatched, kComplex)

#define DETGEMM_OTHER_GEMV_ADDRESSES(WIDTH, INT, NAME, WHY)                                        \
  DETGEMM_API int NAME##WIDTH(Handle handle, int trans, INT m, INT n, Address alpha, Addresses a,  \
                              INT lda, Addresses x, INT incx, Address beta, void* const* y,        \
                              INT incy, INT batch) {                                               \
    return other({#NAME #WIDTH, "", 1, trans == kN ? m : n, trans == kN ? n : m, batch}, WHY,      \
                 DETGEMM_VENDOR(NAME##WIDTH, handle, trans, m, n, alpha, a, lda, x, incx, beta, y, \
                                incy, batch));                                                     \
  }
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_GEMV_ADDRESSES, cublasDgemvBatched, kFp64)
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_GEMV_ADDRESSES, cublasCgemvBatched, kComplex)
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_GEMV_ADDRESSES, cublasZgemvBatched, kComplex)

#define DETGEMM_OTHER_GROUPED(WIDTH, INT, NAME, WHY)                                               \
  DETGEMM_API int NAME##WIDTH(Handle handle, const int* ta, const int* tb, const INT* m,           \
                              const INT* n, const INT* k, Address alpha, Addresses a,              \
                              const INT* lda, Addresses b, const INT* ldb, Address beta,           \
                              void* const* c, const INT* ldc, INT groups, const INT* sizes) {      \
    return other({#NAME #WIDTH}, WHY,                                                              \
                 DETGEMM_VENDOR(NAME##WIDTH, handle, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, \
                                c, ldc, groups, sizes));                                           \
  }
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_GROUPED, cublasSgemmGroupedBatched, kGrouped)
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_GROUPED, cublasDgemmGroupedBatched, kFp64)

#define DETGEMM_OTHER_GROUPED_EX(WIDTH, INT, NAME, WHY)                                           \
  DETGEMM_API int NAME##WIDTH(Handle handle, const int* ta, const int* tb, const INT* m,          \
                              const INT* n, const INT* k, Address alpha, Addresses a, int type_a, \
                              const INT* lda, Addresses b, int type_b, const INT* ldb,            \
                              Address beta, void* const* c, int type_c, const INT* ldc,           \
                              INT groups, const INT* sizes, int compute) {                        \
    return other({#NAME #WIDTH}, WHY,                                                             \
                 DETGEMM_VENDOR(NAME##WIDTH, handle, ta, tb, m, n, k, alpha, a, type_a, lda, b,   \
                                type_b, ldb, beta, c, type_c, ldc, groups, sizes, compute));      \
  }
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_GROUPED_EX, cublasGemmGroupedBatchedEx, kGrouped)

#define DETGEMM_OTHER_SYMM(WIDTH, INT, NAME, WHY)                                             \
  DETGEMM_API int NAME##WIDTH(Handle handle, int side, int uplo, INT m, INT n, Address alpha, \
                              Address a, INT lda, Address b, INT ldb, Address beta, void* c,  \
                              INT ldc) {                                                      \
    return other({#NAME #WIDTH, "", n, m, side == 0 ? m : n}, WHY,                            \
                 DETGEMM_VENDOR(NAME##WIDTH, handle, side, uplo, m, n, alpha, a, lda, b, ldb, \
                                beta, c, ldc));                                               \
  }
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_SYMM, cublasSsymm_v2, kTriangle)
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_SYMM, cublasDsymm_v2, kFp64)
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_SYMM, cublasCsymm_v2, kComplex)
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_SYMM, cublasZsymm_v2, kComplex)
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_SYMM, cublasChemm_v2, kComplex)
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_SYMM, cublasZhemm_v2, kComplex)

#define DETGEMM_OTHER_SYRK(WIDTH, INT, NAME, WHY)                                              \
  DETGEMM_API int NAME##WIDTH(Handle handle, int uplo, int trans, INT n, INT k, Address alpha, \
                              Address a, INT lda, Address beta, void* c, INT ldc) {            \
    return other(                                                                              \
        {#NAME #WIDTH, "", n, n, k}, WHY,                                                      \
        DETGEMM_VENDOR(NAME##WIDTH, handle, uplo, trans, n, k, alpha, a, lda, beta, c, ldc));  \
  }
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_SYRK, cublasSsyrk_v2, kTriangle)
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_SYRK, cublasDsyrk_v2, kFp64)
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_SYRK, cublasCsyrk_v2, kComplex)
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_SYRK, cublasZsyrk_v2, kComplex)
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_SYRK, cublasCherk_v2, kComplex)
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_SYRK, cublasZherk_v2, kComplex)

#define DETGEMM_OTHER_SYRKX(WIDTH, INT, NAME, WHY)                                             \
  DETGEMM_API int NAME##WIDTH(Handle handle, int uplo, int trans, INT n, INT k, Address alpha, \
                              Address a, INT lda, Address b, INT ldb, Address beta, void* c,   \
                              INT ldc) {                                                       \
    return other({#NAME #WIDTH, "", n, n, k}, WHY,                                             \
                 DETGEMM_VENDOR(NAME##WIDTH, handle, uplo, trans, n, k, alpha, a, lda, b, ldb, \
                                beta, c, ldc));                                                \
  }
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_SYRKX, cublasSsyr2k_v2, kTriangle)
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_SYRKX, cublasDsyr2k_v2, kFp64)
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_SYRKX, cublasSsyrkx, kTriangle)
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_SYRKX, cublasDsyrkx, kFp64)

#define DETGEMM_OTHER_TRMM(WIDTH, INT, NAME, WHY)                                                  \
  DETGEMM_API int NAME##WIDTH(Handle handle, int side, int uplo, int trans, int diag, INT m,       \
                              INT n, Address alpha, Address a, INT lda, Address b, INT ldb,        \
                              void* c, INT ldc) {                                                  \
    return other({#NAME #WIDTH, "", n, m, side == 0 ? m : n}, WHY,                                 \
                 DETGEMM_VENDOR(NAME##WIDTH, handle, side, uplo, trans, diag, m, n, alpha, a, lda, \
                                b, ldb, c, ldc));                                                  \
  }
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_TRMM, cublasStrmm_v2, kTriangle)
DETGEMM_BOTH_WIDTHS(DETGEMM_OTHER_TRMM, cublasDtrmm_v2, kFp64)

DETGEMM_API int cublasUint8gemmBias(Handle handle, int ta, int tb, int tc, int m, int n, int k,
                                    Address a, int a_bias, int lda, Address b, int b_bias, int ldb,
                                    void* c, int c_bias, int ldc, int c_mult, int c_shift) {
  return other({"cublasUint8gemmBias", "", n, m, k}, kInt8,
               DETGEMM_VENDOR(cublasUint8gemmBias, handle, ta, tb, tc, m, n, k, a, a_bias, lda, b,
                              b_bias, ldb, c, c_bias, ldc, c_mult, c_shift));
}

}  // extern "C"
