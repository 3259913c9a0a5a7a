// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "core/cli/report.hpp"
#include "detgemm/conformance.hpp"

namespace detgemm::cli {

/// Says how far a run is: on a terminal in one line that is written again, otherwise in a line
/// every half minute. Ends the run at SIGINT and SIGTERM, which it catches while it lives.
class Console final : public conformance::Observer {
 public:
  /// `finished` is called with every cell.
  explicit Console(std::function<void(const conformance::Cell&)> finished);
  ~Console() override;

  void on_start(const conformance::Report& report) override;
  void on_cell(std::size_t, const conformance::Cell& cell, const std::string&) override;
  void on_finished(std::size_t, const conformance::Cell& cell) override;
  bool stop() override;

  /// The exit code of a run that a signal has ended.
  static int exit_of_signal();

 private:
  std::string state() const;

  std::function<void(const conformance::Cell&)> finished_;
  Progress progress_;
  std::string engine_;
  std::size_t planned_ = 0, done_ = 0, failed_ = 0;
  std::chrono::steady_clock::time_point start_, last_line_;
};

}  // namespace detgemm::cli
