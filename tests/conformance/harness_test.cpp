// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <mutex>

#include "core/conformance/controls/control.hpp"
#include "core/conformance/controls/faulty_backend.hpp"
#include "core/conformance/property.hpp"
#include "detgemm/conformance.hpp"

namespace detgemm::conformance {
namespace {

Options honest_options(const char* contract = "hopper/bf16/tree:32->fp32") {
  Options options;
  options.engine = &controls::honest();
  options.oracle.backend = &controls::honest();
  options.contracts = {*Contract::parse(contract)};
  return options;
}

/// The verdict of one property on an engine with this fault.
Cell cell_of(const controls::Fault& fault, const char* property) {
  Options options = honest_options();
  options.engine = controls::make_backend(fault);
  options.properties = {property};
  return run_conformance(options)->cells.front();
}

TEST(Harness, TheHonestEnginePassesEverything) {
  for (const char* contract : {"hopper/bf16/chain->bf16", "hopper/bf16/tree:32->fp32",
                               "ieee_fma/fp16/fold:32->fp16", "cdna3/bf16/tree:64->bf16"}) {
    const auto report = run_conformance(honest_options(contract));
    ASSERT_TRUE(report.ok());
    EXPECT_TRUE(report->passed()) << render_text({&*report, 1});
    EXPECT_EQ(report->cells.size(), properties().size());
    for (const Cell& cell : report->cells) {
      if (cell.verdict == Verdict::skipped) {
        EXPECT_FALSE(cell.reason.empty()) << cell.property;
      } else {
        EXPECT_GT(cell.outputs, 0) << cell.property;
        EXPECT_FALSE(cell.log.empty()) << cell.property;
      }
    }
  }
}

TEST(Harness, AConstantEngineIsMistrustedNotPassed) {
  const controls::Fault zeros{"zeros", [](const controls::Run& run) {
                                const GemmArguments g = flatten(run.spec, run.operands);
                                controls::for_outputs(g, [&](std::int64_t i, std::int64_t j) {
                                  store_rounded(g.d, i * g.ds.row + j * g.ds.col, g.output, 0.0F);
                                });
                              }};
  EXPECT_EQ(name(cell_of(zeros, "batch").verdict), "mistrusted");
  EXPECT_EQ(name(cell_of(zeros, "run_to_run").verdict), "mistrusted");
  EXPECT_EQ(name(cell_of(zeros, "reference").verdict), "failed");
}

TEST(Harness, AnEngineWhoseOrderNeverShowsIsMistrusted) {
  // Every output is its row's number: distinct, never wrong by another order.
  const controls::Fault numbers{"row_numbers", [](const controls::Run& run) {
                                  const GemmArguments g = flatten(run.spec, run.operands);
                                  controls::for_outputs(g, [&](std::int64_t i, std::int64_t j) {
                                    store_rounded(g.d, i * g.ds.row + j * g.ds.col, g.output,
                                                  static_cast<float>(i + 1));
                                  });
                                }};
  Options options = honest_options();
  options.engine = controls::make_backend(numbers);
  options.oracle = {};
  options.properties = {"run_to_run"};
  const Cell cell = run_conformance(options)->cells.front();
  EXPECT_EQ(name(cell.verdict), "mistrusted");
  EXPECT_NE(cell.reason.find("would have given other bits in only 0 of"), std::string::npos)
      << cell.reason;
}

TEST(Harness, AnEngineThatTakesOneCallAtATimeIsMistrusted) {
  const controls::Fault serial{"one_at_a_time", [](const controls::Run& run) {
                                 static std::mutex inside;
                                 const std::lock_guard lock(inside);
                                 controls::compute_honestly(run);
                               }};
  const Cell cell = cell_of(serial, "concurrency");
  EXPECT_EQ(name(cell.verdict), "mistrusted");
  EXPECT_NE(cell.reason.find("calls one after the other"), std::string::npos) << cell.reason;
  const controls::Fault side_by_side{"all_at_once", controls::compute_honestly};
  EXPECT_EQ(name(cell_of(side_by_side, "concurrency").verdict), "passed");
}

TEST(Harness, WhatIsNamedTwiceCountsOnce) {
  Options options = honest_options();
  options.contracts.push_back(options.contracts.front());
  options.properties = {"run_to_run", "k_tails", "run_to_run"};
  const auto report = run_conformance(options);
  EXPECT_EQ(report->cells.size(), 2U);
  EXPECT_EQ(report->planned, 2U);
}

class Stopper final : public Observer {
 public:
  void on_finished(std::size_t, const Cell&) override { ++finished; }
  bool stop() override { return finished == 1; }
  int finished = 0;
};

TEST(Harness, AnObserverEndsTheRunAndKeepsWhatHasFinished) {
  Stopper stopper;
  Options options = honest_options();
  options.observer = &stopper;
  const auto report = run_conformance(options);
  EXPECT_TRUE(report->interrupted);
  EXPECT_FALSE(report->passed());
  EXPECT_EQ(report->cells.size(), 1U);
  EXPECT_EQ(report->planned, properties().size());
  EXPECT_NE(render_text({&*report, 1}).find("INTERRUPTED: 1 of "), std::string::npos);
}

TEST(Harness, InAProcessOfItsOwnTheReportIsTheSame) {
  Options options = honest_options();
  options.properties = {"run_to_run", "ranks", "epilogue"};
  const auto here = run_conformance(options);
  const auto there = run_isolated(options, {}, [&]() -> Result<Candidate> {
    return Candidate{options.engine, options.oracle, nullptr};
  });
  ASSERT_TRUE(there.ok()) << there.status().message();
  ASSERT_EQ(here->cells.size(), there->cells.size());
  for (std::size_t i = 0; i < here->cells.size(); ++i) {
    const Cell& one = here->cells[i];
    const Cell& other = there->cells[i];
    EXPECT_EQ(one.property, other.property);
    EXPECT_EQ(name(one.verdict), name(other.verdict));
    EXPECT_EQ(one.reason, other.reason);
    EXPECT_EQ(one.runs, other.runs);
    EXPECT_EQ(one.outputs, other.outputs);
    EXPECT_EQ(one.kernels, other.kernels);
    EXPECT_EQ(one.log, other.log);
  }
}

/// Host memory that says it is a GPU's: no guard pages, no gates, streams with a handle.
class FakeGpu final : public Device {
 public:
  DeviceKind kind() const noexcept override { return DeviceKind::cuda; }
  std::string description() const override { return "a GPU on paper"; }
  Result<void*> allocate(std::size_t bytes) override { return host_device().allocate(bytes); }
  void release(void* memory) noexcept override { host_device().release(memory); }
  Status to_device(void* device, const void* host, std::size_t bytes) override {
    return host_device().to_device(device, host, bytes);
  }
  Status to_host(void* host, const void* device, std::size_t bytes) override {
    return host_device().to_host(host, device, bytes);
  }
  Result<Stream> create_stream() override { return Stream{DeviceKind::cuda, this}; }
  void destroy_stream(Stream) noexcept override {}
  Status synchronize(Stream) override { return {}; }
};

TEST(Harness, DeviceMemoryIsTestedToo) {
  static FakeGpu gpu;
  const auto with_device = [](const char* name, void (*run)(const controls::Run&)) {
    controls::Fault fault{name, run};
    fault.device = &gpu;
    return controls::make_backend(fault);
  };
  Options options = honest_options("ieee_fma/fp32/chain->fp32");
  options.engine = with_device("none_on_gpu", controls::compute_honestly);
  options.properties = {"run_to_run", "padding", "combinations", "concurrency", "bad_input"};
  const auto honest = run_conformance(options);
  ASSERT_TRUE(honest.ok());
  EXPECT_TRUE(honest->passed()) << render_text({&*honest, 1});
  options.engine = with_device("spoils_on_gpu", [](const controls::Run& run) {
    controls::compute_honestly(run);
    static_cast<char*>(run.operands.d.data)[-600] = 1;
  });
  options.properties = {"padding"};
  EXPECT_EQ(name(run_conformance(options)->cells.front().verdict), "failed");
}

TEST(Harness, SkippedAndUnsupportedSayWhy) {
  Options options = honest_options();
  options.oracle = {};
  options.properties = {"reference", "graph_replay", "microbatch"};
  const auto report = run_conformance(options);
  ASSERT_TRUE(report.ok());
  for (const Cell& cell : report->cells) {
    EXPECT_EQ(name(cell.verdict), "skipped") << cell.property;
    EXPECT_FALSE(cell.reason.empty()) << cell.property;
  }
  EXPECT_FALSE(report->ran());
  EXPECT_FALSE(report->passed()) << "nothing ran is no pass";
}

TEST(Harness, RefusesUnknownNamesWithASentence) {
  Options options = honest_options();
  options.properties = {"batches"};
  const auto unknown = run_conformance(options);
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.status().message().find("batches"), std::string::npos);
  EXPECT_NE(unknown.status().message().find("run_to_run"), std::string::npos);
  options = honest_options();
  options.engine = nullptr;
  EXPECT_FALSE(run_conformance(options).ok());
  options = honest_options();
  options.only_case = -1;
  EXPECT_FALSE(run_conformance(options).ok());
}

TEST(Harness, TheSameSeedDrawsTheSameProblems) {
  const auto first = run_conformance(honest_options());
  const auto second = run_conformance(honest_options());
  Options other = honest_options();
  other.seed = 2;
  const auto third = run_conformance(other);
  for (std::size_t i = 0; i < first->cells.size(); ++i) {
    EXPECT_EQ(first->cells[i].log, second->cells[i].log);
  }
  EXPECT_NE(first->cells[1].log, third->cells[1].log);
}

TEST(Harness, DefaultContractsCoverEveryArithmeticAndReduction) {
  const auto list = default_contracts(controls::honest());
  // 2 of snap and 4 of snap3, which have no chain; 2 of scaled.
  EXPECT_EQ(list.size(), 3 * base_contracts().size() + 8);
  std::set<DType> outputs;
  for (const Contract& contract : list) {
    EXPECT_TRUE(contract.validate().ok()) << contract.text();
    outputs.insert(contract.output);
  }
  EXPECT_EQ(outputs.size(), 3U);
}

TEST(Harness, AReproLineNamesEverything) {
  Options options = honest_options("hopper/bf16/chain->bf16");
  for (const controls::Control& control : controls::controls()) {
    if (control.name == "batch_switch") options.engine = control.engine;
  }
  options.properties = {"batch"};
  options.seed = 5;
  options.level = Level::full;
  options.engine_flag = "--engine './mine.so'";
  const auto report = run_conformance(options);
  ASSERT_FALSE(report->cells.front().failures.empty());
  const std::string& repro = report->cells.front().failures.front().repro;
  EXPECT_EQ(repro.find("detgemm conform --engine './mine.so' --contract "
                       "'hopper/bf16/chain->bf16' --property batch --full --seed 5 --case "),
            0U)
      << repro;
}

}  // namespace
}  // namespace detgemm::conformance
