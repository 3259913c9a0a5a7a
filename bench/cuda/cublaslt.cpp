// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/cuda/cublaslt.hpp"

#include <dlfcn.h>

#include <vector>

#include "bench/common/symbols.hpp"
#include "bench/cuda/check.hpp"
#include "bench/cuda/cublaslt_abi.hpp"

namespace detgemm::bench {

struct CublasLt::Library : lt::Functions {
  lt::Handle handle = nullptr;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
};

namespace {

void good(int status, const char* what) {
  if (status != lt::kSuccess) {
    throw std::runtime_error(std::string("cuBLASLt: ") + what + ": status " +
                             std::to_string(status));
  }
}

cudaDataType_t cuda_type(DType type) {
  return type == DType::fp32 ? CUDA_R_32F : type == DType::fp16 ? CUDA_R_16F : CUDA_R_16BF;
}

bool find_all(void* object, lt::Functions& library) {
  Symbols symbols(object, "cublasLt");
  symbols.find(library.Create, "Create");
  symbols.find(library.GetVersion, "GetVersion");
  symbols.find(library.MatmulDescCreate, "MatmulDescCreate");
  symbols.find(library.MatmulDescSetAttribute, "MatmulDescSetAttribute");
  symbols.find(library.MatmulDescDestroy, "MatmulDescDestroy");
  symbols.find(library.MatrixLayoutCreate, "MatrixLayoutCreate");
  symbols.find(library.MatrixLayoutDestroy, "MatrixLayoutDestroy");
  symbols.find(library.MatmulPreferenceCreate, "MatmulPreferenceCreate");
  symbols.find(library.MatmulPreferenceSetAttribute, "MatmulPreferenceSetAttribute");
  symbols.find(library.MatmulPreferenceDestroy, "MatmulPreferenceDestroy");
  symbols.find(library.MatmulAlgoGetHeuristic, "MatmulAlgoGetHeuristic");
  symbols.find(library.MatmulAlgoConfigGetAttribute, "MatmulAlgoConfigGetAttribute");
  symbols.find(library.Matmul, "Matmul");
  return symbols.missing().empty();
}

/// Descriptors and the algorithm of one problem.
struct Chosen {
  lt::Handle operation = nullptr;
  lt::Handle first = nullptr, second = nullptr, out = nullptr;
  lt::Choice best{};
};

}  // namespace

CublasLt::CublasLt(std::unique_ptr<Library> library) : library_(std::move(library)) {}
CublasLt::~CublasLt() { cudaFree(library_->workspace); }
std::size_t CublasLt::version() const { return library_->GetVersion(); }

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
  if (!find_all(object, *library)) {
    why = "the library lacks functions this program uses";
    return nullptr;
  }
  good(library->Create(&library->handle), "create");
  return std::unique_ptr<CublasLt>(new CublasLt(std::move(library)));
}

