// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/gpu/cublaslt.hpp"

#include <cublasLt.h>
#include <dlfcn.h>

#include <vector>

#include "bench/gpu/check.hpp"

namespace detgemm::bench {

// The header gives types; every function is looked up by its name.
// clang-format off
#define DETGEMM_BENCH_CUBLASLT(X) \
  X(cublasLtCreate) \
  X(cublasLtGetVersion) \
  X(cublasLtMatmul) \
  X(cublasLtMatmulDescCreate) \
  X(cublasLtMatmulDescSetAttribute) \
  X(cublasLtMatmulDescDestroy) \
  X(cublasLtMatrixLayoutCreate) \
  X(cublasLtMatrixLayoutDestroy) \
  X(cublasLtMatmulPreferenceCreate) \
  X(cublasLtMatmulPreferenceSetAttribute) \
  X(cublasLtMatmulPreferenceDestroy) \
  X(cublasLtMatmulAlgoGetHeuristic) \
  X(cublasLtMatmulAlgoConfigGetAttribute)
// clang-format on

struct CublasLt::Library {
  cublasLtHandle_t handle = nullptr;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
#define DETGEMM_BENCH_MEMBER(name) decltype(&::name) name = nullptr;
  DETGEMM_BENCH_CUBLASLT(DETGEMM_BENCH_MEMBER)
#undef DETGEMM_BENCH_MEMBER
};

namespace {

void good(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw std::runtime_error(std::string("cuBLASLt: ") + what + ": status " +
                             std::to_string(static_cast<int>(status)));
  }
}

/// Descriptors and the algorithm of one problem.
struct Chosen {
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t first = nullptr, second = nullptr, out = nullptr;
  cublasLtMatmulHeuristicResult_t best{};
};

}  // namespace

CublasLt::CublasLt(std::unique_ptr<Library> library) : library_(std::move(library)) {}
CublasLt::~CublasLt() { cudaFree(library_->workspace); }
std::size_t CublasLt::version() const { return library_->cublasLtGetVersion(); }

