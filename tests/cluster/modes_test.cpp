// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cmath>

#include "tests/cluster/ranks.hpp"
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

}  // namespace
}  // namespace detgemm::cluster
