// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <atomic>

#include "tests/cluster/ranks.hpp"
#include "tests/cluster/shares.hpp"

// D has the bits of one rank for every number of ranks, any shares, both algorithms and both
// placements.

namespace detgemm::cluster {
namespace {

TEST(RowParallel, BitsOfOneRank) {
  std::mt19937_64 random(5);
  for (const char* contract : {"ieee_fma/bf16/tree:16->fp32", "hopper/bf16/tree:64->fp32"}) {
    for (int ranks = 1; ranks <= 9; ++ranks) {
      for (std::uint64_t seed = 0; seed < 8; ++seed) {
        const Sample sample(contract, seed * 31 + static_cast<std::uint64_t>(ranks));
        ASSERT_TRUE(sample.whole) << sample.whole.message();
        RowParallelOptions options;
        options.output = seed % 2 == 0 ? Placement::replicated : Placement::rows;
        if (seed % 3 != 0) options.shares = random_shares(sample.spec, ranks, random);
        if (options.output == Placement::replicated && seed % 4 == 0) {
          options.algorithm = seed % 8 == 0 ? Algorithm::gather : Algorithm::scatter;
        }
        options.chunks = static_cast<std::int32_t>(seed % 5);
        Options checks;
        checks.check_calls = seed % 2 == 1;
        on_ranks(ranks, [&](const std::shared_ptr<Transport>& transport) {
          const auto communicator = Communicator::create(transport, checks);
          ASSERT_TRUE(communicator) << communicator.status().message();
          EXPECT_EQ(run_sample(*communicator, sample, options), "")
              << contract << ", " << ranks << " ranks, seed " << seed << ", m " << sample.m
              << ", k " << sample.spec.k;
        });
      }
    }
  }
}

/// The control: the same roots, summed in rank order, have other bits in most samples. If they had
/// not, equality above would say nothing.
TEST(RowParallel, AnotherOrderWouldShow) {
  int differ = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Sample sample("ieee_fma/bf16/tree:16->fp32", seed);
    if (sample.m == 0 || sample.spec.k < 100) continue;
    GemmSpec folded = sample.spec;
    folded.contract = *Contract::parse("ieee_fma/bf16/fold:16->fp32");
    std::vector<float> d(sample.d.size());
    ASSERT_TRUE(Plan::create(skeleton_backend(), folded)
                    ->run({}, sample.operands({0, sample.spec.k}, {0, sample.m}, d.data())));
    differ += d != sample.d ? 1 : 0;
  }
  EXPECT_GT(differ, 8);
}

/// D in lines with gaps between them, by rows and by columns: the gaps stay as they are.
TEST(RowParallel, AnOutputWithGaps) {
  for (const bool by_rows : {true, false}) {
    for (int ranks = 2; ranks <= 5; ++ranks) {
      for (std::uint64_t seed = 3; seed < 9; ++seed) {
        const Sample sample("ieee_fma/bf16/tree:16->fp32", seed);
        on_ranks(ranks, [&](const std::shared_ptr<Transport>& transport) {
          const auto communicator = *Communicator::create(transport);
          RowParallelOptions options;
          options.algorithm = Algorithm::scatter;
          const auto plan =
              *RowParallelPlan::create(communicator, skeleton_backend(), sample.spec, options);
          const std::int64_t m = sample.m, n = sample.spec.n;
          const std::int64_t ld = (by_rows ? n : m) + 3;
          std::vector<float> d(static_cast<std::size_t>(ld * (by_rows ? m : n)), -7.0F);
          Operands operands = sample.operands(plan.k_range(), {0, m}, d.data());
          operands.d = by_rows ? row_major(static_cast<void*>(d.data()), m, n, DType::fp32, ld)
                               : col_major(static_cast<void*>(d.data()), m, n, DType::fp32, ld);
          const Scratch scratch(*plan.workspace_bytes(m));
          const Status ran = plan.run({}, m, operands, scratch);
          ASSERT_TRUE(ran) << ran.message();
          std::vector<float> expected(d.size(), -7.0F);
          for (std::int64_t i = 0; i < m * n; ++i) {
            const std::int64_t at = by_rows ? i / n * ld + i % n : i % n * ld + i / n;
            expected[static_cast<std::size_t>(at)] = sample.d[static_cast<std::size_t>(i)];
          }
          // As bits; a D of no elements has no address to compare.
          EXPECT_TRUE(d.empty() ||
                      std::memcmp(d.data(), expected.data(), d.size() * sizeof(float)) == 0)
              << ranks << " ranks, seed " << seed << ", m " << m << ", n " << n;
        });
      }
    }
  }
}

/// Gradients: each rank has the roots of its own leaves already.
TEST(TreeSum, BitsOfOneRank) {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    const Sample sample("ieee_fma/bf16/tree:16->fp32", 77 + static_cast<std::uint64_t>(ranks));
    const auto shares = *Shares::even(sample.spec.contract, sample.spec.k, ranks);
    on_ranks(ranks, [&](const std::shared_ptr<Transport>& transport) {
      const auto communicator = Communicator::create(transport);
      ASSERT_TRUE(communicator);
      const auto sum = TreeSum::create(*communicator, skeleton_backend(), sample.spec, shares);
      ASSERT_TRUE(sum) << sum.status().message();
      const Roots roots(sample, shares, transport->rank());
      ASSERT_TRUE(roots.made) << roots.made.message();
      std::vector<float> d(sample.d.size());
      const Scratch scratch(*sum->workspace_bytes(sample.m));
      const Status ran = sum->run({}, sample.m, roots.views,
                                  sample.operands({0, 0}, {0, sample.m}, d.data()), scratch);
      EXPECT_TRUE(ran) << ran.message();
      EXPECT_EQ(d, sample.d);
    });
  }
}

TEST(RowParallel, ManyCallsOneAfterAnother) {
  const Sample sample("ieee_fma/bf16/tree:16->fp32", 3);
  std::atomic<int> wrong = 0;
  on_ranks(4, [&](const std::shared_ptr<Transport>& transport) {
    const auto communicator = Communicator::create(transport);
    ASSERT_TRUE(communicator);
    for (int i = 0; i < 50; ++i) {
      RowParallelOptions options;
      options.algorithm = i % 2 == 0 ? Algorithm::gather : Algorithm::scatter;
      if (!run_sample(*communicator, sample, options).empty()) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace detgemm::cluster
