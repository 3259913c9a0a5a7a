// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

#include "bench/gpu/check.hpp"
#include "bench/gpu/timing.hpp"

namespace detgemm::bench {
namespace {

/// Keeps the device busy while the host enqueues what is timed: otherwise the first event passes
/// before the graph has arrived, and the host's latency is measured.
__global__ void spin(std::uint64_t nanoseconds) {
  std::uint64_t start = 0;
  std::uint64_t now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < nanoseconds);
}
constexpr std::uint64_t kLead = 60'000;
constexpr std::uint64_t kMostLead = 4'000'000;

class Event {
 public:
  Event() { check(cudaEventCreate(&event_), "event"); }
  ~Event() {  // a moved-from event is null, and destroying that would leave an error behind
    if (event_ != nullptr) cudaEventDestroy(event_);
  }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  void record(cudaStream_t stream) const { check(cudaEventRecord(event_, stream), "event"); }
  bool passed() const {
    const cudaError_t state = cudaEventQuery(event_);
    if (state != cudaSuccess && state != cudaErrorNotReady) check(state, "a timed call");
    return state == cudaSuccess;
  }
  double us_since(const Event& start) const {
    float ms = 0.0F;
    check(cudaEventSynchronize(event_), "a timed call");
    check(cudaEventElapsedTime(&ms, start.event_, event_), "event");
    return 1e3 * static_cast<double>(ms);
  }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Arm number `i` of repetition `repetition`: every second one runs backwards.
std::size_t turn(std::size_t i, int repetition, std::size_t arms) {
  return repetition % 2 == 0 ? i : arms - 1 - i;
}

}  // namespace

Stats summarise(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  const double median = n % 2 == 1 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
  return {median, values[n / 10], values[n - 1 - n / 10], static_cast<int>(n)};
}

CallGraph::CallGraph(cudaStream_t stream, const Arm& arm, int calls) : calls_(calls) {
  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
  cudaError_t failed = cudaSuccess;
  for (int i = 0; i < calls && failed == cudaSuccess; ++i) failed = arm.enqueue(stream, i);
  const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
  check(failed, ("capturing " + arm.name).c_str());
  check(ended, ("capturing " + arm.name).c_str());
  check(cudaGraphInstantiate(&graph_, graph, 0), "graph");
  check(cudaGraphDestroy(graph), "graph");
  check(cudaGraphUpload(graph_, stream), "graph");
}

void CallGraph::launch(cudaStream_t stream) const {
  check(cudaGraphLaunch(graph_, stream), "graph launch");
}

Samples time_samples(cudaStream_t stream, const Graphs& graphs, int repetitions, double idle_ms) {
  Samples samples(graphs.size());
  const Event begin;
  const Event end;
  std::uint64_t lead = kLead;
  for (int r = 0; r < repetitions; ++r) {
    for (std::size_t i = 0; i < graphs.size(); ++i) {
      const std::size_t arm = turn(i, r, graphs.size());
      std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(idle_ms));
      for (bool late = true; late;) {
        spin<<<1, 1, 0, stream>>>(lead);
        begin.record(stream);
        graphs[arm]->launch(stream);
        end.record(stream);
        // The device must still be spinning when the host is done; else once more, with more lead.
        late = begin.passed() && lead < kMostLead;
        const double us = end.us_since(begin);
        if (late)
          lead *= 2;
        else
          samples[arm].push_back(us / graphs[arm]->calls());
      }
    }
  }
  return samples;
}

Samples time_settled(cudaStream_t stream, const Graphs& graphs, const std::vector<double>& us,
                     int repetitions, double soak_s, double block_ms) {
  const auto launches = [&](std::size_t arm, double ms) {
    return std::max(1, static_cast<int>(std::lround(ms * 1e3 / (us[arm] * graphs[arm]->calls()))));
  };
  const auto load = [&](std::size_t arm, int times) {
    for (int i = 0; i < times; ++i) graphs[arm]->launch(stream);
  };
  // All of it is enqueued without waiting, so that nothing rests between blocks. The load before
  // is of all arms, so that none starts from another's temperature.
  const double part_ms = soak_s * 1e3 / static_cast<double>(graphs.size());
  for (std::size_t arm = 0; arm < graphs.size() && soak_s > 0; ++arm) {
    load(arm, launches(arm, part_ms));
  }
  struct Block {
    std::size_t arm;
    int calls;
    Event begin, end;
  };
  std::vector<Block> blocks;
  for (int r = 0; r < repetitions; ++r) {
    for (std::size_t i = 0; i < graphs.size(); ++i) {
      const std::size_t arm = turn(i, r, graphs.size());
      const int counted = launches(arm, block_ms * 2 / 3);
      load(arm, launches(arm, block_ms / 3));
      Block block{arm, counted * graphs[arm]->calls(), {}, {}};
      block.begin.record(stream);
      load(arm, counted);
      block.end.record(stream);
      blocks.push_back(std::move(block));
    }
  }
  Samples samples(graphs.size());
  for (const Block& block : blocks) {
    samples[block.arm].push_back(block.end.us_since(block.begin) / block.calls);
  }
  return samples;
}

double time_roughly(cudaStream_t stream, const Arm& arm) {
  constexpr int kCalls = 4;
  const Event begin;
  const Event end;
  spin<<<1, 1, 0, stream>>>(kLead);
  begin.record(stream);
  for (int i = 0; i < kCalls; ++i) check(arm.enqueue(stream, i + 1), arm.name.c_str());
  end.record(stream);
  return end.us_since(begin) / kCalls;
}

}  // namespace detgemm::bench
