// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <map>

#include "core/conformance/json.hpp"
#include "core/conformance/property.hpp"
#include "detgemm/conformance.hpp"
#include "detgemm/digest.hpp"
#include "tests/conformance/fake_gpu.hpp"
#include "tests/conformance/scripted.hpp"

// What the harness says of an engine that errs in one call, lacks something, or lives elsewhere:
// every verdict, sentence, count and place, and what it asks after that. said.txt has a line for
// each property and manner, with a digest of all of it.

namespace detgemm::conformance {
namespace {

/// Contracts that the property applies to, one after the other for its cases.
std::vector<const char*> contracts_for(std::string_view property) {
  if (property.starts_with("scales")) {
    return {"hopper/e4m3/scaled:64->bf16", "ieee_fma/bf16/scaled:32->fp32"};
  }
  if (property == "permutation") return {"snap/bf16/tree:64->fp32", "snap3/bf16/fold:64->fp32"};
  if (property == "snapped") return {"snap/bf16/tree:64->fp32", "snap/bf16/fold:128->bf16"};
  if (property == "microbatch" || property == "group_cuts" || property == "line_scales") {
    return {"ieee_fma/bf16/fold:64->fp32", "hopper/fp16/chain->fp16", "cdna2/bf16/fold:32->bf16"};
  }
  if (property == "probes" || property == "specials") {  // know what the arithmetic does
    return {"ieee_fma/bf16/tree:64->fp32", "snap3/bf16/fold:64->fp32", "snap3/fp32/tree:64->bf16",
            "snap/bf16/tree:64->fp32",     "hopper/e4m3/chain->bf16",  "cdna2/bf16/fold:32->fp16",
            "ampere/tf32/tree:32->fp32"};
  }
  if (property == "error_bound") {
    return {"ieee_fma/bf16/tree:64->fp32", "snap3/fp32/fold:64->fp32", "cdna2/fp16/chain->fp16"};
  }
  if (property == "ranks" || property == "shares") {
    return {"ieee_fma/bf16/tree:64->fp32", "hopper/fp16/tree:32->fp16"};
  }
  return {"ieee_fma/bf16/tree:64->fp32", "hopper/fp16/chain->fp16", "ampere/tf32/fold:32->bf16"};
}

/// What a call may do but give other bits or fail.
constexpr std::array kManners{Act::nameless,       Act::renamed,
                              Act::writes_a,       Act::writes_b,
                              Act::writes_c,       Act::writes_bias,
                              Act::writes_scale_a, Act::writes_scale_b,
                              Act::writes_root,    Act::writes_behind_workspace};

/// All of a cell but its times.
std::string text_of(const Cell& cell) {
  Json json = to_json(cell);
  json.erase("seconds");
  return line_of(json);
}

/// The cell of one property on the engine of the script.
class Scene {
 public:
  Scene(std::string_view property, const char* contract) {
    options_.contracts = {*Contract::parse(contract)};
    options_.properties = {std::string(property)};
    options_.oracle.backend = &prompter();
  }
  Options& options() { return options_; }

  void run(Script script) {
    if (options_.properties.front() == "graph_replay") script.device = &controls::graph_host();
    options_.engine = &play(script);
    const auto report = run_conformance(options_);
    ASSERT_TRUE(report.ok()) << report.status().message();
    cell_ = report->cells.front();
    note(text_of(cell_));
    note(hex(seen_in_play()));
  }
  const Cell& cell() const { return cell_; }
  std::uint64_t digest() const { return digest_; }

 private:
  void note(const std::string& text) { digest_ = digest_bytes(text.data(), text.size(), digest_); }
  Options options_;
  Cell cell_;
  std::uint64_t digest_ = kDigestSeed;
};

/// A line of said.txt after its colon.
std::string summary(const Scene& scene) {
  const Cell& cell = scene.cell();
  return std::string(name(cell.verdict)) + ", " + std::to_string(cell.cases) + " cases, " +
         std::to_string(cell.runs) + " runs, " + hex(scene.digest());
}

/// The lines of said.txt by what comes before their colon, and a check of each.
class Said {
 public:
  Said() {
    std::ifstream file(DETGEMM_TEST_SAID);
    for (std::string line; std::getline(file, line);) {
      if (line.empty() || line.front() == '#') continue;
      before_[line.substr(0, line.find(": "))] = line;
    }
  }
  void check(const std::string& what, const std::string& now) {
    const std::string line = what + ": " + now;
    EXPECT_EQ(line, before_[what]);
    if (line != before_[what]) std::printf("+%s\n", line.c_str());
  }
  /// How many lines begin so.
  std::size_t lines_of(const std::string& beginning) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        before_, [&](const auto& line) { return line.first.starts_with(beginning); }));
  }

 private:
  std::map<std::string, std::string> before_;
};
Said& said() {
  static Said one;
  return one;
}

