// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/snap/leaf.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "cuda/snap/groups.hpp"
#include "tests/cuda/snap/numbers.hpp"

// The fast form of the rule against core/arithmetic/snap.hpp, over all patterns and all grids.

namespace detgemm::test {
namespace {

using namespace cuda::snap;
using arithmetic::kSnapLeast;
using arithmetic::kSnapMost;
using arithmetic::kSnapNone;

bool is_finite(std::uint32_t bits) { return (bits & 0x7fffU) < 0x7f80U; }

TEST(CudaSnapLeaf, EveryPatternIsRoundedAsTheRuleSaysOnEveryGrid) {
  long compared = 0;
  for (int t = kSnapLeast; t <= kSnapNone; ++t) {
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
      const auto half = static_cast<std::uint16_t>(bits);
      // A leaf's own grid is never finer than this for any of its numbers.
      if (is_finite(bits) && t < arithmetic::snap_first_grid(arithmetic::snap_exponent(half)) &&
          t != kSnapNone) {
        continue;
      }
      ++compared;
      ASSERT_EQ(one_on_grid(half, t), arithmetic::snapped(half, t)) << bits << " on " << t;
      if (!is_finite(bits)) continue;
      ASSERT_EQ(on_grid(bits | bits << 16, t), arithmetic::snapped(half, t) * 0x10001U)
          << bits << " on " << t;
      if (t == kSnapNone) continue;
      const std::uint32_t square = static_cast<std::uint32_t>(arithmetic::snap_square(half, t));
      ASSERT_EQ(squares(bits, rounder_of(t)), square) << bits << " on " << t;
      ASSERT_EQ(squares(bits << 16, rounder_of(t)), square) << bits << " on " << t;
    }
  }
  EXPECT_GE(compared, 4'000'000);
}

TEST(CudaSnapLeaf, WordsOfTwoAreTakenApartAsTheyLie) {
  Random random(1);
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto other = static_cast<std::uint32_t>(random.next() & 0xffffU);
    const std::uint32_t word = bits | other << 16;
    EXPECT_EQ(special_halves(word),
              (is_finite(bits) ? 0U : 0x8000U) | (is_finite(other) ? 0U : 0x80000000U));
    EXPECT_EQ(finite_part(word),
              (is_finite(bits) ? bits : 0U) | (is_finite(other) ? other << 16 : 0U));
    EXPECT_EQ(magnitudes(word), (bits & 0x7fffU) | (other & 0x7fffU) << 16);
    EXPECT_EQ(larger_half(word), std::max(bits, other));
    const auto next = static_cast<std::uint32_t>(random.next());
    EXPECT_EQ(larger(word, next), std::max(bits, next & 0xffffU) | std::max(other, next >> 16)
                                                                       << 16);
  }
}

/// What the kernels do, without lanes.
int grid_in_two_sums(const std::vector<std::uint16_t>& leaf, bool plant = false) {
  std::uint32_t largest = 0;
  for (const std::uint16_t bits : leaf) {
    if (is_finite(bits)) largest = std::max<std::uint32_t>(largest, bits & 0x7fffU);
  }
  const auto sum = [&](int t) {
    std::uint32_t all = 0;
    for (const std::uint16_t bits : leaf) all += squares(finite_part(bits), rounder_of(t));
    return all;
  };
  const int t0 = begins_at(largest);
  if (t0 == kHopeless) return kSnapNone;
  const int t1 = narrowed(t0, sum(t0));
  return decided(t1, plant ? 0 : sum(t1));  // the fault: one sum is taken to be enough
}

int grid_by_the_rule(const std::vector<std::uint16_t>& leaf) {
  return arithmetic::snap_grid(static_cast<std::int64_t>(leaf.size()),
                               [&](std::int64_t i) { return leaf[static_cast<std::size_t>(i)]; });
}

TEST(CudaSnapLeaf, TwoSumsFindTheGridOfEveryLeaf) {
  Random random(20261122);
  int at_ends[3] = {};  // -62, 51, none
  int planted_is_seen = 0;
  for (int i = 0; i < 60000; ++i) {
    const auto leaf = draw_leaf(random, 1 + random.below(kShortLeaf));
    const int t = grid_by_the_rule(leaf);
    ASSERT_EQ(grid_in_two_sums(leaf), t) << "leaf " << i << " of " << leaf.size();
    at_ends[0] += t == kSnapLeast;
    at_ends[1] += t == kSnapMost;
    at_ends[2] += t == kSnapNone;
    planted_is_seen += grid_in_two_sums(leaf, true) != t;
  }
  for (const int count : at_ends) EXPECT_GE(count, 50);
  EXPECT_GE(planted_is_seen, 1000);
}

