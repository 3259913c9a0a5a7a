// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Ours through the door of the kernels: links with the kernels alone.

#include <algorithm>
#include <memory>

#include "bench/gpu/arm.hpp"
#include "bench/gpu/check.hpp"
#include "cuda/launch.hpp"

namespace detgemm::bench {
namespace {

GemmArguments arguments(const Problem& problem, const Buffers::Call& call) {
  const Gemm p = gemm_of(problem);
  const auto view = [&](const void* data, std::int64_t rows, std::int64_t cols, bool transposed) {
    return transposed ? row_major(data, cols, rows, problem.type)
                      : row_major(data, rows, cols, problem.type);
  };
  const auto op = [](bool transposed) { return transposed ? Op::transpose : Op::none; };
  GemmArguments g;
  g.a = call.a;
  g.b = call.b;
  g.d = call.d;
  g.as = strides_of(view(call.a, p.m, p.k, p.a_transposed), op(p.a_transposed));
  g.bs = strides_of(view(call.b, p.k, p.n, p.b_transposed), op(p.b_transposed));
  g.ds = strides_of(view(call.d, p.m, p.n, false), Op::none);
  g.m = p.m;
  g.n = p.n;
  g.k = p.k;
  g.output = problem.accumulate ? DType::fp32 : problem.type;
  g.c_type = g.output;
  g.reduction = problem.reduction;
  if (problem.accumulate) {
    g.c = call.d;
    g.cs = g.ds;
    g.continue_from_c = true;
  }
  return g;
}

int sm_count() {
  int device = 0;
  int sms = 0;
  check(cudaGetDevice(&device), "current device");
  check(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device), "SM count");
  return sms;
}

/// fp32 is computed by the CUDA cores.
bool is_fma(const Problem& problem) { return problem.type == DType::fp32; }

std::span<const std::string> kernels(const Problem& problem) {
  if (is_fma(problem)) return cuda::simt_kernels();
  return problem.is_chain() ? cuda::sm90_chain_kernels() : cuda::sm90_leaf_kernels();
}

int index_of(const Problem& problem, const std::string& variant) {
  if (variant.empty()) return -1;
  const auto names = kernels(problem);
  const auto at = std::find(names.begin(), names.end(), variant);
  if (at == names.end()) throw std::runtime_error("no variant is named " + variant);
  return static_cast<int>(at - names.begin());
}

}  // namespace

Arm ours(const std::string& name, const Problem& problem, const Buffers& buffers, Overlap overlap,
         const std::string& variant) {
  cuda::LaunchOptions options;
  options.sms = sm_count();
  options.forced = index_of(problem, variant);
  options.overlap = overlap != Overlap::none;
  options.b_is_stable = overlap == Overlap::operand;
  Arm arm;
  arm.name = name;
  const GemmArguments first = arguments(problem, buffers.at(problem, 0));
  if (problem.is_chain() || is_fma(problem)) {
    const auto describe = is_fma(problem) ? cuda::simt_describe : cuda::sm90_describe;
    const auto run = is_fma(problem) ? cuda::simt_gemm : cuda::sm90_chain;
    arm.detail = describe(first, problem.type, options);
    arm.enqueue = [=, &buffers](Stream stream, int call) {
      cuda::LaunchOptions here = options;
      here.stream = cuda_stream(stream);
      return status_of(run(arguments(problem, buffers.at(problem, call)), problem.type, here));
    };
    return arm;
  }
  arm.detail = cuda::sm90_leaf_describe(first, problem.type, options);
  void* memory = nullptr;
  check(cudaMalloc(&memory, 1 + cuda::sm90_leaf_workspace(first.reduction, first.m, first.n,
                                                          first.k, options.sms)),
        "workspace");
  const std::shared_ptr<void> workspace(memory, [](void* p) { cudaFree(p); });
  arm.enqueue = [=, &buffers](Stream stream, int call) {
    cuda::LaunchOptions here = options;
    here.stream = cuda_stream(stream);
    return status_of(cuda::sm90_leaves(arguments(problem, buffers.at(problem, call)), problem.type,
                                       here, workspace.get()));
  };
  return arm;
}

bool launches_without_overlap() { return true; }

std::vector<std::string> our_variants(const Problem& problem) {
  const auto names = kernels(problem);
  return {names.begin(), names.end()};
}

void prepare_ours() {
  check(cuda::sm90_prepare(), "preparing the kernels");
  check(cuda::simt_prepare(), "preparing the kernels");
}

}  // namespace detgemm::bench
