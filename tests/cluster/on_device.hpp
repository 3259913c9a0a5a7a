// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/cluster/ranks.hpp"

// A sample on the memory and streams of any backend.

namespace detgemm::cluster {

/// Device memory with a copy of an array of the host.
class OnDevice {
 public:
  OnDevice(Device& device, const void* data, std::size_t bytes) : device_(device), bytes_(bytes) {
    auto memory = device.allocate(std::max<std::size_t>(bytes, 1));
    if (memory) data_ = *memory;
    status_ = memory ? device.to_device(data_, data, bytes) : memory.status();
  }
  OnDevice(Device& device, std::size_t bytes)
      : OnDevice(device, std::vector<std::byte>(bytes, std::byte{0x5a}).data(), bytes) {}
  OnDevice(const OnDevice&) = delete;
  ~OnDevice() { device_.release(data_); }

  void* data() const { return data_; }
  const Status& status() const { return status_; }
  std::vector<std::byte> read() const {
    std::vector<std::byte> bytes(bytes_);
    const Status s = device_.to_host(bytes.data(), data_, bytes_);
    return s ? bytes : std::vector<std::byte>{};
  }

 private:
  Device& device_;
  std::size_t bytes_;
  void* data_ = nullptr;
  Status status_;
};

/// A stream that is destroyed.
class OwnStream {
 public:
  explicit OwnStream(Device& device) : device_(device), stream_(*device.create_stream()) {}
  OwnStream(const OwnStream&) = delete;
  ~OwnStream() { device_.destroy_stream(stream_); }
  operator Stream() const { return stream_; }

 private:
  Device& device_;
  Stream stream_;
};

/// The arrays of a sample that a rank needs, on a device.
struct SampleOnDevice {
  SampleOnDevice(Device& device, const Sample& sample, KRange range, Range rows)
      : k(range),
        own(rows),
        a(device, sample.a.data(), sample.a.size() * 2),
        b(device, sample.b.data(), sample.b.size() * 2),
        c(device, sample.c.data(), sample.c.size() * 4),
        bias(device, sample.bias.data(), sample.bias.size() * 4),
        d(device, static_cast<std::size_t>(rows.size() * sample.spec.n + 2) * 4) {}

  /// With one element of D's type before and behind D that nobody may write.
  Operands operands(const Sample& sample) const {
    const std::int64_t n = sample.spec.n;
    Operands all = sample.operands(k, own, static_cast<float*>(d.data()) + 1);
    const auto move = [](auto& view, const void* from, const void* to) {
      view.data = static_cast<const std::byte*>(to) +
                  (static_cast<const std::byte*>(view.data) - static_cast<const std::byte*>(from));
    };
    move(all.a, sample.a.data(), a.data());
    move(all.b, sample.b.data(), b.data());
    move(all.c, sample.c.data(), c.data());
    all.bias = {bias.data(), n, DType::fp32};
    return all;
  }

  /// "" or what is wrong with D.
  std::string verdict(const Sample& sample) const {
    const auto bytes = d.read();
    const auto inner = bytes.size() - 8;
    const auto canary = [&](std::size_t at) {
      return std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                         bytes.begin() + static_cast<std::ptrdiff_t>(at + 4),
                         [](std::byte x) { return x == std::byte{0x5a}; });
    };
    if (!canary(0) || !canary(inner + 4)) return "wrote outside of D";
    if (inner == 0) return "";
    const auto* expected = sample.d.data() + own.begin * sample.spec.n;
    return std::memcmp(bytes.data() + 4, expected, inner) == 0 ? "" : "other bits";
  }

  KRange k;
  Range own;
  OnDevice a, b, c, bias, d;
};

/// The sample on the ranks of a communicator, `replays` times from a graph (0: without one): "" or
/// what is wrong. `before` is done before the call, when all arrays are there. On a stream of its
/// own, unless there is one.
inline std::string run_on_device(const Communicator& communicator, const Backend& backend,
                                 const Sample& sample, const RowParallelOptions& options,
                                 int replays, const std::function<void()>& before = {},
                                 const OwnStream* kept = nullptr) {
  Device& device = backend.device();
  const auto plan = RowParallelPlan::create(communicator, backend, sample.spec, options);
  if (!plan) return plan.status().message();
  const Range rows = options.output == Placement::rows
                         ? rows_of(sample.m, communicator.rank(), communicator.size())
                         : Range{0, sample.m};
  const SampleOnDevice arrays(device, sample, plan->k_range(), rows);
  if (!arrays.d.status()) return arrays.d.status().message();
  const std::size_t bytes = *plan->workspace_bytes(sample.m);
  const OnDevice scratch(device, bytes);
  std::optional<OwnStream> own;
  const OwnStream& stream = kept != nullptr ? *kept : own.emplace(device);
  if (before) before();
  const auto enqueue = [&](Stream on) {
    return plan->run(on, sample.m, arrays.operands(sample), {scratch.data(), bytes});
  };
  const Status ran = replays > 0 ? device.replay(stream, enqueue, replays) : enqueue(stream);
  if (!ran) return ran.message();
  if (Status s = device.synchronize(stream); !s) return s.message();
  if (Status s = communicator.health(); !s) return s.message();
  return arrays.verdict(sample);
}

}  // namespace detgemm::cluster
