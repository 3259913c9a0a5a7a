// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "python/torch_ops/stream.hpp"

#include <dlfcn.h>

namespace detgemm::torch_ops {
namespace {

using CurrentCudaStream = AOTITorchError (*)(std::int32_t index, void** stream);

/// Looked for in the library that PyTorch has loaded, and not linked: a PyTorch without CUDA has no
/// such library, and must still load these operators.
CurrentCudaStream current_cuda_stream() {
  static const auto function = []() -> CurrentCudaStream {
    void* library = dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) return nullptr;
    return reinterpret_cast<CurrentCudaStream>(
        dlsym(library, "aoti_torch_get_current_cuda_stream"));
  }();
  return function;
}

}  // namespace

CurrentStream::CurrentStream(const Place& place) {
  detgemm_stream_init(&stream_, sizeof stream_);
  stream_.kind = place.kind;
  if (place.kind == DETGEMM_HOST) return;
  const auto current = current_cuda_stream();
  if (current == nullptr) {
    refuse("a is on " + name_of(place) +
           ": this PyTorch has no libtorch_cuda.so, which has the current stream (PyTorch for ROCm "
           "is not supported)");
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
