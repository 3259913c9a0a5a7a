// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "dropin/device_access.hpp"

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

namespace detgemm::dropin {
namespace {

/// Memory of the host, where every call has finished when it returns.
class HostAccess final : public DeviceAccess {
 public:
  int current_device() const override { return 0; }
  Result<void*> allocate(std::size_t bytes, Stream) const override {
    const std::size_t rounded = (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment;
    void* memory = std::aligned_alloc(kWorkspaceAlignment, rounded * kWorkspaceAlignment);
    if (memory == nullptr) return Status{Errc::internal, "host memory is exhausted"};
    return memory;
  }
  void release(void* memory, Stream) const override { std::free(memory); }
  Status read(void* to, const void* from, std::size_t bytes, Stream) const override {
    std::memcpy(to, from, bytes);
    return {};
  }
};

/// The functions of a driver by their names. CUDA's driver and HIP's runtime have the same seven,
/// with the same arguments: an address is 64 bits wide in both.
struct Names {
  const char* library;
  const char* device;     ///< int f(int*)
  const char* allocate;   ///< int f(void**, size_t, stream)
  const char* release;    ///< int f(void*, stream)
  const char* copy;       ///< int f(void* to, device from, size_t, stream), to the host
  const char* wait;       ///< int f(stream)
  const char* capturing;  ///< int f(stream, int*)
  bool copy_has_kind;     ///< HIP's copy takes a direction before the stream
};

class DriverAccess final : public DeviceAccess {
 public:
  explicit DriverAccess(const Names& names) : names_(names) {
    void* library = dlopen(names.library, RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) return;
    const auto find = [library](const char* name) { return dlsym(library, name); };
    device_ = reinterpret_cast<Device>(find(names.device));
    allocate_ = reinterpret_cast<Allocate>(find(names.allocate));
    release_ = reinterpret_cast<Release>(find(names.release));
    copy_ = find(names.copy);
    wait_ = reinterpret_cast<Wait>(find(names.wait));
    capturing_ = reinterpret_cast<Capturing>(find(names.capturing));
    whole_ = device_ != nullptr && allocate_ != nullptr && release_ != nullptr &&
             copy_ != nullptr && wait_ != nullptr && capturing_ != nullptr;
  }

  int current_device() const override {
    int device = 0;
    return whole_ && device_(&device) == 0 ? device : 0;
  }

  Result<void*> allocate(std::size_t bytes, Stream stream) const override {
    if (!whole_) return missing();
    void* memory = nullptr;
    if (const int error = allocate_(&memory, bytes, stream.handle); error != 0) {
      return failed(names_.allocate, error);
    }
    return memory;
  }

  void release(void* memory, Stream stream) const override {
    if (whole_) release_(memory, stream.handle);
  }

  Status read(void* to, const void* from, std::size_t bytes, Stream stream) const override {
    if (!whole_) return missing();
    int capturing = 0;
    if (const int error = capturing_(stream.handle, &capturing); error != 0) {
      return failed(names_.capturing, error);
    }
    if (capturing != 0)
      return unsupported(
          "the stream is being captured and cannot be waited for: every replay of the graph runs "
          "the vendor's kernel and is counted here once");
    using Copy = int (*)(void*, const void*, std::size_t, void*);
    using CopyKind = int (*)(void*, const void*, std::size_t, int, void*);
    constexpr int kToHost = 2;
    const int copied =
        names_.copy_has_kind
            ? reinterpret_cast<CopyKind>(copy_)(to, from, bytes, kToHost, stream.handle)
            : reinterpret_cast<Copy>(copy_)(to, from, bytes, stream.handle);
    if (copied != 0) return failed(names_.copy, copied);
    if (const int error = wait_(stream.handle); error != 0) return failed(names_.wait, error);
    return {};
  }

 private:
  using Device = int (*)(int*);
  using Allocate = int (*)(void**, std::size_t, void*);
  using Release = int (*)(void*, void*);
  using Wait = int (*)(void*);
  using Capturing = int (*)(void*, int*);

  Status missing() const {
    return {Errc::unavailable, std::string(names_.library) + " is not there, or too old"};
  }
  static Status failed(const char* function, int error) {
    return {Errc::internal, std::string(function) + " returned " + std::to_string(error)};
  }

  Names names_;
  Device device_ = nullptr;
  Allocate allocate_ = nullptr;
  Release release_ = nullptr;
  void* copy_ = nullptr;
  Wait wait_ = nullptr;
  Capturing capturing_ = nullptr;
  bool whole_ = false;
};

}  // namespace

const DeviceAccess& cuda_access() {
  // A plan belongs to a device, so the context's device and not its current stream is asked.
  static const DriverAccess access({"libcuda.so.1", "cuCtxGetDevice", "cuMemAllocAsync",
                                    "cuMemFreeAsync", "cuMemcpyDtoHAsync_v2", "cuStreamSynchronize",
                                    "cuStreamIsCapturing", false});
  return access;
}

const DeviceAccess& hip_access() {
  static const DriverAccess access({"libamdhip64.so", "hipGetDevice", "hipMallocAsync",
                                    "hipFreeAsync", "hipMemcpyAsync", "hipStreamSynchronize",
                                    "hipStreamIsCapturing", true});
  return access;
}

const DeviceAccess& device_access(DeviceKind kind) {
  static const HostAccess host;
  if (kind == DeviceKind::cuda) return cuda_access();
  return kind == DeviceKind::hip ? hip_access() : host;
}

}  // namespace detgemm::dropin
