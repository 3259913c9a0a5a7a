// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <dlfcn.h>

#include <thread>

#include "bench/host/baselines.hpp"

namespace detgemm::bench {
namespace {

// Of cblas.h.
constexpr int kRowMajor = 101;
constexpr int kNoTrans = 111;
constexpr int kTrans = 112;
using Sgemm = void (*)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                       const float* a, int lda, const float* b, int ldb, float beta, float* c,
                       int ldc);

template <class Function>
Function find(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

}  // namespace

Problem in_fp32(const Problem& problem) {
  Problem p = problem;
  p.type = DType::fp32;
  return p;
}

Baseline openblas_sgemm() {
  Baseline baseline;
  baseline.name = "openblas";
  void* library = nullptr;
  for (const char* name : {"libopenblas.so.0", "libopenblas.so"}) {
    if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  if (library == nullptr) {
    baseline.what = "no libopenblas.so.0 was found";
    return baseline;
  }
  const auto sgemm = find<Sgemm>(library, "cblas_sgemm");
  const auto set_threads = find<void (*)(int)>(library, "openblas_set_num_threads");
  const auto config = find<char* (*)()>(library, "openblas_get_config");
  if (sgemm == nullptr || set_threads == nullptr) {
    baseline.what = "the library that was found lacks cblas_sgemm or openblas_set_num_threads";
    return baseline;
  }
  baseline.present = true;
  baseline.what = config != nullptr ? config() : "OpenBLAS";
  baseline.what += "; sgemm, of fp32 operands whatever the case's inputs are";
  baseline.make = [=](const BaselineRequest& request) {
    const Problem p = in_fp32(request.problem);
    if (p.extra != Extra::none) throw std::runtime_error("OpenBLAS has no epilogue");
    const Gemm g = gemm_of(p);
    const int threads = request.threads != 0
                            ? request.threads
                            : static_cast<int>(std::thread::hardware_concurrency());
    Arm arm;
    arm.detail = "sgemm, " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
    arm.d_size = 4;
    arm.enqueue = [=, &buffers = request.buffers](Stream, int call) -> Status {
      const Buffers::Call at = buffers.at(p, call);
      set_threads(threads);
      sgemm(kRowMajor, g.a_transposed ? kTrans : kNoTrans, g.b_transposed ? kTrans : kNoTrans,
            static_cast<int>(g.m), static_cast<int>(g.n), static_cast<int>(g.k), 1.0F,
            static_cast<const float*>(at.a), static_cast<int>(g.a_transposed ? g.m : g.k),
            static_cast<const float*>(at.b), static_cast<int>(g.b_transposed ? g.k : g.n),
            p.accumulate ? 1.0F : 0.0F, static_cast<float*>(at.d), static_cast<int>(g.n));
      return {};
    };
    return arm;
  };
  return baseline;
}

}  // namespace detgemm::bench
