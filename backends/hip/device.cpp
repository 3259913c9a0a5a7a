// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/hip/device.hpp"

#include <memory>
#include <string>

#include "backends/hip/devices.hpp"

namespace detgemm::hip {
namespace {

Status check(std::string_view what, Error error) {
  return error == kSuccess ? Status{} : failed(what, error);
}

/// A copy that has arrived when this returns, on a stream that does not stand in the way of
/// captures on others.
Status copy(void* to, const void* from, std::size_t bytes, int kind) {
  if (bytes == 0) return {};
  const auto api = runtime();
  if (!api) return api.status();
  Error error = (*api)->MemcpyAsync(to, from, bytes, kind, stream_per_thread());
  if (error == kSuccess) error = (*api)->StreamSynchronize(stream_per_thread());
  return check("copying " + std::to_string(bytes) + " bytes", error);
}

struct DestroyGraph {
  void operator()(Graph graph) const { (*runtime())->GraphDestroy(graph); }
};
struct DestroyExec {
  void operator()(GraphExec exec) const { (*runtime())->GraphExecDestroy(exec); }
};
using OwnedGraph = std::unique_ptr<void, DestroyGraph>;
using OwnedExec = std::unique_ptr<void, DestroyExec>;

/// What `enqueue` puts on the stream. A capture that has begun is ended, whatever happens.
Status capture(const Runtime& api, StreamHandle stream, const std::function<Status()>& enqueue,
               OwnedGraph& out) {
  // Thread-local: other threads may go on allocating meanwhile.
  if (const Error begun = api.StreamBeginCapture(stream, kCaptureThreadLocal); begun != kSuccess) {
    return failed("hipStreamBeginCapture", begun);
  }
  Graph graph = nullptr;
  Status status;
  try {
    status = enqueue();
  } catch (...) {
    api.StreamEndCapture(stream, &graph);
    out.reset(graph);
    throw;
  }
  const Error ended = api.StreamEndCapture(stream, &graph);
  out.reset(graph);
  if (!status) {
    api.GetLastError();
    return status;
  }
  return check("hipStreamEndCapture", ended);
}

class HipDevice final : public Device {
 public:
  DeviceKind kind() const noexcept override { return DeviceKind::hip; }

  std::string description() const override {
    const auto device = current_device();
    if (!device) return "none: " + device.status().message();
    return device->name + ", " + device->processor() + ", HIP " + (*runtime())->version_text();
  }

  std::vector<DeviceInfo> list() const override {
    std::vector<DeviceInfo> devices;
    int count = 0;
    if (!runtime_status() || (*runtime())->GetDeviceCount(&count) != kSuccess) return devices;
    const std::string version = (*runtime())->version_text();
    for (int i = 0; i < count; ++i) {
      const auto facts = facts_of(i);
      if (!facts) continue;
      devices.push_back({facts->name, facts->processor(), facts->units, facts->memory, version,
                         (*runtime())->library});
    }
    return devices;
  }

  Result<void*> allocate(std::size_t bytes) override {
    void* memory = nullptr;
    if (bytes == 0) return memory;
    const auto api = runtime();
    if (!api) return api.status();
    const Error error = (*api)->Malloc(&memory, bytes);
    if (error == kSuccess) return memory;
    return failed("allocating " + std::to_string(bytes) + " bytes", error);
  }
  void release(void* memory) noexcept override {
    if (memory == nullptr) return;
    if (const auto api = runtime(); api && (*api)->Free(memory) != kSuccess) {
      (*api)->GetLastError();
    }
  }
  Status to_device(void* device, const void* host, std::size_t bytes) override {
    return copy(device, host, bytes, kHostToDevice);
  }
  Status to_host(void* host, const void* device, std::size_t bytes) override {
    return copy(host, device, bytes, kDeviceToHost);
  }

  Result<Stream> create_stream() override {
    const auto api = runtime();
    if (!api) return api.status();
    StreamHandle stream = nullptr;
    const Error error = (*api)->StreamCreateWithFlags(&stream, kStreamNonBlocking);
    if (error != kSuccess) return failed("hipStreamCreateWithFlags", error);
    return Stream{DeviceKind::hip, stream};
  }
  void destroy_stream(Stream stream) noexcept override {
    if (const auto api = runtime(); api && (*api)->StreamDestroy(stream.handle) != kSuccess) {
      (*api)->GetLastError();
    }
  }
  Status synchronize(Stream stream) override {
    const auto api = runtime();
    if (!api) return api.status();
    return check("hipStreamSynchronize", (*api)->StreamSynchronize(stream.handle));
  }

  bool has_graphs() const noexcept override { return true; }
  Status replay(Stream stream, const std::function<Status(Stream)>& enqueue, int times) override {
    const auto api = runtime();
    if (!api) return api.status();
    OwnedGraph graph;
    if (Status s = capture(
            **api, stream.handle, [&] { return enqueue(stream); }, graph);
        !s)
      return s;
    GraphExec made = nullptr;
    if (const Error error = (*api)->GraphInstantiate(&made, graph.get(), nullptr, nullptr, 0);
        error != kSuccess) {
      return failed("hipGraphInstantiate", error);
    }
    const OwnedExec exec(made);
    for (int i = 0; i < times; ++i) {
      if (const Error error = (*api)->GraphLaunch(exec.get(), stream.handle); error != kSuccess) {
        return failed("hipGraphLaunch", error);
      }
    }
    return synchronize(stream);
  }
};

}  // namespace

Device& hip_device() noexcept {
  static HipDevice device;
  return device;
}

}  // namespace detgemm::hip
