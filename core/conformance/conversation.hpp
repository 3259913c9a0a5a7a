// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "core/conformance/json.hpp"
#include "core/conformance/share.hpp"

namespace detgemm::conformance {

/// Reads what a worker sends, line by line, and knows what it was doing last. The engine shares the
/// worker's process, so anything may be in the pipe.
class Conversation {
 public:
  using Clock = std::chrono::steady_clock;
  /// A worker's longest line is a cell of some hundred failures.
  static constexpr std::size_t kLongestLine = std::size_t{1} << 26;

  /// `announced`, where conversations share the observer: whether it has heard of the start.
  Conversation(Report& report, Observer* observer, const Share& share = {},
               bool* announced = nullptr)
      : report_(report), observer_(observer), share_(share), announced_(announced) {}

  /// False if that is nothing that a worker says.
  bool take(const char* bytes, std::size_t count);
  /// The cell in which the worker was lost fails; the next worker begins after it.
  void lose(const std::string& how);

  bool started() const { return started_; }
  bool in_cell() const { return in_cell_; }
  bool ended() const { return ended_; }
  const std::optional<Status>& refusal() const { return refusal_; }
  /// The share's next cell.
  std::size_t next_cell() const { return next_; }
  Clock::time_point last_sign() const { return last_sign_; }
  /// The next worker begins with the share's first cell from `first` on.
  void restart(std::size_t first);

 private:
  void hear(const Json& said);
  void finish();

  Report& report_;
  Observer* observer_;
  Share share_;
  bool* announced_;
  std::string text_;
  bool started_ = false, in_cell_ = false, ended_ = false;
  std::optional<Status> refusal_;
  std::size_t index_ = 0, next_ = next_of(share_, 0);
  Cell cell_;
  std::string repro_, problem_;
  std::int64_t case_ = -1;
  Clock::time_point last_sign_ = Clock::now();
  Clock::time_point cell_began_ = Clock::now();
};

}  // namespace detgemm::conformance
