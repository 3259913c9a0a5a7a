// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <string>

#include "backends/cuda/device.hpp"
#include "backends/cuda/plan.hpp"
#include "cuda/launch.hpp"
#include "detgemm/cuda.hpp"

namespace detgemm {
namespace {

/// Blackwell's bf16 and fp16 steps equal Hopper's, but its contracts are separate ones: it was not
/// measured.
bool computes(const Contract& contract) { return !cuda::kernels(contract).empty(); }

/// Computed on CUDA cores, which are the same on every device since compute capability 8.0.
bool is_fma(const Contract& contract) { return contract.arithmetic == Arithmetic::ieee_fma; }

class CudaBackend final : public Backend {
 public:
  std::string_view name() const noexcept override { return "cuda"; }
  std::string_view description() const noexcept override {
    return "NVIDIA GPUs: hopper/{bf16,fp16} on tensor cores of compute capability 9.0, ieee_fma on "
           "CUDA cores of 8.0 and above";
  }
  Status available() const override { return cuda::driver_status(); }

  Status supports(const GemmSpec& spec) const override {
    const std::string text = spec.contract.text();
    if (!computes(spec.contract)) {
      return unsupported("cuda: contract is " + text +
                         ": this backend computes hopper/bf16, hopper/fp16 and ieee_fma");
    }
    const auto device = cuda::current_device();
    if (!device) return device.status();
    const bool fma = is_fma(spec.contract);
    if (fma ? device->major >= 8 : device->major == 9 && device->minor == 0) return {};
    return unsupported("cuda: device " + std::to_string(device->ordinal) + " (" + device->name +
                       ") has compute capability " + device->capability() + ": " + text +
                       " needs " + (fma ? "8.0 or above" : "9.0") +
                       ", and nothing else runs in its place");
  }

  Guarantees guarantees(const Contract& contract) const override {
    if (!computes(contract)) return {};
    return {true, true, true, true, true};
  }

  std::vector<std::string> variants(const GemmSpec& spec) const override {
    std::vector<std::string> list;
    for (const cuda::KernelInfo& kernel : cuda::kernels(spec.contract)) {
      if (cuda::takes(kernel, spec)) list.push_back(kernel.name);
    }
    return list;
  }

  Result<std::shared_ptr<const PlanImpl>> make_plan(const GemmSpec& spec,
                                                    const PlanOptions& options) const override {
    const auto device = cuda::current_device();
    if (!device) return device.status();
    const cudaError_t error = cuda::prepare_kernels(spec.contract.arithmetic);
    if (error != cudaSuccess) {
      return cuda::failed("preparing the kernels on device " + std::to_string(device->ordinal),
                          error);
    }
    return cuda::make_plan(spec, options, *device);
  }

  Device& device() const noexcept override { return cuda::cuda_device(); }
};

}  // namespace

const Backend& cuda_backend() noexcept {
  static const CudaBackend backend;
  return backend;
}

}  // namespace detgemm
