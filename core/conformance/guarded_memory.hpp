// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "detgemm/status.hpp"

namespace detgemm::conformance {

/// Holds every thread that touches a closed array until as many have come as are expected, so that
/// calls are under way at the same time for certain, on any machine. When all callers have
/// started and no more have come for `patience` (an engine may serialise its calls), it opens.
class Gate {
 public:
  /// On a busy machine a thread may not run for a tenth of a second.
  static constexpr std::chrono::nanoseconds kPatience = std::chrono::seconds{3};

  /// If those who came to `before` did not all come, nobody waits here.
  explicit Gate(int expected, std::chrono::nanoseconds patience = kPatience,
                const Gate* before = nullptr)
      : expected_(expected), patience_(patience), before_(before) {}
  Gate(const Gate&) = delete;

  /// A caller says that it is about to call the engine.
  void start() { ++started_; }
  /// How many threads were held here at the same time.
  int held() const { return arrived_.load(); }
  /// Whether it opened before all had come.
  bool lapsed() const { return open_.load(); }
  /// Called by the handler of the fault: atomics and nanosleep alone.
  void wait(bool counts) noexcept;

 private:
  const int expected_;
  const std::chrono::nanoseconds patience_;  // without a further arrival
  const Gate* before_;
  std::atomic<int> started_{0};
  std::atomic<int> arrived_{0};
  std::atomic<bool> open_{false};
};

/// Whole pages of host memory between two guards that nobody may touch. A touched guard is recorded
/// and opened, so that the call goes on and the harness can say what happened; what lies beyond the
/// guards ends the process.
class GuardedMemory {
 public:
  /// Bytes of each guard; they cost no memory.
  static constexpr std::size_t kGuard = std::size_t{1} << 20;
  /// Of arrays that are mapped sparsely: an index that loses bits 31 and up ends in here.
  static constexpr std::size_t kWideGuard = std::size_t{1} << 35;
  static std::size_t page();

  /// Untouched pages cost no memory.
  static Result<GuardedMemory> map(std::size_t bytes, std::size_t guard = kGuard);
  GuardedMemory() = default;
  GuardedMemory(GuardedMemory&& other) noexcept { *this = static_cast<GuardedMemory&&>(other); }
  GuardedMemory& operator=(GuardedMemory&& other) noexcept;
  ~GuardedMemory();

  std::uint8_t* data() const;
  /// A multiple of a page.
  std::size_t bytes() const;
  /// The first address in a guard that was touched, or 0.
  std::uintptr_t touched() const;
  /// The first address of a frozen page that was written, or 0: the write went on, as with guards.
  std::uintptr_t written() const;
  /// Writes to the whole pages in [from, to), bytes after the first one, are recorded from now on.
  Status freeze(std::size_t from, std::size_t to);
  void thaw();
  /// No thread gets past the next touch before the gate lets it; the gate must outlive the calls.
  /// Only the first thread of an array counts: a call may have several.
  Status close(Gate& gate);
  /// The same for the next write, for an array that several calls store to: reads go on, and every
  /// thread counts, so a call of several may open it alone.
  Status close_to_writes(Gate& gate);
  /// Takes the gate away.
  void open();

 private:
  Status close(Gate& gate, bool shared);

  struct Region* region_ = nullptr;
  friend struct Region;
};

}  // namespace detgemm::conformance
