// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "python/torch_ops/platform.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "python/torch_ops/stack.hpp"

namespace detgemm::torch_ops {
namespace {

/// Looked for among the libraries that PyTorch has loaded, and not linked: a PyTorch without GPUs
/// has neither, and must still load these operators.
void* loaded(const char* name) { return dlopen(name, RTLD_NOW | RTLD_NOLOAD); }

using GetLevel = std::shared_ptr<void> (*)(std::uint64_t);

/// PyTorch's stable interface has no function for this, so its C++ function is looked up by name:
/// torch::autograd::ForwardADLevel::try_get_by_idx, which gives null outside of every level. Null
/// where a PyTorch has no such function.
GetLevel level_getter() {
  static const GetLevel get = [] {
    void* const library = loaded("libtorch_cpu.so");
    constexpr const char* kName = "_ZN5torch8autograd14ForwardADLevel14try_get_by_idxEm";
    return library == nullptr ? nullptr : reinterpret_cast<GetLevel>(dlsym(library, kName));
  }();
  return get;
}

}  // namespace

Platform platform() {
  // What was found stays: PyTorch never unloads it. That there is none may change.
  static std::atomic<void*> hip{nullptr};
  static std::atomic<void*> cuda{nullptr};
  if (void* library = hip.load(std::memory_order_acquire)) return {DETGEMM_HIP, library};
  if (void* library = cuda.load(std::memory_order_acquire)) return {DETGEMM_CUDA, library};
  if (void* library = loaded("libtorch_hip.so")) {
    hip.store(library, std::memory_order_release);
    return {DETGEMM_HIP, library};
  }
  void* const library = loaded("libtorch_cuda.so");
  cuda.store(library, std::memory_order_release);
  return {DETGEMM_CUDA, library};
}

void refuse_forward_level(const char* name) {
  const GetLevel get = level_getter();
  if (get == nullptr) {
    refuse(std::string(name) +
           " writes into a given tensor, and this PyTorch lacks torch::autograd::ForwardADLevel::"
           "try_get_by_idx, which shows whether the call is inside a level of forward-mode "
           "derivatives: call the operator without a tensor to write into");
  }
  // Levels do not nest in today's releases, so that the first is the only one.
  if (get(0) == nullptr) return;
  refuse(
      std::string(name) +
      " was called inside a level of forward-mode derivatives (jvp, dual_level): what is written "
      "into a given tensor has no tangent; call the operator without a tensor to write into, or "
      "leave the level");
}

}  // namespace detgemm::torch_ops
