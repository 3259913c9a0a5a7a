// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <mutex>

#include "core/conformance/controls/control.hpp"
#include "core/conformance/controls/faulty_backend.hpp"
#include "core/conformance/property.hpp"
#include "detgemm/conformance.hpp"
#include "detgemm/digest.hpp"
#include "detgemm/version.hpp"
#include "tests/conformance/fake_gpu.hpp"

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

/// An engine that computes with one worker and refuses more.
class OneWorker : public Backend {
 public:
  std::string_view name() const noexcept override { return "one_worker"; }
  std::string_view description() const noexcept override { return honest().description(); }
  Status available() const override { return {}; }
  Status supports(const GemmSpec& spec) const override { return honest().supports(spec); }
  Guarantees guarantees(const Contract& c) const override { return honest().guarantees(c); }
  std::vector<std::string> variants(const GemmSpec& s) const override {
    return honest().variants(s);
  }
  Result<std::shared_ptr<const PlanImpl>> make_plan(const GemmSpec& spec,
                                                    const PlanOptions& options) const override {
    if (options.max_workers > 1) return Status{Errc::unsupported, "it has one worker"};
    return honest().make_plan(spec, options);
  }
  Device& device() const noexcept override { return honest().device(); }

 protected:
  static const Backend& honest() { return controls::honest(); }
};

/// One that takes no number of workers at all.
class AllWorkers final : public OneWorker {
 public:
  Result<std::shared_ptr<const PlanImpl>> make_plan(const GemmSpec& spec,
                                                    const PlanOptions& options) const override {
    if (options.max_workers != 0) return Status{Errc::unsupported, "it has all workers"};
    return honest().make_plan(spec, options);
  }
};

/// One that computes with its variant "right" alone.
class OneVariant final : public OneWorker {
 public:
  std::vector<std::string> variants(const GemmSpec&) const override { return {"right"}; }
  Result<std::shared_ptr<const PlanImpl>> make_plan(const GemmSpec& spec,
                                                    const PlanOptions& options) const override {
    if (options.variant != "right") return Status{Errc::unsupported, "it has one variant"};
    return honest().make_plan(spec, {});
  }
};

/// And one whose leaves have this many products.
class OneLeaf final : public OneWorker {
 public:
  explicit OneLeaf(std::int64_t leaf) : leaf_(leaf) {}
  Status supports(const GemmSpec& spec) const override {
    const Reduction& r = spec.contract.reduction;
    if (r.kind != ReductionKind::chain &&
        (r.leaf_k != leaf_ || spec.n != 8 || spec.k != 8 * leaf_)) {
      return {Errc::unsupported, "its leaves have another length"};
    }
    return honest().supports(spec);
  }

 private:
  std::int64_t leaf_;
};

TEST(Harness, AnEngineIsAskedForAsManyWorkersAsItTakes) {
  const OneWorker one;
  const AllWorkers all;
  for (const Backend* engine :
       {static_cast<const Backend*>(&one), static_cast<const Backend*>(&all)}) {
    Options options = honest_options();
    options.engine = engine;
    options.properties = {"batch"};
    const Cell cell = run_conformance(options)->cells.front();
    EXPECT_EQ(name(cell.verdict), "passed") << cell.reason;
    const bool asked_for_one = std::ranges::any_of(cell.log, [](const std::string& line) {
      return line.find(", 1 worker") != std::string::npos;
    });
    EXPECT_EQ(asked_for_one, engine == &one);
  }
}

TEST(Harness, TheOracleComputesWithItsOwnOptions) {
  const OneVariant oracle;
  Options options = honest_options();
  options.oracle = {&oracle, {"right"}};
  options.properties = {"run_to_run", "reference", "epilogue"};
  const auto report = run_conformance(options);
  ASSERT_TRUE(report.ok());
  for (const Cell& cell : report->cells) {
    EXPECT_EQ(name(cell.verdict), "passed") << cell.property << ": " << cell.reason;
  }
}

TEST(Harness, WhatIsNamedTwiceCountsOnce) {
  Options options = honest_options();
  options.contracts.push_back(options.contracts.front());
  options.properties = {"run_to_run", "k_tails", "run_to_run"};
  const auto report = run_conformance(options);
  EXPECT_EQ(report->cells.size(), 2U);
  EXPECT_EQ(report->planned, 2U);
}

TEST(Harness, DefaultContractsHaveLeavesThatTheEngineTakes) {
  for (const std::int64_t leaf : {64, 128, 256, 512, 1024, 2048, 4096}) {
    for (const Contract& contract : default_contracts(OneLeaf(leaf))) {
      if (contract.reduction.kind == ReductionKind::chain) continue;
      const bool takes = Contract::make(contract.arithmetic, contract.input,
                                        {contract.reduction.kind, leaf}, contract.output)
                             .ok();
      EXPECT_EQ(contract.reduction.leaf_k, takes ? leaf : 512) << contract.text();
    }
  }
}

TEST(Harness, AReportSaysWhatRanWhereAndHow) {
  Options options = honest_options();
  options.properties = {"run_to_run"};
  options.seed = 12;
  options.oracle.options.variant = "plain";
  const Report quick = *run_conformance(options);
  const Backend& engine = controls::honest();
  EXPECT_EQ(quick.version, version());
  EXPECT_EQ(quick.engine, engine.name());
  EXPECT_EQ(quick.description, engine.description());
  EXPECT_EQ(quick.device, engine.device().description());
  EXPECT_EQ(quick.oracle, std::string(engine.name()) + ", variant plain");
  EXPECT_EQ(quick.level, "quick");
  EXPECT_EQ(quick.seed, 12U);
  EXPECT_EQ(quick.planned, 1U);
  EXPECT_FALSE(quick.machine.empty());
  EXPECT_FALSE(quick.host.empty());
  ASSERT_EQ(quick.date.size(), std::strlen("2026-11-23T03:40:00Z")) << quick.date;
  EXPECT_EQ(quick.date[10], 'T');
  EXPECT_EQ(quick.date.back(), 'Z');
  EXPECT_GT(quick.seconds, 0.0);
  ASSERT_EQ(quick.cells.size(), 1U);
  const Cell& cell = quick.cells.front();
  EXPECT_EQ(cell.property, "run_to_run");
  EXPECT_EQ(cell.contract, options.contracts.front().text());
  EXPECT_EQ(cell.digest, hex(options.contracts.front().digest()));
  EXPECT_GT(cell.seconds, 0.0);
  EXPECT_LE(cell.seconds, quick.seconds);
  options.level = Level::full;
  options.oracle = {};
  options.only_case = 0;
  const Report full = *run_conformance(options);
  EXPECT_EQ(full.level, "full");
  EXPECT_EQ(full.oracle, "none");
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
  Options options = honest_options();
  options.properties = {"run_to_run", "batch", "combinations", "group_order"};
  const auto first = run_conformance(options);
  const auto second = run_conformance(options);
  Options other = options;
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
  std::string all;
  for (const Contract& contract : list) {
    EXPECT_TRUE(contract.validate().ok()) << contract.text();
    outputs.insert(contract.output);
    all += contract.text() + "\n";
  }
  EXPECT_EQ(outputs.size(), 3U);
  // A report of another version is compared cell by cell, so a change of the list is meant.
  EXPECT_EQ(hex(digest_bytes(all.data(), all.size())), "a42e6ffb1c1b1083") << all;
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
