// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "tests/cluster/shares.hpp"
#include "tests/cuda/peers/jobs.hpp"

// The bits of one rank through windows of devices: any number of ranks, shares, sizes, chunks,
// pieces, graphs and orders of plans, on the kernels' own code.

namespace detgemm::test {
namespace {

using namespace cluster;

TEST(CudaPeers, BitsOfOneRank) {
  std::mt19937_64 random(11);
  std::atomic<int> equal = 0;
  int expected = 0;
  for (int ranks = 1; ranks <= 8; ++ranks) {
    for (std::uint64_t seed = 0; seed < 9; ++seed) {
      const Sample sample(seed % 2 == 0 ? kContract : "hopper/bf16/tree:64->fp32",
                          seed * 31 + static_cast<std::uint64_t>(ranks));
      ASSERT_TRUE(sample.whole) << sample.whole.message();
      RowParallelOptions options;
      if (seed % 3 != 0) options.shares = random_shares(sample.spec, ranks, random);
      options.chunks = static_cast<std::int32_t>(seed % 4);
      options.algorithm = kDeviceAlgorithms[seed % 3];
      if (options.algorithm != Algorithm::one_shot && seed % 4 == 1) {
        options.output = Placement::rows;
      }
      // The small windows hold a few rows, so that calls take many pieces.
      const std::size_t bytes = seed % 2 == 0 ? std::size_t{1} << 21 : std::size_t{1} << 16;
      expected += ranks;
      on_devices(ranks, [&](const std::shared_ptr<Transport>& transport) {
        const auto communicator = Communicator::create(transport, with_windows(bytes));
        ASSERT_TRUE(communicator) << communicator.status().message();
        const std::string wrong = run_on_device(*communicator, peer_backend(), sample, options, 0);
        EXPECT_EQ(wrong, "") << ranks << " ranks, seed " << seed << ", m " << sample.m << ", k "
                             << sample.spec.k << ", " << name(options.algorithm);
        equal += wrong.empty() ? 1 : 0;
      });
    }
  }
  EXPECT_EQ(equal, expected);
}

}  // namespace
}  // namespace detgemm::test
