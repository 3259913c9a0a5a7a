// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <atomic>
#include <thread>

#include "core/conformance/properties/list.hpp"

namespace detgemm::conformance {
namespace {

constexpr int kThreads = 4;
constexpr int kRounds = 3;

/// Enqueues one problem again and again on a stream of its own.
Result<Output> run_repeatedly(Device& device, Prepared& prepared, const std::atomic<bool>& go) {
  auto stream = device.create_stream();
  if (!stream) return stream.status();
  while (!go.load()) std::this_thread::yield();
  Status status;
  for (int round = 0; round < kRounds && status.ok(); ++round) status = prepared.enqueue(*stream);
  const Status waited = device.synchronize(*stream);
  device.destroy_stream(*stream);
  if (!status) return status;
  if (!waited) return waited;
  return prepared.collect();
}

}  // namespace

/// Threads that share a plan and threads with plans of their own run at the same time, each with
/// its own stream and workspace: every problem gives the bits that it gives when it runs alone.
void concurrency(Case& c) {
  const Request shared = c.draw(c.draw_shape());
  const auto alone = c.run(shared);
  if (!alone) return;
  std::vector<Elements> expected;
  std::vector<Prepared> jobs;
  auto plan = Plan::create(c.engine(), sized(shared));
  if (!plan) return c.note(plan.status());
  for (int i = 0; i < kThreads; ++i) {
    const bool own = i % 2 != 0;
    const Request request = own ? c.draw(c.draw_shape()) : shared;
    const auto solo = own ? c.run(request) : alone;
    if (!solo) return;
    auto job = own ? Prepared::make(c.engine(), request) : Prepared::make(*plan, request);
    if (!job) return c.note(job.status());
    expected.push_back(solo->d);
    jobs.push_back(std::move(job).value());
  }
  std::atomic<bool> go{false};
  std::vector<std::optional<Result<Output>>> results(kThreads);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] { results[i] = run_repeatedly(c.engine().device(), jobs[i], go); });
  }
  go = true;
  for (auto& thread : threads) thread.join();
  for (std::size_t i = 0; i < kThreads; ++i) {
    const Result<Output>& result = *results[i];
    if (!result) return c.note(result.status());
    if (!result->violation.empty()) return c.fail(result->violation);
    if (!c.same(expected[i], result->d,
                "thread " + std::to_string(i) + " among " + std::to_string(kThreads))) {
      return;
    }
  }
  c.check_order_matters(shared, alone->d);
}

}  // namespace detgemm::conformance
