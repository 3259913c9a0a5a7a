// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/conformance/covering.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "core/conformance/properties/crossing.hpp"

namespace detgemm::conformance {
namespace {

/// How many pairs of levels of factors i and j the rows have.
std::size_t pairs(const std::vector<LevelRow>& rows, std::size_t i, std::size_t j) {
  std::set<std::pair<int, int>> seen;
  for (const LevelRow& row : rows) seen.emplace(row[i], row[j]);
  return seen.size();
}

TEST(Covering, EveryPairOfLevelsOccurs) {
  const std::array levels{3, 2, 5, 1, 4, 4};
  const auto rows = covering_rows(levels);
  for (std::size_t i = 0; i < levels.size(); ++i) {
    for (std::size_t j = i + 1; j < levels.size(); ++j) {
      EXPECT_EQ(pairs(rows, i, j), static_cast<std::size_t>(levels[i] * levels[j]))
          << i << " " << j;
    }
  }
  EXPECT_LE(rows.size(), 28U) << "20 are the fewest that there can be";
}

TEST(Covering, IsTheSameEveryTime) {
  const std::array levels{3, 3, 3};
  EXPECT_EQ(covering_rows(levels), covering_rows(levels));
}

TEST(Crossing, QuickIsShortAndFullHasEveryAddress) {
  EXPECT_LE(crossing(Level::quick).size(), 64U);
  const auto& full = crossing(Level::full);
  const auto a = static_cast<std::size_t>(Factor::address_a);
  const auto b = static_cast<std::size_t>(Factor::address_b);
  EXPECT_EQ(pairs(full, a, b), 17U * 17U);
  EXPECT_LE(full.size(), 420U);
}

}  // namespace
}  // namespace detgemm::conformance
