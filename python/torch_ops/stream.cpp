// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "python/torch_ops/stream.hpp"

#include <dlfcn.h>

#include <atomic>

#include "python/torch_ops/platform.hpp"

namespace detgemm::torch_ops {
namespace {

using CurrentGpuStream = AOTITorchError (*)(std::int32_t index, void** stream);

/// PyTorch for ROCm gives its HIP streams by the same name.
CurrentGpuStream current_gpu_stream() {
  static std::atomic<CurrentGpuStream> found{nullptr};
  if (const auto function = found.load(std::memory_order_acquire)) return function;
  void* const library = platform().library;
  if (library == nullptr) return nullptr;
  const auto function =
      reinterpret_cast<CurrentGpuStream>(dlsym(library, "aoti_torch_get_current_cuda_stream"));
  found.store(function, std::memory_order_release);
  return function;
}

}  // namespace

CurrentStream::CurrentStream(const Place& place) {
  detgemm_stream_init(&stream_, sizeof stream_);
  stream_.kind = place.kind;
  if (place.kind == DETGEMM_HOST) return;
  const auto current = current_gpu_stream();
  if (current == nullptr) {
    refuse("a is on " + name_of(place) +
           ": this PyTorch has neither libtorch_cuda.so nor libtorch_hip.so, one of which has the "
           "current stream");
  }
  check(current(place.index, &stream_.handle), "name its current stream");
  std::int32_t index = -1;
  check(aoti_torch_get_current_device_index(&index), "name its current device");
  if (index == place.index) return;
  check(aoti_torch_create_device_guard(place.index, &guard_), "change its current device");
}

CurrentStream::~CurrentStream() {
  if (guard_ != nullptr) aoti_torch_delete_device_guard(guard_);
}

}  // namespace detgemm::torch_ops
