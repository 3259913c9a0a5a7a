// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdio>
#include <detgemm/config.hpp>
#include <detgemm/detgemm.hpp>
#if DETGEMM_HAS_CUDA
#include <detgemm/cuda.hpp>
#endif
#if DETGEMM_HAS_HIP
#include <detgemm/hip.hpp>
#endif
#if DETGEMM_HAS_REFERENCE
#include <detgemm/reference.hpp>
#endif

/// Whether config.hpp and the registry agree on a backend, which links where config.hpp has it.
static bool agrees(const char* name, const detgemm::Backend* linked) {
  const auto found = detgemm::find_backend(name);
  return found.ok() ? *found == linked : linked == nullptr;
}

/// Uses what the whole library offers: the runtime, the registry and one product where a backend
/// computes it. Prints the version.
int main() {
  const detgemm::Backend* cuda = nullptr;
  const detgemm::Backend* hip = nullptr;
  const detgemm::Backend* reference = nullptr;
#if DETGEMM_HAS_CUDA
  cuda = &detgemm::cuda_backend();
#endif
#if DETGEMM_HAS_HIP
  hip = &detgemm::hip_backend();
#endif
#if DETGEMM_HAS_REFERENCE
  reference = &detgemm::reference_backend();
#endif
  if (!agrees("cuda", cuda) || !agrees("hip", hip) || !agrees("reference", reference)) return 5;
  const auto runtime = detgemm::Runtime::start({1});
  const auto contract = detgemm::Contract::parse("ieee_fma/fp32/chain->fp32");
  if (!runtime || !contract) return 1;
  const float a[] = {1, 2, 3, 4};
  const float b[] = {5, 6, 7, 8};
  float d[4] = {};
  const auto view = [](const float* data) {
    return detgemm::row_major(data, 2, 2, detgemm::DType::fp32);
  };
  const auto status = detgemm::gemm({}, view(a), view(b),
                                    detgemm::row_major(d, 2, 2, detgemm::DType::fp32), *contract);
  const bool has_reference = detgemm::find_backend("reference").ok();
  if (status.ok() != has_reference) return 2;
  if (has_reference && (d[0] != 19 || d[3] != 50)) return 3;
  if (!has_reference && status.message().empty()) return 4;
  std::puts(detgemm::version());
  return 0;
}
