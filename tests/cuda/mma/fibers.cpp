// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/cuda/mma/fibers.hpp"

#include <ucontext.h>

#include <algorithm>

namespace detgemm::test {
namespace {

constexpr std::size_t kStack = 128 * 1024;
Fibers* running = nullptr;

}  // namespace

void Fibers::enter() {
  Fibers& self = *running;
  (*self.body_)();
  self.fibers_[static_cast<std::size_t>(self.current_)].ended = true;
  _longjmp(self.scheduler_, 1);
}

void Fibers::wait(const Meeting& meeting) {
  Fiber& fiber = fibers_[static_cast<std::size_t>(current_)];
  fiber.waits = &meeting;
  fiber.turn = meeting.turn;
  if (_setjmp(fiber.at) == 0) _longjmp(scheduler_, 1);
  fiber.waits = nullptr;
}

void Fibers::resume(Fiber& fiber) {
  if (_setjmp(scheduler_) != 0) return;
  if (fiber.started) _longjmp(fiber.at, 1);
  fiber.started = true;
  ucontext_t fresh{};
  getcontext(&fresh);
  fresh.uc_stack.ss_sp = fiber.stack.data();
  fresh.uc_stack.ss_size = fiber.stack.size();
  makecontext(&fresh, &Fibers::enter, 0);
  setcontext(&fresh);
}

bool Fibers::run(const std::vector<int>& order, const std::function<void()>& body) {
  running = this;
  body_ = &body;
  if (fibers_.size() < order.size()) fibers_.resize(order.size());
  for (Fiber& fiber : fibers_) {
    if (fiber.stack.empty()) fiber.stack.resize(kStack);
    fiber.started = fiber.ended = false;
    fiber.waits = nullptr;
  }
  std::size_t left = order.size();
  while (left > 0) {
    bool moved = false;
    for (const int thread : order) {
      Fiber& fiber = fibers_[static_cast<std::size_t>(thread)];
      if (fiber.ended || (fiber.waits != nullptr && fiber.waits->turn == fiber.turn)) continue;
      current_ = thread;
      resume(fiber);
      moved = true;
      if (fiber.ended) --left;
    }
    if (!moved) return false;
  }
  return true;
}

}  // namespace detgemm::test