Arm CublasLt::arm(const std::string& name, const Problem& problem, const Buffers& buffers,
                  std::size_t workspace_bytes, int choice) {
  Library& library = *library_;
  if (library.workspace_bytes < workspace_bytes) {
    cudaFree(library.workspace);
    check(cudaMalloc(&library.workspace, workspace_bytes), "workspace");
    library.workspace_bytes = workspace_bytes;
  }
  const Gemm g = gemm_of(problem);
  if (problem.type != DType::bf16 && problem.type != DType::fp16 && problem.type != DType::fp32) {
    throw std::runtime_error("cuBLASLt is asked for bf16, fp16 and fp32 alone");
  }
  const auto type = cuda_type(problem.type);
  // It counts columns first, so it is asked for D^T = op(B)^T * op(A)^T.
  const auto destroy = [&library](Chosen* c) {
    library.MatrixLayoutDestroy(c->first);
    library.MatrixLayoutDestroy(c->second);
    library.MatrixLayoutDestroy(c->out);
    library.MatmulDescDestroy(c->operation);
    delete c;
  };
  const std::shared_ptr<Chosen> c(new Chosen, destroy);
  const auto layout = [&](lt::Handle* out, std::int64_t rows, std::int64_t cols,
                          cudaDataType_t of) {
    good(library.MatrixLayoutCreate(out, of, static_cast<std::uint64_t>(rows),
                                    static_cast<std::uint64_t>(cols), rows),
         "layout");
  };
  // TF32 is another compute type, which this one never becomes.
  good(library.MatmulDescCreate(&c->operation, lt::kCompute32F, CUDA_R_32F), "descriptor");
  const std::int32_t first = g.b_transposed ? lt::kTranspose : lt::kNone;
  const std::int32_t second = g.a_transposed ? lt::kTranspose : lt::kNone;
  good(library.MatmulDescSetAttribute(c->operation, lt::kTransA, &first, sizeof first),
       "operation");
  good(library.MatmulDescSetAttribute(c->operation, lt::kTransB, &second, sizeof second),
       "operation");
  if (has_bias(problem.extra)) {  // of D's columns, which are the rows of D^T; the same every call
    const void* const bias = buffers.at(problem, 0).bias;
    const std::int32_t epilogue = problem.extra == Extra::bias_relu        ? lt::kEpilogueReluBias
                                  : problem.extra == Extra::bias_gelu_tanh ? lt::kEpilogueGeluBias
                                                                           : lt::kEpilogueBias;
    good(library.MatmulDescSetAttribute(c->operation, lt::kEpilogue, &epilogue, sizeof epilogue),
         "epilogue");
    good(library.MatmulDescSetAttribute(c->operation, lt::kBiasPointer, &bias, sizeof bias),
         "bias");
  }
  g.b_transposed ? layout(&c->first, g.k, g.n, type) : layout(&c->first, g.n, g.k, type);
  g.a_transposed ? layout(&c->second, g.m, g.k, type) : layout(&c->second, g.k, g.m, type);
  layout(&c->out, g.n, g.m, cuda_type(output_of(problem)));

  lt::Handle preference = nullptr;
  good(library.MatmulPreferenceCreate(&preference), "preference");
  good(library.MatmulPreferenceSetAttribute(preference, lt::kMaxWorkspaceBytes, &workspace_bytes,
                                            sizeof workspace_bytes),
       "preference");
  int found = 0;
  std::vector<lt::Choice> list(static_cast<std::size_t>(choice) + 1);
  const auto status =
      library.MatmulAlgoGetHeuristic(library.handle, c->operation, c->first, c->second, c->out,
                                     c->out, preference, choice + 1, list.data(), &found);
  library.MatmulPreferenceDestroy(preference);
  good(status, "heuristic");
  if (found <= choice) throw std::runtime_error("cuBLASLt: no algorithm for this problem");
  c->best = list[static_cast<std::size_t>(choice)];

  Arm arm;
  arm.name = name;
  const auto setting = [&](const char* label, int which) {
    std::int32_t value = 0;
    std::size_t written = 0;
    // Some are 16 bits wide; the buffer is zeroed, and the machine little-endian.
    if (library.MatmulAlgoConfigGetAttribute(&c->best.algorithm, which, &value, sizeof value,
                                             &written) == lt::kSuccess ||
        library.MatmulAlgoConfigGetAttribute(&c->best.algorithm, which, &value,
                                             sizeof(std::int16_t), &written) == lt::kSuccess) {
      arm.detail += label + std::to_string(value);
    }
  };
  setting("algo ", lt::kConfigId);
  setting(" tile ", lt::kConfigTile);
  setting(" stages ", lt::kConfigStages);
  setting(" cluster ", lt::kConfigCluster);
  setting(" split-K ", lt::kConfigSplitK);
  setting(" reduction ", lt::kConfigReduction);
  arm.detail += " workspace " + std::to_string(c->best.workspace_bytes);
  arm.enqueue = [=, &library, &buffers](Stream stream, int call) -> Status {
    const float one = 1.0F;
    const float beta = g.reads_d ? 1.0F : 0.0F;
    const Buffers::Call at = buffers.at(problem, call);
    const auto did = library.Matmul(
        library.handle, c->operation, &one, at.b, c->first, at.a, c->second, &beta,
        at.c != nullptr ? at.c : at.d, c->out, at.d, c->out, &c->best.algorithm,
        workspace_bytes != 0 ? library.workspace : nullptr, workspace_bytes, cuda_stream(stream));
    if (did == lt::kSuccess) return {};
    return {Errc::internal, "cuBLASLt: matmul: status " + std::to_string(did)};
  };
  return arm;
}

}  // namespace detgemm::bench
