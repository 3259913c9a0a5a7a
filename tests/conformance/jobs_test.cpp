// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <set>
#include <stdexcept>

#include "core/conformance/json.hpp"
#include "core/conformance/share.hpp"
#include "detgemm/conformance.hpp"
#include "tests/conformance/scripted.hpp"

// Processes that test side by side: the cells of one report, whoever runs them.

namespace detgemm::conformance {
namespace {

class Jobs : public testing::Test {
 protected:
  Jobs() {
    for (const char* text : {"ieee_fma/bf16/chain->fp32", "ieee_fma/bf16/fold:64->bf16",
                             "ieee_fma/fp32/chain->fp32"}) {
      options_.contracts.push_back(*Contract::parse(text));
    }
    options_.properties = {"run_to_run", "padding", "batch"};
  }
  Result<Report> run(const Script& script, int jobs, int max_timeouts = 3, double seconds = 60.0) {
    const Candidate candidate{&play(script), {&prompter(), {}}, nullptr};
    return run_isolated(options_, {seconds, max_timeouts, jobs},
                        [candidate]() -> Result<Candidate> { return candidate; });
  }
  void TearDown() override {
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child was left behind";
    play({});
  }
  Options options_;
};

/// Everything but times.
Json facts_of(Report report) {
  Json cells = Json::array();
  for (Cell& cell : report.cells) {
    cell.seconds = 0;
    cells.push_back(to_json(cell));
  }
  return {{"engine", report.engine},
          {"planned", report.planned},
          {"cut_short", report.cut_short},
          {"interrupted", report.interrupted},
          {"cells", std::move(cells)}};
}

TEST(Shares, EveryCellIsOfOne) {
  for (const std::size_t of : {1, 2, 3, 16}) {
    std::map<std::size_t, int> counts;
    for (std::size_t cell = 0; cell < 2000; ++cell) {
      int owners = 0;
      for (std::size_t number = 0; number < of; ++number) {
        if (!has({number, of}, cell)) continue;
        ++owners;
        ++counts[number];
        EXPECT_EQ(next_of({number, of}, cell), cell);
      }
      EXPECT_EQ(owners, 1) << cell;
    }
    for (const auto& [number, count] : counts) EXPECT_GT(count, 1000 / static_cast<int>(of));
    EXPECT_EQ(counts.size(), of);
  }
}

TEST_F(Jobs, TheReportDoesNotDependOnThem) {
  Script script;
  script.lacks.problem = [](const GemmSpec& spec) -> const char* {
    if (spec.contract.input == DType::fp32 && spec.k != 64) throw std::runtime_error("a wheel");
    return nullptr;
  };
  const auto one = run(script, 1);
  ASSERT_TRUE(one.ok()) << one.status().message();
  ASSERT_EQ(one->cells.size(), 9U);
  EXPECT_GT(one->bad(), 0);
  EXPECT_LT(one->bad(), 9);
  for (const int jobs : {2, 3, 20}) {
    const auto more = run(script, jobs);
    ASSERT_TRUE(more.ok()) << more.status().message();
    EXPECT_EQ(facts_of(*more), facts_of(*one)) << jobs;
  }
}

TEST_F(Jobs, EachLostProcessFailsItsCellAlone) {
  Script script;
  script.exits_at = 13;
  const auto one = run(script, 1);
  const auto three = run(script, 3);
  ASSERT_TRUE(one.ok() && three.ok());
  ASSERT_EQ(three->cells.size(), one->cells.size());
  std::set<std::string> reasons;
  for (const Cell& cell : three->cells) reasons.insert(cell.reason);
  EXPECT_GT(reasons.size(), 1U) << "otherwise this test shows nothing";
  EXPECT_EQ(three->cut_short, "");
  EXPECT_GT(three->bad(), 0);
}

/// Checks that cells of one job do not mix with those of another.
class Listener final : public Observer {
 public:
  void on_start(const Report& report) override {
    ++starts;
    planned = report.planned;
  }
  void on_cell(std::size_t index, const Cell&, const std::string&) override {
    EXPECT_TRUE(begun.insert(index).second) << index;
  }
  void on_finished(std::size_t index, const Cell& cell) override {
    EXPECT_TRUE(begun.contains(index)) << index;
    EXPECT_TRUE(names.emplace(index, cell.property + " " + cell.contract).second) << index;
  }
  int starts = 0;
  std::size_t planned = 0;
  std::set<std::size_t> begun;
  std::map<std::size_t, std::string> names;
};

TEST_F(Jobs, TheObserverLearnsOfOneStartAndOfEachCellByItsNumber) {
  Listener listener;
  options_.observer = &listener;
  const auto report = run({}, 3);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(listener.starts, 1);
  EXPECT_EQ(listener.planned, 9U);
  ASSERT_EQ(listener.names.size(), 9U);
  for (std::size_t i = 0; i < 9; ++i) {
    EXPECT_EQ(listener.names[i], report->cells[i].property + " " + report->cells[i].contract);
  }
}

TEST_F(Jobs, TimeoutsOfAllCountTogether) {
  Script script;
  script.nap = std::chrono::milliseconds{3000};  // a worker that starts late must not time out
  const auto report = run(script, 3, 2, 1.0);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->cut_short, "the rest was not run: the engine did not return within 1 s");
  EXPECT_GE(report->cells.size(), 2U);
  EXPECT_LE(report->cells.size(), 3U);
}

TEST_F(Jobs, ARefusalOfOneIsThatOfTheRun) {
  const auto report = run_isolated(options_, {60.0, 3, 4}, []() -> Result<Candidate> {
    return Status{Errc::io, "no such engine"};
  });
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.status().message(), "no such engine");
}

TEST_F(Jobs, RefusesACountThatIsNone) {
  for (const int jobs : {0, -1, 1025}) {
    const auto report = run({}, jobs);
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.status().message(),
              "jobs is " + std::to_string(jobs) + ": it must be 1 to 1024");
  }
}

}  // namespace
}  // namespace detgemm::conformance
