// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/conformance/conversation.hpp"
#include "core/conformance/format.hpp"
#include "core/conformance/worker.hpp"

namespace detgemm::conformance {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTick = 50;  // ms between looks at the children
constexpr int kMaxJobs = 1024;

/// What wait() says of a child, as the end of "the engine's process ...".
std::string ending(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return "was ended by signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
  }
  return "ended itself with exit code " + std::to_string(WEXITSTATUS(status));
}

enum class Loss { none, died, time };

/// A share of the cells, and the worker that tests it; another one follows where it is lost.
class Lane {
 public:
  Lane(const Options& options, bool& announced)
      : options_(options), talk_(report_, options.observer, options.share, &announced) {}
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  ~Lane() { close(); }

  /// Starts a worker with the next cell.
  Status open(const std::function<Result<Candidate>()>& load) {
    begun_at_ = std::max(options_.first_cell, talk_.next_cell());
    Options mine = options_;
    mine.first_cell = begun_at_;
    auto worker = start_worker(mine, load);
    if (!worker) return worker.status();
    worker_ = *worker;
    pipe_ends_ = false;
    talk_.restart(begun_at_);
    return {};
  }
  void close() {
    if (worker_) end_worker(*worker_);
    worker_.reset();
  }
  bool is_open() const { return worker_.has_value(); }
  pollfd input() const { return {pipe_ends_ ? -1 : worker_->pipe, POLLIN, 0}; }
  /// Hears what the worker has said. How it ended, or nothing while it runs; `how` says how, where
  /// it should not have.
  std::optional<Loss> hear(double seconds_per_case, std::string& how);

  /// The share's cells that are done, with their numbers.
  void add_to(std::vector<std::pair<std::size_t, Cell>>& cells) {
    std::size_t at = next_of(options_.share, options_.first_cell);
    for (Cell& cell : report_.cells) {
      cells.emplace_back(at, std::move(cell));
      at = next_of(options_.share, at + 1);
    }
    report_.cells.clear();
  }
  Conversation& talk() { return talk_; }
  const Report& report() const { return report_; }
  /// Whether its worker has begun a cell.
  bool has_begun() const { return talk_.next_cell() > next_of(options_.share, begun_at_); }

 private:
  Options options_;
  Report report_;
  Conversation talk_;
  std::optional<Worker> worker_;
  bool pipe_ends_ = false;
  std::size_t begun_at_ = 0;
};

std::optional<Loss> Lane::hear(double seconds_per_case, std::string& how) {
  // Asked before all is read: what it has said comes before how it ended. A child of the worker
  // may hold the pipe open.
  int status = 0;
  const bool gone = waitpid(worker_->pid, &status, WNOHANG) == worker_->pid;
  char bytes[65536];
  ssize_t count = 0;
  while ((count = read(worker_->pipe, bytes, sizeof bytes)) > 0) {
    if (!talk_.take(bytes, static_cast<std::size_t>(count))) {
      how = "the engine's process wrote into the harness's messages";
      return Loss::died;
    }
    if (talk_.ended() || talk_.refusal()) return Loss::none;
  }
  pipe_ends_ = count == 0;
  if (gone) {
    how = "the engine's process " + ending(status);
    return Loss::died;
  }
  if (Clock::now() - talk_.last_sign() > std::chrono::duration<double>(seconds_per_case)) {
    how = "the engine did not return within " + decimal(seconds_per_case) + " s";
    return Loss::time;
  }
  return std::nullopt;
}

/// A worker that was lost before it could say which cells there are.
Status lost_early(const std::string& how) {
  return {Errc::internal, how +
                              " before the first case, while it was opened or reported what it "
                              "supports"};
}

/// All lanes, until each of them is done or the run ends.
class Lanes {
 public:
  Lanes(const Options& options, const Isolation& isolation,
        const std::function<Result<Candidate>()>& load)
      : isolation_(isolation), load_(load), observer_(options.observer) {
    Options mine = options;
    for (int i = 0; i < isolation.jobs; ++i) {
      mine.share = {static_cast<std::size_t>(i), static_cast<std::size_t>(isolation.jobs)};
      lanes_.push_back(std::make_unique<Lane>(mine, announced_));
    }
  }

