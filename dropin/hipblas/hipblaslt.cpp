// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <mutex>
#include <unordered_map>

#include "detgemm/export.hpp"
#include "dropin/hipblas/api.hpp"
#include "dropin/lt_call.hpp"
#include "dropin/state.hpp"

// hipblasLtMatmul, as a call of the common part. hipBLASLt tells neither the compute type nor the
// scale type of a description, so they are remembered where it is made. Its heuristic is left to
// hipBLASLt, whose answer is not used for what is taken. Compiled; not run on AMD hardware.

namespace detgemm::dropin::hipblaslt {
namespace {

struct Types {
  int compute = 0, scale = 0;
};
struct Descriptions {
  std::mutex mutex;
  std::unordered_map<Desc, Types> of;
};
Descriptions& descriptions() {
  static Descriptions* const all = new Descriptions;
  return *all;
}

using Getter = int (*)(void*, int, void*, std::size_t, std::size_t*);

template <class T>
bool get(const char* name, void*& slot, void* from, int attribute, T& out) noexcept {
  std::size_t written = 0;
  const auto own = vendor_function<Getter>(Library::blas_lt, name, slot);
  return own != nullptr && own(from, attribute, &out, sizeof out, &written) == hipblas::kSuccess;
}
template <class T>
bool of_layout(Layout layout, int attribute, T& out) noexcept {
  static void* slot = nullptr;
  return get("hipblasLtMatrixLayoutGetAttribute", slot, layout, attribute, out);
}
template <class T>
bool of_desc(Desc desc, int attribute, T& out) noexcept {
  static void* slot = nullptr;
  return get("hipblasLtMatmulDescGetAttribute", slot, desc, attribute, out);
}

bool read_layout(Layout layout, const void* data, LtMatrix& out) noexcept {
  std::uint32_t type = 0;
  std::int32_t order = 0, batch = 1;
  std::uint64_t rows = 0, cols = 0;
  if (layout == nullptr || !of_layout(layout, kType, type) || !of_layout(layout, kOrder, order) ||
      !of_layout(layout, kRows, rows) || !of_layout(layout, kCols, cols) ||
      !of_layout(layout, kLd, out.ld) || !of_layout(layout, kBatchCount, batch) ||
      !of_layout(layout, kStridedBatchOffset, out.batch_stride)) {
    return false;
  }
  out.data = data;
  out.type = hipblas::type_of(static_cast<int>(type));
  out.rows = static_cast<std::int64_t>(rows);
  out.cols = static_cast<std::int64_t>(cols);
  out.batch = batch;
  out.row_order = order == kRow;
  out.known = order == kCol || order == kRow;
  return true;
}

bool read_desc(Desc desc, LtCall& out) noexcept {
  Types types;
  {
    const std::lock_guard lock(descriptions().mutex);
    const auto found = descriptions().of.find(desc);
    if (found == descriptions().of.end()) return false;
    types = found->second;
  }
  std::int32_t ta = 0, tb = 0, mode = 0, bias_type = 0;
  std::uint32_t epilogue = 0;
  if (!of_desc(desc, kTransA, ta) || !of_desc(desc, kTransB, tb) ||
      !of_desc(desc, kEpilogue, epilogue) || !of_desc(desc, kBiasPointer, out.bias) ||
      !of_desc(desc, kBiasDataType, bias_type)) {
    return false;
  }
  if (!of_desc(desc, kPointerMode, mode)) mode = hipblas::kHost;
  for (int attribute = kAScalePointer; attribute <= kDScalePointer + 1; ++attribute) {
    const void* at = nullptr;
    const int asked = attribute > kDScalePointer ? static_cast<int>(kAmaxDPointer) : attribute;
    if (of_desc(desc, asked, at) && at != nullptr) out.scaled = true;
  }
  out.op_a = hipblas::op_of(ta);
  out.op_b = hipblas::op_of(tb);
  out.compute = hipblas::compute_of(types.compute);
  out.scalars = types.scale == hipblas::k16F   ? LtScalars::fp16
                : types.scale == hipblas::k32F ? LtScalars::fp32
                                               : LtScalars::other;
  out.mode = mode == hipblas::kHost     ? LtPointers::host
             : mode == hipblas::kDevice ? LtPointers::device
                                        : LtPointers::vector;
  out.with_bias = epilogue == kBias || epilogue == kReluBias || epilogue == kGeluBias;
  out.bias_type = hipblas::type_of(bias_type);
  out.bias_type_known = bias_type >= 0 && bias_type < 255;  // 255: as D
  out.epilogue = epilogue == kDefault || epilogue == kBias    ? LtEpilogue::none
                 : epilogue == kRelu || epilogue == kReluBias ? LtEpilogue::relu
                 : epilogue == kGelu || epilogue == kGeluBias ? LtEpilogue::gelu
                                                              : LtEpilogue::other;
  return true;
}

}  // namespace
}  // namespace detgemm::dropin::hipblaslt

namespace detgemm::dropin {
void lock_handles() noexcept { hipblaslt::descriptions().mutex.lock(); }
void unlock_handles() noexcept { hipblaslt::descriptions().mutex.unlock(); }
}  // namespace detgemm::dropin

#define DETGEMM_VENDOR_LT(NAME, ...) \
  DETGEMM_VENDOR_OF(blas_lt, hipblas::kNotSupported, NAME, __VA_ARGS__)

extern "C" {

using namespace detgemm::dropin;
using namespace detgemm::dropin::hipblaslt;
using detgemm::dropin::hipblaslt::Handle;

DETGEMM_API int hipblasLtMatmulDescCreate(Desc* desc, int compute, int scale) {
  const int status = DETGEMM_VENDOR_LT(hipblasLtMatmulDescCreate, desc, compute, scale)();
  if (status == hipblas::kSuccess) {
    const std::lock_guard lock(descriptions().mutex);
    descriptions().of[*desc] = {compute, scale};
  }
  return status;
}

DETGEMM_API int hipblasLtMatmulDescDestroy(Desc desc) {
  {
    const std::lock_guard lock(descriptions().mutex);
    descriptions().of.erase(desc);
  }
  return DETGEMM_VENDOR_LT(hipblasLtMatmulDescDestroy, desc)();
}

DETGEMM_API int hipblasLtMatmul(Handle handle, Desc desc, const void* alpha, const void* a,
                                Layout layout_a, const void* b, Layout layout_b, const void* beta,
                                const void* c, Layout layout_c, void* d, Layout layout_d,
                                const void* algo, void* workspace, std::size_t workspace_bytes,
                                void* stream) {
  const auto pass =
      DETGEMM_VENDOR_LT(hipblasLtMatmul, handle, desc, alpha, a, layout_a, b, layout_b, beta, c,
                        layout_c, d, layout_d, algo, workspace, workspace_bytes, stream);
  if (inside_vendor()) return pass();
  LtCall call;
  call.function = "hipblasLtMatmul";
  if (handle == nullptr) {
    note({call.function}, Fate::invalid, "the handle is null");
    return hipblas::kNotInitialized;
  }
  if (!read_desc(desc, call) || !read_layout(layout_a, a, call.a) ||
      !read_layout(layout_b, b, call.b) || !read_layout(layout_c, c, call.c) ||
      !read_layout(layout_d, d, call.d)) {
    return answer({call.function}, {Fate::passed, "hipBLASLt does not return a description"},
                  hipblas::kCodes, pass);
  }
  call.alpha = alpha;
  call.beta = beta;
  call.stream = stream;
  call.workspace = {workspace, workspace_bytes};
  return answer(known(call), compute(call), hipblas::kCodes, pass);
}

}  // extern "C"
