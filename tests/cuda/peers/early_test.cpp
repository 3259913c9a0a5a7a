// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "tests/cuda/peers/host_cta.hpp"

// one_shot that begins before its product has stored all of a root (cuda/peers/early.hpp), in the
// order that programmatic dependent launch allows at worst:
//
//     product of e + 1 stores     when the kernel of e has ended
//     kernel of e + 1 begins      when all CTAs of the kernel of e have let it in
//
// while products store element by element, in any order, and some elements twice.

namespace detgemm::test {
namespace {

using cuda::peers::Header;
using cuda::peers::Job;
using cuda::peers::kBlank;

constexpr int kRanks = 2, kCtas = 3, kCalls = 7;
constexpr std::int64_t kRows = 3, kColumns = 32, kElements = kRows * kColumns;
using Root = std::vector<float>;

void wait_for(const std::atomic<int>& count, int expected) {
  while (count < expected) std::this_thread::sleep_for(std::chrono::microseconds(20));
}
Root random_root(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Root all(kElements);
  for (float& x : all) x = static_cast<float>(static_cast<std::int64_t>(random() % 2001) - 1000);
  return all;
}
Root product_of(int rank, int call) {
  return random_root(static_cast<std::uint64_t>(call * kRanks + rank));
}

/// A rank's memory and what its stream has reached.
struct Rank {
  Header header{};
  std::vector<std::byte> data = std::vector<std::byte>(std::size_t{1} << 14);
  std::array<Root, 2> roots;  ///< by turns
  std::array<Root, kCalls> d;
  std::uint64_t host_word = 0;
  std::array<std::atomic<int>, kCalls> let_in{}, ended{}, stored{};

  Rank() {
    roots.fill(Root(kElements, std::bit_cast<float>(kBlank)));
    d.fill(Root(kElements));
  }
};

class Early {
 public:
  /// How many calls of rank 1 have wrong bits.
  int run(PeerFault fault, int places, std::uint64_t patience_ms) {
    places_ = places;
    patience_ms_ = patience_ms;
    std::vector<std::thread> all;
    for (int r = 0; r < kRanks; ++r) {
      for (int call = 0; call < kCalls; ++call) {
        all.emplace_back([this, r, call] { store(r, call); });
        for (int c = 0; c < kCtas; ++c) {
          all.emplace_back([this, r, call, c, fault] { join(r, call, c, fault); });
        }
      }
    }
    for (std::thread& one : all) one.join();
    int wrong = 0;
    for (int call = 0; call < kCalls; ++call) {
      const Root a = product_of(0, call), b = product_of(1, call);
      Root sum(kElements);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = a[i] + b[i];
      wrong += sum == ranks_[1].d[static_cast<std::size_t>(call)] ? 0 : 1;
    }
    return wrong;
  }
  const Rank& rank(int r) const { return ranks_[static_cast<std::size_t>(r)]; }

 private:
  Root& root(int r, int call) {
    return ranks_[static_cast<std::size_t>(r)].roots[static_cast<std::size_t>(call % places_)];
  }

  /// The product.
  void store(int r, int call) {
    Rank& rank = ranks_[static_cast<std::size_t>(r)];
    const auto at = static_cast<std::size_t>(call);
    if (call > 0) wait_for(rank.ended[at - 1], kCtas);
    const Root values = product_of(r, call);
    std::mt19937_64 random(at);
    std::vector<std::size_t> order(kElements);
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
    order.insert(order.end(), order.begin(), order.begin() + kElements / 4);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    for (const std::size_t i : order) {
      std::atomic_ref<float>(root(r, call)[i]).store(values[i]);
      if (random() % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    ++rank.stored[at];
  }

  void join(int r, int call, int cta, PeerFault fault) {
    Rank& rank = ranks_[static_cast<std::size_t>(r)];
    const auto at = static_cast<std::size_t>(call);
    if (call > 0) wait_for(rank.let_in[at - 1], kCtas);
    Job job;
    job.g.d = rank.d[at].data();
    job.g.m = kRows;
    job.g.n = kColumns;
    job.g.ds = {kColumns, 1};
    job.g.output = DType::fp32;
    job.rank = r;
    job.ranks = job.nodes = kRanks;
    job.first_own = r;
    job.own = 1;
    job.limit_ns = patience_ms_ * 1'000'000;
    job.host_word = &rank.host_word;
    job.mail_stride = 2048;
    job.odd_mail = 8192;
    job.row[1] = job.row[2] = kRows;
    job.owner[1] = 1;
    job.closes[1] = 1;
    for (int q = 0; q < kRanks; ++q) {
      job.header[q] = &ranks_[static_cast<std::size_t>(q)].header;
      job.data[q] = ranks_[static_cast<std::size_t>(q)].data.data();
    }
    job.root[r] = root(r, call).data();
    HostCta host;
    host.at = cta;
    host.ctas = kCtas;
    host.threads = 4;
    host.fault = r == 0 ? fault : PeerFault::none;
    host.lets_next_in = [&] { ++rank.let_in[at]; };
    host.product_ended = [&] {
      wait_for(rank.stored[at], 1);
      // With one place for all calls the next kernel looks before this one has blanked its roots.
      for (int i = 0; places_ == 1 && at + 1 < kCalls && rank.let_in[at + 1] == 0 && i < 500; ++i) {
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
    };
    run_early_on_host(job, host);
    ++rank.ended[at];
  }

  std::array<Rank, kRanks> ranks_;
  int places_ = 2;
  std::uint64_t patience_ms_ = 0;
};

TEST(CudaPeersEarly, BitsOfWholeRootsAndBlankOnesBehindThem) {
  Early early;
  EXPECT_EQ(early.run(PeerFault::none, 2, 20'000), 0);
  for (int r = 0; r < kRanks; ++r) {
    EXPECT_EQ(early.rank(r).host_word, 0U) << "nobody gave up";
    for (const Root& root : early.rank(r).roots) {
      for (const float x : root) ASSERT_EQ(std::bit_cast<std::uint32_t>(x), kBlank);
    }
  }
}

/// Roots that stay where they are, and roots of all calls in one place, are taken for those of the
/// next call.
TEST(CudaPeersEarly, PlantedFaultsMoveBits) {
  EXPECT_GT(Early().run(PeerFault::not_blanked, 2, 500), 0);
  EXPECT_GT(Early().run(PeerFault::none, 1, 500), 0) << "one place";
}

}  // namespace
}  // namespace detgemm::test
