// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <set>

#include "tests/cuda/peers/jobs.hpp"

// Faults that are planted into the kernels of peers: each must move bits, so that the tests of bits
// would have seen it.

namespace detgemm::test {
namespace {

using namespace cluster;
using namespace std::chrono_literals;
using Said = std::set<std::string>;

/// Products of several nodes per rank, whose epilogue has all but C.
std::vector<Sample> samples(std::size_t count) {
  std::vector<Sample> all;
  for (std::uint64_t seed = 3; all.size() < count; ++seed) {
    Sample sample(kContract, seed, 40);
    if (sample.spec.k > 300 && sample.spec.bias && !sample.spec.reads_c()) {
      all.push_back(std::move(sample));
    }
  }
  return all;
}

constexpr int kRanks = 4;

/// Rank 0 has as few leaves as are two nodes; the others share the rest.
Shares two_nodes_first(const GemmSpec& spec) {
  const std::int64_t leaves = spec.contract.leaves(spec.k);
  for (std::int64_t first = 2;; ++first) {
    std::vector<KRange> ranges;
    const auto cut = [&](int i) {
      return i == 0 ? 0 : first + (leaves - first) * (i - 1) / (kRanks - 1);
    };
    for (int r = 0; r < kRanks; ++r) {
      ranges.push_back(*k_of(spec.contract, spec.k, {cut(r), cut(r + 1)}));
    }
    Shares shares = *Shares::of(spec.contract, spec.k, ranges);
    if (shares.cover(0).size() > 1) return shares;
  }
}

/// The verdicts of 4 ranks on the last of `calls` calls; those before it must be right. In the last
/// one the last rank is late where rank 0 does not wait for it.
Said spoiled(PeerFault fault, Algorithm algorithm, int calls,
             std::chrono::milliseconds patience = 20s) {
  Said said;
  std::mutex mutex;
  const std::vector<Sample> all = samples(static_cast<std::size_t>(calls));
  fake_cuda().ahead = 0;
  const bool late = fault == PeerFault::no_wait || fault == PeerFault::stale_epoch;
  on_devices(kRanks, [&](const std::shared_ptr<Transport>& transport) {
    const auto communicator =
        *Communicator::create(transport, with_windows(std::size_t{1} << 20, patience));
    RowParallelOptions options;
    options.algorithm = algorithm;
    for (int i = 0; i < calls; ++i) {
      const bool last = i + 1 == calls;
      if (last && transport->rank() == 0) fake_cuda().fault = fault;
      const auto before = [&] {
        // A plan is made by all ranks, so the fault is planted by now.
        if (last && late && transport->rank() + 1 == kRanks) wait_until_ahead(calls);
      };
      const Sample& sample = all[static_cast<std::size_t>(i)];
      if (fault == PeerFault::swapped_order) options.shares = two_nodes_first(sample.spec);
      const std::string verdict =
          run_on_device(communicator, peer_backend(), sample, options, 0, before);
      const std::scoped_lock lock(mutex);
      said.insert(last ? verdict : verdict.empty() ? "" : "before the fault: " + verdict);
    }
  });
  fake_cuda().fault = PeerFault::none;
  return said;
}

struct Control {
  const char* name;
  PeerFault fault;
  int calls;                ///< of which the last one has the fault
  bool one_shot, two_shot;  ///< push is as two_shot
};
constexpr Control kControls[] = {
    {"a flag that is not waited for", PeerFault::no_wait, 1, true, true},
    {"the second flag that is not waited for", PeerFault::no_second_wait, 1, false, true},
    {"an epoch that is used again", PeerFault::stale_epoch, 3, true, true},
    {"a signal before its elements", PeerFault::torn_word, 1, true, false},
    {"roots in each other's places", PeerFault::swapped_order, 1, true, true},
    {"roots in the order of ranks", PeerFault::rank_order, 1, true, true},
    {"an epilogue on every rank", PeerFault::epilogue_per_rank, 1, true, true},
};

TEST(CudaPeerControls, EveryFaultMovesBits) {
  for (const Algorithm algorithm : {Algorithm::one_shot, Algorithm::two_shot, Algorithm::push}) {
    EXPECT_EQ(spoiled(PeerFault::none, algorithm, 3), Said{""}) << name(algorithm);
    for (const Control& control : kControls) {
      if (!(algorithm == Algorithm::one_shot ? control.one_shot : control.two_shot)) continue;
      const Said said = spoiled(control.fault, algorithm, control.calls);
      EXPECT_EQ(said.count("other bits"), 1U)
          << control.name << ", " << name(algorithm) << ": " << *said.rbegin();
      for (const std::string& one : said) {
        EXPECT_TRUE(one.empty() || one == "other bits") << control.name << ": " << one;
      }
    }
  }
}

/// The same problem with another A: other bits in the same places.
Sample twice(Sample sample) {
  for (std::uint16_t& x : sample.a) x = static_cast<std::uint16_t>(x + 0x80);
  const Operands all = sample.operands({0, sample.spec.k}, {0, sample.m}, sample.d.data());
  EXPECT_TRUE(Plan::create(skeleton_backend(), sample.spec)->run({}, all));
  return sample;
}

/// What ranks say who make a communicator where another one was: memory is handed out as it was,
/// the calls are counted from 0 again, and the last rank is late.
Said after_another_communicator(const Sample& first, const Sample& second) {
  constexpr std::size_t kBytes = std::size_t{1} << 20;
  Said said;
  std::mutex mutex;
  RowParallelOptions options;
  options.algorithm = Algorithm::one_shot;
  fake_cuda().freed.clear();
  on_devices(kRanks, [&](const std::shared_ptr<Transport>& transport) {
    const auto communicator = *Communicator::create(transport, with_windows(kBytes));
    EXPECT_EQ(run_on_device(communicator, peer_backend(), first, options, 0), "");
  });
  on_devices(kRanks, [&](const std::shared_ptr<Transport>& transport) {
    const auto communicator = *Communicator::create(transport, with_windows(kBytes));
    const auto before = [&] {
      if (transport->rank() + 1 == kRanks) std::this_thread::sleep_for(100ms);
    };
    const std::string verdict =
        run_on_device(communicator, peer_backend(), second, options, 0, before);
    const std::scoped_lock lock(mutex);
    said.insert(verdict);
  });
  return said;
}

TEST(CudaPeerControls, ANewWindowHoldsNoOldMail) {
  const Sample sample = samples(1).front();
  const Sample more = twice(sample);
  EXPECT_EQ(after_another_communicator(sample, more), Said{""});
  fake_cuda().dirty_windows = true;
  EXPECT_EQ(after_another_communicator(sample, more).count("other bits"), 1U);
  fake_cuda().dirty_windows = false;
}

/// Words of mail say which call they are of, so mail in a wrong place is no number but a rank that
/// does not come.
TEST(CudaPeerControls, MailInAWrongPlaceIsNotTakenForANumber) {
  const Said said = spoiled(PeerFault::wrong_mail, Algorithm::one_shot, 2, 500ms);
  EXPECT_NE(said, Said{""}) << "the fault changed nothing";
  for (const std::string& one : said) {
    EXPECT_TRUE(one.empty() || one.find("timed out in an exchange") != std::string::npos) << one;
  }
}

}  // namespace
}  // namespace detgemm::test
