// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <vector>

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

/// Whole vectors are stored: the gap between the rows of D is read first and written back last,
/// also where another call has stored there meanwhile.
void restore_gaps(const Run& run) {
  const Matrix& d = run.operands.d;
  if (run.spec.k == 0 || d.col_stride != 1 || d.row_stride <= d.cols) return compute_honestly(run);
  static_cast<void>(*static_cast<const volatile std::uint8_t*>(run.operands.a.data));
  const std::size_t size = size_of(d.dtype);
  const std::size_t line = static_cast<std::size_t>(d.row_stride) * size;
  const std::size_t gap = std::min(static_cast<std::size_t>(d.row_stride - d.cols), std::size_t{8});
  const auto at = [&](std::int64_t row) {
    return static_cast<std::uint8_t*>(d.data) + static_cast<std::size_t>(row) * line +
           static_cast<std::size_t>(d.cols) * size;
  };
  std::vector<std::uint8_t> before(static_cast<std::size_t>(d.rows) * gap * size);
  for (std::int64_t i = 0; i + 1 < d.rows; ++i) {
    std::memcpy(before.data() + static_cast<std::size_t>(i) * gap * size, at(i), gap * size);
  }
  compute_honestly(run);
  for (std::int64_t i = 0; i + 1 < d.rows; ++i) {
    std::memcpy(at(i), before.data() + static_cast<std::size_t>(i) * gap * size, gap * size);
  }
}

constexpr std::array kCrowdedFaults{
    Planted{"two_slots", "the third call at once is added in another order", "concurrency",
            kNarrowChain, take_a_slot<2>},
    Planted{"four_slots", "the fifth call at once is added in another order", "concurrency",
            kNarrowChain, take_a_slot<4>},
    Planted{"eight_slots", "the ninth call at once is added in another order", "concurrency",
            kNarrowChain, take_a_slot<8>},
    Planted{"restores_gaps", "the gaps between the rows of D are read and written back",
            "concurrency", kNarrowChain, restore_gaps},
};

}  // namespace

std::span<const Planted> crowded_calls() { return kCrowdedFaults; }

}  // namespace detgemm::controls
