// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "dropin/policy.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace detgemm::dropin {
namespace {

std::string text_of(const Policy& policy, Kind kind, Direction direction, DType output) {
  const auto contract = policy.contract(kind, direction, output);
  return contract ? contract->text() : "pass";
}

TEST(Policy, Default) {
  const Policy policy = default_policy();
  EXPECT_EQ(text_of(policy, Kind::bf16, Direction::tn, DType::bf16), "hopper/bf16/chain->bf16");
  EXPECT_EQ(text_of(policy, Kind::fp16, Direction::nn, DType::fp32), "hopper/fp16/chain->fp32");
  EXPECT_EQ(text_of(policy, Kind::fp32, Direction::nt, DType::fp32), "ieee_fma/fp32/chain->fp32");
  EXPECT_EQ(text_of(policy, Kind::tf32, Direction::nt, DType::fp32), "ieee_fma/fp32/chain->fp32");
  EXPECT_FALSE(policy.refuse_others);
}

TEST(Policy, EveryKey) {
  std::vector<std::string> faults;
  const Policy policy = parse_policy(
      "# a comment\n\n bf16.tn = hopper/bf16/tree:512  # the weights\r\n"
      "bf16 = ieee_fma/bf16/chain\nfp16 = pass\nfp32 = hopper/fp32/chain\n",
      "f", faults);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_NE(faults[0].find("f:6: fp32: "), std::string::npos) << faults[0];
  faults.clear();
  const Policy whole = parse_policy(
      "bf16.tn = hopper/bf16/tree:512\nbf16 = ieee_fma/bf16/chain\nfp16 = pass\n"
      "others = refuse\nbackend = reference\ndevice_reads = pass\ntable = none\nsignal = none\n"
      "log = calls.jsonl\ncublas = /a/b\ncublaslt = /c/d",
      "f", faults);
  EXPECT_TRUE(faults.empty());
  EXPECT_EQ(text_of(whole, Kind::bf16, Direction::tn, DType::bf16), "hopper/bf16/tree:512->bf16");
  EXPECT_EQ(text_of(whole, Kind::bf16, Direction::nn, DType::bf16), "ieee_fma/bf16/chain->bf16");
  EXPECT_EQ(text_of(whole, Kind::fp16, Direction::nn, DType::fp16), "pass");
  EXPECT_TRUE(whole.refuse_others);
  EXPECT_FALSE(whole.wait_for_reads);
  EXPECT_FALSE(whole.table);
  EXPECT_FALSE(whole.signal);
  EXPECT_EQ(whole.backend, "reference");
  EXPECT_EQ(whole.log, "calls.jsonl");
  EXPECT_EQ(whole.vendor, "/a/b");
  EXPECT_EQ(whole.vendor_lt, "/c/d");
}

TEST(Policy, Tf32FollowsFp32UnlessItIsNamed) {
  std::vector<std::string> faults;
  const Policy follows = parse_policy("fp32.nn = pass\n", "f", faults);
  EXPECT_EQ(text_of(follows, Kind::tf32, Direction::nn, DType::fp32), "pass");
  EXPECT_EQ(text_of(follows, Kind::tf32, Direction::tn, DType::fp32), "ieee_fma/fp32/chain->fp32");
  const Policy named = parse_policy("fp32 = pass\ntf32 = hopper/tf32/chain\n", "f", faults);
  EXPECT_EQ(text_of(named, Kind::tf32, Direction::nn, DType::fp32), "hopper/tf32/chain->fp32");
  EXPECT_TRUE(faults.empty());
}

TEST(Policy, FaultsAreSentencesWithLines) {
  struct Case {
    const char* text;
    const char* fault;
  };
  const Case cases[] = {
      {"bf16", "f:1: \"bf16\" has no '='"},
      {"\nbf17 = pass", "f:2: \"bf17\" is not a key: the keys are bf16"},
      {"bf\x1b[31m17 = pass", "f:1: \"bf?[31m17\" is not a key"},
      {"bf16.xy = pass", "a direction is NN, NT, TN or TT"},
      {"bf16 =", "\"bf16\" has no value"},
      {"bf16 = pass\nbf16 = pass", "f:2: \"bf16\" is set twice"},
      {"bf16.tn = pass\nbf16.TN = pass", "is set twice"},
      {"bf16 = hopper/bf16/chain->bf16", "the output type is the call's"},
      {"bf16 = hopper/bf16/scaled:128", "calls of a BLAS bring no scales"},
      {"bf16 = hopper/fp16/chain", "the input of the contract is fp16, and the calls' is bf16"},
      {"fp32 = hopper/tf32/chain", "the input of the contract is tf32, and the calls' is fp32"},
      {"bf16 = hooper/bf16/chain", "hooper"},
      {"others = ignore", "others is \"ignore\": it must be pass or refuse"},
      {"device_reads = yes", "it must be pass or wait"},
      {"backend = gpu", "backend is \"gpu\": it must be cuda, hip or reference"},
      {"table = never", "it must be none or exit"},
      {"signal = HUP", "it must be none or USR1"},
  };
  for (const Case& c : cases) {
    std::vector<std::string> faults;
    parse_policy(c.text, "f", faults);
    ASSERT_EQ(faults.size(), 1U) << c.text;
    EXPECT_NE(faults[0].find(c.fault), std::string::npos) << faults[0];
  }
}

TEST(Policy, EveryFaultIsSaid) {
  std::vector<std::string> faults;
  parse_policy("a = 1\nb = 2\n", "f", faults);
  EXPECT_EQ(faults.size(), 2U);
}

}  // namespace
}  // namespace detgemm::dropin
