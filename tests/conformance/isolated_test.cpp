// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "core/conformance/property.hpp"
#include "detgemm/conformance.hpp"
#include "tests/conformance/scripted.hpp"

// What is said of a process that is lost, stopped or slow, and which cells and cases run.

namespace detgemm::conformance {
namespace {

class Isolated : public testing::Test {
 protected:
  Isolated() {
    options_.contracts = {*Contract::parse("ieee_fma/bf16/chain->fp32")};
    options_.properties = {"run_to_run", "strides"};
  }
  Result<Report> run(const Script& script, const Isolation& isolation = {}) {
    const Candidate candidate{&play(script), {&prompter(), {}}, nullptr};
    return run_isolated(options_, isolation,
                        [candidate]() -> Result<Candidate> { return candidate; });
  }
  void TearDown() override {
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child was left behind";
    play({});
  }
  Options options_;
};

TEST_F(Isolated, ALostProcessFailsItsCellAndTheNextGoesOn) {
  options_.properties = {"run_to_run", "padding"};
  Script script;
  script.act = Act::first_bit;
  script.at = 1;
  script.exits_at = 13;  // in case 1 or 2, since case 0 ends with the call that errs
  const auto report = run(script);
  ASSERT_TRUE(report.ok()) << report.status().message();
  ASSERT_EQ(report->cells.size(), 2U);
  const std::string how = "the engine's process ended itself with exit code 7";
  for (const std::int64_t which : {0, 1}) {
    const Cell& cell = report->cells[static_cast<std::size_t>(which)];
    const std::int64_t at = which == 0 ? 1 : 2;
    EXPECT_EQ(name(cell.verdict), "failed");
    EXPECT_EQ(cell.property, options_.properties[static_cast<std::size_t>(which)]);
    EXPECT_EQ(cell.reason, how + " in case " + std::to_string(at));
    EXPECT_EQ(cell.cases, at + 1);
    EXPECT_GT(cell.seconds, 0.0);
    ASSERT_EQ(cell.failures.size(), 2U) << "what had failed before is kept";
    const Failure& lost = cell.failures.front();
    EXPECT_EQ(lost.case_index, at);
    EXPECT_EQ(lost.what, how);
    EXPECT_EQ(lost.problem.find("m="), 0U) << lost.problem;
    EXPECT_EQ(lost.problem.find(';'), std::string::npos) << lost.problem;
    EXPECT_EQ(lost.row, -1);
    EXPECT_EQ(lost.col, -1);
    EXPECT_EQ(lost.expected + lost.got, "");
    EXPECT_EQ(lost.repro,
              "detgemm conform --backend scripted --contract 'ieee_fma/bf16/chain->fp32' "
              "--property " +
                  cell.property + " --seed 1 --case " + std::to_string(at));
    EXPECT_EQ(cell.failures.back().case_index, 0);
  }
  EXPECT_EQ(report->engine, "scripted");
  EXPECT_EQ(report->oracle, "prompter");
  EXPECT_EQ(report->planned, 2U);
  EXPECT_EQ(report->cut_short, "");
  EXPECT_FALSE(report->interrupted);
  EXPECT_GT(report->seconds, report->cells[0].seconds);
}

TEST_F(Isolated, ALostProcessHasSeenAllProblemsOfItsCase) {
  options_.properties = {"combinations"};
  Script script;
  script.exits_at = 0;
  const auto report = run(script);
  ASSERT_EQ(report->cells.size(), 1U);
  const Failure& lost = report->cells.front().failures.front();
  EXPECT_NE(lost.problem.find("; "), std::string::npos) << lost.problem;
  EXPECT_EQ(lost.case_index, 0);
}

TEST_F(Isolated, OneThatIsLostBeforeItsFirstCaseSaysNoCase) {
  Script script;
  script.lacks.problem = [](const GemmSpec&) -> const char* { _exit(3); };
  const auto report = run(script);
  ASSERT_EQ(report->cells.size(), 2U);
  const Cell& cell = report->cells.front();
  EXPECT_EQ(cell.reason, "the engine's process ended itself with exit code 3");
  EXPECT_EQ(cell.cases, 0);
  ASSERT_EQ(cell.failures.size(), 1U);
  EXPECT_EQ(cell.failures[0].case_index, 0);
  EXPECT_EQ(cell.failures[0].problem, "");
  EXPECT_NE(cell.failures[0].repro.find(" --case 0"), std::string::npos);
}

TEST_F(Isolated, TheTimeLimitIsThatOfACase) {
  options_.properties = {"strides"};  // 5 cases of 5 calls
  Script script;
  script.nap = std::chrono::milliseconds{20};
  script.counts = true;  // quick, whatever it is compiled with
  const auto report = run(script, {2.0, 3});
  ASSERT_TRUE(report.ok());
  EXPECT_NE(name(report->cells.front().verdict), "failed") << report->cells.front().reason;
  EXPECT_GT(report->seconds, 2.4) << "otherwise this test shows nothing";
}

TEST_F(Isolated, ProblemsOfOneCaseShareItsTimeLimit) {
  options_.properties = {"concurrency", "run_to_run"};
  Script script;
  script.nap = std::chrono::milliseconds{300};
  script.counts = true;
  const auto report = run(script, {1.0, 1});
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->cells.size(), 1U);
  EXPECT_EQ(report->cells.front().reason, "the engine did not return within 1 s in case 0");
  EXPECT_EQ(report->cut_short, "the rest was not run: the engine did not return within 1 s");
  EXPECT_EQ(report->planned, 2U);
  EXPECT_FALSE(report->passed());
}

TEST_F(Isolated, RefusesALimitThatIsNone) {
  for (const double limit : {0.0, -1.0, std::nan("")}) {
    const auto report = run({}, {limit, 3});
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.status().message(),
              "seconds_per_case is " + std::to_string(limit) + ": it must be more than 0");
  }
}

