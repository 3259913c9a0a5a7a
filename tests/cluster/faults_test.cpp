// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <mutex>

#include "tests/cluster/ranks.hpp"

// A rank that does not come, or comes with another call, ends in a sentence on the others, never in
// a wait without end.

namespace detgemm::cluster {
namespace {

using namespace std::chrono_literals;

/// The product of one call on this rank with its own idea of m.
Status call(const RowParallelPlan& plan, std::int64_t m) {
  Sample sample("ieee_fma/bf16/tree:16->fp32", 9);
  const std::int64_t n = plan.shares().k() > 0 ? sample.spec.n : 0;
  const KRange k = plan.k_range();
  const std::vector<std::uint16_t> zeros(100000);
  std::vector<float> d(static_cast<std::size_t>(m * n), -7.0F);
  const Scratch scratch(*plan.workspace_bytes(m));
  const auto a = row_major(static_cast<const void*>(zeros.data()), m, k.end - k.begin, DType::bf16);
  const auto b = row_major(static_cast<const void*>(zeros.data()), k.end - k.begin, n, DType::bf16);
  Operands all{a, b, row_major(d.data(), m, n, DType::fp32)};
  return plan.run({}, m, all, scratch);
}

GemmSpec spec() {
  GemmSpec spec;
  spec.contract = *Contract::parse("ieee_fma/bf16/tree:16->fp32");
  spec.n = Sample("ieee_fma/bf16/tree:16->fp32", 9).spec.n;
  spec.k = 128;
  return spec;
}

std::vector<Status> on_three(const Options& options, std::int64_t m_of_rank_2, bool comes) {
  std::vector<Status> said(3);
  on_ranks(3, [&](const std::shared_ptr<Transport>& transport) {
    const auto communicator = Communicator::create(transport, options);
    ASSERT_TRUE(communicator);
    const auto plan = RowParallelPlan::create(*communicator, skeleton_backend(), spec());
    ASSERT_TRUE(plan) << plan.status().message();
    const int rank = transport->rank();
    if (rank == 2 && !comes) return;
    said[static_cast<std::size_t>(rank)] = call(*plan, rank == 2 ? m_of_rank_2 : 4);
    if (!said[static_cast<std::size_t>(rank)] && !options.check_calls) {
      EXPECT_EQ(communicator->health().code(), Errc::peer);
      EXPECT_EQ(call(*plan, 4).code(), Errc::peer) << "a failure stays";
    }
  });
  return said;
}

TEST(Faults, ARankThatNeverComes) {
  Options options;
  options.patience = 200ms;
  const auto said = on_three(options, 4, false);
  EXPECT_EQ(said[0].message(), "rank 2 of 3 did not send within 200 ms");
  EXPECT_EQ(said[1].code(), Errc::peer);
}

TEST(Faults, ARankThatNeverComesToTheBeginning) {
  std::vector<Status> said(3);
  Options options;
  options.patience = 200ms;
  on_ranks(3, [&](const std::shared_ptr<Transport>& transport) {
    if (transport->rank() == 1) return;
    said[static_cast<std::size_t>(transport->rank())] =
        Communicator::create(transport, options).status();
  });
  EXPECT_EQ(said[0].message(), "rank 1 of 3 did not come within 200 ms");
  EXPECT_EQ(said[0].code(), Errc::peer);
  EXPECT_EQ(said[2].message(), said[0].message());
}

TEST(Faults, DifferentRowsAreSeenByTheSizeOfMessages) {
  Options options;
  options.patience = 2s;
  const auto said = on_three(options, 5, true);
  for (const Status& status : said) {
    EXPECT_EQ(status.code(), Errc::peer);
    EXPECT_NE(status.message().find("the ranks call with different m or different plans"),
              std::string::npos)
        << status.message();
  }
}

TEST(Faults, DifferentRowsAreASentenceWhereCallsAreChecked) {
  Options options;
  options.check_calls = true;
  const auto said = on_three(options, 5, true);
  for (const Status& status : said) {
    EXPECT_EQ(status.message(),
              "ranks disagree: rank 2 has m 5 and rank 0 has m 4: it must be the same on all");
  }
}

TEST(Faults, AnAbortLetsGoOfEverybody) {
  std::vector<Status> said(2);
  on_ranks(2, [&](const std::shared_ptr<Transport>& transport) {
    Options options;
    options.patience = 0ms;  // for ever
    const auto communicator = Communicator::create(transport, options);
    ASSERT_TRUE(communicator);
    const auto plan = RowParallelPlan::create(*communicator, skeleton_backend(), spec());
    ASSERT_TRUE(plan);
    if (transport->rank() == 1) {
      std::this_thread::sleep_for(50ms);
      communicator->abort();
      return;
    }
    said[0] = call(*plan, 4);
  });
  EXPECT_EQ(said[0].message(), "rank 1 aborted");
}

}  // namespace
}  // namespace detgemm::cluster
