// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "backends/cuda/device.hpp"

#include <memory>
#include <string>

#include "backends/cuda/devices.hpp"

namespace detgemm::cuda {
namespace {

Status check(std::string_view what, cudaError_t error) {
  return error == cudaSuccess ? Status{} : failed(what, error);
}

cudaStream_t handle(Stream stream) { return static_cast<cudaStream_t>(stream.handle); }

/// A copy that has arrived when this returns: cudaMemcpy may come back before memory that is not
/// pinned has, and would stand in the way of captures on other streams.
Status copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  if (bytes == 0) return {};
  cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, cudaStreamPerThread);
  if (error == cudaSuccess) error = cudaStreamSynchronize(cudaStreamPerThread);
  return check("copying " + std::to_string(bytes) + " bytes", error);
}

using Graph = std::unique_ptr<CUgraph_st, decltype(&cudaGraphDestroy)>;
using GraphExec = std::unique_ptr<CUgraphExec_st, decltype(&cudaGraphExecDestroy)>;

/// What `enqueue` puts on the stream. A capture that has begun is ended, whatever happens.
Status capture(cudaStream_t stream, const std::function<Status()>& enqueue, Graph& out) {
  // Thread-local: other threads may go on allocating meanwhile.
  const cudaError_t begun = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  if (begun != cudaSuccess) return failed("cudaStreamBeginCapture", begun);
  cudaGraph_t graph = nullptr;
  Status status;
  try {
    status = enqueue();
  } catch (...) {
    cudaStreamEndCapture(stream, &graph);
    out.reset(graph);
    throw;
  }
  const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
  out.reset(graph);
  if (!status) {
    cudaGetLastError();
    return status;
  }
  return check("cudaStreamEndCapture", ended);
}

class CudaDevice final : public Device {
 public:
  DeviceKind kind() const noexcept override { return DeviceKind::cuda; }

  std::string description() const override {
    const auto device = current_device();
    if (!device) return "none: " + device.status().message();
    return device->name + ", driver " + driver_version();
  }

  std::vector<DeviceInfo> list() const override {
    std::vector<DeviceInfo> devices;
    int count = 0;
    if (!driver_status() || cudaGetDeviceCount(&count) != cudaSuccess) return devices;
    for (int i = 0; i < count; ++i) {
      const auto facts = facts_of(i);
      if (!facts) continue;
      devices.push_back({facts->name, facts->capability(), facts->sms, facts->memory,
                         driver_version(), runtime_version()});
    }
    return devices;
  }

  Result<void*> allocate(std::size_t bytes) override {
    void* memory = nullptr;
    if (bytes == 0) return memory;
    const cudaError_t error = cudaMalloc(&memory, bytes);
    if (error == cudaSuccess) return memory;
    return failed("allocating " + std::to_string(bytes) + " bytes", error);
  }
  void release(void* memory) noexcept override {
    if (cudaFree(memory) != cudaSuccess) cudaGetLastError();
  }
  Status to_device(void* device, const void* host, std::size_t bytes) override {
    return copy(device, host, bytes, cudaMemcpyHostToDevice);
  }
  Status to_host(void* host, const void* device, std::size_t bytes) override {
    return copy(host, device, bytes, cudaMemcpyDeviceToHost);
  }

  Result<Stream> create_stream() override {
    cudaStream_t stream = nullptr;
    const cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    if (error != cudaSuccess) return failed("cudaStreamCreateWithFlags", error);
    return Stream{DeviceKind::cuda, stream};
  }
  void destroy_stream(Stream stream) noexcept override {
    if (cudaStreamDestroy(handle(stream)) != cudaSuccess) cudaGetLastError();
  }
  Status synchronize(Stream stream) override {
    return check("cudaStreamSynchronize", cudaStreamSynchronize(handle(stream)));
  }

  bool has_graphs() const noexcept override { return true; }
  Status replay(Stream stream, const std::function<Status(Stream)>& enqueue, int times) override {
    Graph graph(nullptr, cudaGraphDestroy);
    if (Status s = capture(
            handle(stream), [&] { return enqueue(stream); }, graph);
        !s)
      return s;
    cudaGraphExec_t made = nullptr;
    if (const cudaError_t error = cudaGraphInstantiate(&made, graph.get(), 0);
        error != cudaSuccess) {
      return failed("cudaGraphInstantiate", error);
    }
    const GraphExec exec(made, cudaGraphExecDestroy);
    for (int i = 0; i < times; ++i) {
      if (const cudaError_t error = cudaGraphLaunch(exec.get(), handle(stream));
          error != cudaSuccess) {
        return failed("cudaGraphLaunch", error);
      }
    }
    return synchronize(stream);
  }
};

}  // namespace

Device& cuda_device() noexcept {
  static CudaDevice device;
  return device;
}

}  // namespace detgemm::cuda
