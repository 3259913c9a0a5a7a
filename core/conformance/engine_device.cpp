// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/engine_backend.hpp"

namespace detgemm::conformance {
namespace {

class EngineDevice final : public Device {
 public:
  explicit EngineDevice(const detgemm_engine& engine) : engine_(engine) {}

  DeviceKind kind() const noexcept override { return static_cast<DeviceKind>(engine_.device); }
  std::string description() const override {
    return std::string(name(kind())) + " memory of engine " + engine_.name;
  }

  std::vector<DeviceInfo> list() const override {
    if (engine_.memory_bytes == nullptr) return {};
    DeviceInfo info;
    info.name = engine_.name;
    info.memory_bytes = engine_.memory_bytes();
    return {info};
  }

  Result<void*> allocate(std::size_t bytes) override {
    if (bytes == 0) return static_cast<void*>(nullptr);
    void* memory = engine_.allocate(bytes);
    if (memory != nullptr) return memory;
    return Status{Errc::internal,
                  "the engine could not allocate " + std::to_string(bytes) + " bytes"};
  }
  void release(void* memory) noexcept override {
    if (memory != nullptr) engine_.release(memory);
  }
  Status to_device(void* device, const void* host, std::size_t bytes) override {
    return checked(bytes == 0 ? 0 : engine_.to_device(device, host, bytes), "to_device");
  }
  Status to_host(void* host, const void* device, std::size_t bytes) override {
    return checked(bytes == 0 ? 0 : engine_.to_host(host, device, bytes), "to_host");
  }
  Result<Stream> create_stream() override {
    Stream stream{kind(), nullptr};
    if (Status s = checked(engine_.create_stream(&stream.handle), "create_stream"); !s) return s;
    return stream;
  }
  void destroy_stream(Stream stream) noexcept override { engine_.destroy_stream(stream.handle); }
  Status synchronize(Stream stream) override {
    return checked(engine_.synchronize(stream.handle), "synchronize");
  }

 private:
  static Status checked(int code, const char* what) {
    if (code == 0) return {};
    return {Errc::internal, std::string("the engine's ") + what + " returned " +
                                std::to_string(code) + ": it must return 0"};
  }

  const detgemm_engine& engine_;
};

}  // namespace

std::unique_ptr<Device> make_engine_device(const detgemm_engine& engine) {
  return std::make_unique<EngineDevice>(engine);
}

}  // namespace detgemm::conformance
