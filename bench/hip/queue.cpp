// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/hip/queue.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace detgemm::bench::hip {
namespace {

struct Event final : Queue::Mark {
  explicit Event(const Runtime& runtime) : api(runtime) { good(api.EventCreate(&event), "event"); }
  ~Event() override { api.EventDestroy(event); }
  const Runtime& api;
  void* event = nullptr;
};

void* event_of(const Queue::Mark& mark) { return static_cast<const Event&>(mark).event; }

class CallGraph final : public Replay {
 public:
  CallGraph(const Runtime& api, Stream stream, const Arm& arm, int calls)
      : Replay(calls), api_(api) {
    void* graph = nullptr;
    good(api_.StreamBeginCapture(stream.handle, kCaptureThreadLocal), "capture");
    std::string refused;
    for (int i = 0; i < calls && refused.empty(); ++i) {
      const Status status = arm.enqueue(stream, i);
      if (!status) refused = "capturing " + arm.name + ": " + status.message();
    }
    const int ended = api_.StreamEndCapture(stream.handle, &graph);
    if (!refused.empty()) throw std::runtime_error(refused);
    good(ended, "capture");
    good(api_.GraphInstantiate(&exec_, graph, nullptr, nullptr, 0), "graph");
    good(api_.GraphDestroy(graph), "graph");
  }
  ~CallGraph() override { api_.GraphExecDestroy(exec_); }
  void launch(Stream stream) const { good(api_.GraphLaunch(exec_, stream.handle), "graph launch"); }

 private:
  const Runtime& api_;
  void* exec_ = nullptr;
};

}  // namespace

std::unique_ptr<Replay> HipQueue::record(const Arm& arm, int calls) {
  return std::make_unique<CallGraph>(api_, stream_, arm, calls);
}

void HipQueue::launch(const Replay& replay) {
  static_cast<const CallGraph&>(replay).launch(stream_);
}

Queue::MarkPtr HipQueue::mark() {
  auto event = std::make_unique<Event>(api_);
  good(api_.EventRecord(event->event, stream_.handle), "event");
  return event;
}

bool HipQueue::passed(const Mark& mark) {
  if (scratch_bytes_ == 0) return false;
  const int state = api_.EventQuery(event_of(mark));
  if (state != 0 && state != kNotReady) good(state, "a timed call");
  return state == 0;
}

double HipQueue::us_between(const Mark& begin, const Mark& end) {
  float ms = 0.0F;
  good(api_.EventSynchronize(event_of(end)), "a timed call");
  good(api_.EventElapsedTime(&ms, event_of(begin), event_of(end)), "event");
  return 1e3 * static_cast<double>(ms);
}

void HipQueue::wait() { good(api_.StreamSynchronize(stream_.handle), "waiting"); }

void HipQueue::occupy(double us) {
  constexpr double kBytesPerUs = 3e6;  // no more than memory takes in
  double left = scratch_bytes_ == 0 ? 0 : us * kBytesPerUs;
  for (; left > 0; left -= static_cast<double>(scratch_bytes_)) {
    const auto bytes = std::min(scratch_bytes_, static_cast<std::size_t>(left));
    good(api_.MemsetAsync(scratch_, 0, bytes, stream_.handle), "a fill");
  }
}

void HipQueue::rest(double ms) {
  std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms));
}

}  // namespace detgemm::bench::hip