class Impatient final : public Observer {
 public:
  explicit Impatient(int cells) : cells_(cells) {}
  void on_finished(std::size_t, const Cell&) override { --cells_; }
  bool stop() override { return cells_ <= 0; }

 private:
  int cells_;
};

TEST_F(Isolated, AnObserverEndsItAndKeepsWhatHasFinished) {
  Impatient after_one(1);
  options_.observer = &after_one;
  Script script;
  script.nap = std::chrono::milliseconds{20};
  const auto report = run(script);
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->interrupted);
  EXPECT_EQ(report->cells.size(), 1U);
  EXPECT_EQ(report->cut_short, "");
  Impatient at_once(0);
  options_.observer = &at_once;
  const auto none = run_isolated(options_, {}, []() -> Result<Candidate> {
    std::this_thread::sleep_for(std::chrono::seconds{20});
    return Status{Errc::internal, "too late"};
  });
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.status().message(), "interrupted before the first case");
  EXPECT_EQ(none.status().code(), Errc::unavailable);
}

TEST_F(Isolated, OneThatIsLostWhileItIsOpenedSaysSo) {
  const auto report = run_isolated(options_, {}, []() -> Result<Candidate> { _exit(5); });
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(
      report.status().message(),
      "the engine's process ended itself with exit code 5 before the first case, while it was "
      "opened or reported what it supports");
}

TEST_F(Isolated, WhatIsThrownWhileItIsOpenedIsASentence) {
  const auto memory =
      run_isolated(options_, {}, []() -> Result<Candidate> { throw std::bad_alloc(); });
  EXPECT_EQ(memory.status().message(), "host memory is exhausted");
  EXPECT_EQ(memory.status().code(), Errc::internal);
  const auto other = run_isolated(
      options_, {}, []() -> Result<Candidate> { throw std::runtime_error("a wheel came off"); });
  EXPECT_EQ(other.status().message(), "a wheel came off");
  EXPECT_EQ(other.status().code(), Errc::internal);
}

TEST_F(Isolated, AnExceptionLosesItsCellAlone) {
  options_.properties = {"run_to_run", "ranks", "strides", "shares"};  // two need a tree
  Script script;
  script.lacks.options = [](const PlanOptions&) -> const char* {
    if (calls_played() > 4) throw std::runtime_error("a wheel came off");
    return nullptr;
  };
  const auto report = run(script);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->cut_short, "");
  ASSERT_EQ(report->cells.size(), 4U);
  for (const std::size_t thrown : {0U, 2U}) {
    EXPECT_EQ(name(report->cells[thrown].verdict), "failed");
    EXPECT_EQ(report->cells[thrown].reason.find("a wheel came off in case "), 0U);
    EXPECT_EQ(name(report->cells[thrown + 1].verdict), "skipped");
  }
}