std::string key(std::string_view property, std::string_view manner) {
  return std::string(property) + " " + std::string(manner);
}

class Everywhere : public testing::TestWithParam<std::size_t> {
 protected:
  const Property& property() const { return properties()[GetParam()]; }
  bool is(std::string_view name) const { return property().name == name; }
};

/// One call of a case errs, each in turn.
TEST_P(Everywhere, ACallThatErrs) {
  if (is("concurrency")) GTEST_SKIP() << "threads decide which call is which";
  const auto contracts = contracts_for(property().name);
  for (std::int64_t index = 0; index < (is("large") ? 2 : 4); ++index) {
    const char* contract = contracts[static_cast<std::size_t>(index) % contracts.size()];
    Scene scene(property().name, contract);
    scene.options().only_case = is("large") ? 1 + 2 * index : index;
    const auto err = [&](Act act, std::int64_t at) {
      Script script;
      script.act = act;
      script.at = at;
      scene.run(script);
    };
    err(Act::none, 0);
    const std::int64_t calls = calls_played();
    for (std::int64_t at = 0; at < std::min<std::int64_t>(calls, 40); ++at) {
      err(at % 2 == 0 ? Act::first_bit : Act::last_bit, at);
      err(at % 3 == 0 ? Act::refuses : Act::fails, at);
      if (index > 0 || is("large")) continue;
      scene.options().oracle = {};
      err(at % 2 == 0 ? Act::last_bit : Act::first_bit, at);
      scene.options().oracle.backend = &prompter();
    }
    if (index < 2 && !is("large")) {
      for (const Act act : kManners) {
        err(act, 0);
        err(act, calls - 1);
      }
    }
    said().check(key(property().name, "errs in case " + std::to_string(index)),
                 std::to_string(calls) + " calls, " + hex(scene.digest()));
  }
}

/// Every call errs.
TEST_P(Everywhere, AnEngineThatAlwaysErrs) {
  if (is("large")) GTEST_SKIP() << "it takes long";
  Scene scene(property().name, contracts_for(property().name).front());
  for (const Act act : {Act::first_bit, Act::last_bit, Act::fails, Act::refuses}) {
    Script script;
    script.act = act;
    script.at = -3;
    scene.run(script);
  }
  said().check(key(property().name, "errs always"), summary(scene));
}

/// Calls at the same time err, all of them or all after the first of a thread.
TEST(Crowd, CallsThatErr) {
  for (const char* contract : contracts_for("concurrency")) {
    Scene scene("concurrency", contract);
    for (const Act act : {Act::first_bit, Act::last_bit, Act::fails, Act::refuses, Act::renamed}) {
      for (const std::int64_t at : {-1, -2}) {
        Script script;
        script.act = act;
        script.at = at;
        scene.run(script);
      }
    }
    said().check(key("concurrency", std::string("errs ") + contract), summary(scene));
  }
}

/// It lacks something throughout.
struct Lack {
  const char* name;
  Lacks lacks;
};

