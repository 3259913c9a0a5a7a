// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/cuda/devices.hpp"

#include <cctype>
#include <fstream>

#include "cuda/launch.hpp"

namespace detgemm::cuda {

static_assert(gpu::Runtime<Cuda>, "Cuda has every function that backends/gpu calls");

namespace {

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

int cuda_of_driver() {
  int version = 0;
  if (cudaDriverGetVersion(&version) != cudaSuccess) cudaGetLastError();
  return version;
}

int attribute(cudaDeviceAttr which, int ordinal, cudaError_t& error) {
  int value = 0;
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&value, which, ordinal);
  return value;
}

/// The first word that looks like a version in the kernel module's line, which goes
/// "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.03  Release Build ...".
std::string version_of_module() {
  std::ifstream file("/proc/driver/nvidia/version");
  for (std::string word; file >> word;) {
    if (std::isdigit(static_cast<unsigned char>(word[0])) != 0 &&
        word.find('.') != std::string::npos) {
      return word;
    }
  }
  return {};
}

}  // namespace

Status Cuda::available() {
  if (Status s = whole_build(); !s) return s;
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return {};
  cudaGetLastError();
  const int driver = cuda_of_driver();
  std::string why = cudaGetErrorString(error);
  if (driver == 0) {
    why = "there is no CUDA driver on this machine";
  } else if (error == cudaErrorInsufficientDriver) {
    why = "the driver is for CUDA " + version_text(driver) + ": this build needs one for CUDA " +
          runtime_version();
  } else if (error == cudaSuccess || error == cudaErrorNoDevice) {
    why = "no CUDA device is visible to this process";
  }
  return {Errc::unavailable, "cuda: " + why};
}

Result<DeviceFacts> Cuda::ask(int ordinal) {
  cudaDeviceProp properties{};
  cudaError_t error = cudaGetDeviceProperties(&properties, ordinal);
  DeviceFacts facts;
  facts.ordinal = ordinal;
  facts.major = attribute(cudaDevAttrComputeCapabilityMajor, ordinal, error);
  facts.minor = attribute(cudaDevAttrComputeCapabilityMinor, ordinal, error);
  facts.sms = attribute(cudaDevAttrMultiProcessorCount, ordinal, error);
  if (error != cudaSuccess) return failed("querying device " + std::to_string(ordinal), error);
  facts.name = properties.name;
  facts.memory = properties.totalGlobalMem;
  return facts;
}

std::string Cuda::text(const DeviceFacts& device) {
  return device.name + ", driver " + driver_version();
}

DeviceInfo Cuda::info(const DeviceFacts& device) {
  return {device.name,   device.capability(), device.sms,
          device.memory, driver_version(),    runtime_version()};
}

std::string driver_version() {
  const std::string module = version_of_module();
  return module.empty() ? "for CUDA " + version_text(cuda_of_driver()) : module;
}

std::string runtime_version() { return version_text(CUDART_VERSION); }

}  // namespace detgemm::cuda
