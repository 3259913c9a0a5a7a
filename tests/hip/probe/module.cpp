// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/hip/probe/module.hpp"

#include <dlfcn.h>

namespace detgemm::test {
namespace {

/// A function of the HIP runtime that the library has loaded.
template <class... Arguments>
auto function(void* library, const char* name, int (**to)(Arguments...)) {
  *to = reinterpret_cast<int (*)(Arguments...)>(dlsym(library, name));
  return *to != nullptr;
}

Status failed(const std::string& what, int error) {
  return {Errc::internal, what + " failed: HIP error " + std::to_string(error)};
}

const DeviceInfo* current() {
  static const auto devices = hip_backend().device().list();
  const auto at = static_cast<std::size_t>(hip_backend().device().current());
  return at < devices.size() ? &devices[at] : nullptr;
}

}  // namespace

std::string current_chip() { return current() == nullptr ? "" : current()->capability; }

Result<Module> Module::load(const unsigned char* object) {
  Module module;
  int (*load_data)(void**, const void*) = nullptr;
  if (current() != nullptr)
    module.library_ = dlopen(current()->runtime.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (module.library_ == nullptr || !function(module.library_, "hipModuleLoadData", &load_data))
    return Status{Errc::internal, "the HIP runtime that is in use was not found again"};
  if (const int error = load_data(&module.module_, object); error != 0)
    return failed("loading the kernels", error);
  return module;
}

Status Module::run(const std::string& kernel, unsigned groups, unsigned threads,
                   void* arguments) const {
  int (*get)(void**, void*, const char*) = nullptr;
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                void**, void**) = nullptr;
  if (!function(library_, "hipModuleGetFunction", &get) ||
      !function(library_, "hipModuleLaunchKernel", &launch))
    return {Errc::internal, "the HIP runtime launches no kernels of modules"};
  void* found = nullptr;
  if (const int error = get(&found, module_, kernel.c_str()); error != 0)
    return failed(kernel, error);
  void* list[] = {arguments};
  Device& device = hip_backend().device();
  const auto stream = device.create_stream();
  if (!stream) return stream.status();
  const int error = launch(found, groups, 1, 1, threads, 1, 1, 0, stream->handle, list, nullptr);
  Status done = error == 0 ? device.synchronize(*stream) : failed(kernel, error);
  device.destroy_stream(*stream);
  return done;
}

}  // namespace detgemm::test
