// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/cli/conform_console.hpp"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>

namespace detgemm::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kBetweenLines = std::chrono::seconds(30);
constexpr int kSignalled = 128;  // a shell adds this to a signal's number

std::atomic<int> caught{0};

void catch_signal(int signal) {
  if (caught.exchange(signal) != 0) _exit(kSignalled + signal);  // the second one does not wait
}

std::string duration(double seconds) {
  const auto whole = static_cast<long long>(seconds + 0.5);
  if (whole < 100) return std::to_string(whole) + " s";
  return std::to_string((whole + 30) / 60) + " min";
}

}  // namespace

Console::Console(std::function<void(const conformance::Cell&)> finished)
    : finished_(std::move(finished)), start_(Clock::now()), last_line_(start_) {
  struct sigaction action {};
  action.sa_handler = catch_signal;
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
}

Console::~Console() {
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, SIG_DFL);
}

int Console::exit_of_signal() { return kSignalled + caught.load(); }

bool Console::stop() { return caught.load() != 0; }

void Console::on_start(const conformance::Report& report) {
  engine_ = report.engine;
  planned_ = report.planned;
  done_ = failed_ = 0;
  start_ = last_line_ = Clock::now();
}

std::string Console::state() const {
  const double spent = std::chrono::duration<double>(Clock::now() - start_).count();
  std::string text = engine_ + ": " + std::to_string(done_) + " of " + std::to_string(planned_) +
                     " cells, " + std::to_string(failed_) + " failed, " + duration(spent);
  if (done_ > 0 && spent > 1.0) {
    const double left = spent / static_cast<double>(done_) * static_cast<double>(planned_ - done_);
    text += ", about " + duration(left) + " left";
  }
  return text;
}

void Console::on_cell(std::size_t, const conformance::Cell& cell, const std::string&) {
  progress_.show(state() + ": " + cell.contract + " " + cell.property);
}

void Console::on_finished(std::size_t, const conformance::Cell& cell) {
  ++done_;
  failed_ += conformance::counts_as_failure(cell.verdict) ? 1 : 0;
  finished_(cell);
  if (isatty(STDERR_FILENO) != 0 || Clock::now() - last_line_ < kBetweenLines) return;
  last_line_ = Clock::now();
  std::fprintf(stderr, "detgemm conform: %s\n", state().c_str());
}

}  // namespace detgemm::cli
