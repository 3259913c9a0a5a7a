// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>

#include "tests/cluster/shares.hpp"
#include "tests/cluster/windows.hpp"

// Roots joined through windows of the ranks: the bits of one rank, in pieces and in one, whoever is
// late; and planted faults, which must move bits.

namespace detgemm::cluster {
namespace {

constexpr const char* kContract = "ieee_fma/bf16/tree:16->fp32";

Options with_windows(std::size_t bytes) {
  Options options;
  options.window_bytes = bytes;
  options.patience = std::chrono::seconds(20);
  return options;
}

TEST(Peers, BitsOfOneRank) {
  std::mt19937_64 random(11);
  std::atomic<int> equal = 0;
  int expected = 0;
  for (int ranks = 1; ranks <= 8; ++ranks) {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      const Sample sample(seed % 2 == 0 ? kContract : "hopper/bf16/tree:64->fp32",
                          seed * 31 + static_cast<std::uint64_t>(ranks));
      ASSERT_TRUE(sample.whole) << sample.whole.message();
      RowParallelOptions options;
      if (seed % 3 != 0) options.shares = random_shares(sample.spec, ranks, random);
      options.chunks = static_cast<std::int32_t>(seed % 4);
      options.algorithm = kPeerAlgorithms[seed % 3];
      if (options.algorithm != Algorithm::one_shot && seed % 4 == 1) {
        options.output = Placement::rows;
      }
      // The small windows hold a few rows, so that calls take many pieces.
      const std::size_t bytes = seed % 2 == 0 ? std::size_t{1} << 20 : 96U << 10;
      expected += ranks;
      on_ranks(ranks, [&](const std::shared_ptr<Transport>& transport) {
        const auto communicator = Communicator::create(transport, with_windows(bytes));
        ASSERT_TRUE(communicator) << communicator.status().message();
        const std::string wrong = run_sample(*communicator, sample, options);
        EXPECT_EQ(wrong, "") << ranks << " ranks, seed " << seed << ", m " << sample.m << ", k "
                             << sample.spec.k << ", " << name(options.algorithm);
        equal += wrong.empty() ? 1 : 0;
      });
    }
  }
  EXPECT_EQ(equal, expected);
}

/// Many calls of different plans on the same windows, while ranks sleep at random: whoever is ahead
/// must not overwrite what another still reads. Windows so small that a call takes several pieces.
TEST(Peers, BitsOfOneRankWhileRanksAreLate) {
  for (const int ranks : {2, 3, 5}) {
    std::vector<Sample> samples;
    for (std::uint64_t seed = 40; samples.size() < 5; ++seed) {
      Sample sample(kContract, seed);
      if (sample.m > 20 && sample.spec.k > 200) samples.push_back(std::move(sample));
    }
    on_ranks(ranks, [&](const std::shared_ptr<Transport>& transport) {
      const auto communicator = *Communicator::create(transport, with_windows(64U << 10));
      replace_window(communicator, [](std::shared_ptr<Window> window, int rank) {
        return std::make_shared<Delayed>(std::move(window), static_cast<std::uint64_t>(rank));
      });
      for (std::size_t i = 0; i < 30; ++i) {
        RowParallelOptions options;
        options.algorithm = kPeerAlgorithms[i * 7 % 3];
        if (options.algorithm != Algorithm::one_shot && i % 5 == 0) {
          options.output = Placement::rows;
        }
        ASSERT_EQ(run_sample(communicator, samples[i % samples.size()], options), "")
            << ranks << " ranks, call " << i;
      }
    });
  }
}

TEST(Peers, AnOutputInColumnsAndMessagesBetween) {
  const Sample sample(kContract, 5);
  on_ranks(3, [&](const std::shared_ptr<Transport>& transport) {
    const auto communicator = *Communicator::create(transport, with_windows(1U << 20));
    for (const Algorithm algorithm : kPeerAlgorithms) {
      RowParallelOptions options;
      options.algorithm = algorithm;
      const auto plan =
          *RowParallelPlan::create(communicator, skeleton_backend(), sample.spec, options);
      const std::int64_t m = sample.m, n = sample.spec.n, ld = m + 3;
      std::vector<float> d(static_cast<std::size_t>(ld * n), -7.0F);
      Operands operands = sample.operands(plan.k_range(), {0, m}, d.data());
      operands.d = col_major(static_cast<void*>(d.data()), m, n, DType::fp32, ld);
      const Scratch scratch(*plan.workspace_bytes(m));
      const Status ran = plan.run({}, m, operands, scratch);
      ASSERT_TRUE(ran) << ran.message();
      std::vector<float> expected(d.size(), -7.0F);
      for (std::int64_t i = 0; i < m * n; ++i) {
        expected[static_cast<std::size_t>(i % n * ld + i / n)] =
            sample.d[static_cast<std::size_t>(i)];
      }
      EXPECT_EQ(std::memcmp(d.data(), expected.data(), d.size() * sizeof(float)), 0);
      EXPECT_NE(plan.describe(m).find(name(algorithm)), std::string::npos) << plan.describe(m);
      EXPECT_EQ(run_sample(communicator, sample, {}), "") << "messages on the same communicator";
    }
  });
}

TEST(Peers, ATreeSum) {
  const Sample sample(kContract, 81);
  for (const Algorithm algorithm : kPeerAlgorithms) {
    const auto shares = *Shares::even(sample.spec.contract, sample.spec.k, 4);
    on_ranks(4, [&](const std::shared_ptr<Transport>& transport) {
      const auto communicator = *Communicator::create(transport, with_windows(1U << 20));
      const auto sum = *TreeSum::create(communicator, skeleton_backend(), sample.spec, shares,
                                        Placement::replicated, algorithm);
      const Roots roots(sample, shares, transport->rank());
      ASSERT_TRUE(roots.made) << roots.made.message();
      std::vector<float> d(sample.d.size());
      const Scratch scratch(*sum.workspace_bytes(sample.m));
      const Status ran = sum.run({}, sample.m, roots.views,
                                 sample.operands({0, 0}, {0, sample.m}, d.data()), scratch);
      EXPECT_TRUE(ran) << ran.message();
      EXPECT_EQ(d, sample.d);
    });
  }
}

/// What two calls give with a planted fault: the verdicts of all ranks.
std::set<std::string> spoiled(Spoil what, Algorithm algorithm) {
  constexpr int kRanks = 4;
  std::set<std::string> said;
  std::mutex mutex;
  // Two products of one shape with other numbers, so that what is stale has other bits.
  std::vector<Sample> samples;
  for (std::uint64_t seed = 3; samples.size() < 2; ++seed) {
    Sample sample(kContract, seed, 40);
    if (sample.spec.k > 300) samples.push_back(std::move(sample));
  }
  const auto joined = std::make_shared<std::atomic<int>>(0);
  on_ranks(kRanks, [&](const std::shared_ptr<Transport>& transport) {
    const auto communicator = *Communicator::create(transport, with_windows(1U << 20));
    replace_window(communicator, [&](std::shared_ptr<Window> window, int rank) {
      return std::make_shared<Spoiled>(std::move(window), what, rank, kRanks, joined);
    });
    const auto& window = dynamic_cast<const Spoiled&>(*communicator.state().window);
    for (int i = 0; i < 2; ++i) {
      RowParallelOptions options;
      options.algorithm = algorithm;
      const std::string verdict = run_sample(communicator, samples[static_cast<std::size_t>(i)],
                                             options, [&] { window.wait_for_rank_0(i); });
      const std::scoped_lock lock(mutex);
      said.insert(verdict);
    }
  });
  return said;
}

TEST(Peers, PlantedFaultsMoveBits) {
  using Said = std::set<std::string>;
  for (const Algorithm algorithm : kPeerAlgorithms) {
    EXPECT_EQ(spoiled(Spoil::none, algorithm), Said{""}) << name(algorithm);
    for (const Spoil what : {Spoil::skipped_wait, Spoil::stale_epoch, Spoil::swapped_ranks}) {
      // With one_shot the faulty rank alone has other bits, else all have some of its rows.
      const Said said = spoiled(what, algorithm);
      EXPECT_EQ(said.count("other bits"), 1U)
          << name(algorithm) << ", fault " << static_cast<int>(what) << ": " << *said.rbegin();
    }
    EXPECT_EQ(spoiled(Spoil::stale_epoch, algorithm), (Said{"", "other bits"}))
        << name(algorithm) << ": the first call has nothing stale";
  }
}

}  // namespace
}  // namespace detgemm::cluster
