// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/hip/runtime.hpp"

#include <dlfcn.h>

#include <array>

namespace detgemm::hip {
namespace {

constexpr std::array kNames{"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                            "libamdhip64.so"};

/// A program's streams belong to the runtime that the program itself uses, so that one comes first.
void* open_library(std::string& name) {
  for (const int flags : {RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD, RTLD_NOW | RTLD_LOCAL}) {
    for (const char* candidate : kNames) {
      if (void* library = dlopen(candidate, flags)) {
        name = candidate;
        return library;
      }
    }
  }
  return nullptr;
}

Status unavailable(std::string sentence) { return {Errc::unavailable, "hip: " + sentence}; }

Result<const Runtime*> load() {
  static Runtime table{};
  void* const library = open_library(table.library);
  if (library == nullptr) {
    return unavailable(
        "there is no HIP runtime on this machine (libamdhip64.so.7, .6 or .5 of ROCm)");
  }
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
  table.new_properties = find(table.GetDeviceProperties, "hipGetDevicePropertiesR0600");
  if (!table.new_properties) need(table.GetDeviceProperties, "hipGetDeviceProperties");
  if (!missing.empty()) {
    return unavailable(table.library + " lacks " + missing +
                       ": this library needs a HIP runtime of ROCm 5, 6 or 7");
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
  static const auto loaded = load();
  return loaded;
}

}  // namespace detgemm::hip
