// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <poll.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include "core/conformance/conversation.hpp"
#include "core/conformance/format.hpp"
#include "core/conformance/worker.hpp"

namespace detgemm::conformance {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTick = 50;  // ms between looks at the child

/// What wait() says of a child, as the end of "the engine's process ...".
std::string ending(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return "was ended by signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
  }
  return "ended itself with exit code " + std::to_string(WEXITSTATUS(status));
}

enum class Loss { none, died, time, stopped };

/// Listens to one worker until it ends. `how` says how, where it should not have.
Loss listen(const Worker& worker, Conversation& talk, const Isolation& isolation,
            Observer* observer, std::string& how) {
  const auto limit = std::chrono::duration<double>(isolation.seconds_per_case);
  bool open = true;
  for (;;) {
    pollfd input{open ? worker.pipe : -1, POLLIN, 0};
    poll(&input, 1, kTick);
    // Asked before all is read: what it has said comes before how it ended. A child of the worker
    // may hold the pipe open.
    int status = 0;
    const bool gone = waitpid(worker.pid, &status, WNOHANG) == worker.pid;
    char bytes[65536];
    ssize_t count = 0;
    while ((count = read(worker.pipe, bytes, sizeof bytes)) > 0) {
      if (!talk.take(bytes, static_cast<std::size_t>(count))) {
        how = "the engine's process wrote into the harness's messages";
        return Loss::died;
      }
      if (talk.ended() || talk.refusal()) return Loss::none;
    }
    if (count == 0) open = false;
    if (gone) {
      how = "the engine's process " + ending(status);
      return Loss::died;
    }
    if (observer != nullptr && observer->stop()) return Loss::stopped;
    if (Clock::now() - talk.last_sign() > limit) {
      how = "the engine did not return within " + decimal(isolation.seconds_per_case) + " s";
      return Loss::time;
    }
  }
}

/// A worker that was lost before it could say which cells there are.
Status lost_early(const std::string& how) {
  return {Errc::internal, how +
                              " before the first case, while it was opened or reported what it "
                              "supports"};
}

}  // namespace

Result<Report> run_isolated(const Options& options, const Isolation& isolation,
                            const std::function<Result<Candidate>()>& load) {
  if (!(isolation.seconds_per_case > 0.0)) {
    return invalid("seconds_per_case is " + std::to_string(isolation.seconds_per_case) +
                   ": it must be more than 0");
  }
  Report report;
  Conversation talk(report, options.observer);
  const auto start = Clock::now();
  Options asked = options;
  int timeouts = 0;
  for (;;) {
    asked.first_cell = std::max(options.first_cell, talk.next_cell());
    auto worker = start_worker(asked, load);
    if (!worker) return worker.status();
    talk.restart(asked.first_cell);
    std::string how;
    const Loss loss = listen(*worker, talk, isolation, options.observer, how);
    end_worker(*worker);
    if (talk.refusal() && !talk.started()) return *talk.refusal();
    if (talk.refusal()) how = talk.refusal()->message();  // a later worker could not begin
    if (loss == Loss::none && !talk.refusal()) {
      if (talk.in_cell())
        talk.lose("the engine's process reported in the middle of it that all cells are done");
      if (talk.next_cell() < report.planned) {
        report.cut_short =
            "the rest was not run: the engine's process reported that it is done after " +
            std::to_string(talk.next_cell()) + " of " + std::to_string(report.planned) + " cells";
      }
      break;
    }
    if (loss == Loss::stopped) {
      if (!talk.started()) return Status{Errc::unavailable, "interrupted before the first case"};
      report.interrupted = true;
      break;
    }
    if (!talk.started()) return lost_early(how);
    if (talk.in_cell()) talk.lose(how);
    timeouts += loss == Loss::time ? 1 : 0;
    const bool begun = talk.next_cell() > asked.first_cell;
    if (timeouts >= isolation.max_timeouts || !begun) {
      report.cut_short = "the rest was not run: " + how;
      break;
    }
    if (talk.next_cell() >= report.planned) break;
  }
  report.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return report;
}

}  // namespace detgemm::conformance
