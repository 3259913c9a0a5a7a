// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "backends/cuda/peer_memory.hpp"
#include "tests/cuda/peers/jobs.hpp"

// How windows end: after their kernels, and after a failure without a touch of others' memory.

namespace detgemm::test {
namespace {

using namespace cluster;
using cuda::SmShare;

/// A rank whose kernel begins late lets its plan and its communicator go right behind the call.
TEST(CudaPeerEnds, NoWindowGoesBackUnderAKernel) {
  const Sample sample(kContract, 3, 40);
  for (const Algorithm algorithm : {Algorithm::one_shot, Algorithm::two_shot, Algorithm::push}) {
    const int allocated = fake_cuda().allocated;  // windows that other tests have kept
    fake_cuda().freed_early = 0;
    fake_cuda().slow_device = 0;
    const OwnStream streams[2] = {OwnStream(fake::device()), OwnStream(fake::device())};
    std::unique_ptr<SampleOnDevice> arrays[2];
    std::unique_ptr<OnDevice> rooms[2];
    on_devices(2, [&](const std::shared_ptr<Transport>& transport) {
      const auto rank = static_cast<std::size_t>(transport->rank());
      const auto communicator =
          *Communicator::create(transport, with_windows(std::size_t{1} << 20));
      RowParallelOptions options;
      options.algorithm = algorithm;
      const auto plan =
          *RowParallelPlan::create(communicator, peer_backend(), sample.spec, options);
      const std::size_t bytes = *plan.workspace_bytes(sample.m);
      rooms[rank] = std::make_unique<OnDevice>(fake::device(), bytes);
      arrays[rank] = std::make_unique<SampleOnDevice>(fake::device(), sample, plan.k_range(),
                                                      Range{0, sample.m});
      const Status ran = plan.run(streams[rank], sample.m, arrays[rank]->operands(sample),
                                  {rooms[rank]->data(), bytes});
      EXPECT_TRUE(ran) << ran.message();
    });
    EXPECT_EQ(fake_cuda().freed_early, 0) << name(algorithm);
    for (int r = 0; r < 2; ++r) EXPECT_TRUE(fake::device().synchronize(streams[r]));
    for (const auto& each : arrays) EXPECT_EQ(each->verdict(sample), "") << name(algorithm);
    EXPECT_EQ(fake_cuda().allocated, allocated);
    fake_cuda().slow_device = -1;
  }
}

/// Graphs are replayed without asking whether the ranks have failed.
TEST(CudaPeerEnds, AfterAFailureACallTouchesNoOtherRank) {
  using cuda::peers::Header;
  using cuda::peers::Job;
  for (const bool two_shot : {false, true}) {
    const auto headers = std::make_unique<Header[]>(2);
    std::memset(static_cast<void*>(headers.get()), 0, 2 * sizeof(Header));
    std::vector<std::byte> data[2] = {std::vector<std::byte>(4096), std::vector<std::byte>(4096)};
    std::vector<float> root(32, 1.0F), d(32, -7.0F);
    std::uint64_t host_word = 0;
    Job job;
    job.g.d = d.data();
    job.g.m = 2;
    job.g.n = 16;
    job.g.ds = {16, 1};
    job.g.output = DType::fp32;
    job.ranks = job.nodes = 2;
    job.own = 1;
    job.two_shot = two_shot;
    job.limit_ns = 1'000'000'000;
    job.host_word = &host_word;
    job.mail_stride = 512;
    job.results_at = 2048;
    job.row[1] = two_shot ? 1 : 2;
    job.row[2] = 2;
    job.owner[1] = 1;
    job.closes[1] = 1;
    for (int r = 0; r < 2; ++r) {
      job.header[r] = &headers[static_cast<std::size_t>(r)];
      job.data[r] = data[r].data();
      job.root[r] = root.data();
    }
    const std::uint64_t why = cuda::peers::reason(cuda::peers::Why::late, 1);
    headers[0].given_up = why;
    const Header before = headers[1];
    run_on_host(job, false, false, HostCta{});
    EXPECT_EQ(std::memcmp(&before, &headers[1], sizeof before), 0) << "the other rank's header";
    EXPECT_EQ(data[1], std::vector<std::byte>(4096)) << "the other rank's mail";
    EXPECT_EQ(host_word, why) << "this rank's host is told";
    EXPECT_EQ(headers[0].calls[0], 1U) << "the call is counted";
    for (const float x : d) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, &x, sizeof bits);
      EXPECT_EQ(bits, 0x7fffffffU);
    }
  }
}

/// Whatever waits, the joins of all windows but one leave the last one room.
TEST(CudaPeerEnds, WindowsOfOneDeviceShareItsMultiprocessors) {
  constexpr int kDevice = 15, kAll = 132;
  EXPECT_EQ(SmShare::taken(kDevice), 0U);
  auto first = std::make_unique<SmShare>(kDevice, SmShare::taken(kDevice));
  EXPECT_EQ(first->of(kAll), 132);
  const SmShare second(kDevice, SmShare::taken(kDevice));
  EXPECT_EQ(second.of(kAll), 66);
  EXPECT_EQ(SmShare(kDevice, SmShare::taken(kDevice) | 4U).of(kAll), 16) << "of another rank";
  const SmShare third(kDevice, SmShare::taken(kDevice));
  EXPECT_EQ(third.of(kAll), 33);
  first.reset();
  EXPECT_EQ(SmShare(kDevice, SmShare::taken(kDevice)).of(kAll), 132) << "it is free again";
  EXPECT_EQ(SmShare(kDevice, 0xffffU).of(kAll), 1);
  {  // made at the same time, both have seen no other: docs/cluster.md forbids it
    const auto seen = SmShare::taken(kDevice);
    const SmShare one(kDevice, seen), other(kDevice, seen);
    EXPECT_TRUE(one.is_first() && other.is_first());
  }
  EXPECT_EQ(SmShare::taken(kDevice + 1), 0U);
}

TEST(CudaPeerEnds, ASecondCommunicatorHasHalfTheCtas) {
  const int allocated = fake_cuda().allocated;
  on_devices(2, [&](const std::shared_ptr<Transport>& transport) {
    const Options options = with_windows(1 << 16);
    const auto first = *Communicator::create(transport, options);
    const auto second = *Communicator::create(transport, options);
    EXPECT_NE(first.describe().find("at most 4 CTAs"), std::string::npos) << first.describe();
    EXPECT_NE(second.describe().find("at most 2 CTAs"), std::string::npos) << second.describe();
  });
  EXPECT_EQ(fake_cuda().allocated, allocated);
}

}  // namespace
}  // namespace detgemm::test
