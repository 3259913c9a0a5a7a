// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <limits>
#include <thread>

#include "tests/cluster/ranks.hpp"

namespace detgemm::cluster {
namespace {

TEST(Refusals, ACommunicator) {
  const auto says = [](std::shared_ptr<Transport> transport, const Options& options = {}) {
    return Communicator::create(std::move(transport), options).status().message();
  };
  EXPECT_EQ(says(nullptr), "transport is null: it must be a transport");
  Options options;
  options.patience = std::chrono::milliseconds(-1);
  EXPECT_EQ(says(threads(1)[0], options),
            "rank 0 refuses: patience is -1 ms: it must not be negative");
  EXPECT_TRUE(threads(0).empty());
}

/// Clocks count nanoseconds: more milliseconds than they hold are for ever, and end at no time.
TEST(Refusals, APatienceOfAnyLength) {
  Sample sample("ieee_fma/bf16/tree:16->fp32", 6);
  for (const std::int64_t ms : {std::numeric_limits<std::int64_t>::max(), 9'300'000'000'000L}) {
    Options options;
    options.patience = std::chrono::milliseconds(ms);
    options.window_bytes = std::size_t{1} << 20;
    for (const Algorithm algorithm : {Algorithm::gather, Algorithm::two_shot}) {
      on_ranks(2, [&](const std::shared_ptr<Transport>& transport) {
        const auto late = [&] {
          if (transport->rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(30));
        };
        late();
        const auto communicator = Communicator::create(transport, options);
        ASSERT_TRUE(communicator) << communicator.status().message();
        RowParallelOptions choices;
        choices.algorithm = algorithm;
        late();
        const auto plan =
            RowParallelPlan::create(*communicator, skeleton_backend(), sample.spec, choices);
        ASSERT_TRUE(plan) << plan.status().message();
        std::vector<float> d(sample.d.size());
        const Scratch scratch(*plan->workspace_bytes(sample.m));
        late();
        const Status ran = plan->run(
            {}, sample.m, sample.operands(plan->k_range(), {0, sample.m}, d.data()), scratch);
        EXPECT_TRUE(ran) << ran.message();
      });
    }
  }
}

TEST(Refusals, RowsWhoseBytesCannotBeCounted) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  on_ranks(3, [](const std::shared_ptr<Transport>& transport) {
    GemmSpec spec;
    spec.contract = *Contract::parse("ieee_fma/bf16/tree:16->fp32");
    spec.n = 64;
    spec.k = 4096;
    const auto communicator = *Communicator::create(transport);
    const std::string begun = "max_m is 9223372036854775807: for rows of ";
    const auto rows = *RowParallelPlan::create(communicator, skeleton_backend(), spec);
    EXPECT_EQ(rows.workspace_bytes(kMax).status().message(),
              begun + "64 elements it must be at most 17592186044416");
    EXPECT_TRUE(rows.workspace_bytes(17592186044416));
    const std::string uncounted = "receives   not counted: " + begun;
    EXPECT_NE(rows.describe(kMax).find(uncounted + "64 elements it must be at most"),
              std::string::npos);
    const auto sum = *TreeSum::create(communicator, skeleton_backend(), spec, rows.shares());
    EXPECT_EQ(sum.workspace_bytes(kMax).status().message(),
              begun + "64 elements it must be at most 17592186044416");
    ColumnParallelOptions options;
    options.input = Placement::rows;
    const auto columns =
        *ColumnParallelPlan::create(communicator, skeleton_backend(), spec, options);
    EXPECT_EQ(columns.workspace_bytes(kMax).status().message(),
              begun + "4096 elements it must be at most 274877906944");
    EXPECT_NE(columns.describe(kMax).find(uncounted + "4096 elements it must be at most"),
              std::string::npos);
  });
}

TEST(Refusals, ACall) {
  const Sample sample("ieee_fma/bf16/tree:16->fp32", 6);
  ASSERT_GT(sample.m, 1);
  ASSERT_GT(sample.spec.n, 1);
  const auto communicator = *Communicator::create(threads(1)[0]);
  const auto plan = *RowParallelPlan::create(communicator, skeleton_backend(), sample.spec);
  std::vector<float> d(sample.d.size(), -7.0F);
  const Operands good = sample.operands(plan.k_range(), {0, sample.m}, d.data());
  const std::size_t bytes = *plan.workspace_bytes(sample.m);
  const Scratch scratch(bytes);
  const Workspace workspace = scratch;
  const auto says = [&](std::int64_t m, const Operands& operands, Workspace with) {
    return plan.run({}, m, operands, with).message();
  };
  EXPECT_EQ(says(-1, good, workspace), "m is -1: it must not be negative");
  EXPECT_EQ(says(sample.m + 1, good, workspace),
            "d has " + std::to_string(sample.m) + " rows: this rank has " +
                std::to_string(sample.m + 1) + " of m = " + std::to_string(sample.m + 1));
  EXPECT_EQ(says(sample.m, good, {workspace.data, bytes - 1}),
            "workspace.bytes is " + std::to_string(bytes - 1) + ": this m needs at least " +
                std::to_string(bytes));
  EXPECT_EQ(says(sample.m, good, {nullptr, bytes}),
            "workspace.data is null: this m needs " + std::to_string(bytes) + " bytes");
  auto* const odd = static_cast<std::byte*>(workspace.data) + 1;
  EXPECT_EQ(says(sample.m, good, {odd, bytes}), "workspace.data is 0x" +
                                                    hex(reinterpret_cast<std::uintptr_t>(odd)) +
                                                    ": it must be a multiple of 256");
  Operands short_a = good;
  short_a.a.cols -= 1;
  EXPECT_NE(says(sample.m, short_a, workspace).find("a"), std::string::npos);
  EXPECT_FALSE(says(sample.m, short_a, workspace).empty());
  Operands no_d = good;
  no_d.d.data = nullptr;
  EXPECT_FALSE(says(sample.m, no_d, workspace).empty());
  EXPECT_FALSE(plan.run({DeviceKind::cuda, nullptr}, sample.m, good, workspace));
  for (const float value : d) EXPECT_EQ(value, -7.0F) << "a refused call wrote";
  EXPECT_EQ(plan.workspace_bytes(-1).status().message(), "max_m is -1: it must not be negative");
}

TEST(Refusals, WorkspaceDoesNotShrinkAsMGrows) {
  on_ranks(3, [](const std::shared_ptr<Transport>& transport) {
    const Sample sample("ieee_fma/bf16/tree:16->fp32", 6);
    const auto communicator = *Communicator::create(transport);
    const auto plan = *RowParallelPlan::create(communicator, skeleton_backend(), sample.spec);
    std::size_t before = 0;
    for (std::int64_t m = 0; m < 300; ++m) {
      const std::size_t bytes = *plan.workspace_bytes(m);
      EXPECT_GE(bytes, before) << m;
      before = bytes;
    }
  });
}

}  // namespace
}  // namespace detgemm::cluster
