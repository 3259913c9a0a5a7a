// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <dlfcn.h>

#include <sstream>
#include <string>
#include <vector>

namespace detgemm::test {

/// The compiled kernels that ran since the last call, by the names in their text. The stand-in of
/// tests/gcn says so; a real runtime does not, and the list is empty.
inline std::vector<std::string> take_launches() {
  using Take = const char* (*)();
  static const auto take = []() -> Take {
    void* const runtime = dlopen("libamdhip64.so.7", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    return runtime == nullptr ? nullptr : reinterpret_cast<Take>(dlsym(runtime, "gcnTakeLaunches"));
  }();
  std::vector<std::string> kernels;
  if (take == nullptr) return kernels;
  std::istringstream names(take());
  for (std::string name; names >> name;) kernels.push_back(name);
  return kernels;
}

}  // namespace detgemm::test
