// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <mutex>
#include <set>

#include "detgemm/version.hpp"
#include "tests/cluster/ranks.hpp"

// All ranks succeed, or all refuse with the same sentence.

namespace detgemm::cluster {
namespace {

/// What the ranks say when rank 2 of 4 has been given something else.
std::set<std::string> sentences(
    const std::function<void(int, GemmSpec&, RowParallelOptions&)>& spoil) {
  std::set<std::string> said;
  std::mutex mutex;
  on_ranks(4, [&](const std::shared_ptr<Transport>& transport) {
    const auto communicator = Communicator::create(transport);
    ASSERT_TRUE(communicator);
    Sample sample("ieee_fma/bf16/tree:16->fp32", 9);
    sample.spec.k = 128;
    RowParallelOptions options;
    spoil(transport->rank(), sample.spec, options);
    const auto plan =
        RowParallelPlan::create(*communicator, skeleton_backend(), sample.spec, options);
    const std::scoped_lock lock(mutex);
    said.insert(plan.status().message());
    EXPECT_TRUE(communicator->health()) << "a refusal does not break a communicator";
  });
  return said;
}

TEST(Agreement, OneContract) {
  const auto said = sentences([](int rank, GemmSpec& spec, RowParallelOptions&) {
    if (rank == 2) spec.contract.reduction.leaf_k = 32;
  });
  ASSERT_EQ(said.size(), 1U);
  EXPECT_NE(said.begin()->find("ranks disagree: rank 2 has contract "), std::string::npos)
      << *said.begin();
}

TEST(Agreement, OneProblem) {
  const auto one = [](const std::set<std::string>& said) {
    return said.size() == 1 ? *said.begin() : "they say different things";
  };
  EXPECT_EQ(one(sentences(
                [](int rank, GemmSpec& spec, RowParallelOptions&) { spec.n = rank == 2 ? 8 : 4; })),
            "ranks disagree: rank 2 has n 8 and rank 0 has n 4: it must be the same on all");
  EXPECT_EQ(
      one(sentences([](int rank, GemmSpec&, RowParallelOptions& options) {
        if (rank == 2) options.algorithm = Algorithm::gather;
      })),
      "ranks disagree: rank 2 has algorithm gather and rank 0 has algorithm automatic: it must "
      "be the same on all");
}

TEST(Agreement, OnePlacementAndOneSetOfShares) {
  const auto placement = sentences([](int rank, GemmSpec&, RowParallelOptions& options) {
    if (rank == 2) options.output = Placement::rows;
  });
  EXPECT_EQ(placement,
            std::set<std::string>{"ranks disagree: rank 2 has output rows and rank 0 has output "
                                  "replicated: it must be the same on all"});
  const auto shares = sentences([](int rank, GemmSpec& spec, RowParallelOptions& options) {
    const std::array<KRange, 4> even{{{0, 32}, {32, 64}, {64, 96}, {96, 128}}};
    const std::array<KRange, 4> others{{{0, 16}, {16, 64}, {64, 96}, {96, 128}}};
    options.shares = *Shares::of(spec.contract, spec.k, rank == 2 ? others : even);
  });
  EXPECT_EQ(shares, std::set<std::string>{
                        "ranks disagree: rank 2 has shares 0-16|16-64|64-96|96-128 and rank 0 has "
                        "shares 0-32|32-64|64-96|96-128: it must be the same on all"});
}

/// Rank 1 is an older release of this library, or another program: it brings a record of its own.
TEST(Agreement, OneVersionOfTheLibrary) {
  constexpr std::size_t kRecordBytes = 8192;
  const auto against = [](const std::string& record) {
    std::string said;
    on_ranks(2, [&](const std::shared_ptr<Transport>& transport) {
      if (transport->rank() == 0) {
        said = Communicator::create(transport).status().message();
        return;
      }
      std::vector<std::byte> mine(kRecordBytes), all(2 * kRecordBytes);
      std::memcpy(mine.data(), record.data(), record.size());
      ASSERT_TRUE(transport->agree(mine, all, std::chrono::seconds(10)));
    });
    return said;
  };
  EXPECT_EQ(against("detgemm agreement 1\ndetgemm\t0.0.1\nsize\t2\ncheck_calls\tfalse\n"),
            "ranks disagree: rank 1 has detgemm 0.0.1 and rank 0 has detgemm " +
                std::string(DETGEMM_VERSION_STRING) + ": it must be the same on all");
  EXPECT_EQ(against("something else"), "ranks disagree: rank 1 uses another version of detgemm");
}

TEST(Agreement, ARefusalOfOneRankIsThatOfAll) {
  const auto said = sentences([](int rank, GemmSpec&, RowParallelOptions& options) {
    if (rank == 2) options.plan.variant = "fastest";
  });
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(*said.begin(),
            "rank 2 refuses: variant is \"fastest\": skeleton has scalar for this problem");
}

TEST(Agreement, ContractsWithoutATree) {
  const auto said = sentences([](int, GemmSpec& spec, RowParallelOptions&) {
    spec.contract = *Contract::parse("ieee_fma/bf16/chain->fp32");
  });
  ASSERT_EQ(said.size(), 1U);
  EXPECT_EQ(
      *said.begin(),
      "rank 0 refuses: contract is ieee_fma/bf16/chain->fp32: its sum runs through all of K in "
      "order, so give K to one rank or choose tree:LEAF");
}

TEST(Agreement, OneSetOfOptions) {
  std::set<std::string> said;
  std::mutex mutex;
  on_ranks(3, [&](const std::shared_ptr<Transport>& transport) {
    Options options;
    options.check_calls = transport->rank() == 1;
    const auto communicator = Communicator::create(transport, options);
    const std::scoped_lock lock(mutex);
    said.insert(communicator.status().message());
  });
  EXPECT_EQ(said,
            std::set<std::string>{"ranks disagree: rank 1 has check_calls true and rank 0 has "
                                  "check_calls false: it must be the same on all"});
}

}  // namespace
}  // namespace detgemm::cluster