/// Writes a line into the pipe of the worker, as an engine can that looks for it.
void forge(const char* line) {
  for (int pipe = 200; pipe < 256; ++pipe) {
    struct stat what {};
    if (fstat(pipe, &what) != 0 || !S_ISFIFO(what.st_mode)) continue;
    EXPECT_GT(write(pipe, line, std::strlen(line)), 0);
  }
}

TEST_F(Isolated, AnEndThatComesEarlyIsNoPass) {
  options_.properties = {"run_to_run", "strides", "batch"};
  Script script;
  script.lacks.options = [](const PlanOptions&) -> const char* {
    if (calls_played() > 100) forge("{\"is\":\"end\"}\n");
    return nullptr;
  };
  const auto report = run(script);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_FALSE(report->passed());
  ASSERT_EQ(report->cells.size(), 2U);
  EXPECT_EQ(name(report->cells[0].verdict), "passed");
  EXPECT_EQ(name(report->cells[1].verdict), "failed");
  EXPECT_EQ(
      report->cut_short,
      "the rest was not run: the engine's process reported that it is done after 2 of 3 cells");
}

TEST_F(Isolated, ACellOutOfTurnIsNoWordOfTheHarness) {
  Script script;
  script.lacks.options = [](const PlanOptions&) -> const char* {
    if (calls_played() > 3) forge("{\"is\":\"cell\",\"index\":1}\n");
    return nullptr;
  };
  const auto report = run(script);
  ASSERT_TRUE(report.ok()) << report.status().message();
  ASSERT_EQ(report->cells.size(), 2U);
  EXPECT_EQ(report->cells[0].reason.find("the engine's process wrote into the harness's messages"),
            0U);
}

TEST_F(Isolated, ARefusalOfTheRunIsHandedOn) {
  options_.properties = {"no such property"};
  const auto report = run({});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.status().code(), Errc::not_found);
  EXPECT_EQ(report.status().message().find("property is \"no such property\""), 0U);
}

TEST_F(Isolated, BeginsAtACellOfTheCallers) {
  options_.first_cell = 1;
  const auto there = run({});
  options_.engine = &play({});
  options_.oracle.backend = &prompter();
  const auto here = run_conformance(options_);
  for (const Report* report : {&*there, &*here}) {
    ASSERT_EQ(report->cells.size(), 1U);
    EXPECT_EQ(report->cells.front().property, "strides");
    EXPECT_EQ(report->planned, 2U);
  }
}

class Chosen : public testing::Test {
 protected:
  Cell cell(std::int64_t only) {
    Options options;
    options.engine = &play({});
    options.oracle.backend = &prompter();
    options.contracts = {*Contract::parse("ieee_fma/bf16/chain->fp32")};
    options.properties = {"run_to_run"};  // has 4 cases, and 12 more where those show nothing
    options.only_case = only;
    return run_conformance(options)->cells.front();
  }
};

TEST_F(Chosen, OneCaseRunsAloneAndThereIsALastOne) {
  for (const std::int64_t index : {0, 3, 4, 15}) {
    const Cell one = cell(index);
    EXPECT_EQ(one.cases, 1) << index;
    EXPECT_EQ(name(one.verdict), "passed") << index << one.reason;
    ASSERT_EQ(one.log.size(), 1U);
    EXPECT_EQ(one.log.front().find("case " + std::to_string(index) + ": m="), 0U);
  }
  for (const std::int64_t index : {16, 17}) {
    const Cell none = cell(index);
    EXPECT_EQ(none.cases, 0);
    EXPECT_EQ(name(none.verdict), "skipped");
    EXPECT_EQ(none.reason, "there are only 16 cases");
  }
}

TEST_F(Chosen, WhatCannotBeChosenIsRefusedInASentence) {
  Options options;
  EXPECT_EQ(run_conformance(options).status().message(),
            "engine is null: name a backend or an engine");
  options.engine = &play({});
  options.only_case = -1;
  EXPECT_EQ(run_conformance(options).status().message(), "case is -1: it must not be negative");
  options.only_case.reset();
  options.properties = {"speed"};
  std::string known;
  for (const PropertyName& one : property_names()) {
    known += std::string(known.empty() ? "" : ", ") + std::string(one.name);
  }
  EXPECT_EQ(run_conformance(options).status().message(),
            "property is \"speed\": it must be one of " + known);
}

}  // namespace
}  // namespace detgemm::conformance
