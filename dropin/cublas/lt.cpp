// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <cstring>

#include "dropin/cublas/handle.hpp"
#include "dropin/lt_call.hpp"

namespace detgemm::dropin::cublaslt {
namespace {

template <class... A>
int call(const char* name, void*& slot, A... arguments) noexcept {
  const auto own = vendor_function<int (*)(A...)>(Library::blas_lt, name, slot);
  return own == nullptr ? static_cast<int>(cublas::kNotSupported) : own(arguments...);
}

/// One attribute of a description; false where cuBLASLt does not answer.
template <class T>
bool get_layout(Layout layout, int attribute, T& out) noexcept {
  static void* slot = nullptr;
  std::size_t written = 0;
  return call("cublasLtMatrixLayoutGetAttribute", slot, layout, attribute, static_cast<void*>(&out),
              sizeof out, &written) == cublas::kSuccess;
}
template <class T>
bool get_desc(Desc desc, int attribute, T& out) noexcept {
  static void* slot = nullptr;
  std::size_t written = 0;
  return call("cublasLtMatmulDescGetAttribute", slot, desc, attribute, static_cast<void*>(&out),
              sizeof out, &written) == cublas::kSuccess;
}

bool read_layout(Layout layout, LtMatrix& out) noexcept {
  std::uint32_t type = 0;
  std::int32_t order = 0;
  std::uint64_t rows = 0;
  std::uint64_t cols = 0;
  std::int32_t batch = 1;
  std::int64_t plane = 0;
  if (layout == nullptr || !get_layout(layout, kType, type) || !get_layout(layout, kOrder, order) ||
      !get_layout(layout, kRows, rows) || !get_layout(layout, kCols, cols) ||
      !get_layout(layout, kLd, out.ld) || !get_layout(layout, kBatchCount, batch) ||
      !get_layout(layout, kStridedBatchOffset, out.batch_stride) ||
      !get_layout(layout, kPlaneOffset, plane)) {
    return false;
  }
  std::uint32_t mode = 0;  // newer than the rest: where it is unknown, batches are strided
  if (!get_layout(layout, kBatchMode, mode)) mode = 0;
  out.type = cublas::type_of(static_cast<int>(type));
  out.rows = static_cast<std::int64_t>(rows);
  out.cols = static_cast<std::int64_t>(cols);
  out.batch = batch;
  out.row_order = order == kRow;
  out.known = (order == kCol || order == kRow) && plane == 0 && mode == 0;
  return true;
}

/// All four. C and D are the same description in most programs, which is then read once.
bool read_layouts(Layout a, Layout b, Layout c, Layout d, LtCall& out) noexcept {
  if (!read_layout(a, out.a) || !read_layout(b, out.b) || !read_layout(c, out.c)) return false;
  if (c != d) return read_layout(d, out.d);
  out.d = out.c;
  return true;
}

/// The description of a product; false where cuBLASLt does not answer.
bool read_desc(Desc desc, LtCall& out) noexcept {
  std::int32_t compute = 0, scale = 0, mode = 0, ta = 0, tb = 0, tc = 0, fill = 0, bias_type = -1;
  std::uint32_t epilogue = 0;
  const void* scales[5] = {};
  if (desc == nullptr || !get_desc(desc, kComputeType, compute) ||
      !get_desc(desc, kScaleType, scale) || !get_desc(desc, kPointerMode, mode) ||
      !get_desc(desc, kTransA, ta) || !get_desc(desc, kTransB, tb) ||
      !get_desc(desc, kTransC, tc) || !get_desc(desc, kFillMode, fill) ||
      !get_desc(desc, kEpilogue, epilogue) || !get_desc(desc, kBiasPointer, out.bias) ||
      !get_desc(desc, kBiasBatchStride, out.bias_batch_stride) ||
      !get_desc(desc, kBiasDataType, bias_type)) {
    return false;
  }
  for (const int attribute :
       {kAScalePointer, kBScalePointer, kCScalePointer, kDScalePointer, kAmaxDPointer}) {
    const void*& at = scales[attribute - kAScalePointer];
    if (get_desc(desc, attribute, at) && at != nullptr) out.scaled = true;
  }
  out.op_a = cublas::op_of(ta);
  out.op_b = cublas::op_of(tb);
  out.compute = cublas::compute_of(compute);
  out.scalars = scale == cublas::k16F   ? LtScalars::fp16
                : scale == cublas::k32F ? LtScalars::fp32
                                        : LtScalars::other;
  out.mode = mode == kHost     ? LtPointers::host
             : mode == kDevice ? LtPointers::device
                               : LtPointers::vector;
  out.whole = fill == kFull && tc == cublas::kN;
  out.bias_type = bias_type < 0 ? BlasType::other : cublas::type_of(bias_type);
  out.bias_type_known = bias_type >= 0;
  switch (epilogue) {
    case kDefault:
      out.epilogue = LtEpilogue::none;
      break;
    case kRelu:
    case kReluBias:
      out.epilogue = LtEpilogue::relu;
      break;
    case kGelu:
    case kGeluBias:
      out.epilogue = LtEpilogue::gelu;
      break;
    case kBias:
      out.epilogue = LtEpilogue::none;
      break;
    default:
      out.epilogue = LtEpilogue::other;
  }
  out.with_bias = epilogue == kBias || epilogue == kReluBias || epilogue == kGeluBias;
  return true;
}

/// Marks an answer of our own, which no kernel of cuBLASLt belongs to.
constexpr std::uint64_t kMark = 0x6d6d656774656421;  // "!detgemm" as bytes

bool is_own(const Algo* algo) noexcept {
  return algo != nullptr && algo->data[0] == kMark && algo->data[7] == kMark;
}

}  // namespace
}  // namespace detgemm::dropin::cublaslt

