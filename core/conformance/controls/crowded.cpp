// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <atomic>

#include "core/conformance/controls/faulty_backend.hpp"

// Engines that go wrong when many calls are under way at once, as with a fixed number of slots.

namespace detgemm::controls {
namespace {

/// The call that finds `slots` others under way is added in another order.
template <int slots>
void take_a_slot(const Run& run) {
  static std::atomic<int> taken{0};
  const int place = taken++;
  switch_if(place >= slots, run);
  --taken;
}

constexpr std::array kCrowdedFaults{
    Planted{"two_slots", "the third call at once is added in another order", "concurrency",
            kNarrowChain, take_a_slot<2>},
    Planted{"four_slots", "the fifth call at once is added in another order", "concurrency",
            kNarrowChain, take_a_slot<4>},
    Planted{"eight_slots", "the ninth call at once is added in another order", "concurrency",
            kNarrowChain, take_a_slot<8>},
};

}  // namespace

std::span<const Planted> crowded_calls() { return kCrowdedFaults; }

}  // namespace detgemm::controls
