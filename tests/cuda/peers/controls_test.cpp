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

/// The verdicts of 4 ranks on the last of `calls` calls; those before it must be right. In the last
/// one the last rank is late where rank 0 does not wait for it.
Said spoiled(PeerFault fault, Algorithm algorithm, int calls) {
  constexpr int kRanks = 4;
  Said said;
  std::mutex mutex;
  const std::vector<Sample> all = samples(static_cast<std::size_t>(calls));
  fake_cuda().ahead = 0;
  const bool late = fault == PeerFault::no_wait || fault == PeerFault::stale_epoch;
  on_devices(kRanks, [&](const std::shared_ptr<Transport>& transport) {
    const auto communicator = *Communicator::create(transport, with_windows(std::size_t{1} << 20));
    RowParallelOptions options;
    options.algorithm = algorithm;
    for (int i = 0; i < calls; ++i) {
      const bool last = i + 1 == calls;
      if (last && transport->rank() == 0) fake_cuda().fault = fault;
      const auto before = [&] {
        // A plan is made by all ranks, so the fault is planted by now.
        if (last && late && transport->rank() + 1 == kRanks) wait_until_ahead(calls);
      };
      const std::string verdict = run_on_device(
          communicator, peer_backend(), all[static_cast<std::size_t>(i)], options, 0, before);
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
  int calls;  ///< of which the last one has the fault
  bool one_shot, two_shot;
};
constexpr Control kControls[] = {
    {"a flag that is not waited for", PeerFault::no_wait, 1, true, true},
    {"the second flag that is not waited for", PeerFault::no_second_wait, 1, false, true},
    {"an epoch that is used again", PeerFault::stale_epoch, 3, true, true},
    {"mail of odd calls among that of even calls", PeerFault::wrong_mail, 2, true, false},
    {"roots in each other's places", PeerFault::swapped_order, 1, true, true},
    {"roots in the order of ranks", PeerFault::rank_order, 1, true, true},
    {"an epilogue on every rank", PeerFault::epilogue_per_rank, 1, true, true},
};

TEST(CudaPeerControls, EveryFaultMovesBits) {
  for (const Algorithm algorithm : {Algorithm::one_shot, Algorithm::two_shot}) {
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

}  // namespace
}  // namespace detgemm::test
