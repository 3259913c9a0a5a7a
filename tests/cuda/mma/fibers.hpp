// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <csetjmp>
#include <cstdint>
#include <functional>
#include <vector>

namespace detgemm::test {

/// Where threads of a CTA wait for each other: the last one that arrives does the work.
struct Meeting {
  int expected = 0;
  int arrived = 0;
  std::uint64_t turn = 0;  ///< how often all have met
};

/// The threads of a CTA as fibers of one thread of the host: each runs until it has to wait, and
/// then the next one in the order runs. Nothing is timed, so what happens is a function of the
/// order.
class Fibers {
 public:
  /// Runs body() once per entry of `order`, the threads' numbers in the order in which they run.
  /// False where some wait for others that have ended: a deadlock.
  bool run(const std::vector<int>& order, const std::function<void()>& body);

  /// The number of the thread that runs.
  int current() const { return current_; }
  /// Waits for the others of the meeting; `work` is done once, by the last one.
  template <class Work>
  void meet(Meeting& meeting, Work&& work) {
    if (++meeting.arrived < meeting.expected) {
      wait(meeting);
      return;
    }
    work();
    meeting.arrived = 0;
    ++meeting.turn;
  }

 private:
  struct Fiber {
    std::vector<unsigned char> stack;
    std::jmp_buf at{};
    bool started = false, ended = false;
    const Meeting* waits = nullptr;
    std::uint64_t turn = 0;
  };
  static void enter();
  void wait(const Meeting& meeting);
  void resume(Fiber& fiber);

  std::vector<Fiber> fibers_;
  std::jmp_buf scheduler_{};
  const std::function<void()>* body_ = nullptr;
  int current_ = 0;
};

}  // namespace detgemm::test
