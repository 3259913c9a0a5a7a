// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/hip/hipblaslt.hpp"

#include <dlfcn.h>

#include <memory>
#include <stdexcept>

#include "bench/common/symbols.hpp"

namespace detgemm::bench::hip {
namespace {

// The declarations of hipblaslt.h that this uses, ROCm 6 and 7.
using Handle = void*;
constexpr int kR32F = 0;  // hipDataType
constexpr int kR16F = 2;
constexpr int kR16BF = 14;
constexpr int kCompute32F = 2;  // HIPBLAS_COMPUTE_32F
constexpr std::int32_t kNone = 111;
constexpr std::int32_t kTranspose = 112;
constexpr int kTransA = 0;
constexpr int kTransB = 1;
constexpr int kMaxWorkspace = 1;

struct Algorithm {
  std::uint8_t data[16]{};
  std::size_t max_workspace_bytes = 0;
};
struct Choice {
  Algorithm algorithm;
  std::size_t workspace_bytes = 0;
  int state = 0;
  float waves = 1.0F;
  int reserved[4]{};
};

struct Library {
  int (*Create)(Handle*);
  int (*GetVersion)(Handle, int*);
  int (*MatmulDescCreate)(Handle*, int compute, int scale);
  int (*MatmulDescSetAttribute)(Handle, int, const void*, std::size_t);
  int (*MatmulDescDestroy)(Handle);
  int (*MatrixLayoutCreate)(Handle*, int type, std::uint64_t rows, std::uint64_t cols,
                            std::int64_t ld);
  int (*MatrixLayoutDestroy)(Handle);
  int (*MatmulPreferenceCreate)(Handle*);
  int (*MatmulPreferenceSetAttribute)(Handle, int, const void*, std::size_t);
  int (*MatmulPreferenceDestroy)(Handle);
  int (*MatmulAlgoGetHeuristic)(Handle, Handle, Handle, Handle, Handle, Handle, Handle, int,
                                Choice*, int*);
  int (*Matmul)(Handle, Handle, const void* alpha, const void* a, Handle, const void* b, Handle,
                const void* beta, const void* c, Handle, void* d, Handle, const Algorithm*, void*,
                std::size_t, void* stream);
  Handle handle = nullptr;
};

void lt_good(int status, const char* what) {
  if (status != 0) {
    throw std::runtime_error(std::string("hipBLASLt: ") + what + ": status " +
                             std::to_string(status));
  }
}

bool find_all(void* object, Library& lt) {
  Symbols symbols(object, "hipblasLt");
  symbols.find(lt.Create, "Create");
  symbols.find(lt.GetVersion, "GetVersion");
  symbols.find(lt.MatmulDescCreate, "MatmulDescCreate");
  symbols.find(lt.MatmulDescSetAttribute, "MatmulDescSetAttribute");
  symbols.find(lt.MatmulDescDestroy, "MatmulDescDestroy");
  symbols.find(lt.MatrixLayoutCreate, "MatrixLayoutCreate");
  symbols.find(lt.MatrixLayoutDestroy, "MatrixLayoutDestroy");
  symbols.find(lt.MatmulPreferenceCreate, "MatmulPreferenceCreate");
  symbols.find(lt.MatmulPreferenceSetAttribute, "MatmulPreferenceSetAttribute");
  symbols.find(lt.MatmulPreferenceDestroy, "MatmulPreferenceDestroy");
  symbols.find(lt.MatmulAlgoGetHeuristic, "MatmulAlgoGetHeuristic");
  symbols.find(lt.Matmul, "Matmul");
  return symbols.missing().empty();
}

/// One problem's descriptors, and the memory its algorithm may use.
struct Matmul {
  Matmul(const Library& library, Device& of) : lt(library), device(of) {}
  ~Matmul() {
    for (Handle layout : {first, second, out}) {
      if (layout != nullptr) lt.MatrixLayoutDestroy(layout);
    }
    if (operation != nullptr) lt.MatmulDescDestroy(operation);
    device.release(workspace);
  }
  Matmul(const Matmul&) = delete;
  Matmul& operator=(const Matmul&) = delete;

