// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <chrono>
#include <cstdint>
#include <thread>

#include "bench/cuda/check.hpp"
#include "bench/cuda/queue.hpp"

namespace detgemm::bench {
namespace {

__global__ void spin(std::uint64_t nanoseconds) {
  std::uint64_t start = 0;
  std::uint64_t now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < nanoseconds);
}

struct Event final : Queue::Mark {
  Event() { check(cudaEventCreate(&event), "event"); }
  ~Event() override { cudaEventDestroy(event); }
  cudaEvent_t event = nullptr;
};

cudaEvent_t event_of(const Queue::Mark& mark) { return static_cast<const Event&>(mark).event; }

/// Calls of one arm, captured once.
class CallGraph final : public Replay {
 public:
  CallGraph(cudaStream_t stream, const Arm& arm, int calls) : Replay(calls) {
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
    std::string refused;
    for (int i = 0; i < calls && refused.empty(); ++i) {
      const Status status = arm.enqueue({DeviceKind::cuda, stream}, i);
      if (!status) refused = "capturing " + arm.name + ": " + status.message();
    }
    const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
    if (!refused.empty()) throw std::runtime_error(refused);
    check(ended, ("capturing " + arm.name).c_str());
    check(cudaGraphInstantiate(&graph_, graph, 0), "graph");
    check(cudaGraphDestroy(graph), "graph");
    check(cudaGraphUpload(graph_, stream), "graph");
  }
  ~CallGraph() override { cudaGraphExecDestroy(graph_); }
  void launch(cudaStream_t stream) const { check(cudaGraphLaunch(graph_, stream), "graph launch"); }

 private:
  cudaGraphExec_t graph_ = nullptr;
};

}  // namespace

std::unique_ptr<Replay> CudaQueue::record(const Arm& arm, int calls) {
  return std::make_unique<CallGraph>(stream_, arm, calls);
}

void CudaQueue::launch(const Replay& replay) {
  static_cast<const CallGraph&>(replay).launch(stream_);
}

Queue::MarkPtr CudaQueue::mark() {
  auto event = std::make_unique<Event>();
  check(cudaEventRecord(event->event, stream_), "event");
  return event;
}

bool CudaQueue::passed(const Mark& mark) {
  const cudaError_t state = cudaEventQuery(event_of(mark));
  if (state != cudaSuccess && state != cudaErrorNotReady) check(state, "a timed call");
  return state == cudaSuccess;
}

double CudaQueue::us_between(const Mark& begin, const Mark& end) {
  float ms = 0.0F;
  check(cudaEventSynchronize(event_of(end)), "a timed call");
  check(cudaEventElapsedTime(&ms, event_of(begin), event_of(end)), "event");
  return 1e3 * static_cast<double>(ms);
}

void CudaQueue::wait() { check(cudaStreamSynchronize(stream_), "waiting"); }

void CudaQueue::occupy(double us) {
  spin<<<1, 1, 0, stream_>>>(static_cast<std::uint64_t>(us * 1e3));
  check(cudaGetLastError(), "a kernel that waits");
}

void CudaQueue::rest(double ms) {
  std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms));
}

}  // namespace detgemm::bench
