// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/hip/runtime.hpp"

#include <dlfcn.h>

#include <stdexcept>

#include "bench/common/symbols.hpp"
#include "detgemm/hip.hpp"

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
  // The backend's, where it has loaded one; two runtimes in a process would not know each other.
  void* library = nullptr;
  if (const auto devices = hip_backend().device().list(); !devices.empty()) {
    library = dlopen(devices[0].runtime.c_str(), RTLD_NOW | RTLD_NOLOAD);
  }
  if (library == nullptr) {
    why = "no HIP runtime is loaded";
    return nullptr;
  }
  Symbols symbols(library, "hip");
  symbols.find(found.StreamSynchronize, "StreamSynchronize");
  symbols.find(found.StreamBeginCapture, "StreamBeginCapture");
  symbols.find(found.StreamEndCapture, "StreamEndCapture");
  symbols.find(found.GraphInstantiate, "GraphInstantiate");
  symbols.find(found.GraphLaunch, "GraphLaunch");
  symbols.find(found.GraphExecDestroy, "GraphExecDestroy");
  symbols.find(found.GraphDestroy, "GraphDestroy");
  symbols.find(found.EventCreate, "EventCreate");
  symbols.find(found.EventDestroy, "EventDestroy");
  symbols.find(found.EventRecord, "EventRecord");
  symbols.find(found.EventQuery, "EventQuery");
  symbols.find(found.EventSynchronize, "EventSynchronize");
  symbols.find(found.EventElapsedTime, "EventElapsedTime");
  symbols.find(found.MemsetAsync, "MemsetAsync");
  symbols.find(found.MemcpyAsync, "MemcpyAsync");
  complete = symbols.missing().empty();
  if (!complete) why = "the HIP runtime has no " + symbols.missing();
  return complete ? &found : nullptr;
}

}  // namespace detgemm::bench::hip
