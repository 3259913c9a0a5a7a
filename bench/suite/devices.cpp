// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/suite/devices.hpp"

namespace detgemm::bench {

#ifndef DETGEMM_BENCH_CUDA
std::unique_ptr<BenchDevice> make_cuda_device(const std::string&, std::string& why) {
  why = "CUDA is not in this build: configure with -DDETGEMM_ENABLE_CUDA=ON";
  return nullptr;
}
int cuda_device_count() { return 0; }
void use_cuda_device(int) {}
#endif

#ifndef DETGEMM_BENCH_HIP
std::unique_ptr<BenchDevice> make_hip_device(std::string& why) {
  why = "HIP is not in this build: configure with -DDETGEMM_ENABLE_HIP=ON";
  return nullptr;
}
#endif

Protocol gpu_protocol(const Case& c, bool quick) {
  switch (c.mode) {
    case Mode::burst:
      return {quick ? 3 : 5, 60, 1000, 2};
    case Mode::settled:
      return {quick ? 3 : 6, 0, 3000, 2, quick ? 0.5 : 1.5, quick ? 60.0 : 100.0};
    default:
      // Up to 64 tokens power does not matter; above, a pause keeps the clock from sinking.
      return {quick ? 5 : 11, c.problem.tokens <= 64 ? 1.0 : 10.0, 1000, 20};
  }
}

Arithmetic native_arithmetic(const BenchDevice& device) {
  if (device.name() != "hip") return Arithmetic::hopper;
  for (const DeviceInfo& device : device.backend().device().list()) {
    if (device.capability.rfind("gfx90a", 0) == 0) return Arithmetic::cdna2;
  }
  return Arithmetic::cdna3;
}

}  // namespace detgemm::bench
