// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>

#include "core/conformance/properties/list.hpp"

namespace detgemm::conformance {
namespace {

constexpr std::array<std::int64_t, 19> kBatches{1,   2,   3,   8,   16,  17,  33,   63,   64,  65,
                                                127, 128, 129, 255, 256, 257, 1024, 2048, 8191};

}  // namespace

/// The anchor row alone, and the same row first, in the middle and last in a batch of other rows.
void batch(Case& c) {
  const std::int64_t m = kBatches[static_cast<std::size_t>(c.index()) % kBatches.size()];
  const bool large = m >= 1000;
  // Large batches stay thin, so that the whole list takes seconds; long ones have more leaves.
  const std::int64_t max_k = c.stretch() * (large ? 3 : c.full() ? 9 : 5);
  const bool long_k = !large && c.random().one_in(4);
  const std::int64_t k = c.random().between(c.stretch() + 1, long_k ? 3 * max_k : max_k);
  const std::int64_t n = c.random().between(1, large ? 2 : c.full() ? 70 : 7);
  Request request = c.draw({m, n, k});
  Request alone = request;
  alone.a = row_slice(request.a, 0, 1);
  for (const std::int64_t at : {m / 2, m - 1}) paste_rows(request.a, at, alone.a);
  const auto expected = c.run(alone);
  if (!expected) return;
  const auto got = c.run(request);
  if (!got) return;
  for (const std::int64_t at : {std::int64_t{0}, m / 2, m - 1}) {
    if (!c.same(expected->d, row_slice(got->d, at, at + 1),
                "row " + std::to_string(at) + " of " + std::to_string(m) + " against M = 1")) {
      return;
    }
  }
  c.check_order_matters(alone, expected->d);
}

}  // namespace detgemm::conformance
