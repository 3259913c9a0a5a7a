// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/hip/runtime.hpp"

#include <dlfcn.h>

#include <stdexcept>
#include <type_traits>

namespace detgemm::bench::hip {

void good(int error, const char* what) {
  if (error != 0) {
    throw std::runtime_error(std::string(what) + ": HIP error " + std::to_string(error));
  }
}

const Runtime* runtime(std::string& why) {
  static Runtime found{};
  static bool complete = false;
  if (complete) return &found;
  void* library = nullptr;
  for (const char* name : {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"}) {
    // The backend's, where it has loaded one; two runtimes in a process would not know each other.
    if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
  }
  if (library == nullptr) {
    why = "no HIP runtime is loaded";
    return nullptr;
  }
  complete = true;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (function == nullptr) {
      complete = false;
      why = std::string("the HIP runtime has no ") + name;
    }
  };
  find(found.StreamSynchronize, "hipStreamSynchronize");
  find(found.StreamBeginCapture, "hipStreamBeginCapture");
  find(found.StreamEndCapture, "hipStreamEndCapture");
  find(found.GraphInstantiate, "hipGraphInstantiate");
  find(found.GraphLaunch, "hipGraphLaunch");
  find(found.GraphExecDestroy, "hipGraphExecDestroy");
  find(found.GraphDestroy, "hipGraphDestroy");
  find(found.EventCreate, "hipEventCreate");
  find(found.EventDestroy, "hipEventDestroy");
  find(found.EventRecord, "hipEventRecord");
  find(found.EventQuery, "hipEventQuery");
  find(found.EventSynchronize, "hipEventSynchronize");
  find(found.EventElapsedTime, "hipEventElapsedTime");
  find(found.MemsetAsync, "hipMemsetAsync");
  find(found.MemcpyAsync, "hipMemcpyAsync");
  return complete ? &found : nullptr;
}

}  // namespace detgemm::bench::hip
