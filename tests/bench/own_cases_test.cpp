// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// Cases that are put together on the command line.

#include <gtest/gtest.h>

#include <set>

#include "backends/skeleton/skeleton.hpp"
#include "bench/suite/forced.hpp"

namespace detgemm::bench {
namespace {

std::vector<Case> own(const OwnCases& what, const std::vector<std::int64_t>& tokens,
                      std::uint64_t seed = 7) {
  CaseQuery query{"cpu"};
  query.own = what;
  query.tokens = tokens;
  query.seed = seed;
  return read_cases(built_in_cases(), query);
}

template <class Call>
std::string complaint(const Call& call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "none";
}

std::vector<std::string> ids(const std::vector<Case>& cases) {
  std::vector<std::string> all;
  for (const Case& c : cases) all.push_back(c.id);
  return all;
}

TEST(OwnCases, AreEveryNWithEveryKEveryMAndEveryKind) {
  OwnCases what;
  what.n = {64, 96};
  what.k = {512};
  what.kinds = {"forward", "dA"};
  what.contracts = {"chain", "hopper/fp16/fold:128->fp16+stable", "tree"};
  what.mode = "burst";
  const auto cases = own(what, {1, 9});
  ASSERT_EQ(cases.size(), 16U) << "two types of inputs";
  EXPECT_EQ(cases[0].id, "own/64x512/forward/m1/bf16");
  EXPECT_EQ(cases[0].mode, Mode::burst);
  ASSERT_EQ(cases[0].contract_arms.size(), 2U);
  EXPECT_EQ(cases[0].contract_arms[1].contract.text(), "hopper/bf16/tree:64->bf16");
  EXPECT_EQ(cases[1].id, "own/64x512/forward/m1/fp16");
  EXPECT_EQ(cases[1].contract_arms[0].stable, Stable::b);
  EXPECT_EQ(cases[1].contract_arms[0].contract.text(), "hopper/fp16/fold:128->fp16");
}

TEST(OwnCases, TakeTheTypeOfDFromTheContract) {
  OwnCases what;
  what.n = {64};
  what.k = {512};
  what.contracts = {"hopper/bf16/chain->fp32"};
  const auto cases = own(what, {3});
  EXPECT_EQ(cases[0].id, "own/64x512/forward/m3/bf16->fp32");
  EXPECT_EQ(gemm_of(cases[0].problem).d_size, 4);
}

TEST(OwnCases, NamedLayersAndWholeModels) {
  OwnCases what;
  what.layers = {"llama3-8b/o", "phi4"};
  const auto cases = own(what, {16});
  ASSERT_EQ(cases.size(), 5U);
  EXPECT_EQ(cases[0].id, "llama3-8b/o/forward/m16/bf16");
  EXPECT_EQ(cases[0].suites, std::vector<std::string>{"own"});
  EXPECT_EQ(cases[1].model, "phi4");
}

TEST(OwnCases, DrawnWithOneSeedAreTheSameAndWithAnotherOthers) {
  OwnCases what;
  what.draws = 40;
  const auto seven = own(what, {});
  EXPECT_EQ(seven.size(), 40U);
  EXPECT_EQ(ids(seven), ids(own(what, {}, 7)));
  EXPECT_NE(ids(seven), ids(own(what, {}, 8)));
  std::set<std::string> models;
  for (const Case& c : seven) models.insert(c.model);
  EXPECT_GE(models.size(), 10U) << "the published models have about a hundred layers";
  EXPECT_EQ(models.count("square"), 0U);
  what.layers = {"llama3-8b/o"};
  for (const Case& c : own(what, {5, 6})) {
    EXPECT_EQ(c.layer, "o");
    EXPECT_TRUE(c.problem.tokens == 5 || c.problem.tokens == 6);
  }
}

TEST(OwnCases, ThatAreWrongAreRefusedInASentence) {
  const auto said = [](const OwnCases& what, const std::vector<std::int64_t>& tokens) {
    return complaint([&] { own(what, tokens); });
  };
  OwnCases what;
  what.n = {64};
  EXPECT_EQ(said(what, {1}), "cases: --n and --k must be given together");
  what.k = {64};
  EXPECT_EQ(said(what, {}), "cases: --layers and --n with --k must have --m beside them");
  what.contracts = {"zap"};
  EXPECT_NE(said(what, {1}).find("contract is \"zap\": it must read"), std::string::npos);
  what = {};
  what.kinds = {"dA"};
  EXPECT_EQ(
      said(what, {1}),
      "cases: --contract, --kind, --epilogue and --mode are for --layers, for --n with --k, or "
      "for --draw");
  what.layers = {"llama3-8b/zap"};
  EXPECT_EQ(said(what, {1}),
            "cases: layer is \"llama3-8b/zap\": llama3-8b has down, gate_up, kv, lm_head, o, qkv");
  what.layers = {"zap"};
  EXPECT_NE(said(what, {1}).find("layer is \"zap\": it must be MODEL/LAYER, or MODEL of "),
            std::string::npos);
  what = {};
  what.n = what.k = std::vector<std::int64_t>(65);
  for (std::size_t i = 0; i < 65; ++i) what.n[i] = what.k[i] = static_cast<std::int64_t>(i) + 1;
  EXPECT_EQ(said(what, {1}),
            "cases: --m, --n, --k, --layers, --kind and --epilogue must make at most 4096 cases");
  what = {};
  what.n = what.k = {64};
  what.extras = {"gelu"};
  EXPECT_EQ(
      said(what, {1}),
      "cases: epilogue is \"gelu\": it must be none, bias, beta, bias+relu or bias+gelu_tanh");
}

TEST(OwnCases, OfEveryEpilogueAreCasesOfTheirOwn) {
  OwnCases what;
  what.n = what.k = {64};
  what.extras = {"none", "bias", "beta"};
  const auto cases = own(what, {3});
  ASSERT_EQ(cases.size(), 3U);
  EXPECT_EQ(cases[0].id, "own/64x64/forward/m3/bf16");
  EXPECT_EQ(cases[1].id, "own/64x64/forward/m3/bf16/bias");
  EXPECT_EQ(cases[2].problem.extra, Extra::beta);
  EXPECT_EQ(gemm_of(cases[2].problem).bytes(), gemm_of(cases[0].problem).bytes() + 2 * 3 * 64);
}

TEST(ForcedKernels, AreArmsOfTheContractsTheyFit) {
  OwnCases what;
  what.n = {64};
  what.k = {512};
  what.contracts = {"chain", "chain+stable", "tree"};
  auto cases = own(what, {3});
  add_forced_arms(skeleton_backend(), {"sca*"}, cases);
  ASSERT_EQ(cases[0].contract_arms.size(), 5U) << "chain and chain+stable are one contract";
  EXPECT_EQ(cases[0].contract_arms[3].name, "chain+stable@scalar");
  EXPECT_EQ(cases[0].contract_arms[3].variant, "scalar");
  EXPECT_EQ(cases[0].contract_arms[3].stable, Stable::b);
  EXPECT_EQ(cases[0].contract_arms[4].name, "tree@scalar");
  EXPECT_EQ(
      complaint([&] {
        add_forced_arms(skeleton_backend(), {"all", "zap"}, cases);
      }),
      "--variants is \"zap\": it must be all, or fit a kernel of these cases, which have scalar");
}

}  // namespace
}  // namespace detgemm::bench
