// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <random>

#include "cuda/peers/launch.hpp"
#include "cuda/peers/meet.hpp"

// What the kernels of peers are told: how many CTAs, which part of D each has, which kernel it is.

namespace detgemm::cuda::peers {
namespace {

TEST(PeerGrid, HoldsAllOutputsWithFewThreads) {
  for (const std::int64_t outputs : {0, 1, 4, 511, 512, 513, 8192, 100'000, 1 << 24}) {
    for (const int most : {1, 3, 33, 132, 1000}) {
      const Grid grid = choose(outputs, most);
      EXPECT_GE(grid.ctas, 1);
      EXPECT_LE(grid.ctas, std::min(most, kMaxCtas)) << "a rank would wait for CTAs without flags";
      EXPECT_GE(grid.threads, 128);
      EXPECT_LE(grid.threads, kMaxThreads);
      EXPECT_EQ(grid.threads % 32, 0);
      // Threads go round only where all CTAs are as large as they may be.
      const std::int64_t once = std::int64_t{4} * grid.ctas * grid.threads;
      EXPECT_TRUE(once >= outputs ||
                  (grid.ctas == std::min(most, kMaxCtas) && grid.threads == kMaxThreads))
          << outputs << " outputs, " << most << " CTAs";
    }
  }
  EXPECT_EQ(choose(8192, 132).ctas, 16) << "a row of 8192 is not left to one CTA";
  EXPECT_EQ(choose(64 * 8192, 0).ctas, 1) << "at least one";
}

TEST(PeerGrid, PartsFollowEachOther) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 2000; ++i) {
    const auto elements = static_cast<std::int64_t>(random() % 5000);
    const int ctas = 1 + static_cast<int>(random() % 140);
    std::int64_t end = 0;
    for (int c = 0; c < ctas; ++c) {
      const Part part = part_of(elements, c, ctas);
      ASSERT_EQ(part.begin < elements ? part.begin : elements, end)
          << elements << " elements, CTA " << c << " of " << ctas;
      ASSERT_TRUE(part.begin % 8 == 0) << "vectors of 16 bytes";
      end = std::max(end, part.end);
    }
    ASSERT_EQ(end, elements);
  }
}

TEST(PeerGrid, SignalsOfNeighbouringCallsDiffer) {
  for (std::uint64_t call = 0; call < 100; ++call) {
    for (const int meeting : {0, 1}) {
      EXPECT_NE(signal_of(call, 7), 0U) << "what a new window holds";
      EXPECT_NE(place_of(call, meeting), place_of(call + 1, meeting));
      EXPECT_NE(place_of(call, 0), place_of(call, 1));
    }
    // The place is the same again two calls later, the signal is not, whatever the step is.
    EXPECT_EQ(place_of(call, 0), place_of(call + 2, 0));
    EXPECT_NE(signal_of(call, 7) >> kStepBits, signal_of(call + 2, 7) >> kStepBits);
  }
}

/// A job that takes vectors.
Job aligned_job() {
  alignas(16) static std::byte memory[64];
  Job job;
  job.ranks = 2;
  job.own = job.nodes = 1;
  job.g.n = 16;
  job.g.d = memory;
  job.g.ds = {16, 1};
  job.g.output = DType::bf16;
  job.root[0] = reinterpret_cast<const float*>(memory);
  return job;
}

TEST(PeerGrid, VectorsNeedAlignedRows) {
  EXPECT_TRUE(takes_vectors(aligned_job()));
  EXPECT_EQ(name(aligned_job()), "peers/one_shot");
  const auto single = [](auto change) {
    Job job = aligned_job();
    change(job);
    EXPECT_EQ(name(job), "peers/one_shot/single");
    return !takes_vectors(job);
  };
  EXPECT_TRUE(single([](Job& j) { j.g.n = 12; }));
  EXPECT_TRUE(single([](Job& j) { j.g.ds.row = 20; }));
  EXPECT_TRUE(single([](Job& j) { j.g.ds = {1, 16}; }));
  EXPECT_TRUE(single([](Job& j) { j.g.d = static_cast<std::byte*>(j.g.d) + 2; }));
  EXPECT_TRUE(single([](Job& j) { j.root[0] += 1; }));
}

TEST(PeerGrid, SumsThatWait) {
  EXPECT_EQ(most_waiting(nullptr, 0), 0);
  const std::uint8_t two_ranks[] = {0, 1}, the_drawing[] = {0, 0, 2, 0, 2}, deep[] = {0, 0, 0, 3};
  EXPECT_EQ(most_waiting(two_ranks, 2), 1);
  EXPECT_EQ(most_waiting(the_drawing, 5), 2);
  EXPECT_EQ(most_waiting(deep, 4), 3);
}

}  // namespace
}  // namespace detgemm::cuda::peers
