// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/host/queue.hpp"

#include <chrono>
#include <thread>

namespace detgemm::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Instant final : Queue::Mark {
  Clock::time_point at = Clock::now();
};

struct Calls final : Replay {
  Calls(const Arm& recorded, int calls) : Replay(calls), arm(recorded) {}
  Arm arm;
};

Clock::time_point at(const Queue::Mark& mark) { return static_cast<const Instant&>(mark).at; }

}  // namespace

std::unique_ptr<Replay> HostQueue::record(const Arm& arm, int calls) {
  return std::make_unique<Calls>(arm, calls);
}

void HostQueue::launch(const Replay& replay) {
  const auto& calls = static_cast<const Calls&>(replay);
  for (int i = 0; i < calls.calls(); ++i) {
    check(calls.arm.enqueue(stream(), i), calls.arm.name);
  }
}

Queue::MarkPtr HostQueue::mark() { return std::make_unique<Instant>(); }

double HostQueue::us_between(const Mark& begin, const Mark& end) {
  return std::chrono::duration<double, std::micro>(at(end) - at(begin)).count();
}

void HostQueue::rest(double ms) {
  if (ms > 0) std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms));
}

}  // namespace detgemm::bench