  Result<Report> run() {
    for (auto& lane : lanes_) {
      if (Status s = lane->open(load_); !s) return s;
    }
    while (!over_ && is_open()) {
      wait();
      bool ended = false;
      for (auto& lane : lanes_) {
        std::string how;
        const auto loss =
            lane->is_open() ? lane->hear(isolation_.seconds_per_case, how) : std::nullopt;
        if (!loss) continue;
        ended = true;
        lane->close();
        if (Status s = after(*lane, *loss, how); !s) return s;
        if (over_) break;
      }
      if (ended || observer_ == nullptr || !observer_->stop()) continue;
      if (!has_started()) return Status{Errc::unavailable, "interrupted before the first case"};
      interrupted_ = over_ = true;
    }
    return together();
  }

 private:
  bool is_open() const {
    return std::any_of(lanes_.begin(), lanes_.end(),
                       [](const auto& lane) { return lane->is_open(); });
  }
  bool has_started() const {
    return std::any_of(lanes_.begin(), lanes_.end(),
                       [](const auto& lane) { return lane->talk().started(); });
  }
  void wait() const {
    std::vector<pollfd> inputs;
    for (const auto& lane : lanes_) {
      if (lane->is_open()) inputs.push_back(lane->input());
    }
    poll(inputs.data(), static_cast<nfds_t>(inputs.size()), kTick);
  }

  /// What follows the end of a worker: another one, no more of this lane, or the end of the run.
  /// A refusal where there is no report to make.
  Status after(Lane& lane, Loss loss, std::string how) {
    Conversation& talk = lane.talk();
    const std::size_t planned = lane.report().planned;
    if (talk.refusal() && !talk.started()) return *talk.refusal();
    if (talk.refusal()) how = talk.refusal()->message();  // a later worker could not begin
    if (loss == Loss::none && !talk.refusal()) {
      if (talk.in_cell())
        talk.lose("the engine's process reported in the middle of it that all cells are done");
      if (talk.next_cell() < planned) {
        give_up("the engine's process reported that it is done after " +
                std::to_string(talk.next_cell()) + " of " + std::to_string(planned) + " cells");
      }
      return {};
    }
    if (!talk.started()) return lost_early(how);
    if (talk.in_cell()) talk.lose(how);
    timeouts_ += loss == Loss::time ? 1 : 0;
    if (timeouts_ >= isolation_.max_timeouts || !lane.has_begun()) {
      give_up(how);
      return {};
    }
    return talk.next_cell() < planned ? lane.open(load_) : Status{};
  }
  void give_up(const std::string& why) {
    cut_short_ = "the rest was not run: " + why;
    over_ = true;
  }

  /// One report of all lanes, its cells in their order.
  Report together() {
    Report report;
    std::vector<std::pair<std::size_t, Cell>> cells;
    for (auto& lane : lanes_) {
      lane->add_to(cells);
      if (report.engine.empty()) report = lane->report();
    }
    std::sort(cells.begin(), cells.end(),
              [](const auto& one, const auto& other) { return one.first < other.first; });
    for (auto& [number, cell] : cells) report.cells.push_back(std::move(cell));
    report.interrupted = interrupted_;
    report.cut_short = cut_short_;
    return report;
  }

  const Isolation& isolation_;
  const std::function<Result<Candidate>()>& load_;
  Observer* observer_;
  bool announced_ = false;  // the observer has heard of the start
  std::vector<std::unique_ptr<Lane>> lanes_;
  int timeouts_ = 0;
  bool interrupted_ = false, over_ = false;
  std::string cut_short_;
};

}  // namespace

Result<Report> run_isolated(const Options& options, const Isolation& isolation,
                            const std::function<Result<Candidate>()>& load) {
  if (!(isolation.seconds_per_case > 0.0)) {
    return invalid("seconds_per_case is " + std::to_string(isolation.seconds_per_case) +
                   ": it must be more than 0");
  }
  if (isolation.jobs < 1 || isolation.jobs > kMaxJobs) {
    return invalid("jobs is " + std::to_string(isolation.jobs) + ": it must be 1 to " +
                   std::to_string(kMaxJobs));
  }
  const auto start = Clock::now();
  auto report = Lanes(options, isolation, load).run();
  if (report) report->seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return report;
}

}  // namespace detgemm::conformance
