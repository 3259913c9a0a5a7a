// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/worker.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdio_ext.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>

#include "core/conformance/controls/control.hpp"
#include "detgemm/conformance.hpp"

// Worker processes leave nothing behind. What engines do to them is tested by hostile.py.

namespace detgemm::conformance {
namespace {

std::ptrdiff_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

/// Everything that an observer is told, but for times.
class Recorder final : public Observer {
 public:
  void on_start(const Report& report) override { note("start " + report.engine, report.planned); }
  void on_cell(std::size_t index, const Cell& cell, const std::string& repro) override {
    note("cell " + cell.property + " " + cell.contract + " " + repro, index);
  }
  void on_case(std::int64_t index) override { note("case", static_cast<std::size_t>(index)); }
  void on_problem(const std::string& problem) override { note("problem " + problem, 0); }
  void on_failure(const Cell& cell) override {
    note("failure " + cell.failures.back().what, cell.failures.size());
  }
  void on_finished(std::size_t index, const Cell& cell) override {
    note("finished " + std::string(name(cell.verdict)) + " " + cell.reason, index);
  }
  std::vector<std::string> told;

 private:
  void note(const std::string& what, std::size_t number) {
    told.push_back(what + " " + std::to_string(number));
  }
};

TEST(Worker, TellsAnObserverWhatARunInThisProcessTells) {
  Recorder here;
  Recorder there;
  Options options;
  options.contracts = {*Contract::parse("hopper/bf16/chain->bf16")};
  options.properties = {"run_to_run", "batch", "chunked_prefill"};
  options.oracle.backend = &controls::honest();
  for (const controls::Control& control : controls::controls()) {
    if (control.name == "batch_switch") options.engine = control.engine;
  }
  options.observer = &here;
  ASSERT_TRUE(run_conformance(options).ok());
  const auto load = [&]() -> Result<Candidate> {
    return Candidate{options.engine, options.oracle, nullptr};
  };
  options.observer = &there;
  const auto report = run_isolated(options, {}, load);
  ASSERT_TRUE(report.ok());
  EXPECT_GT(here.told.size(), 60U);
  EXPECT_EQ(here.told, there.told);
  options.observer = nullptr;
  const auto alone = run_isolated(options, {}, load);
  ASSERT_TRUE(alone.ok());
  EXPECT_EQ(alone->count(Verdict::failed), report->count(Verdict::failed));
}

TEST(Worker, LeavesNoDescriptorOpen) {
  if (!std::filesystem::exists("/proc/self/fd")) GTEST_SKIP() << "there is no /proc here";
  Options options;
  options.contracts = {*Contract::parse("ieee_fma/fp32/chain->fp32")};
  options.properties = {"run_to_run"};
  const auto before = open_descriptors();
  const auto report = run_isolated(options, {}, []() -> Result<Candidate> {
    return Candidate{&controls::honest(), {&controls::honest(), {}}, nullptr};
  });
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_TRUE(report->passed());
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Worker, ItsPipeIsReadWithoutWaitingAndInheritedByNobody) {
  Options options;
  options.contracts = {*Contract::parse("ieee_fma/fp32/chain->fp32")};
  options.properties = {"run_to_run"};
  const auto worker = start_worker(options, []() -> Result<Candidate> {
    return Status{Errc::not_found, "none"};
  });
  ASSERT_TRUE(worker.ok()) << worker.status().message();
  EXPECT_NE(fcntl(worker->pipe, F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_NE(fcntl(worker->pipe, F_GETFL) & O_NONBLOCK, 0);
  end_worker(*worker);
}

/// What a worker finds itself in, in words.
std::string surroundings() {
  std::string text;
  const auto handler_of = [](int signal) {
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    return action.sa_handler;
  };
  for (const int signal : {SIGINT, SIGTERM}) text += handler_of(signal) == SIG_DFL ? "d" : "-";
  text += handler_of(SIGPIPE) == SIG_IGN ? "i" : "-";
  text += getpgid(0) == getpid() ? "g" : "-";
  int at_death = 0;
  prctl(PR_GET_PDEATHSIG, &at_death);
  text += at_death == SIGKILL ? "k" : "-";
  struct stat in {
  }, null{}, out{}, err{};
  fstat(STDIN_FILENO, &in), stat("/dev/null", &null);
  fstat(STDOUT_FILENO, &out), fstat(STDERR_FILENO, &err);
  text += in.st_rdev == null.st_rdev && in.st_rdev != 0 ? "n" : "-";
  text += out.st_ino == err.st_ino && out.st_dev == err.st_dev ? "e" : "-";
  text += __flbf(stdout) != 0 ? "l" : "-";
  rlimit cores{1, 1};
  getrlimit(RLIMIT_CORE, &cores);
  return text + " " + std::to_string(cores.rlim_cur) + " " + std::to_string(cores.rlim_max);
}

TEST(Worker, HasNoTerminalNoHandlersAndNoLifeAfterItsParents) {
  Options options;
  const auto said = [&] {
    return run_isolated(options, {},
                        []() -> Result<Candidate> {
                          return Status{Errc::not_found, surroundings()};
                        })
        .status()
        .message();
  };
  const auto before_int = std::signal(SIGINT, SIG_IGN);
  const auto before_term = std::signal(SIGTERM, SIG_IGN);
  rlimit cores{};
  getrlimit(RLIMIT_CORE, &cores);
  const std::string all = said();
  options.only_case = 3;  // whoever repeats a failure may want the core
  const std::string single = said();
  std::signal(SIGINT, before_int);
  std::signal(SIGTERM, before_term);
  EXPECT_EQ(all, "ddigknel 0 0");
  EXPECT_EQ(single,
            "ddigknel " + std::to_string(cores.rlim_cur) + " " + std::to_string(cores.rlim_max));
}

TEST(Worker, ARefusalOfTheCandidateIsTheRunsAndLeavesNothingEither) {
  Options options;
  options.contracts = {*Contract::parse("ieee_fma/fp32/chain->fp32")};
  const auto before = open_descriptors();
  const auto report = run_isolated(options, {}, []() -> Result<Candidate> {
    return Status{Errc::not_found, "no engine of that name"};
  });
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.status().code(), Errc::not_found);
  EXPECT_EQ(report.status().message(), "no engine of that name");
  EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace detgemm::conformance
