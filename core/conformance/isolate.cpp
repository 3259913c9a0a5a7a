// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <poll.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include "core/conformance/format.hpp"
#include "core/conformance/json.hpp"
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

/// A cell that no worker runs at this place.
struct OutOfTurn {};

/// Reads what a worker sends, line by line, and knows what it was doing last.
class Conversation {
 public:
  Conversation(Report& report, Observer* observer) : report_(report), observer_(observer) {}

  /// False if that is nothing that a worker says.
  bool take(const char* bytes, std::size_t count) try {
    text_.append(bytes, count);
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = text_.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
      hear(Json::parse(text_.begin() + static_cast<std::ptrdiff_t>(begin),
                       text_.begin() + static_cast<std::ptrdiff_t>(end)));
    }
    text_.erase(0, begin);
    return true;
  } catch (const Json::exception&) {
    return false;
  } catch (const OutOfTurn&) {
    return false;
  }

  /// The cell in which the worker was lost fails; the next worker begins after it.
  void lose(const std::string& how) {
    cell_.verdict = Verdict::failed;
    cell_.reason = how + (case_ < 0 ? "" : " in case " + std::to_string(case_));
    cell_.cases = std::max<std::int64_t>(cell_.cases, case_ + 1);
    cell_.seconds = std::chrono::duration<double>(Clock::now() - cell_began_).count();
    const std::int64_t at = std::max<std::int64_t>(case_, 0);
    cell_.failures.insert(cell_.failures.begin(), {at, how, problem_, -1, -1, "", "",
                                                   repro_ + " --case " + std::to_string(at)});
    finish();
  }

  bool started() const { return started_; }
  bool in_cell() const { return in_cell_; }
  bool ended() const { return ended_; }
  const std::optional<Status>& refusal() const { return refusal_; }
  std::size_t next_cell() const { return next_; }
  Clock::time_point last_sign() const { return last_sign_; }
  /// The next worker begins with cell number `first`.
  void restart(std::size_t first) {
    last_sign_ = Clock::now();
    text_.clear();
    refusal_.reset();
    next_ = first;
  }

 private:
  void hear(const Json& said) {
    const std::string what = said.at("is");
    // Problems within a case do not count: a case has one time limit.
    if (what != "problem") last_sign_ = Clock::now();
    if (what == "start") {
      if (!started_) {
        report_ = facts_from_json(said.at("report"));
        if (observer_ != nullptr) observer_->on_start(report_);
      }
      started_ = true;
    } else if (what == "cell") {
      const std::size_t index = said.at("index");
      if (in_cell_ || index != next_) throw OutOfTurn{};  // a worker runs every cell, in order
      Cell cell = cell_from_json(said.at("cell"));
      repro_ = said.at("repro");
      cell_ = std::move(cell);
      index_ = index;
      case_ = -1;
      problem_.clear();
      in_cell_ = true;
      cell_began_ = Clock::now();
      if (observer_ != nullptr) observer_->on_cell(index_, cell_, repro_);
    } else if (what == "case") {
      case_ = said.at("case");
      problem_.clear();
      if (observer_ != nullptr) observer_->on_case(case_);
    } else if (what == "problem") {
      const std::string problem = said.at("text");
      problem_ += (problem_.empty() ? "" : "; ") + problem;
      if (observer_ != nullptr) observer_->on_problem(problem);
    } else if (what == "failure") {
      cell_ = cell_from_json(said.at("cell"));
      if (observer_ != nullptr) observer_->on_failure(cell_);
    } else if (what == "finished") {
      if (!in_cell_) throw OutOfTurn{};
      cell_ = cell_from_json(said.at("cell"));
      finish();
    } else if (what == "refusal") {
      refusal_ = Status{static_cast<Errc>(said.at("code").get<int>()), said.at("text")};
    } else if (what == "end") {
      ended_ = true;
    }
  }

  void finish() {
    in_cell_ = false;
    next_ = index_ + 1;
    if (observer_ != nullptr) observer_->on_finished(index_, cell_);
    report_.cells.push_back(std::move(cell_));
    cell_ = {};
  }

  Report& report_;
  Observer* observer_;
  std::string text_;
  bool started_ = false, in_cell_ = false, ended_ = false;
  std::optional<Status> refusal_;
  std::size_t index_ = 0, next_ = 0;
  Cell cell_;
  std::string repro_, problem_;
  std::int64_t case_ = -1;
  Clock::time_point last_sign_ = Clock::now();
  Clock::time_point cell_began_ = Clock::now();
};

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
