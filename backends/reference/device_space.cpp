// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/reference/device_space.hpp"

#ifdef DETGEMM_KOKKOS_DEVICE

#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace detgemm::reference {
namespace {

void* handle_of(const DeviceSpace& space) {
#ifdef KOKKOS_ENABLE_CUDA
  return space.cuda_stream();
#else
  return space.hip_stream();
#endif
}

/// The instances there are, by stream. Kokkos allocates when it makes one and waits when it drops
/// one, so a run must do neither.
class Instances {
 public:
  static Instances& get() {
    static Instances* const all = new Instances;  // outlives whatever a program does at its end
    return *all;
  }

  const DeviceSpace& on(void* handle) {
    const std::scoped_lock lock(mutex_);
    drop_at_the_end();
    if (handle == nullptr) {  // waits for the default stream and makes it wait, as CUDA has it
      if (own_ == nullptr) own_ = std::make_unique<DeviceSpace>();
      return *own_;
    }
    if (const auto it = made_.find(handle); it != made_.end()) return it->second;
    const auto it = foreign_.find(handle);
    if (it != foreign_.end()) return *it->second;
#ifdef KOKKOS_ENABLE_CUDA
    const auto stream = static_cast<cudaStream_t>(handle);
#else
    const auto stream = static_cast<hipStream_t>(handle);
#endif
    // Never dropped: that would touch the stream, which its owner may have destroyed. A stream
    // that is given the same handle later is served by the same instance.
    return *foreign_.emplace(handle, new DeviceSpace(stream)).first->second;
  }

  void* make() {
    const std::scoped_lock lock(mutex_);
    drop_at_the_end();
    const DeviceSpace space = Kokkos::Experimental::partition_space(DeviceSpace(), 1)[0];
    void* const handle = handle_of(space);
    made_.emplace(handle, space);
    return handle;
  }

  void drop(void* handle) {
    const std::scoped_lock lock(mutex_);
    made_.erase(handle);
  }

 private:
  /// Kokkos wants its instances back before it ends.
  void drop_at_the_end() {
    if (hooked_) return;
    Kokkos::push_finalize_hook([this] {
      const std::scoped_lock lock(mutex_);
      made_.clear();
      foreign_.clear();
      own_.reset();
      hooked_ = false;
    });
    hooked_ = true;
  }

  std::mutex mutex_;
  std::map<void*, DeviceSpace> made_;      // streams of create_stream
  std::map<void*, DeviceSpace*> foreign_;  // streams of the application
  std::unique_ptr<DeviceSpace> own_;       // Kokkos's own stream
  bool hooked_ = false;
};

using Bytes = Kokkos::View<unsigned char*, DeviceMemory, Kokkos::MemoryUnmanaged>;
using HostBytes = Kokkos::View<unsigned char*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>;
using ConstBytes = Kokkos::View<const unsigned char*, DeviceMemory, Kokkos::MemoryUnmanaged>;
using ConstHostBytes =
    Kokkos::View<const unsigned char*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>;

class KokkosDevice final : public Device {
 public:
  DeviceKind kind() const noexcept override { return kDeviceKind; }
  std::string description() const override {
    const std::string text = std::string("Kokkos::") + DeviceSpace::name();
    if (!device_started()) return text;
#ifdef KOKKOS_ENABLE_CUDA
    return text + " on " + DeviceSpace().cuda_device_prop().name;
#else
    return text + " on " + DeviceSpace().hip_device_prop().name;
#endif
  }

  Result<void*> allocate(std::size_t bytes) override {
    if (bytes == 0) return static_cast<void*>(nullptr);
    if (Status s = device_started(); !s) return s;
    if (bytes > PTRDIFF_MAX - kWorkspaceAlignment) return exhausted(bytes, "");
    try {
      // Kokkos keeps a header in front, so that what it returns is less aligned than its memory.
      void* const block =
          Kokkos::kokkos_malloc<DeviceMemory>("detgemm", bytes + kWorkspaceAlignment - 1);
      const auto address = reinterpret_cast<std::uintptr_t>(block);
      void* const memory =
          static_cast<std::byte*>(block) +
          (kWorkspaceAlignment - address % kWorkspaceAlignment) % kWorkspaceAlignment;
      const std::scoped_lock lock(mutex_);
      blocks_[memory] = block;
      return memory;
    } catch (const std::exception& e) {
      return exhausted(bytes, e.what());
    }
  }

  void release(void* memory) noexcept override {
    if (memory == nullptr || !Kokkos::is_initialized()) return;
    void* block = nullptr;
    {
      const std::scoped_lock lock(mutex_);
      const auto it = blocks_.find(memory);
      if (it == blocks_.end()) return;
      block = it->second;
      blocks_.erase(it);
    }
    Kokkos::kokkos_free<DeviceMemory>(block);
  }

  Status to_device(void* device, const void* host, std::size_t bytes) override {
    if (Status s = device_started(); !s || bytes == 0) return s;
    Kokkos::deep_copy(Bytes(static_cast<unsigned char*>(device), bytes),
                      ConstHostBytes(static_cast<const unsigned char*>(host), bytes));
    return {};
  }
  Status to_host(void* host, const void* device, std::size_t bytes) override {
    if (Status s = device_started(); !s || bytes == 0) return s;
    Kokkos::deep_copy(HostBytes(static_cast<unsigned char*>(host), bytes),
                      ConstBytes(static_cast<const unsigned char*>(device), bytes));
    return {};
  }

  Result<Stream> create_stream() override {
    if (Status s = device_started(); !s) return s;
    return Stream{kDeviceKind, Instances::get().make()};
  }
  void destroy_stream(Stream stream) noexcept override { Instances::get().drop(stream.handle); }
  Status synchronize(Stream stream) override {
    if (Status s = device_started(); !s) return s;
    instance_on(stream).fence();
    return {};
  }

 private:
  static Status exhausted(std::size_t bytes, const std::string& why) {
    return {Errc::internal, "device memory is exhausted: " + std::to_string(bytes) +
                                " bytes requested" + (why.empty() ? "" : "; " + why)};
  }

  std::mutex mutex_;
  std::map<void*, void*> blocks_;  // what was given out, and Kokkos's name for it
};

}  // namespace

Device& kokkos_device() noexcept {
  static KokkosDevice device;
  return device;
}

const DeviceSpace& instance_on(Stream stream) { return Instances::get().on(stream.handle); }

Status device_started() { return started("reference-device"); }

}  // namespace detgemm::reference
#endif