/// Leaves whose squares add up to 2^24 exactly, and to one unit more, on each grid.
TEST(CudaSnapLeaf, TheLimitItselfIsAllowedAndOneMoreIsNot) {
  for (int t = kSnapLeast; t <= kSnapMost; ++t) {
    for (const int count : {1, 4, 16, 64, 256, 1024}) {
      const int root = 4096 >> (arithmetic::bit_width(static_cast<std::uint64_t>(count)) - 1) / 2;
      std::vector<std::uint16_t> leaf(static_cast<std::size_t>(count), units_as_bf16(root, t));
      ASSERT_EQ(grid_by_the_rule(leaf), t);
      EXPECT_EQ(grid_in_two_sums(leaf), t) << count;
      if (count == kShortLeaf) continue;
      leaf.push_back(units_as_bf16(1, t));
      ASSERT_EQ(grid_by_the_rule(leaf), t + 1);
      EXPECT_EQ(grid_in_two_sums(leaf), t + 1) << count;
    }
  }
}

/// What the norm says of a leaf of at most kLongest numbers, or kAsks; `planted`: lines too close.
template <int kLongest>
int grid_of_the_norm(const std::vector<std::uint16_t>& leaf, bool planted = false) {
  float q = 0;
  for (const std::uint16_t bits : leaf) q += low_value(bits) * low_value(bits);
  const int t = grid_of_norm<kLongest>(arithmetic::bits_of(q));
  return planted && t == kAsks ? grid_of_norm<kLongest>(arithmetic::bits_of(q * 0.98F)) : t;
}

template <int kLongest>
void expect_that_the_norm_is_right() {
  Random random(kLongest);
  int asks = 0, at_ends[3] = {}, planted_is_seen = 0;
  constexpr int kLeaves = 40000;
  for (int i = 0; i < kLeaves; ++i) {
    auto leaf = draw_leaf(random, 1 + random.below(kLongest));
    if (random.below(8) == 0) {  // a norm close to 2^12 units of some grid
      const int t = static_cast<int>(random.below(100)) - 55;
      const auto count = static_cast<double>(leaf.size());
      for (std::uint16_t& bits : leaf) {
        const double units = (4096 + random.below(5) * 8 - 16) / std::sqrt(count);
        bits = units_as_bf16(static_cast<int>(units), t);
      }
    }
    const int t = grid_by_the_rule(leaf);
    const int said = grid_of_the_norm<kLongest>(leaf);
    if (said == kAsks) {
      ++asks;
    } else {
      ASSERT_EQ(said, t) << "leaf " << i << " of " << leaf.size();
      at_ends[0] += t == kSnapLeast;
      at_ends[1] += t == kSnapMost;
      at_ends[2] += t == kSnapNone;
    }
    const int planted = grid_of_the_norm<kLongest>(leaf, true);
    planted_is_seen += planted != kAsks && planted != t;
  }
  EXPECT_GE(asks, 100);
  for (const int count : at_ends) EXPECT_GE(count, 50);
  EXPECT_GE(planted_is_seen, 20);
}

TEST(CudaSnapLeaf, TheNormSaysTheGridOrThatItDoesNotKnow) {
  expect_that_the_norm_is_right<64>();
  expect_that_the_norm_is_right<128>();
  expect_that_the_norm_is_right<256>();
  expect_that_the_norm_is_right<512>();
  expect_that_the_norm_is_right<1024>();
}

TEST(CudaSnapLeaf, ADivisorDividesAllNumbersBelowTwoTo31) {
  Random random(5);
  for (int i = 0; i < 300000; ++i) {
    const auto by = static_cast<std::uint32_t>(
        random.below(3) == 0 ? 1 + i % 4096 : 1 + random.below(std::int64_t{1} << (1 + i % 30)));
    const std::uint32_t last = (0x7fffffffU / by) * by;  // neighbours of multiples, and anything
    const auto any = static_cast<std::uint32_t>(random.next() >> 33);
    for (const std::uint32_t of :
         {0U, by - 1, by, last - 1, last, 0x7fffffffU, any, any / by * by}) {
      if (of > 0x7fffffffU) continue;
      ASSERT_EQ(divisor(by).quotient(of), of / by) << of << " by " << by;
    }
  }
}

}  // namespace
}  // namespace detgemm::test
