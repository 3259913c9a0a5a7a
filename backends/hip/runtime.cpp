// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/hip/runtime.hpp"

#include <dlfcn.h>

#include <atomic>
#include <mutex>
#include <type_traits>

#include "backends/hip/find_runtime.hpp"

namespace detgemm::hip {
namespace {

Status unavailable(std::string sentence) { return {Errc::unavailable, "hip: " + sentence}; }

Result<const Runtime*> load() {
  static Runtime table{};
  table = {};
  const auto found = find_runtime(places_here());
  if (!found) return found.status();
  void* const library = found->library;
  table.library = found->path;
  std::string missing;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    return function != nullptr;
  };
  const auto need = [&](auto& function, const char* name) {
    if (!find(function, name)) missing = name;
  };
#define DETGEMM_HIP_FUNCTION(name) need(table.name, "hip" #name)
  DETGEMM_HIP_FUNCTION(GetDeviceCount);
  DETGEMM_HIP_FUNCTION(GetDevice);
  DETGEMM_HIP_FUNCTION(DeviceGetAttribute);
  DETGEMM_HIP_FUNCTION(RuntimeGetVersion);
  DETGEMM_HIP_FUNCTION(GetErrorName);
  DETGEMM_HIP_FUNCTION(GetLastError);
  DETGEMM_HIP_FUNCTION(ModuleLoadData);
  DETGEMM_HIP_FUNCTION(ModuleGetFunction);
  DETGEMM_HIP_FUNCTION(ModuleLaunchKernel);
  DETGEMM_HIP_FUNCTION(Malloc);
  DETGEMM_HIP_FUNCTION(Free);
  DETGEMM_HIP_FUNCTION(MemcpyAsync);
  DETGEMM_HIP_FUNCTION(PointerGetAttributes);
  DETGEMM_HIP_FUNCTION(StreamCreateWithFlags);
  DETGEMM_HIP_FUNCTION(StreamDestroy);
  DETGEMM_HIP_FUNCTION(StreamSynchronize);
  DETGEMM_HIP_FUNCTION(StreamIsCapturing);
  DETGEMM_HIP_FUNCTION(StreamBeginCapture);
  DETGEMM_HIP_FUNCTION(StreamEndCapture);
  DETGEMM_HIP_FUNCTION(GraphInstantiate);
  DETGEMM_HIP_FUNCTION(GraphLaunch);
  DETGEMM_HIP_FUNCTION(GraphExecDestroy);
  DETGEMM_HIP_FUNCTION(GraphDestroy);
#undef DETGEMM_HIP_FUNCTION
  find(table.StreamGetDevice, "hipStreamGetDevice");
  find(table.StreamQuery, "hipStreamQuery");
  find(table.PointerGetAttribute, "hipPointerGetAttribute");
  find(table.Memcpy2DAsync, "hipMemcpy2DAsync");
  table.new_properties = find(table.GetDeviceProperties, "hipGetDevicePropertiesR0600");
  if (!table.new_properties) need(table.GetDeviceProperties, "hipGetDeviceProperties");
  if (!missing.empty()) {
    return unavailable(table.library + " was found and lacks " + missing +
                       ": this library needs a HIP runtime of ROCm 5 or newer");
  }
  return static_cast<const Runtime*>(&table);
}

}  // namespace

int Runtime::version() const {
  int number = 0;
  return RuntimeGetVersion(&number) == kSuccess ? number : 0;
}

std::string Runtime::version_text() const {
  const int number = version();
  if (number == 0) return "unknown";
  return std::to_string(number / 10000000) + "." + std::to_string(number / 100000 % 100) + "." +
         std::to_string(number % 100000);
}

Result<const Runtime*> runtime() {
  // A failure is not kept: a program may load its runtime, or PyTorch its own, after the first
  // call.
  static std::atomic<const Runtime*> loaded{nullptr};
  if (const Runtime* table = loaded.load(std::memory_order_acquire)) return table;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (const Runtime* table = loaded.load(std::memory_order_acquire)) return table;
  const auto found = load();
  if (found) loaded.store(*found, std::memory_order_release);
  return found;
}

}  // namespace detgemm::hip
