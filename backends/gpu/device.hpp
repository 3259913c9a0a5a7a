// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/gpu/device_table.hpp"
#include "detgemm/device.hpp"

namespace detgemm::gpu {

/// A graph that the destructor destroys.
template <Runtime R>
struct DestroyGraph {
  using pointer = typename R::Graph;
  void operator()(pointer graph) const { R::destroy_graph(graph); }
};
template <Runtime R>
using OwnedGraph = std::unique_ptr<typename R::Graph, DestroyGraph<R>>;

/// An executable graph that the destructor destroys.
template <Runtime R>
struct DestroyExec {
  using pointer = typename R::GraphExec;
  void operator()(pointer exec) const { R::destroy_exec(exec); }
};
template <Runtime R>
using OwnedExec = std::unique_ptr<typename R::GraphExec, DestroyExec<R>>;

/// Captures what `enqueue` puts on the stream. A capture that has begun is ended, whatever happens.
template <Runtime R>
Status capture(typename R::Stream stream, const std::function<Status()>& enqueue,
               OwnedGraph<R>& out) {
  if (Status s = check<R>(function<R>("StreamBeginCapture"), R::begin_capture(stream)); !s) {
    return s;
  }
  typename R::Graph graph{};
  Status status;
  try {
    status = enqueue();
  } catch (...) {
    R::end_capture(stream, &graph);
    out.reset(graph);
    throw;
  }
  const auto ended = R::end_capture(stream, &graph);
  out.reset(graph);
  if (!status) {
    R::forget_error();
    return status;
  }
  return check<R>(function<R>("StreamEndCapture"), ended);
}

/// Memory, streams and graphs of the calling thread's current device.
template <Runtime R>
class GpuDevice final : public Device {
 public:
  DeviceKind kind() const noexcept override { return R::kKind; }

  std::string description() const override {
    const auto device = current_device<R>();
    return device ? R::text(*device) : "none: " + device.status().message();
  }

  std::vector<DeviceInfo> list() const override {
    std::vector<DeviceInfo> devices;
    int count = 0;
    if (!R::available() || R::device_count(&count) != R::kSuccess) return devices;
    for (int i = 0; i < count; ++i) {
      if (const auto facts = facts_of<R>(i)) devices.push_back(R::info(*facts));
    }
    return devices;
  }

  Result<void*> allocate(std::size_t bytes) override {
    void* memory = nullptr;
    if (bytes == 0) return memory;
    if (Status s = R::loaded(); !s) return s;
    const auto error = R::allocate(&memory, bytes);
    if (error == R::kSuccess) return memory;
    return failed<R>("allocating " + std::to_string(bytes) + " bytes", error);
  }
  void release(void* memory) noexcept override {
    if (memory != nullptr && R::loaded() && R::release(memory) != R::kSuccess) R::forget_error();
  }
  Status to_device(void* device, const void* host, std::size_t bytes) override {
    return copy(R::copy_to_device, device, host, bytes);
  }
  Status to_host(void* host, const void* device, std::size_t bytes) override {
    return copy(R::copy_to_host, host, device, bytes);
  }

  Status copy_2d(Stream stream, void* to, std::size_t to_pitch, const void* from,
                 std::size_t from_pitch, std::size_t width, std::size_t lines) override {
    if (width == 0 || lines == 0) return {};
    if (Status s = R::loaded(); !s) return s;
    return check<R>(
        "copying " + std::to_string(lines) + " lines of " + std::to_string(width) + " bytes",
        R::copy_2d(to, to_pitch, from, from_pitch, width, lines, handle<R>(stream)));
  }

  Result<Stream> create_stream() override {
    if (Status s = R::loaded(); !s) return s;
    typename R::Stream stream{};
    const auto error = R::create_stream(&stream);
    if (error != R::kSuccess) return failed<R>(function<R>("StreamCreateWithFlags"), error);
    return Stream{R::kKind, stream};
  }
  void destroy_stream(Stream stream) noexcept override {
    if (R::loaded() && R::destroy_stream(handle<R>(stream)) != R::kSuccess) R::forget_error();
  }
  Status synchronize(Stream stream) override {
    if (Status s = R::loaded(); !s) return s;
    return check<R>(function<R>("StreamSynchronize"), R::synchronize(handle<R>(stream)));
  }
  Result<bool> finished(Stream stream) override {
    if (Status s = R::loaded(); !s) return s;
    bool yes = false;
    const auto error = R::is_finished(handle<R>(stream), &yes);
    if (error != R::kSuccess) return failed<R>(function<R>("StreamQuery"), error);
    return yes;
  }
  Result<bool> is_capturing(Stream stream) override {
    if (Status s = R::loaded(); !s) return s;
    bool yes = false;
    const auto error = R::is_capturing(handle<R>(stream), &yes);
    if (error != R::kSuccess) return failed<R>(function<R>("StreamIsCapturing"), error);
    return yes;
  }
  bool orders_streams() const noexcept override {
    return requires(typename R::Stream stream) { R::follow(stream, stream); };
  }
  Status follow(Stream later, Stream earlier) override {
    if constexpr (requires(typename R::Stream stream) { R::follow(stream, stream); }) {
      if (Status s = R::loaded(); !s) return s;
      return check<R>(function<R>("StreamWaitEvent"),
                      R::follow(handle<R>(later), handle<R>(earlier)));
    } else {
      return Device::follow(later, earlier);
    }
  }
  int current() const override {
    int ordinal = -1;
    if (!R::available() || R::current_device(&ordinal) != R::kSuccess) return -1;
    return ordinal;
  }

  bool has_graphs() const noexcept override { return true; }
  Status replay(Stream stream, const std::function<Status(Stream)>& enqueue, int times) override {
    if (Status s = R::loaded(); !s) return s;
    const auto on = handle<R>(stream);
    if (on == nullptr) {
      return invalid(
          "stream.handle is null, the default stream: it cannot be captured, so replay "
          "needs a stream that was made");
    }
    const auto enqueue_here = [&] { return enqueue(stream); };
    OwnedGraph<R> graph;
    if (Status s = capture<R>(on, enqueue_here, graph); !s) return s;
    typename R::GraphExec made{};
    if (Status s = check<R>(function<R>("GraphInstantiate"), R::instantiate(&made, graph.get()));
        !s) {
      return s;
    }
    const OwnedExec<R> exec(made);
    for (int i = 0; i < times; ++i) {
      if (Status s = check<R>(function<R>("GraphLaunch"), R::launch_graph(made, on)); !s) return s;
    }
    return synchronize(stream);
  }

 private:
  /// A copy that has arrived when this returns. The blocking copies of the runtimes may return
  /// before memory that is not pinned has arrived, and they are refused while another stream is
  /// being captured, so the copy goes through a stream of the calling thread's own.
  template <class Copy>
  static Status copy(const Copy& copy_on, void* to, const void* from, std::size_t bytes) {
    if (bytes == 0) return {};
    if (Status s = R::loaded(); !s) return s;
    const auto stream = R::stream_per_thread();
    auto error = copy_on(to, from, bytes, stream);
    if (error == R::kSuccess) error = R::synchronize(stream);
    return check<R>("copying " + std::to_string(bytes) + " bytes", error);
  }
};

}  // namespace detgemm::gpu
