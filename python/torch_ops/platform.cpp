// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "python/torch_ops/platform.hpp"

#include <dlfcn.h>

#include <atomic>

namespace detgemm::torch_ops {
namespace {

/// Looked for among the libraries that PyTorch has loaded, and not linked: a PyTorch without GPUs
/// has neither, and must still load these operators.
void* loaded(const char* name) { return dlopen(name, RTLD_NOW | RTLD_NOLOAD); }

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

}  // namespace detgemm::torch_ops
