// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <memory>
#include <thread>

#include "core/conformance/properties/list.hpp"

namespace detgemm::conformance {
namespace {

constexpr std::array kCalls{16, 3, 9, 5, 2, 12, 4, 7};
constexpr int kFreeRounds = 3;
/// Of the gates, once the engine has kept calls from them.
constexpr std::chrono::milliseconds kShortPatience{50};

/// How many calls are under way, from just before the engine is called until it has returned and,
/// on a GPU, its stream has finished.
class UnderWay {
 public:
  void enter() {
    const int now = ++count_;
    for (int most = most_; now > most && !most_.compare_exchange_weak(most, now);) continue;
  }
  void leave() { --count_; }
  int most() const { return most_; }

 private:
  std::atomic<int> count_{0};
  std::atomic<int> most_{0};
};

struct Job {
  Prepared prepared;
  Elements expected;
  Result<Output> got = Status{Errc::internal, "it did not run"};
};

/// What all threads of a round share.
struct Round {
  /// `held` of the calls stop at the gates.
  Round(int calls, int held, std::chrono::nanoseconds patience = Gate::kPatience)
      : all(calls), inputs(held, patience), outputs(held, patience, &inputs) {}
  std::barrier<> all;
  Gate inputs;   // every call is inside the engine when the first one gets past it
  Gate outputs;  // and again when the first one stores
  UnderWay under_way;

  /// An engine that takes its calls one after the other keeps all but one from the gates, although
  /// all have called it.
  bool was_serial() const { return inputs.lapsed() || outputs.lapsed(); }
};

/// One call per thread, all at once: on a host they are held at their first touch of A and of D.
Result<Output> run_held(Device& device, Job& job, Round& round) {
  auto stream = device.create_stream();
  Status status = stream ? Status{} : stream.status();
  round.all.arrive_and_wait();
  if (status) {
    round.under_way.enter();
    round.inputs.start();
    round.outputs.start();
    status = job.prepared.enqueue(*stream);
  }
  const bool host = device.kind() == DeviceKind::host;
  // On a GPU nobody waits before everybody has enqueued.
  if (!host) round.all.arrive_and_wait();
  const Status waited = stream ? device.synchronize(*stream) : Status{};
  round.under_way.leave();
  job.prepared.open();
  if (stream) device.destroy_stream(*stream);
  if (!status) return status;
  if (!waited) return waited;
  return job.prepared.collect();
}

/// Some calls of the same problem one after the other, with nothing to hold them.
Result<Output> run_freely(Device& device, Job& job, Round& round) {
  auto stream = device.create_stream();
  Status status = stream ? Status{} : stream.status();
  round.all.arrive_and_wait();
  for (int i = 0; i < kFreeRounds && status; ++i) status = job.prepared.enqueue(*stream);
  const Status waited = stream ? device.synchronize(*stream) : Status{};
  if (stream) device.destroy_stream(*stream);
  if (!status) return status;
  if (!waited) return waited;
  return job.prepared.collect();
}

template <class Run>
void run_all(std::vector<Job>& jobs, Round& round, Run&& run) {
  std::vector<std::thread> threads;
  for (Job& job : jobs) {
    threads.emplace_back([&] { job.got = run(job, round); });
  }
  for (auto& thread : threads) thread.join();
}

bool all_right(Case& c, std::vector<Job>& jobs, const char* how) {
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const auto got = c.ran(std::move(jobs[i].got));
    if (!got) return false;
    if (!c.same(jobs[i].expected, got->d,
                "call " + std::to_string(i) + " of " + std::to_string(jobs.size()) + how)) {
      return false;
    }
  }
  return true;
}

/// Every second call has a plan and a problem of its own, the others share one.
bool prepare(Case& c, int calls, const Request& shared, const Elements& alone,
             std::vector<Job>& jobs) {
  auto plan = Plan::create(c.engine(), sized(shared), shared.options);
  if (!plan) {
    c.note(plan.status());
    return false;
  }
  for (int i = 0; i < calls; ++i) {
    const bool own = i % 2 != 0;
    const Request request = own ? c.draw(c.draw_shape()) : shared;
    const auto solo = own ? c.run(request) : std::nullopt;
    if (own && !solo) return false;
    auto job = own ? Prepared::make(c.engine(), request) : Prepared::make(*plan, request);
    if (!job) {
      c.note(job.status());
      return false;
    }
    jobs.push_back({std::move(job).value(), own ? solo->d : alone});
  }
  return true;
}

// Chances for a race on a GPU, which has no gates.
constexpr int kInterleavedRounds = 5;
constexpr std::int64_t kFreeColumns = 1;  // between those of the two calls, written by neither

/// Two calls at once, whose Ds are the left and the right columns of one array: neither may write
/// what is stored between its rows, not even what it has read there, since the other one stores
/// there. On a host neither stores before both have read all that they read before their first
/// store.
///
///   row 0   D D D | . | E E E E | gap
///   row 1   D D D | . | E E E E | gap
bool interleaved_columns(Case& c, std::chrono::nanoseconds patience) {
  Device& device = c.engine().device();
  Shape shape{c.random().between(20, 40), 0, 8 * c.stretch() + c.random().below(40)};
  std::vector<Job> jobs;
  std::int64_t all = 0;
  for (int i = 0; i < 2; ++i) {
    shape.n = c.random().between(3, 11);
    all += shape.n;
    const Request request = c.draw(shape, Distribution::residue);
    const auto alone = c.run(request);
    if (!alone) return true;
    auto job = Prepared::make(c.engine(), request);
    if (!job) {
      c.note(job.status());
      return true;
    }
    jobs.push_back({std::move(job).value(), alone->d});
  }
  Elements before(c.contract().output, shape.m, all + kFreeColumns);
  std::fill(before.bytes.begin(), before.bytes.end(), std::uint8_t{0xff});
  const Layout layout{false, c.random().below(9), c.random().below(9)};
  auto shared = Buffer::holding(device, before, false, layout, 0xff);
  if (!shared) {
    c.note(shared.status());
    return true;
  }
  std::int64_t begin = 0;
  for (Job& job : jobs) {
    Matrix part = shared->view();
    part.cols = job.expected.cols;
    part.data = static_cast<std::uint8_t*>(part.data) +
                static_cast<std::size_t>(begin) * size_of(part.dtype);
    job.prepared.write_to(part);
    begin += part.cols + kFreeColumns;
  }
  for (int round = 0; round < kInterleavedRounds; ++round) {
    if (Status s = shared->restore(); !s) {
      c.note(s);
      return true;
    }
    const bool gated = jobs[0].prepared.has_gates() && jobs[1].prepared.has_gates();
    Round both(2, gated ? 2 : 0, patience);
    if (gated) {
      if (Status s = shared->close_to_writes(both.outputs); !s) {
        c.note(s);
        return true;
      }
    }
    for (Job& job : jobs) {
      if (!gated) continue;
      if (Status s = job.prepared.close(both.inputs, both.outputs); !s) {
        c.note(s);
        return true;
      }
    }
    run_all(jobs, both, [&](Job& job, Round& at) { return run_held(device, job, at); });
    shared->open();
    if (both.was_serial()) patience = kShortPatience;
    const auto whole = shared->read();
    const auto intact = shared->intact(true);
    if (!whole || !intact) {
      c.note(!whole ? whole.status() : intact.status());
      return true;
    }
    begin = 0;
    for (Job& job : jobs) {
      if (!c.ran(std::move(job.got))) return true;  // noted: it may refuse such a D
      const std::int64_t end = begin + job.expected.cols;
      if (!c.same(job.expected, col_slice(*whole, begin, end),
                  "columns of a D that another call has the others of")) {
        return false;
      }
      begin = end + kFreeColumns;
    }
    const std::int64_t free = jobs.front().expected.cols;
    if (!c.same(col_slice(before, free, free + kFreeColumns),
                col_slice(*whole, free, free + kFreeColumns),
                "a column of D that neither call has")) {
      return false;
    }
    if (!*intact) {
      c.fail("bytes changed around or between the rows of a D that two calls share");
      return false;
    }
  }
  return true;
}

}  // namespace

