// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <dlfcn.h>

#include <memory>
#include <stdexcept>

#include "bench/common/symbols.hpp"
#include "bench/host/baselines.hpp"

namespace detgemm::bench {
namespace {

// The few declarations of oneDNN 3's dnnl.h that this uses; all objects are opaque pointers.
using Handle = void*;
using Dims = std::int64_t[12];
struct Argument {
  int which;
  Handle memory;
};
struct Version {
  int major, minor, patch;
};
constexpr int kCpu = 1;
constexpr unsigned kInOrder = 1;
constexpr int kF16 = 1;
constexpr int kBf16 = 2;
constexpr int kF32 = 3;
constexpr int kSource = 1;
constexpr int kDestination = 17;
constexpr int kWeights = 33;

struct Library {
  int (*engine_create)(Handle*, int kind, std::size_t index);
  int (*stream_create)(Handle*, Handle engine, unsigned flags);
  int (*stream_wait)(Handle);
  int (*memory_desc_create_with_strides)(Handle*, int, const std::int64_t*, int,
                                         const std::int64_t*);
  int (*memory_desc_destroy)(Handle);
  int (*matmul_primitive_desc_create)(Handle*, Handle engine, Handle a, Handle b, Handle bias,
                                      Handle d, Handle attributes);
  int (*primitive_desc_destroy)(Handle);
  int (*primitive_create)(Handle*, Handle description);
  int (*primitive_destroy)(Handle);
  int (*primitive_execute)(Handle, Handle stream, int count, const Argument*);
  int (*memory_create)(Handle*, Handle description, Handle engine, void* data);
  int (*memory_set_data_handle)(Handle, void* data);
  int (*memory_destroy)(Handle);
  const Version* (*version)();
  Handle engine = nullptr;
  Handle stream = nullptr;
};

void good(int status, const char* what) {
  if (status != 0) {
    throw std::runtime_error(std::string("oneDNN: ") + what + ": status " + std::to_string(status));
  }
}

/// False where a function is missing.
bool find_all(void* object, Library& library) {
  Symbols symbols(object, "dnnl_");
  symbols.find(library.version, "version");
  symbols.find(library.engine_create, "engine_create");
  symbols.find(library.stream_create, "stream_create");
  symbols.find(library.stream_wait, "stream_wait");
  symbols.find(library.memory_desc_create_with_strides, "memory_desc_create_with_strides");
  symbols.find(library.memory_desc_destroy, "memory_desc_destroy");
  symbols.find(library.matmul_primitive_desc_create, "matmul_primitive_desc_create");
  symbols.find(library.primitive_desc_destroy, "primitive_desc_destroy");
  symbols.find(library.primitive_create, "primitive_create");
  symbols.find(library.primitive_destroy, "primitive_destroy");
  symbols.find(library.primitive_execute, "primitive_execute");
  symbols.find(library.memory_create, "memory_create");
  symbols.find(library.memory_set_data_handle, "memory_set_data_handle");
  symbols.find(library.memory_destroy, "memory_destroy");
  return symbols.missing().empty();
}

int type_of(DType type) {
  if (type == DType::bf16) return kBf16;
  if (type == DType::fp16) return kF16;
  if (type == DType::fp32) return kF32;
  throw std::runtime_error("oneDNN is not asked for " + std::string(name(type)));
}

/// One matmul with its descriptions, destroyed together.
struct Matmul {
  explicit Matmul(const Library& library) : api(library) {}
  ~Matmul() {
    for (Handle m : memory) {
      if (m != nullptr) api.memory_destroy(m);
    }
    if (primitive != nullptr) api.primitive_destroy(primitive);
    if (description != nullptr) api.primitive_desc_destroy(description);
    for (Handle d : matrices) {
      if (d != nullptr) api.memory_desc_destroy(d);
    }
  }
  Matmul(const Matmul&) = delete;
  Matmul& operator=(const Matmul&) = delete;

