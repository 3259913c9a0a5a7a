// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/cuda/nvml.hpp"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>

namespace detgemm::bench {
namespace {

using Device = void*;

template <class Function>
Function* find(void* library, const char* name) {
  return library != nullptr ? reinterpret_cast<Function*>(dlsym(library, name)) : nullptr;
}

/// Of the second half: the first may still show what ran before.
double settled_median(std::vector<double>& values) {
  std::vector<double> late(values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                           values.end());
  values.clear();
  if (late.empty()) return 0;
  std::sort(late.begin(), late.end());
  return late[late.size() / 2];
}

}  // namespace

Nvml::Nvml() {
  library_ = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (library_ == nullptr) library_ = dlopen("/usr/local/nvidia/lib64/libnvidia-ml.so.1", RTLD_NOW);
  const auto init = find<int()>(library_, "nvmlInit_v2");
  const auto by_bus = find<int(const char*, Device*)>(library_, "nvmlDeviceGetHandleByPciBusId_v2");
  if (init == nullptr || by_bus == nullptr || init() != 0) return;
  int current = 0;
  char bus[32] = {};
  if (cudaGetDevice(&current) != cudaSuccess ||
      cudaDeviceGetPCIBusId(bus, sizeof bus, current) != cudaSuccess ||
      by_bus(bus, &device_) != 0) {
    device_ = nullptr;
  }
}

std::string Nvml::driver() const {
  char text[80] = {};
  const auto get = find<int(char*, unsigned)>(library_, "nvmlSystemGetDriverVersion");
  return device_ != nullptr && get != nullptr && get(text, sizeof text) == 0 ? text : "unknown";
}

double Nvml::power_limit_watts() const {
  unsigned milliwatts = 0;
  const auto get = find<int(Device, unsigned*)>(library_, "nvmlDeviceGetEnforcedPowerLimit");
  return device_ != nullptr && get != nullptr && get(device_, &milliwatts) == 0 ? milliwatts * 1e-3
                                                                                : 0;
}

void Nvml::sample() {
  const auto add = [this](std::vector<double>& to, const char* name, int which, double scale) {
    unsigned value = 0;
    if (which < 0) {
      const auto get = find<int(Device, unsigned*)>(library_, name);
      if (get != nullptr && get(device_, &value) == 0) to.push_back(value * scale);
    } else {
      const auto get = find<int(Device, int, unsigned*)>(library_, name);
      if (get != nullptr && get(device_, which, &value) == 0) to.push_back(value * scale);
    }
  };
  add(watts_, "nvmlDeviceGetPowerUsage", -1, 1e-3);
  add(sm_, "nvmlDeviceGetClockInfo", 1, 1.0);
  add(memory_, "nvmlDeviceGetClockInfo", 2, 1.0);
  add(celsius_, "nvmlDeviceGetTemperature", 0, 1.0);
}

void Nvml::start() {
  if (device_ == nullptr || running_) return;
  running_ = true;
  thread_ = std::thread([this] {
    do {  // once at least, however short the case
      sample();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    } while (running_);
  });
}

Watched Nvml::stop() {
  if (!running_) return {};
  running_ = false;
  thread_.join();
  return {settled_median(watts_), settled_median(sm_), settled_median(memory_),
          settled_median(celsius_)};
}

}  // namespace detgemm::bench
