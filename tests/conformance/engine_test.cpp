// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "core/conformance/controls/control.hpp"
#include "detgemm/conformance.hpp"

namespace detgemm::conformance {
namespace {

std::string path_of(const std::string& mistake) {
  return std::string(DETGEMM_TEST_ENGINES) + "/libengine_" + mistake + ".so";
}

struct Refusal {
  const char* mistake;
  const char* sentence;  ///< part of it
};

class Loader : public testing::TestWithParam<Refusal> {};

TEST_P(Loader, PutsTheMistakeIntoASentence) {
  const auto engine = load_engine(path_of(GetParam().mistake));
  ASSERT_FALSE(engine.ok());
  EXPECT_NE(engine.status().message().find(GetParam().sentence), std::string::npos)
      << engine.status().message();
  EXPECT_EQ(dlopen(path_of(GetParam().mistake).c_str(), RTLD_NOW | RTLD_NOLOAD), nullptr)
      << "it is still open";
}

INSTANTIATE_TEST_SUITE_P(All, Loader,
                         testing::Values(Refusal{"of_no_file", "cannot be opened"},
                                         Refusal{"WITHOUT_SYMBOL",
                                                 "does not export detgemm_engine_query"},
                                         Refusal{"SAYS_NULL", "does not have ABI version"},
                                         Refusal{"TRUNCATED", "struct_size is 16"},
                                         Refusal{"WRONG_ABI", "abi_version is 99"},
                                         Refusal{"WITHOUT_NAME", "name is missing"},
                                         Refusal{"WITHOUT_SUPPORTS", "no supports callback"},
                                         Refusal{"WITHOUT_RUN", "no run callback"},
                                         Refusal{"ON_A_DEVICE", "needs allocate"}),
                         [](const auto& info) { return std::string(info.param.mistake); });

/// The harness on a loaded engine, and the engine kept alive with its report.
struct Tried {
  std::unique_ptr<Backend> engine;
  Report report;
};

Tried tried(const std::string& which) {
  auto engine = load_engine(path_of(which));
  EXPECT_TRUE(engine.ok()) << engine.status().message();
  Tried t{std::move(engine).value(), {}};
  Options options;
  options.engine = t.engine.get();
  options.oracle.backend = &controls::honest();
  options.contracts = {*Contract::parse("ieee_fma/fp32/chain->fp32"),
                       *Contract::parse("hopper/bf16/chain->bf16")};
  t.report = *run_conformance(options);
  return t;
}

TEST(Engine, AGoodOnePassesWhatItSupports) {
  const Tried t = tried("GOOD");
  EXPECT_TRUE(t.report.passed()) << render_text({&t.report, 1});
  int passed = 0;
  for (const Cell& cell : t.report.cells) {
    if (cell.contract == "hopper/bf16/chain->bf16") {
      EXPECT_EQ(name(cell.verdict), "unsupported") << cell.property;
      EXPECT_NE(cell.reason.find("this engine has"), std::string::npos) << cell.reason;
    } else if (cell.verdict == Verdict::passed) {
      ++passed;
      EXPECT_EQ(cell.kernels.count("none (no outputs)") + cell.kernels.count("triple loop"),
                cell.kernels.size());
    }
  }
  EXPECT_GE(passed, 12);
}

TEST(Engine, OneThatReturnsAnErrorIsUntestedAndSaysWhy) {
  const Tried t = tried("REFUSES_TO_RUN");
  EXPECT_FALSE(t.report.passed());
  const Cell& first = t.report.cells.front();
  EXPECT_EQ(name(first.verdict), "untested");
  EXPECT_NE(first.reason.find("returned 7: out of order today"), std::string::npos);
}

}  // namespace
}  // namespace detgemm::conformance
