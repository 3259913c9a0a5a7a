// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Ours through the door of the kernels: links with cuda/sm90 alone.

#include "bench/gpu/arm.hpp"
#include "bench/gpu/check.hpp"
#include "cuda/launch.hpp"

namespace detgemm::bench {
namespace {

GemmArguments arguments(const Problem& problem, const Buffers::Call& call) {
  const Gemm p = gemm_of(problem);
  const auto view = [](const void* data, std::int64_t rows, std::int64_t cols, bool transposed) {
    return transposed ? row_major(data, cols, rows, DType::bf16)
                      : row_major(data, rows, cols, DType::bf16);
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
  g.output = problem.type;
  g.c_type = problem.type;
  return g;
}

int sm_count() {
  int device = 0;
  int sms = 0;
  check(cudaGetDevice(&device), "current device");
  check(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device), "SM count");
  return sms;
}

int index_of(const std::string& variant) {
  if (variant.empty()) return -1;
  const auto names = cuda::sm90_chain_kernels();
  const auto at = std::find(names.begin(), names.end(), variant);
  if (at == names.end()) throw std::runtime_error("no variant is named " + variant);
  return static_cast<int>(at - names.begin());
}

}  // namespace

Arm ours(const std::string& name, const Problem& problem, const Buffers& buffers, bool early,
         const std::string& variant) {
  cuda::LaunchOptions options;
  options.sms = sm_count();
  options.forced = index_of(variant);
  options.b_is_stable = early;
  Arm arm;
  arm.name = name;
  arm.detail =
      cuda::sm90_describe(arguments(problem, buffers.at(problem, 0)), problem.type, options);
  arm.enqueue = [=, &buffers](cudaStream_t stream, int call) {
    cuda::LaunchOptions here = options;
    here.stream = stream;
    return cuda::sm90_chain(arguments(problem, buffers.at(problem, call)), problem.type, here);
  };
  return arm;
}

std::vector<std::string> our_variants(const Problem&) {
  const auto names = cuda::sm90_chain_kernels();
  return {names.begin(), names.end()};
}

void prepare_ours() { check(cuda::sm90_prepare(), "preparing the kernels"); }

}  // namespace detgemm::bench
