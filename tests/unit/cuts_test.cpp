// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// check_cuts: where a K may be cut, and that it says so of just the cuts that keep the bits.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "backends/skeleton/skeleton.hpp"
#include "detgemm/plan.hpp"
#include "detgemm/workspace.hpp"

namespace detgemm {
namespace {

using Lengths = std::vector<std::int64_t>;

std::string said(const char* contract, const Lengths& lengths) {
  const Status status = check_cuts(*Contract::parse(contract), lengths);
  return status ? "ok" : std::string(name(status.code())) + ": " + status.message();
}

TEST(CheckCuts, TakesMultiplesOfTheLeafOrOfTheKBlock) {
  EXPECT_EQ(said("hopper/bf16/fold:1024", {1024, 2048, 1}), "ok");
  EXPECT_EQ(said("hopper/bf16/fold:1024", {1000}), "ok");
  EXPECT_EQ(said("hopper/bf16/fold:1024", {}), "ok");
  EXPECT_EQ(said("hopper/bf16/fold:1024", {0, 1024, 0}), "ok");
  EXPECT_EQ(said("hopper/bf16/chain", {16, 48, 7}), "ok");
  EXPECT_EQ(said("ieee_fma/fp32/chain", {1, 2, 3}), "ok");
  EXPECT_EQ(said("hopper/e4m3/scaled:128", {128, 256, 5}), "ok");
  EXPECT_EQ(said("snap3/fp32/fold:64", {64, 64}), "ok");
  EXPECT_EQ(said("hopper/bf16/tree:512", {777}), "ok") << "nothing is cut";
}

TEST(CheckCuts, RefusesOthersInASentence) {
  EXPECT_EQ(said("hopper/bf16/fold:1024->fp32", {1000, 1000}),
            "invalid_argument: lengths[0] is 1000: under hopper/bf16/fold:1024->fp32 every length "
            "but the last must be a multiple of 1024");
  EXPECT_EQ(said("hopper/bf16/chain", {32, 8, 16}),
            "invalid_argument: lengths[1] is 8: under hopper/bf16/chain->bf16 every length but the "
            "last must be a multiple of 16");
  EXPECT_EQ(said("hopper/bf16/chain", {32, -16}),
            "invalid_argument: lengths[1] is -16: it must not be negative");
  EXPECT_EQ(said("hopper/bf16/tree:512", {-1}),
            "invalid_argument: lengths[0] is -1: it must not be negative");
  EXPECT_EQ(said("hopper/bf16/tree:512", {512, 512}),
            "unsupported: lengths has 2 pieces and the contract is hopper/bf16/tree:512->bf16: a "
            "tree's shape depends on the whole of K, so it cannot be cut; use chain, fold or "
            "scaled");
  Contract broken = *Contract::parse("hopper/bf16/fold:64");
  broken.reduction.leaf_k = 0;
  EXPECT_EQ(check_cuts(broken, Lengths{64, 64}).code(), Errc::invalid_argument);
}

/// One output over k products of fp32 numbers whose sums round, cut into two pieces at `at`.
float cut_sum(const Contract& contract, const std::vector<float>& x, std::int64_t at) {
  float d = 0.0F;
  for (const auto& [begin, end] :
       {std::pair{std::int64_t{0}, at}, std::pair{at, static_cast<std::int64_t>(x.size())}}) {
    const GemmSpec spec{
        .n = 1, .k = end - begin, .contract = contract, .continue_from_c = begin != 0};
    const Plan plan = *Plan::create(skeleton_backend(), spec);
    const auto scratch = HostWorkspace::allocate(*plan.workspace_bytes(1));
    const Operands operands{.a = row_major(x.data() + begin, 1, end - begin, DType::fp32),
                            .b = row_major(x.data() + begin, end - begin, 1, DType::fp32),
                            .d = row_major(&d, 1, 1, DType::fp32),
                            .c = row_major(&d, 1, 1, DType::fp32)};
    const Status status = plan.run({}, operands, *scratch);
    EXPECT_TRUE(status) << status.message();
  }
  return d;
}

/// A cut that is accepted has the bits of the uncut sum; of those that are refused, some have not,
/// so the rule refuses for a reason.
TEST(CheckCuts, KeepsTheBitsWhereItSaysSo) {
  std::vector<float> x(64);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 1.0F / static_cast<float>(i + 3);
  for (const char* text : {"ieee_fma/fp32/fold:16", "ieee_fma/fp32/chain"}) {
    const Contract contract = *Contract::parse(text);
    const float whole = cut_sum(contract, x, 64);
    int accepted = 0, refused_and_different = 0;
    for (std::int64_t at = 1; at < 64; ++at) {
      const bool same = cut_sum(contract, x, at) == whole;
      if (check_cuts(contract, Lengths{at, 64 - at})) {
        EXPECT_TRUE(same) << text << " cut at " << at;
        ++accepted;
      } else {
        refused_and_different += same ? 0 : 1;
      }
    }
    const bool fold = contract.reduction.kind == ReductionKind::fold;
    EXPECT_EQ(accepted, fold ? 3 : 63) << text;
    EXPECT_EQ(refused_and_different > 0, fold) << text;
  }
}

}  // namespace
}  // namespace detgemm
