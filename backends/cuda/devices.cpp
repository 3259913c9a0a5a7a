// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/cuda/devices.hpp"

#include <cctype>
#include <fstream>
#include <map>
#include <mutex>
#include <set>

#include "cuda/launch.hpp"

namespace detgemm::cuda {
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

Status failed(std::string_view what, cudaError_t error) {
  cudaGetLastError();
  return {Errc::internal, "cuda: " + std::string(what) + " failed: " + cudaGetErrorString(error) +
                              " (" + cudaGetErrorName(error) + ")"};
}

Status driver_status() {
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
    why = "this process sees no CUDA device";
  }
  return {Errc::unavailable, "cuda: " + why};
}

namespace {

Result<DeviceFacts> ask(int ordinal) {
  cudaDeviceProp properties{};
  cudaError_t error = cudaGetDeviceProperties(&properties, ordinal);
  DeviceFacts facts;
  facts.ordinal = ordinal;
  facts.major = attribute(cudaDevAttrComputeCapabilityMajor, ordinal, error);
  facts.minor = attribute(cudaDevAttrComputeCapabilityMinor, ordinal, error);
  facts.sms = attribute(cudaDevAttrMultiProcessorCount, ordinal, error);
  if (error != cudaSuccess) return failed("asking device " + std::to_string(ordinal), error);
  facts.name = properties.name;
  facts.memory = properties.totalGlobalMem;
  return facts;
}

}  // namespace

Result<DeviceFacts> facts_of(int ordinal) {
  // Asking takes about a millisecond, and the answer never changes.
  static std::mutex mutex;
  static std::map<int, DeviceFacts> known;
  const std::lock_guard lock(mutex);
  if (const auto it = known.find(ordinal); it != known.end()) return it->second;
  auto facts = ask(ordinal);
  if (facts) known[ordinal] = *facts;
  return facts;
}

Result<DeviceFacts> current_device() {
  if (Status s = driver_status(); !s) return s;
  int ordinal = 0;
  if (const cudaError_t error = cudaGetDevice(&ordinal); error != cudaSuccess) {
    return failed("cudaGetDevice", error);
  }
  return facts_of(ordinal);
}

std::string driver_version() {
  const std::string module = version_of_module();
  return module.empty() ? "for CUDA " + version_text(cuda_of_driver()) : module;
}

std::string runtime_version() { return version_text(CUDART_VERSION); }

namespace {

/// Loads kernels on a device, once for each in a process.
class Once {
 public:
  Status prepare(const DeviceFacts& device, cudaError_t (*load)()) {
    const std::lock_guard lock(mutex_);
    if (prepared_.contains(device.ordinal)) return {};
    if (const cudaError_t error = load(); error != cudaSuccess) {
      return failed("preparing the kernels on device " + std::to_string(device.ordinal), error);
    }
    prepared_.insert(device.ordinal);
    return {};
  }

 private:
  std::mutex mutex_;
  std::set<int> prepared_;
};

}  // namespace

Status prepare(const DeviceFacts& device) {
  static Once once;
  return once.prepare(device, sm90_prepare);
}

Status prepare_portable(const DeviceFacts& device) {
  static Once once;
  return once.prepare(device, simt_prepare);
}

}  // namespace detgemm::cuda
