// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "detgemm/export.hpp"
#include "dropin/answer.hpp"
#include "dropin/calls.hpp"
#include "dropin/hipblas/api.hpp"

// The functions of hipBLAS, as calls of the common part. Tested against a fake on a CPU; not run on
// AMD hardware.

namespace detgemm::dropin {

const char* const kVendorBackend = "hip";
const LibraryNames kLibraries[2] = {
    {"libhipblas.so", {"libhipblas.so.3", "libhipblas.so.2", "libhipblas.so", nullptr}},
    {"libhipblaslt.so", {"libhipblaslt.so.1", "libhipblaslt.so.0", "libhipblaslt.so", nullptr}}};

namespace hipblas {
namespace {

using Long = long long;

int ask(Handle handle, HandleState& out) noexcept {
  static void* stream = nullptr;
  static void* pointer_mode = nullptr;
  if (handle == nullptr) return kNotInitialized;
  using Stream = int (*)(Handle, void**);
  using Mode = int (*)(Handle, int*);
  int mode = 0;
  const auto get_stream = vendor_function<Stream>(Library::blas, "hipblasGetStream", stream);
  const auto get_mode = vendor_function<Mode>(Library::blas, "hipblasGetPointerMode", pointer_mode);
  if (get_stream == nullptr || get_mode == nullptr) return kNotSupported;
  if (const int s = get_stream(handle, &out.stream); s != kSuccess) return s;
  if (const int s = get_mode(handle, &mode); s != kSuccess) return s;
  out.scalars_on_device = mode == kDevice;
  return kSuccess;
}

template <class Pass>
int product(Handle handle, const ColumnMajorCall& call, const Pass& pass) noexcept {
  if (inside_vendor()) return pass();
  const Known known{call.function, "", call.n, call.m, call.k, call.batch};
  HandleState state;
  if (const int status = ask(handle, state); status != kSuccess) {
    note(known, Fate::invalid, "the handle is not one of hipBLAS's");
    return status;
  }
  return answer(known, compute(call, state), kCodes, pass);
}

using dropin::typed;

ColumnMajorCall typed(ColumnMajorCall call, int a, int b, int c, int compute) {
  return detgemm::dropin::typed(call, type_of(a), type_of(b), type_of(c), compute_of(compute));
}

}  // namespace
}  // namespace hipblas
}  // namespace detgemm::dropin

#define DETGEMM_VENDOR(NAME, ...) DETGEMM_VENDOR_OF(blas, hipblas::kNotSupported, NAME, __VA_ARGS__)

extern "C" {

using namespace detgemm::dropin;
using namespace detgemm::dropin::hipblas;
using detgemm::dropin::hipblas::Handle;

#define DETGEMM_GEMM(NAME, TYPE)                                                                  \
  DETGEMM_API int NAME(Handle handle, int ta, int tb, int m, int n, int k, const void* alpha,     \
                       const void* a, int lda, const void* b, int ldb, const void* beta, void* c, \
                       int ldc) {                                                                 \
    return product(                                                                               \
        handle,                                                                                   \
        typed(plain(#NAME, op_of(ta), op_of(tb), {m, n, k}, alpha, a, lda, b, ldb, beta, c, ldc), \
              TYPE),                                                                              \
        DETGEMM_VENDOR(NAME, handle, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc));      \
  }
DETGEMM_GEMM(hipblasSgemm, BlasType::fp32)
DETGEMM_GEMM(hipblasHgemm, BlasType::fp16)
DETGEMM_GEMM(hipblasDgemm, BlasType::other)

#define DETGEMM_GEMM_STRIDED(NAME, TYPE)                                                         \
  DETGEMM_API int NAME(Handle handle, int ta, int tb, int m, int n, int k, const void* alpha,    \
                       const void* a, int lda, Long sa, const void* b, int ldb, Long sb,         \
                       const void* beta, void* c, int ldc, Long sc, int batch) {                 \
    return product(handle,                                                                       \
                   strided(typed(plain(#NAME, op_of(ta), op_of(tb), {m, n, k}, alpha, a, lda, b, \
                                       ldb, beta, c, ldc),                                       \
                                 TYPE),                                                          \
                           sa, sb, sc, batch),                                                   \
                   DETGEMM_VENDOR(NAME, handle, ta, tb, m, n, k, alpha, a, lda, sa, b, ldb, sb,  \
                                  beta, c, ldc, sc, batch));                                     \
  }
DETGEMM_GEMM_STRIDED(hipblasSgemmStridedBatched, BlasType::fp32)
DETGEMM_GEMM_STRIDED(hipblasHgemmStridedBatched, BlasType::fp16)

// hipBLAS 2 has the same arguments twice, with its own types and, as _v2, with HIP's; hipBLAS 3 has
// HIP's alone. The numbers do not overlap, so one function reads both.
#define DETGEMM_GEMM_EX(NAME)                                                                      \
  DETGEMM_API int NAME(Handle handle, int ta, int tb, int m, int n, int k, const void* alpha,      \
                       const void* a, int type_a, int lda, const void* b, int type_b, int ldb,     \
                       const void* beta, void* c, int type_c, int ldc, int compute, int algo) {    \
    return product(                                                                                \
        handle,                                                                                    \
        typed(plain(#NAME, op_of(ta), op_of(tb), {m, n, k}, alpha, a, lda, b, ldb, beta, c, ldc),  \
              type_a, type_b, type_c, compute),                                                    \
        DETGEMM_VENDOR(NAME, handle, ta, tb, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, \
                       c, type_c, ldc, compute, algo));                                            \
  }
DETGEMM_GEMM_EX(hipblasGemmEx)
DETGEMM_GEMM_EX(hipblasGemmEx_v2)

#define DETGEMM_GEMM_STRIDED_EX(NAME)                                                             \
  DETGEMM_API int NAME(Handle handle, int ta, int tb, int m, int n, int k, const void* alpha,     \
                       const void* a, int type_a, int lda, Long sa, const void* b, int type_b,    \
                       int ldb, Long sb, const void* beta, void* c, int type_c, int ldc, Long sc, \
                       int batch, int compute, int algo) {                                        \
    return product(                                                                               \
        handle,                                                                                   \
        strided(typed(plain(#NAME, op_of(ta), op_of(tb), {m, n, k}, alpha, a, lda, b, ldb, beta,  \
                            c, ldc),                                                              \
                      type_a, type_b, type_c, compute),                                           \
                sa, sb, sc, batch),                                                               \
        DETGEMM_VENDOR(NAME, handle, ta, tb, m, n, k, alpha, a, type_a, lda, sa, b, type_b, ldb,  \
                       sb, beta, c, type_c, ldc, sc, batch, compute, algo));                      \
  }
DETGEMM_GEMM_STRIDED_EX(hipblasGemmStridedBatchedEx)
DETGEMM_GEMM_STRIDED_EX(hipblasGemmStridedBatchedEx_v2)

}  // extern "C"
