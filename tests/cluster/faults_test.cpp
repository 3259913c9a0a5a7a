// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
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
  EXPECT_EQ(said[0].message(), "rank 1 of 3 did not arrive within 200 ms");
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

/// Every plan of a broken job refuses at once: neither D nor the workspace is written, and nobody
/// is waited for, although the patience is long.
void broken_job(bool check_calls) {
  on_ranks(2, [&](const std::shared_ptr<Transport>& transport) {
    Options options;
    options.check_calls = check_calls;
    const auto communicator = *Communicator::create(transport, options);
    const GemmSpec problem = spec();
    const auto row = *RowParallelPlan::create(communicator, skeleton_backend(), problem);
    const auto column = *ColumnParallelPlan::create(communicator, skeleton_backend(), problem);
    const auto sum =
        *TreeSum::create(communicator, skeleton_backend(), problem, row.shares(), {}, {});
    std::byte record{}, records[2];
    ASSERT_TRUE(transport->agree({&record, 1}, records, 30s)) << "both have their plans";
    if (transport->rank() == 1) return communicator.abort();
    while (communicator.health()) std::this_thread::yield();

    constexpr std::int64_t kM = 4;
    const std::int64_t n = problem.n, depth = row.k_range().end - row.k_range().begin;
    const std::vector<std::uint16_t> ones(10000, 0x3f80);
    std::vector<float> d(static_cast<std::size_t>(kM * n), -7.0F);
    const std::vector<float> root(d.size(), 1.0F);
    const std::size_t bytes = std::size_t{1} << 20;
    const Scratch scratch(bytes);
    const Workspace room = scratch;
    std::memset(room.data, 0x5a, bytes);
    const auto input = [&](std::int64_t rows, std::int64_t cols) {
      return row_major(static_cast<const void*>(ones.data()), rows, cols, DType::bf16);
    };
    const auto output = [&](std::int64_t cols) {
      return row_major(static_cast<void*>(d.data()), kM, cols, DType::fp32);
    };
    const auto start = std::chrono::steady_clock::now();
    const std::int64_t columns = column.columns().size();
    std::vector<ConstMatrix> roots(
        row.shares().cover(0).size(),
        row_major(static_cast<const void*>(root.data()), kM, n, DType::fp32));
    for (const Status& status :
         {row.run({}, kM, {input(kM, depth), input(depth, n), output(n)}, room),
          column.run({}, kM, {input(kM, problem.k), input(problem.k, columns), output(columns)},
                     room),
          sum.run({}, kM, roots, {{}, {}, output(n)}, room)}) {
      EXPECT_EQ(status.code(), Errc::peer);
      EXPECT_EQ(status.message(), "rank 1 aborted");
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, 10s) << "of a patience of 30 s";
    EXPECT_TRUE(std::all_of(d.begin(), d.end(), [](float x) { return x == -7.0F; }));
    const auto* const at = static_cast<const unsigned char*>(room.data);
    EXPECT_TRUE(std::all_of(at, at + bytes, [](unsigned char x) { return x == 0x5a; }))
        << "roots were written";
  });
}

TEST(Faults, ABrokenJobRefusesBeforeItWritesAnything) {
  broken_job(false);
  broken_job(true);
}

}  // namespace
}  // namespace detgemm::cluster
