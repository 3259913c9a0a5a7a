// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tests/cluster/ranks.hpp"
#include "tests/cluster/windows.hpp"
#include "tests/support/floating_point_mode.hpp"

// The floating-point mode of a rank's thread changes no bit of a join, and the thread keeps it.

namespace detgemm::cluster {
namespace {

/// A sample whose roots and sums are subnormal in part, as one rank computes it in the default
/// mode.
Sample small_sample(std::uint64_t seed) {
  Sample sample("ieee_fma/bf16/tree:16->fp32", seed, 9);
  sample.spec.k = std::max<std::int64_t>(sample.spec.k, 16);
  constexpr std::uint16_t kDown = 72 << 7;  // products of 2^-164 to 2^-126
  for (auto* operand : {&sample.a, &sample.b}) {
    for (std::uint16_t& x : *operand) x = static_cast<std::uint16_t>(x - kDown);
  }
  sample.spec.beta = 0.0F;
  sample.spec.bias.reset();
  sample.spec.activation = Activation::none;
  const auto plan = Plan::create(skeleton_backend(), sample.spec);
  sample.whole = plan->run({}, sample.operands({0, sample.spec.k}, {0, sample.m}, sample.d.data()));
  return sample;
}

TEST(Modes, ChangeNoBitOfAJoin) {
  int subnormal = 0;
  for (const test::Mode& mode : test::kModes) {
    for (std::uint64_t seed = 1; seed < 7; ++seed) {
      Sample sample = small_sample(seed);
      if (sample.spec.k < 100) continue;
      ASSERT_TRUE(sample.whole) << sample.whole.message();
      for (const float x : sample.d) subnormal += std::fpclassify(x) == FP_SUBNORMAL ? 1 : 0;
      RowParallelOptions options;
      options.output = seed % 2 == 0 ? Placement::replicated : Placement::rows;
      if (seed % 4 == 0) options.algorithm = Algorithm::gather;
      on_ranks(3, [&](const std::shared_ptr<Transport>& transport) {
        const auto communicator = Communicator::create(transport);
        ASSERT_TRUE(communicator) << communicator.status().message();
        std::uint64_t mine = 0;
        const std::string what = run_sample(*communicator, sample, options, [&] {
          test::set_mode(mode);
          mine = test::mode_of_thread();
        });
        const std::uint64_t still = test::mode_of_thread();
        test::set_default_mode();
        EXPECT_EQ(what, "") << mode.name << ", seed " << seed;
        EXPECT_EQ(mine, still) << mode.name << ", seed " << seed;
      });
    }
  }
  EXPECT_GT(subnormal, 50) << "nothing here could be flushed";
}

/// Samples whose joins a mode could change: sums that are rounded, with an epilogue, and sums that
/// are subnormal.
std::vector<Sample> samples_of_joins() {
  std::vector<Sample> samples;
  for (std::uint64_t seed = 20; samples.size() < 3; ++seed) {
    Sample sample("ieee_fma/bf16/tree:16->fp32", seed, 9);
    if (sample.spec.k > 100) samples.push_back(std::move(sample));
  }
  for (std::uint64_t seed = 1; samples.size() < 5; ++seed) {
    Sample sample = small_sample(seed);
    if (sample.spec.k > 100) samples.push_back(std::move(sample));
  }
  return samples;
}

/// The products are made in the default mode, and the join alone in another one.
TEST(Modes, ChangeNoBitOfATreeSum) {
  const std::vector<Sample> samples = samples_of_joins();
  for (const std::size_t window : {std::size_t{0}, std::size_t{1} << 20}) {
    Options with;
    with.window_bytes = window;
    for (const Sample& sample : samples) {
      ASSERT_TRUE(sample.whole) << sample.whole.message();
      const auto shares = *Shares::even(sample.spec.contract, sample.spec.k, 3);
      on_ranks(3, [&](const std::shared_ptr<Transport>& transport) {
        const auto communicator = Communicator::create(transport, with);
        ASSERT_TRUE(communicator) << communicator.status().message();
        const auto sum = TreeSum::create(*communicator, skeleton_backend(), sample.spec, shares);
        ASSERT_TRUE(sum) << sum.status().message();
        const Roots roots(sample, shares, transport->rank());
        ASSERT_TRUE(roots.made) << roots.made.message();
        const Scratch scratch(*sum->workspace_bytes(sample.m));
        for (const test::Mode& mode : test::kModes) {
          std::vector<float> d(sample.d.size(), -7.0F);
          const Operands all = sample.operands({0, 0}, {0, sample.m}, d.data());
          test::set_mode(mode);
          const std::uint64_t mine = test::mode_of_thread();
          const Status ran = sum->run({}, sample.m, roots.views, all, scratch);
          const std::uint64_t still = test::mode_of_thread();
          test::set_default_mode();
          EXPECT_TRUE(ran) << ran.message();
          EXPECT_EQ(std::memcmp(d.data(), sample.d.data(), d.size() * sizeof(float)), 0)
              << mode.name << ", windows of " << window;
          EXPECT_EQ(mine, still) << mode.name;
        }
      });
    }
  }
}

TEST(Modes, ChangeNoBitOfAJoinThroughWindows) {
  const std::vector<Sample> samples = samples_of_joins();
  for (const Algorithm algorithm : kPeerAlgorithms) {
    RowParallelOptions options;
    options.algorithm = algorithm;
    on_ranks(3, [&](const std::shared_ptr<Transport>& transport) {
      Options with;
      with.window_bytes = std::size_t{1} << 20;
      const auto communicator = Communicator::create(transport, with);
      ASSERT_TRUE(communicator) << communicator.status().message();
      for (const Sample& sample : samples) {
        for (const test::Mode& mode : test::kModes) {
          const std::string wrong =
              run_sample(*communicator, sample, options, [&] { test::set_mode(mode); });
          test::set_default_mode();
          EXPECT_EQ(wrong, "") << mode.name << ", " << name(algorithm);
        }
      }
    });
  }
}

/// The control: the same roots, added by this thread in its own mode.
TEST(Modes, ChangeBitsOfABareSum) {
  const std::vector<Sample> samples = samples_of_joins();
  for (const test::Mode& mode : test::kModes) {
    int differ = 0;
    for (const Sample& sample : samples) {
      const auto shares = *Shares::even(sample.spec.contract, sample.spec.k, 2);
      const Roots left(sample, shares, 0), right(sample, shares, 1);
      ASSERT_TRUE(left.made && right.made);
      for (std::size_t i = 0; i < sample.d.size(); ++i) {
        const volatile float x = left.data.front()[i], y = right.data.front()[i];
        const volatile float wanted = x + y;
        test::set_mode(mode);
        const volatile float found = x + y;
        test::set_default_mode();
        const float a = wanted, b = found;
        differ += std::memcmp(&a, &b, sizeof a) != 0 ? 1 : 0;
      }
    }
    EXPECT_GT(differ, 10) << mode.name;
  }
}

}  // namespace
}  // namespace detgemm::cluster