  void describe(int which, std::int64_t rows, std::int64_t cols, bool transposed, DType type) {
    const Dims dims{rows, cols};
    const Dims strides{transposed ? 1 : cols, transposed ? rows : 1};
    good(api.memory_desc_create_with_strides(&matrices[which], 2, dims, type_of(type), strides),
         "matrix");
  }

  const Library& api;
  Handle matrices[3]{};  // A, B, D
  Handle description = nullptr;
  Handle primitive = nullptr;
  Handle memory[3]{};
};

Arm make(const Library& api, const BaselineRequest& request) {
  if (request.threads != 0) {
    throw std::runtime_error("oneDNN takes its number of threads from OMP_NUM_THREADS alone");
  }
  const Problem problem = request.problem;
  if (problem.accumulate) throw std::runtime_error("oneDNN's arm does not add to D");
  if (problem.extra != Extra::none) throw std::runtime_error("oneDNN's arm has no epilogue");
  const Gemm g = gemm_of(problem);
  auto matmul = std::make_shared<Matmul>(api);
  matmul->describe(0, g.m, g.k, g.a_transposed, problem.type);
  matmul->describe(1, g.k, g.n, g.b_transposed, problem.type);
  matmul->describe(2, g.m, g.n, false, output_of(problem));
  good(api.matmul_primitive_desc_create(&matmul->description, api.engine, matmul->matrices[0],
                                        matmul->matrices[1], nullptr, matmul->matrices[2], nullptr),
       "matmul");
  good(api.primitive_create(&matmul->primitive, matmul->description), "primitive");
  const Buffers::Call first = request.buffers.at(problem, 0);
  void* const data[3] = {const_cast<void*>(first.a), const_cast<void*>(first.b), first.d};
  for (int i = 0; i < 3; ++i) {
    good(api.memory_create(&matmul->memory[i], matmul->matrices[i], api.engine, data[i]), "memory");
  }
  Arm arm;
  arm.detail = "matmul, all threads";
  arm.enqueue = [=, &api, &buffers = request.buffers](Stream, int call) -> Status {
    const Buffers::Call at = buffers.at(problem, call);
    api.memory_set_data_handle(matmul->memory[0], const_cast<void*>(at.a));
    api.memory_set_data_handle(matmul->memory[1], const_cast<void*>(at.b));
    api.memory_set_data_handle(matmul->memory[2], at.d);
    const Argument arguments[3] = {{kSource, matmul->memory[0]},
                                   {kWeights, matmul->memory[1]},
                                   {kDestination, matmul->memory[2]}};
    int status = api.primitive_execute(matmul->primitive, api.stream, 3, arguments);
    if (status == 0) status = api.stream_wait(api.stream);
    if (status == 0) return {};
    return {Errc::internal, "oneDNN: matmul: status " + std::to_string(status)};
  };
  return arm;
}

}  // namespace

Baseline onednn_matmul() {
  Baseline baseline;
  baseline.name = "onednn";
  void* object = nullptr;
  for (const char* name : {"libdnnl.so.3", "libdnnl.so"}) {
    if (object == nullptr) object = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  if (object == nullptr) {
    baseline.what = "no libdnnl.so.3 was found";
    return baseline;
  }
  auto library = std::make_shared<Library>();
  if (!find_all(object, *library) || library->version()->major != 3) {
    baseline.what = "the libdnnl that was found is not version 3";
    return baseline;
  }
  if (library->engine_create(&library->engine, kCpu, 0) != 0 ||
      library->stream_create(&library->stream, library->engine, kInOrder) != 0) {
    baseline.what = "oneDNN gives no engine for the processor";
    return baseline;
  }
  const Version& v = *library->version();
  baseline.present = true;
  baseline.what = "oneDNN " + std::to_string(v.major) + "." + std::to_string(v.minor) + "." +
                  std::to_string(v.patch) + ", matmul in the case's own type";
  baseline.make = [library](const BaselineRequest& request) { return make(*library, request); };
  return baseline;
}

}  // namespace detgemm::bench
