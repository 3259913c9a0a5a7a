// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <atomic>
#include <barrier>

#include "tests/cluster/fake_nccl/on_nccl.hpp"

// The transport over NCCL, on a stand-in library and a device whose streams run behind the host.

namespace detgemm::cluster {
namespace {

TEST(Nccl, BitsOfOneRank) {
  std::atomic<int> equal = 0;
  for (const int ranks : {1, 2, 3, 4, 7}) {
    on_nccl(ranks, [&](Rank& self) {
      const auto communicator = Communicator::create(self.transport);
      ASSERT_TRUE(communicator) << communicator.status().message();
      EXPECT_EQ(communicator->describe(),
                "NCCL 2.28.9, rank " + std::to_string(self.rank) + " of " + std::to_string(ranks));
      for (std::uint64_t seed = 0; seed < 24; ++seed) {
        const Sample sample("hopper/bf16/tree:32->fp32", seed);
        RowParallelOptions options;
        options.output = seed % 3 == 0 ? Placement::rows : Placement::replicated;
        options.chunks = static_cast<std::int32_t>(seed % 4);
        const int replays = seed % 2 == 0 ? 0 : 5;
        const std::string wrong = run_on_device(*communicator, backend(), sample, options, replays);
        ASSERT_EQ(wrong, "") << "seed " << seed;
        ++equal;
      }
    });
  }
  EXPECT_EQ(equal, 24 * (1 + 2 + 3 + 4 + 7));
}

TEST(Nccl, ACallDoesNotWaitForTheOtherRanks) {
  const Sample sample = large_sample();
  std::barrier<> both(2);
  on_nccl(2, [&](Rank& self) {
    const auto communicator = *Communicator::create(self.transport);
    ASSERT_TRUE(self.transport->enqueues(DeviceKind::cuda));
    ASSERT_FALSE(self.transport->enqueues(DeviceKind::host));
    const Call call(communicator, sample);
    if (self.rank == 1) both.arrive_and_wait();
    ASSERT_TRUE(call.run());
    if (self.rank == 0) {
      EXPECT_FALSE(*device().finished(call.stream)) << "rank 1 has not come";
      EXPECT_EQ(call.arrays.verdict(sample), "other bits");
      both.arrive_and_wait();
    }
    ASSERT_TRUE(device().synchronize(call.stream));
    EXPECT_EQ(call.arrays.verdict(sample), "");
  });
}

TEST(Nccl, MessagesToOneselfAndSeveralToOneRankKeepTheirOrder) {
  on_nccl(2, [](Rank& self) {
    ASSERT_TRUE(Communicator::create(self.transport));
    const OwnStream stream(device());
    const int from = self.rank * 10;
    const std::vector<int> out{from + 1, from + 2, from + 3};
    std::vector<int> in(3, -1);
    const int other = 1 - self.rank;
    const std::vector<Send> sends{
        {other, &out[0], 4}, {self.rank, &out[1], 4}, {other, &out[2], 4}, {other, nullptr, 0}};
    const std::vector<Receive> receives{
        {self.rank, &in[0], 4}, {other, &in[1], 4}, {other, &in[2], 4}, {other, nullptr, 0}};
    ASSERT_TRUE(self.transport->exchange(stream, sends, receives, 1s));
    ASSERT_TRUE(device().synchronize(stream));
    const int theirs = other * 10;
    EXPECT_EQ(in, (std::vector<int>{from + 2, theirs + 1, theirs + 3}));
  });
}

TEST(Nccl, ACommunicatorThatDoesNotBlock) {
  std::atomic<int> equal = 0;
  const auto prepare = [](int, void* comm) { library().steering->be_nonblocking(comm); };
  on_nccl(
      3,
      [&](Rank& self) {
        const auto communicator = Communicator::create(self.transport);
        ASSERT_TRUE(communicator) << communicator.status().message();
        const Sample sample = large_sample();
        EXPECT_EQ(run_on_device(*communicator, backend(), sample, {}, 0), "");
        ++equal;
      },
      prepare);
  EXPECT_EQ(equal, 3);
}

TEST(Nccl, ACheckedCall) {
  const Sample sample = large_sample();
  std::atomic<int> told = 0;
  on_nccl(2, [&](Rank& self) {
    Options options;
    options.check_calls = true;
    const auto communicator = *Communicator::create(self.transport, options);
    EXPECT_EQ(run_on_device(communicator, backend(), sample, {}, 0), "");
    const Call call(communicator, sample);
    const Status refused =
        call.plan.run(call.stream, sample.m + self.rank, call.arrays.operands(sample), {});
    told += refused.message().find("rank 0 refuses: workspace.bytes is 0") == 0 ? 1 : 0;
    EXPECT_TRUE(communicator.health()) << "a refusal does not break a communicator";
  });
  EXPECT_EQ(told, 2);
}

}  // namespace
}  // namespace detgemm::cluster