#define DETGEMM_VENDOR_LT(NAME, ...) \
  DETGEMM_VENDOR_OF(blas_lt, cublas::kNotSupported, NAME, __VA_ARGS__)

extern "C" {

using namespace detgemm::dropin;
using namespace detgemm::dropin::cublaslt;
using detgemm::dropin::cublaslt::Handle;

DETGEMM_API int cublasLtMatmul(Handle handle, Desc desc, const void* alpha, const void* a,
                               Layout layout_a, const void* b, Layout layout_b, const void* beta,
                               const void* c, Layout layout_c, void* d, Layout layout_d,
                               const Algo* algo, void* workspace, std::size_t workspace_bytes,
                               void* stream) {
  // An answer of ours means nothing to cuBLASLt, which then chooses by itself.
  const Algo* const theirs = is_own(algo) ? nullptr : algo;
  const auto pass =
      DETGEMM_VENDOR_LT(cublasLtMatmul, handle, desc, alpha, a, layout_a, b, layout_b, beta, c,
                        layout_c, d, layout_d, theirs, workspace, workspace_bytes, stream);
  if (inside_vendor()) return pass();
  LtCall call;
  call.function = "cublasLtMatmul";
  if (handle == nullptr) {
    note({call.function}, Fate::invalid, "the handle is null");
    return cublas::kNotInitialized;
  }
  if (!read_desc(desc, call) || !read_layouts(layout_a, layout_b, layout_c, layout_d, call)) {
    return answer({call.function}, {Fate::invalid, "a description is not one of cuBLASLt's"},
                  cublas::kCodes, pass);
  }
  call.alpha = alpha;
  call.beta = beta;
  call.a.data = a;
  call.b.data = b;
  call.c.data = c;
  call.d.data = d;
  call.stream = stream;
  call.workspace = {workspace, workspace_bytes};
  return answer(known(call), compute(call), cublas::kCodes, pass);
}

DETGEMM_API int cublasLtMatmulAlgoGetHeuristic(Handle handle, Desc desc, Layout layout_a,
                                               Layout layout_b, Layout layout_c, Layout layout_d,
                                               Preference preference, int asked,
                                               HeuristicResult* results, int* found) {
  const auto pass =
      DETGEMM_VENDOR_LT(cublasLtMatmulAlgoGetHeuristic, handle, desc, layout_a, layout_b, layout_c,
                        layout_d, preference, asked, results, found);
  LtCall call;
  call.function = "cublasLtMatmulAlgoGetHeuristic";
  if (inside_vendor() || handle == nullptr || preference == nullptr || results == nullptr ||
      found == nullptr || asked < 1 || !read_desc(desc, call) ||
      !read_layouts(layout_a, layout_b, layout_c, layout_d, call)) {
    const InsideVendor inside;
    return pass();
  }
  const auto wanted = workspace_of(call);
  if (!wanted) {
    // The product itself will be counted, or refused, when it comes.
    const InsideVendor inside;
    return pass();
  }
  static void* slot = nullptr;
  std::uint64_t allowed = 0;
  std::size_t written = 0;
  detgemm::dropin::cublaslt::call("cublasLtMatmulPreferenceGetAttribute", slot, preference,
                                  static_cast<int>(kMaxWorkspaceBytes),
                                  static_cast<void*>(&allowed), sizeof allowed, &written);
  std::memset(results, 0, sizeof *results);
  results->algo.data[0] = results->algo.data[7] = kMark;
  results->workspace_size = std::min<std::uint64_t>(*wanted, allowed);
  results->state = cublas::kSuccess;
  results->waves_count = 1.0F;
  *found = 1;
  return cublas::kSuccess;
}

}  // extern "C"