std::unique_ptr<CublasLt> CublasLt::open(const std::string& path, std::string& why) {
  void* object = nullptr;
  for (const char* name : {path.c_str(), "libcublasLt.so.13", "libcublasLt.so.12"}) {
    if (object == nullptr && name[0] != '\0') object = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  if (object == nullptr) {
    const char* error = dlerror();
    why = error != nullptr ? error : "not found";
    return nullptr;
  }
  auto library = std::make_unique<Library>();
  bool complete = true;
#define DETGEMM_BENCH_FIND(name)                                             \
  library->name = reinterpret_cast<decltype(&::name)>(dlsym(object, #name)); \
  complete = complete && library->name != nullptr;
  DETGEMM_BENCH_CUBLASLT(DETGEMM_BENCH_FIND)
#undef DETGEMM_BENCH_FIND
  if (!complete) {
    why = "the library lacks functions this program uses";
    return nullptr;
  }
  good(library->cublasLtCreate(&library->handle), "create");
  return std::unique_ptr<CublasLt>(new CublasLt(std::move(library)));
}

Arm CublasLt::arm(const std::string& name, const Problem& problem, const Buffers& buffers,
                  std::size_t workspace_bytes, int choice) {
  Library& lt = *library_;
  if (lt.workspace_bytes < workspace_bytes) {
    cudaFree(lt.workspace);
    check(cudaMalloc(&lt.workspace, workspace_bytes), "workspace");
    lt.workspace_bytes = workspace_bytes;
  }
  const Gemm g = gemm_of(problem);
  if (problem.type != DType::bf16 && problem.type != DType::fp16 && problem.type != DType::fp32) {
    throw std::runtime_error("cuBLASLt is asked for bf16, fp16 and fp32 alone");
  }
  const auto type = problem.type == DType::fp32   ? CUDA_R_32F
                    : problem.type == DType::fp16 ? CUDA_R_16F
                                                  : CUDA_R_16BF;
  // It counts columns first, so it is asked for D^T = op(B)^T * op(A)^T.
  const auto destroy = [&lt](Chosen* c) {
    lt.cublasLtMatrixLayoutDestroy(c->first);
    lt.cublasLtMatrixLayoutDestroy(c->second);
    lt.cublasLtMatrixLayoutDestroy(c->out);
    lt.cublasLtMatmulDescDestroy(c->operation);
    delete c;
  };
  const std::shared_ptr<Chosen> c(new Chosen, destroy);
  const auto layout = [&](cublasLtMatrixLayout_t* out, std::int64_t rows, std::int64_t cols,
                          cudaDataType_t of) {
    good(lt.cublasLtMatrixLayoutCreate(out, of, static_cast<std::uint64_t>(rows),
                                       static_cast<std::uint64_t>(cols), rows),
         "layout");
  };
  // TF32 is another compute type, which this one never becomes.
  good(lt.cublasLtMatmulDescCreate(&c->operation, CUBLAS_COMPUTE_32F, CUDA_R_32F), "descriptor");
  const cublasOperation_t first = g.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t second = g.a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  good(lt.cublasLtMatmulDescSetAttribute(c->operation, CUBLASLT_MATMUL_DESC_TRANSA, &first,
                                         sizeof first),
       "operation");
  good(lt.cublasLtMatmulDescSetAttribute(c->operation, CUBLASLT_MATMUL_DESC_TRANSB, &second,
                                         sizeof second),
       "operation");
  g.b_transposed ? layout(&c->first, g.k, g.n, type) : layout(&c->first, g.n, g.k, type);
  g.a_transposed ? layout(&c->second, g.m, g.k, type) : layout(&c->second, g.k, g.m, type);
  layout(&c->out, g.n, g.m, problem.accumulate ? CUDA_R_32F : type);

  cublasLtMatmulPreference_t preference = nullptr;
  good(lt.cublasLtMatmulPreferenceCreate(&preference), "preference");
  good(lt.cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                               &workspace_bytes, sizeof workspace_bytes),
       "preference");
  int found = 0;
  std::vector<cublasLtMatmulHeuristicResult_t> list(static_cast<std::size_t>(choice) + 1);
  const auto status =
      lt.cublasLtMatmulAlgoGetHeuristic(lt.handle, c->operation, c->first, c->second, c->out,
                                        c->out, preference, choice + 1, list.data(), &found);
  lt.cublasLtMatmulPreferenceDestroy(preference);
  good(status, "heuristic");
  if (found <= choice) throw std::runtime_error("cuBLASLt: no algorithm for this problem");
  c->best = list[static_cast<std::size_t>(choice)];

  Arm arm;
  arm.name = name;
  const auto setting = [&](const char* label, cublasLtMatmulAlgoConfigAttributes_t which) {
    std::int32_t value = 0;
    std::size_t written = 0;
    // Some are 16 bits wide; the buffer is zeroed, and the machine little-endian.
    if (lt.cublasLtMatmulAlgoConfigGetAttribute(&c->best.algo, which, &value, sizeof value,
                                                &written) == CUBLAS_STATUS_SUCCESS ||
        lt.cublasLtMatmulAlgoConfigGetAttribute(&c->best.algo, which, &value, sizeof(std::int16_t),
                                                &written) == CUBLAS_STATUS_SUCCESS) {
      arm.detail += label + std::to_string(value);
    }
  };
  setting("algo ", CUBLASLT_ALGO_CONFIG_ID);
  setting(" tile ", CUBLASLT_ALGO_CONFIG_TILE_ID);
  setting(" stages ", CUBLASLT_ALGO_CONFIG_STAGES_ID);
  setting(" cluster ", CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID);
  setting(" split-K ", CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
  setting(" reduction ", CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME);
  arm.detail += " workspace " + std::to_string(c->best.workspaceSize);
  arm.enqueue = [=, &lt, &buffers](Stream stream, int call) -> Status {
    const float one = 1.0F;
    const float beta = problem.accumulate ? 1.0F : 0.0F;
    const Buffers::Call at = buffers.at(problem, call);
    const auto did = lt.cublasLtMatmul(lt.handle, c->operation, &one, at.b, c->first, at.a,
                                       c->second, &beta, at.d, c->out, at.d, c->out, &c->best.algo,
                                       workspace_bytes != 0 ? lt.workspace : nullptr,
                                       workspace_bytes, cuda_stream(stream));
    if (did == CUBLAS_STATUS_SUCCESS) return {};
    return {Errc::internal, "cuBLASLt: matmul: status " + std::to_string(static_cast<int>(did))};
  };
  return arm;
}

}  // namespace detgemm::bench
