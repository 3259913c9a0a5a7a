// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "detgemm/device.hpp"

namespace detgemm {
namespace {

class HostDevice final : public Device {
 public:
  DeviceKind kind() const noexcept override { return DeviceKind::host; }
  std::string description() const override { return "host"; }

  Result<void*> allocate(std::size_t bytes) override {
    if (bytes == 0) return static_cast<void*>(nullptr);
    if (bytes > PTRDIFF_MAX - kWorkspaceAlignment) return exhausted(bytes);
    const std::size_t padded =
        (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
    void* memory = std::aligned_alloc(kWorkspaceAlignment, padded);
    if (memory == nullptr) return exhausted(bytes);
    return memory;
  }
  void release(void* memory) noexcept override { std::free(memory); }
  Status to_device(void* device, const void* host, std::size_t bytes) override {
    if (bytes != 0) std::memcpy(device, host, bytes);
    return {};
  }
  Status to_host(void* host, const void* device, std::size_t bytes) override {
    return to_device(host, device, bytes);
  }
  Result<Stream> create_stream() override { return Stream{}; }
  void destroy_stream(Stream) noexcept override {}
  Status synchronize(Stream) override { return {}; }

 private:
  static Status exhausted(std::size_t bytes) {
    return {Errc::internal,
            "host memory is exhausted: " + std::to_string(bytes) + " bytes requested"};
  }
};

}  // namespace

Device::~Device() = default;

std::vector<DeviceInfo> Device::list() const { return {}; }

Result<bool> Device::is_capturing(Stream) { return false; }
Result<bool> Device::finished(Stream stream) {
  if (Status s = synchronize(stream); !s) return s;
  return true;
}

Status Device::replay(Stream, const std::function<Status(Stream)>&, int) {
  return unsupported("this device has no graphs");
}

Status Device::copy_2d(Stream stream, void* to, std::size_t to_pitch, const void* from,
                       std::size_t from_pitch, std::size_t width, std::size_t lines) {
  if (Status s = synchronize(stream); !s) return s;
  std::vector<std::byte> line(width);
  for (std::size_t i = 0; i < lines && width != 0; ++i) {
    const auto* const source = static_cast<const std::byte*>(from) + i * from_pitch;
    if (Status s = to_host(line.data(), source, width); !s) return s;
    auto* const target = static_cast<std::byte*>(to) + i * to_pitch;
    if (Status s = to_device(target, line.data(), width); !s) return s;
  }
  return {};
}

Device& host_device() noexcept {
  static HostDevice device;
  return device;
}

}  // namespace detgemm
