// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cli/execute.hpp"

#include <chrono>

#include "core/cli/refusal.hpp"

namespace detgemm::cli {
namespace {

/// A stream that is destroyed at the end.
class OwnedStream {
 public:
  explicit OwnedStream(Device& device) : device_(device), stream_(need(device.create_stream())) {}
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;
  ~OwnedStream() { device_.destroy_stream(stream_); }
  Stream get() const { return stream_; }

 private:
  Device& device_;
  Stream stream_;
};

std::size_t bytes_of(const ConstMatrix& packed) {
  return static_cast<std::size_t>(packed.rows) * static_cast<std::size_t>(packed.cols) *
         size_of(packed.dtype);
}

Execution timed(const Plan& plan, const Operands& operands) {
  Device& device = plan.backend().device();
  Execution done;
  done.workspace_bytes = need(plan.fast_workspace_bytes(operands));
  const Buffer scratch(device, done.workspace_bytes);
  const OwnedStream stream(device);
  RunInfo info;
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  need(plan.run(stream.get(), operands, {scratch.data(), scratch.bytes()}, &info));
  need(device.synchronize(stream.get()));
  done.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  done.kernel = info.kernel;
  return done;
}

}  // namespace

Buffer::Buffer(Device& device, std::size_t bytes)
    : device_(&device), data_(need(device.allocate(bytes))), bytes_(bytes) {}

Buffer::~Buffer() {
  if (device_ != nullptr && data_ != nullptr) device_->release(data_);
}

Execution execute(const Plan& plan, const Operands& host) {
  Device& device = plan.backend().device();
  if (device.kind() == DeviceKind::host) return timed(plan, host);
  const std::size_t bias_bytes =
      static_cast<std::size_t>(host.bias.size) * size_of(host.bias.dtype);
  const Buffer a(device, bytes_of(host.a));
  const Buffer b(device, bytes_of(host.b));
  const Buffer c(device, bytes_of(host.c));
  const Buffer bias(device, bias_bytes);
  const Buffer d(device, bytes_of(host.d));
  const auto upload = [&](const Buffer& there, const void* data) {
    if (there.bytes() > 0) need(device.to_device(there.data(), data, there.bytes()));
  };
  upload(a, host.a.data);
  upload(b, host.b.data);
  upload(c, host.c.data);
  upload(bias, host.bias.data);
  Operands there = host;
  there.a.data = a.data();
  there.b.data = b.data();
  there.c.data = c.data();
  there.bias.data = bias.data();
  there.d.data = d.data();
  Execution done = timed(plan, there);
  if (d.bytes() > 0) need(device.to_host(host.d.data, d.data(), d.bytes()));
  return done;
}

}  // namespace detgemm::cli
