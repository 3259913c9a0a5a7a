// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <atomic>

#include "detgemm/device.hpp"

namespace detgemm::conformance {

/// Host memory that says it is a GPU's: no guard pages, no gates, streams with a handle. It can
/// fail.
class FakeGpu : public Device {
 public:
  DeviceKind kind() const noexcept override { return DeviceKind::cuda; }
  std::string description() const override { return "a GPU on paper"; }
  Result<void*> allocate(std::size_t bytes) override {
    if (Status s = next("allocate"); !s) return s;
    auto memory = host_device().allocate(bytes);
    held_ += memory ? 1 : 0;
    return memory;
  }
  void release(void* memory) noexcept override {
    --held_;
    host_device().release(memory);
  }
  Status to_device(void* device, const void* host, std::size_t bytes) override {
    if (Status s = next("to_device"); !s) return s;
    return host_device().to_device(device, host, bytes);
  }
  Status to_host(void* host, const void* device, std::size_t bytes) override {
    if (Status s = next("to_host"); !s) return s;
    return host_device().to_host(host, device, bytes);
  }
  Result<Stream> create_stream() override {
    if (Status s = next("create_stream"); !s) return s;
    ++held_;
    return Stream{DeviceKind::cuda, this};
  }
  void destroy_stream(Stream) noexcept override { --held_; }
  Status synchronize(Stream) override { return next("synchronize"); }

  /// The call after so many others fails; none does while it is negative.
  void fail_after(std::int64_t calls) { left_ = calls; }
  bool has_failed() const { return left_ == kFailed; }
  /// Arrays and streams that were not given back.
  std::int64_t held() const { return held_; }

 private:
  static constexpr std::int64_t kNever = -1, kFailed = -2;

  Status next(const char* what) {
    if (left_ < 0) return {};
    if (left_-- > 0) return {};
    left_ = kFailed;
    return {Errc::internal, std::string("the paper tore in ") + what};
  }
  std::int64_t left_ = kNever;
  std::atomic<std::int64_t> held_{0};
};

}  // namespace detgemm::conformance
