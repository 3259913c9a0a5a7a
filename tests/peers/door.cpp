// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The door of the kernels as two C functions, for ours.py where the whole library is not built.

#include <algorithm>

#include "cuda/launch.hpp"

using namespace detgemm;

extern "C" int detgemm_door_prepare() {
  return cuda::prepare_kernels(
      Problem(GemmArguments{}, Arithmetic::hopper, DType::bf16).contract());
}

/// numbers: m, n, k, strides of A along m and k, of B along k and n. D is packed, row-major.
extern "C" int detgemm_door_gemm(const void* a, const void* b, void* d, const std::int64_t* numbers,
                                 std::int32_t type, std::int32_t sms, const char* variant,
                                 void* stream) {
  GemmArguments g;
  g.a = a;
  g.b = b;
  g.d = d;
  g.m = numbers[0];
  g.n = numbers[1];
  g.k = numbers[2];
  // As strides_of makes them: a stride along an extent of 1 is 0.
  g.as = {g.m > 1 ? numbers[3] : 0, g.k > 1 ? numbers[4] : 0};
  g.bs = {g.k > 1 ? numbers[5] : 0, g.n > 1 ? numbers[6] : 0};
  g.ds = {g.m > 1 ? g.n : 0, g.n > 1 ? 1 : 0};
  g.output = static_cast<DType>(type);
  g.c_type = g.output;
  cuda::LaunchOptions options;
  options.stream = static_cast<cudaStream_t>(stream);
  options.sms = sms;
  const std::string_view name = variant != nullptr ? variant : "";
  if (!name.empty()) {
    Contract contract;
    contract.arithmetic = Arithmetic::hopper;
    contract.input = g.output;
    const auto all = cuda::kernels(contract);
    const auto at = std::find_if(all.begin(), all.end(), [&](const cuda::KernelInfo& kernel) {
      return kernel.name == name;
    });
    if (at == all.end()) return cudaErrorInvalidValue;
    options.forced = static_cast<int>(at - all.begin());
  }
  auto decision = cuda::decide({g, Arithmetic::hopper, g.output}, options);
  if (!decision) return cudaErrorNotSupported;
  return cuda::enqueue(*decision, {g, Arithmetic::hopper, g.output}, options, nullptr);
}