/// 2 to 16 calls at the same time, on a thread and a stream each, some sharing a plan: every one
/// gives the bits that it gives alone. The case counts only if that many were under way at once,
/// and on a host inside the engine, which the gates prove.
void concurrency(Case& c) {
  const int calls = kCalls[static_cast<std::size_t>(c.index()) % kCalls.size()];
  const Request shared = c.draw(c.draw_shape());
  const auto alone = c.run(shared);
  if (!alone) return;
  std::vector<Job> jobs;
  if (!prepare(c, calls, shared, alone->d, jobs)) return;
  Device& device = c.engine().device();
  const auto gated =
      std::ranges::count_if(jobs, [](const Job& j) { return j.prepared.has_gates(); });
  const std::chrono::nanoseconds patience = c.doubted() ? kShortPatience : Gate::kPatience;
  Round held(calls, static_cast<int>(gated), patience);
  for (Job& job : jobs) {
    if (!job.prepared.has_gates()) continue;
    if (Status s = job.prepared.close(held.inputs, held.outputs); !s) return c.note(s);
  }
  run_all(jobs, held, [&](Job& job, Round& round) { return run_held(device, job, round); });
  if (!all_right(c, jobs, " at once")) return;
  Round free(calls, 0);
  run_all(jobs, free, [&](Job& job, Round& round) { return run_freely(device, job, round); });
  if (!all_right(c, jobs, " again and again")) return;
  if (!interleaved_columns(c, held.was_serial() ? kShortPatience : patience)) return;
  if (held.under_way.most() < calls) {
    return c.doubt("only " + std::to_string(held.under_way.most()) + " of " +
                   std::to_string(calls) + " calls were under way at once");
  }
  if (held.was_serial()) {
    return c.doubt("the engine took " + std::to_string(calls) +
                   " calls one after the other: they never were inside it at once");
  }
  c.check_order_matters(shared, alone->d);
}

}  // namespace detgemm::conformance
