// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "tests/cuda/peers/aligned.hpp"

// two_shot without a meeting (cuda/peers/posted.hpp): bits, and which calls it joins.

namespace detgemm::test {
namespace {

GemmSpec posted_problem(const std::string& output) {
  GemmSpec spec;
  spec.contract = *Contract::parse("ieee_fma/bf16/tree:16->" + output);
  spec.n = 40;
  spec.k = 512;  // a node for each of 2, 4 and 8 ranks
  spec.alpha = 0.7F;
  spec.bias = DType::bf16;
  return spec;
}

/// Every rank count and placement, and every output of two ranks; D with and without runs of
/// outputs, by rank; eagerly and from graphs; ranks with no rows; windows of several sizes.
TEST(CudaPeersPosted, BitsOfOneRank) {
  struct Case {
    int ranks;
    const char* output;
    std::size_t window_bytes;
  };
  constexpr std::size_t kSmall = std::size_t{1} << 20, kLarge = std::size_t{1} << 23;
  for (const Case& one : {Case{2, "bf16", kSmall}, Case{2, "fp16", kSmall}, Case{2, "fp32", kLarge},
                          Case{4, "bf16", kLarge}, Case{8, "fp32", kSmall}}) {
    FakeCuda& cuda = fake_cuda();
    cuda.launches = cuda.posted = 0;
    on_devices(one.ranks, [&](const std::shared_ptr<Transport>& transport) {
      const auto communicator = *Communicator::create(transport, with_windows(one.window_bytes));
      const GemmSpec spec = posted_problem(one.output);
      for (const std::int64_t m : {1, 9, 30, 70}) {
        for (const Placement place : {Placement::replicated, Placement::rows}) {
          const bool vectors = m != 30 || transport->rank() % 2 == 0;
          EXPECT_EQ(run_aligned(communicator, spec, m, vectors ? 8 : 1, Algorithm::two_shot,
                                vectors, m == 70, m == 9 ? 3 : 0, place),
                    "")
              << one.ranks << " ranks, m " << m << ", " << one.output << ", " << name(place);
        }
      }
    });
    EXPECT_EQ(cuda.posted, cuda.launches);
    EXPECT_GE(cuda.posted, 8 * one.ranks);
  }
}

/// Between calls of the other ways, whose numbers it shares, while ranks are late.
TEST(CudaPeersPosted, AmongOtherCalls) {
  constexpr int kRanks = 4;
  on_devices(kRanks, [&](const std::shared_ptr<Transport>& transport) {
    const auto communicator = *Communicator::create(transport, with_windows(std::size_t{1} << 20));
    const GemmSpec spec = posted_problem("bf16");
    std::mt19937_64 calls(7), delays(static_cast<std::uint64_t>(transport->rank()));
    for (int i = 0; i < 24; ++i) {
      const auto drawn = calls() % 8;
      const Algorithm way = drawn < 5   ? Algorithm::two_shot
                            : drawn < 7 ? Algorithm::one_shot
                                        : Algorithm::push;
      const auto m = static_cast<std::int64_t>(1 + calls() % 40);
      const int replays = calls() % 4 == 0 ? 3 : 0;
      if (delays() % 3 == 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(delays() % 1500));
      }
      ASSERT_EQ(run_aligned(communicator, spec, m, 8, way, true, false, replays), "")
          << "call " << i << ", m " << m << ", " << name(way);
    }
  });
}

/// Rows of which the window's places have no room, columns that are no runs, and roots that are not
/// the plan's own products meet.
TEST(CudaPeersPosted, WhatMeets) {
  on_devices(2, [&](const std::shared_ptr<Transport>& transport) {
    const auto communicator = *Communicator::create(transport, with_windows(std::size_t{1} << 20));
    GemmSpec spec = posted_problem("fp32");
    RowParallelOptions options;
    options.algorithm = Algorithm::two_shot;
    const auto says = [&](std::int64_t m) {
      return RowParallelPlan::create(communicator, peer_backend(), spec, options)->describe(m);
    };
    // Places of 128 KiB, half of it for a node: 409 rows of 160 bytes, so 51 times 8 for each rank.
    EXPECT_NE(says(816).find("two_shot without a meeting"), std::string::npos) << says(816);
    EXPECT_EQ(says(817).find("without a meeting"), std::string::npos) << says(817);
    spec.n = 36;
    EXPECT_EQ(says(9).find("without a meeting"), std::string::npos) << says(9);
    spec.n = 40;
    const auto shares = *Shares::even(spec.contract, spec.k, 2);
    const auto sum = *TreeSum::create(communicator, peer_backend(), spec, shares,
                                      Placement::replicated, Algorithm::two_shot);
    EXPECT_EQ(sum.describe(9).find("without a meeting"), std::string::npos) << sum.describe(9);
    EXPECT_NE(sum.place(9, 0), nullptr);
    // A quarter of 1 MiB has room for results of 1638 rows of a rank.
    EXPECT_NE(sum.place(3264, 0), nullptr);
    EXPECT_EQ(sum.place(3265, 0), nullptr) << "pieces";
    EXPECT_EQ(sum.place(9, 1), nullptr) << "this rank has one node";
    EXPECT_EQ(sum.place(-1, 0), nullptr);
  });
}

}  // namespace
}  // namespace detgemm::test