  const Library& lt;
  Device& device;
  Handle operation = nullptr, first = nullptr, second = nullptr, out = nullptr;
  void* workspace = nullptr;
  Choice choice{};
};

int type_of(DType type) {
  if (type == DType::bf16) return kR16BF;
  if (type == DType::fp16) return kR16F;
  if (type == DType::fp32) return kR32F;
  throw std::runtime_error("hipBLASLt is asked for bf16, fp16 and fp32 alone");
}

/// Its first choice; it counts columns first, so it is asked for D^T = op(B)^T * op(A)^T.
std::shared_ptr<Matmul> chosen(const Library& lt, Device& device, const Problem& problem,
                               std::size_t workspace_bytes) {
  const Gemm g = gemm_of(problem);
  const int type = type_of(problem.type);
  if (problem.extra != Extra::none) {
    throw std::runtime_error("hipBLASLt's arm has no epilogue");
  }
  auto m = std::make_shared<Matmul>(lt, device);
  const auto layout = [&](Handle* matrix, std::int64_t rows, std::int64_t cols, int of) {
    lt_good(lt.MatrixLayoutCreate(matrix, of, static_cast<std::uint64_t>(rows),
                                  static_cast<std::uint64_t>(cols), rows),
            "layout");
  };
  lt_good(lt.MatmulDescCreate(&m->operation, kCompute32F, kR32F), "descriptor");
  const std::int32_t first = g.b_transposed ? kTranspose : kNone;
  const std::int32_t second = g.a_transposed ? kTranspose : kNone;
  lt_good(lt.MatmulDescSetAttribute(m->operation, kTransA, &first, sizeof first), "operation");
  lt_good(lt.MatmulDescSetAttribute(m->operation, kTransB, &second, sizeof second), "operation");
  g.b_transposed ? layout(&m->first, g.k, g.n, type) : layout(&m->first, g.n, g.k, type);
  g.a_transposed ? layout(&m->second, g.m, g.k, type) : layout(&m->second, g.k, g.m, type);
  layout(&m->out, g.n, g.m, type_of(output_of(problem)));

  Handle preference = nullptr;
  const std::uint64_t most = workspace_bytes;
  lt_good(lt.MatmulPreferenceCreate(&preference), "preference");
  int found = 0;
  int status = lt.MatmulPreferenceSetAttribute(preference, kMaxWorkspace, &most, sizeof most);
  if (status == 0) {
    status = lt.MatmulAlgoGetHeuristic(lt.handle, m->operation, m->first, m->second, m->out, m->out,
                                       preference, 1, &m->choice, &found);
  }
  lt.MatmulPreferenceDestroy(preference);
  lt_good(status, "heuristic");
  if (found == 0) throw std::runtime_error("hipBLASLt: no algorithm for this problem");
  if (m->choice.workspace_bytes > 0) {
    auto memory = device.allocate(m->choice.workspace_bytes);
    if (!memory) throw std::runtime_error(memory.status().message());
    m->workspace = *memory;
  }
  return m;
}

}  // namespace

Baseline hipblaslt(Device& device, const std::string& name, std::size_t workspace_bytes) {
  Baseline baseline;
  baseline.name = name;
  void* object = nullptr;
  // In the dynamic linker's path, otherwise beside the HIP runtime.
  std::string beside;
  if (const auto devices = device.list(); !devices.empty()) {
    beside = devices[0].runtime.substr(0, devices[0].runtime.rfind('/') + 1);
  }
  for (const std::string& folder : {std::string(), beside}) {
    for (const char* file :
         {"libhipblaslt.so.2", "libhipblaslt.so.1", "libhipblaslt.so.0", "libhipblaslt.so"}) {
      if (object == nullptr) object = dlopen((folder + file).c_str(), RTLD_NOW | RTLD_LOCAL);
    }
  }
  if (object == nullptr) {
    baseline.what = "no libhipblaslt.so was found";
    return baseline;
  }
  auto lt = std::make_shared<Library>();
  if (!find_all(object, *lt) || lt->Create(&lt->handle) != 0) {
    baseline.what = "the libhipblaslt.so that was found lacks functions this program uses";
    return baseline;
  }
  int version = 0;
  lt->GetVersion(lt->handle, &version);
  baseline.present = true;
  baseline.what = "hipBLASLt " + std::to_string(version) + ", its first choice with " +
                  std::to_string(workspace_bytes >> 20) + " MiB of workspace";
  baseline.make = [lt, &device, workspace_bytes](const BaselineRequest& request) {
    const Problem problem = request.problem;
    const auto m = chosen(*lt, device, problem, workspace_bytes);
    Arm arm;
    arm.detail = "workspace " + std::to_string(m->choice.workspace_bytes);
    arm.enqueue = [=, &buffers = request.buffers](Stream stream, int call) -> Status {
      const float one = 1.0F;
      const float beta = problem.accumulate ? 1.0F : 0.0F;
      const Buffers::Call at = buffers.at(problem, call);
      const int did = lt->Matmul(lt->handle, m->operation, &one, at.b, m->first, at.a, m->second,
                                 &beta, at.d, m->out, at.d, m->out, &m->choice.algorithm,
                                 m->workspace, m->choice.workspace_bytes, stream.handle);
      if (did == 0) return {};
      return {Errc::internal, "hipBLASLt: matmul: status " + std::to_string(did)};
    };
    return arm;
  };
  return baseline;
}

}  // namespace detgemm::bench::hip
