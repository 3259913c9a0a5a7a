// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <random>
#include <thread>
#include <vector>

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

constexpr int kEarlyRanks = 2, kEarlyCtas = 3, kEarlyCalls = 7;
constexpr std::int64_t kEarlyRows = 3, kEarlyColumns = 32,
                       kEarlyElements = kEarlyRows * kEarlyColumns;
using EarlyRoot = std::vector<float>;

void wait_for_count(const std::atomic<int>& count, int expected) {
  while (count < expected) std::this_thread::sleep_for(std::chrono::microseconds(20));
}
EarlyRoot early_root(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  EarlyRoot all(kEarlyElements);
  for (float& x : all) x = static_cast<float>(static_cast<std::int64_t>(random() % 2001) - 1000);
  return all;
}
EarlyRoot early_product(int rank, int call) {
  return early_root(static_cast<std::uint64_t>(call * kEarlyRanks + rank));
}

/// A rank's memory and what its stream has reached.
struct EarlyRank {
  Header header{};
  std::vector<std::byte> data = std::vector<std::byte>(std::size_t{1} << 14);
  std::array<EarlyRoot, 2> roots;  ///< by turns
  std::array<EarlyRoot, kEarlyCalls> d;
  std::uint64_t host_word = 0;
  std::array<std::atomic<int>, kEarlyCalls> let_in{}, ended{}, stored{};

  EarlyRank() {
    roots.fill(EarlyRoot(kEarlyElements, std::bit_cast<float>(kBlank)));
    d.fill(EarlyRoot(kEarlyElements));
  }
};

class Early {
 public:
  /// How many calls of rank 1 have wrong bits.
  int run(PeerFault fault, int places, std::uint64_t patience_ms) {
    places_ = places;
    patience_ms_ = patience_ms;
    std::vector<std::thread> all;
    for (int r = 0; r < kEarlyRanks; ++r) {
      for (int call = 0; call < kEarlyCalls; ++call) {
        all.emplace_back([this, r, call, fault] { store(r, call, fault); });
        for (int c = 0; c < kEarlyCtas; ++c) {
          all.emplace_back([this, r, call, c, fault] { join(r, call, c, fault); });
        }
      }
    }
    for (std::thread& one : all) one.join();
    int wrong = 0;
    for (int call = 0; call < kEarlyCalls; ++call) {
      const EarlyRoot a = early_product(0, call), b = early_product(1, call);
      EarlyRoot sum(kEarlyElements);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = a[i] + b[i];
      wrong += sum == ranks_[1].d[static_cast<std::size_t>(call)] ? 0 : 1;
    }
    return wrong;
  }
  const EarlyRank& rank(int r) const { return ranks_[static_cast<std::size_t>(r)]; }

 private:
  EarlyRoot& root(int r, int call) {
    return ranks_[static_cast<std::size_t>(r)].roots[static_cast<std::size_t>(call % places_)];
  }

  /// The product. Behind a call that left its roots there it is later than the kernel that reads
  /// them.
  void store(int r, int call, PeerFault fault) {
    EarlyRank& rank = ranks_[static_cast<std::size_t>(r)];
    const auto at = static_cast<std::size_t>(call);
    if (call > 0) wait_for_count(rank.ended[at - 1], kEarlyCtas);
    const EarlyRoot values = early_product(r, call);
    std::mt19937_64 random(at);
    std::vector<std::size_t> order(kEarlyElements);
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
    order.insert(order.end(), order.begin(), order.begin() + kEarlyElements / 4);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const bool left = fault == PeerFault::not_blanked && r == 0 && call >= places_;
    for (int i = 0; left && rank.let_in[at] < kEarlyCtas && i < 5000; ++i) {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    for (const std::size_t i : order) {
      std::atomic_ref<float>(root(r, call)[i]).store(values[i]);
      if (random() % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    ++rank.stored[at];
  }

  void join(int r, int call, int cta, PeerFault fault) {
    EarlyRank& rank = ranks_[static_cast<std::size_t>(r)];
    const auto at = static_cast<std::size_t>(call);
    if (call > 0) wait_for_count(rank.let_in[at - 1], kEarlyCtas);
    Job job;
    job.g.d = rank.d[at].data();
    job.g.m = kEarlyRows;
    job.g.n = kEarlyColumns;
    job.g.ds = {kEarlyColumns, 1};
    job.g.output = DType::fp32;
    job.rank = r;
    job.ranks = job.nodes = kEarlyRanks;
    job.first_own = r;
    job.own = 1;
    job.limit_ns = patience_ms_ * 1'000'000;
    job.host_word = &rank.host_word;
    job.mail_stride = 2048;
    job.odd_mail = 8192;
    job.row[1] = job.row[2] = kEarlyRows;
    job.owner[1] = 1;
    job.closes[1] = 1;
    for (int q = 0; q < kEarlyRanks; ++q) {
      job.header[q] = &ranks_[static_cast<std::size_t>(q)].header;
      job.data[q] = ranks_[static_cast<std::size_t>(q)].data.data();
    }
    job.root[r] = root(r, call).data();
    HostCta host;
    host.at = cta;
    host.ctas = kEarlyCtas;
    host.threads = 4;
    host.fault = r == 0 ? fault : PeerFault::none;
    host.lets_next_in = [&] { ++rank.let_in[at]; };
    host.product_ended = [&] {
      wait_for_count(rank.stored[at], 1);
      // With one place for all calls the next kernel looks before this one has blanked its roots.
      for (int i = 0; places_ == 1 && at + 1 < kEarlyCalls && rank.let_in[at + 1] == 0 && i < 500;
           ++i) {
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
    };
    run_early_on_host(job, host);
    ++rank.ended[at];
  }

  std::array<EarlyRank, kEarlyRanks> ranks_;
  int places_ = 2;
  std::uint64_t patience_ms_ = 0;
};

TEST(CudaPeersEarly, BitsOfWholeRootsAndBlankOnesBehindThem) {
  Early early;
  EXPECT_EQ(early.run(PeerFault::none, 2, 20'000), 0);
  for (int r = 0; r < kEarlyRanks; ++r) {
    EXPECT_EQ(early.rank(r).host_word, 0U) << "no rank gave up";
    for (const EarlyRoot& root : early.rank(r).roots) {
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