const std::array kLacks{
    Lack{"transposed A",
         {[](const GemmSpec& s) { return s.op_a == Op::transpose ? "no transposed A" : nullptr; }}},
    Lack{"alpha and transposed B", {[](const GemmSpec& s) {
           return s.alpha != 1.0F ? "no alpha" : s.op_b == Op::transpose ? "no B^T" : nullptr;
         }}},
    Lack{"bias and continue", {[](const GemmSpec& s) {
           return s.bias ? "no bias" : s.continue_from_c ? "no start" : nullptr;
         }}},
    Lack{"beta and activations", {[](const GemmSpec& s) {
           return s.beta != 0.0F                     ? "no beta"
                  : s.activation != Activation::none ? "no activation"
                                                     : nullptr;
         }}},
    Lack{"fp32 outputs", {[](const GemmSpec& s) {
           return s.contract.output == DType::fp32 ? "no fp32" : nullptr;
         }}},
    Lack{"long K", {[](const GemmSpec& s) { return s.k > 100 ? "no long K" : nullptr; }}},
    Lack{"options",
         {nullptr,
          [](const PlanOptions& o) {
            return o.max_workers > 1          ? "no number of workers"
                   : o.variant == "other"     ? "no other kernel"
                   : o.stable != Stable::none ? "no promises"
                                              : nullptr;
          }}},
    Lack{"layouts",
         {nullptr, nullptr,
          [](const Operands& o) {
            return o.a.row_stride == 1 && o.a.cols > 1   ? "no columns of A"
                   : o.d.row_stride == 1 && o.d.cols > 1 ? "no columns of D"
                                                         : nullptr;
          }}},
    Lack{"groups of K, masks, joining, snapping",
         {nullptr, nullptr, nullptr,
          [](const GroupedSpec& s) {
            return s.kind == GroupKind::k_grouped  ? "no groups of K"
                   : s.kind == GroupKind::m_masked ? "no masks"
                                                   : nullptr;
          },
          false, false}},
    Lack{"odd extents",
         {[](const GemmSpec& s) {
            return s.n % 8 != 0 || s.k % 64 != 0 ? "no odd extents" : nullptr;
          },
          nullptr, nullptr,
          [](const GroupedSpec& s) {
            return s.gemm.n % 8 != 0 || s.gemm.k % 64 != 0 || s.groups % 2 != 0 ? "nothing odd"
                                                                                : nullptr;
          }}},
    Lack{"groups", {nullptr, nullptr, nullptr, [](const GroupedSpec&) { return "no groups"; }}},
};

TEST_P(Everywhere, AnEngineThatLacksSomething) {
  if (is("large")) GTEST_SKIP() << "it takes long, and asks for little";
  const char* contract = contracts_for(property().name).front();
  Scene whole(property().name, contract);
  whole.run({});
  std::size_t lines = 0;
  for (const Lack& lack : kLacks) {
    Scene scene(property().name, contract);
    Script script;
    script.lacks = lack.lacks;
    scene.run(script);
    if (scene.digest() == whole.digest()) continue;  // it was not asked for that
    said().check(key(property().name, std::string("lacks ") + lack.name), summary(scene));
    ++lines;
  }
  EXPECT_EQ(lines, said().lines_of(key(property().name, "lacks ")));
}

/// Few different outputs, or none at all: a pass must be earned.
TEST_P(Everywhere, OutputsThatShowNothing) {
  if (is("large")) GTEST_SKIP() << "it takes long, and has no verdict of its own";
  for (const std::int64_t numbers : {1, 2, 3, -1}) {
    Scene scene(property().name, contracts_for(property().name).front());
    if (!is("concurrency")) scene.options().oracle = {};
    Script script;
    script.numbers = numbers;
    if (is("concurrency") && numbers < 0) continue;  // it is thrown on another thread
    scene.run(script);
    scene.options().only_case = 0;
    scene.run(script);
    said().check(key(property().name, "numbers " + std::to_string(numbers)), summary(scene));
  }
}

/// Without an oracle, the engine is compared with itself.
TEST_P(Everywhere, WithoutAnOracle) {
  for (const char* contract : contracts_for(property().name)) {
    Scene scene(property().name, contract);
    scene.options().oracle = {};
    Script script;
    script.counts = is("large");
    scene.run(script);
    said().check(key(property().name, std::string("alone ") + contract), summary(scene));
    if (is("large")) break;  // it takes long
  }
}

/// On a GPU there are no guards and no gates, and outputs are many.
TEST_P(Everywhere, OnADevice) {
  static FakeGpu gpu;
  const char* contract = contracts_for(property().name).front();
  Scene scene(property().name, contract);
  Script script;
  script.device = &gpu;
  script.counts = is("large");
  scene.run(script);
  said().check(key(property().name, "on a device"), summary(scene));
  EXPECT_EQ(gpu.held(), 0);
  play({});
}

/// The problems of level full, on an engine that counts and an oracle that counts.
TEST_P(Everywhere, AtLevelFull) {
  const char* contract = contracts_for(property().name).front();
  Scene scene(property().name, contract);
  scene.options().level = Level::full;
  if (is("group_count")) scene.options().only_case = 1;  // of a thousand groups
  Script script;
  script.counts = true;
  scene.run(script);
  said().check(key(property().name, "full"), summary(scene));
}

INSTANTIATE_TEST_SUITE_P(All, Everywhere, testing::Range(std::size_t{0}, properties().size()),
                         [](const auto& info) {
                           return std::string(properties()[info.param].name);
                         });

}  // namespace
}  // namespace detgemm::conformance
