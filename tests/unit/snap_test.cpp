// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The rule of snap against a model in real numbers, and the promise that every arithmetic returns
// the exact sum of a leaf, in any order.

#include "core/arithmetic/snap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "core/arithmetic/step.hpp"

namespace detgemm {
namespace {

using arithmetic::kSnapNone;
using arithmetic::Step;
using Leaf = std::vector<std::uint16_t>;
using Generator = std::mt19937_64;

double value(std::uint16_t bits) { return arithmetic::to_float<DType::bf16>(bits); }
std::uint16_t word(double x) { return arithmetic::to_bf16(static_cast<float>(x)); }
bool is_finite(std::uint16_t bits) { return (bits & 0x7f80U) != 0x7f80U; }

/// The contract's text in doubles, from the least t on: the model that the integers are held to.
int model_grid(const Leaf& leaf) {
  for (int t = -62; t <= 51; ++t) {
    double sum = 0.0;
    for (const std::uint16_t bits : leaf) {
      const double units = is_finite(bits) ? std::nearbyint(std::ldexp(value(bits), -t)) : 0.0;
      sum += units * units;
      if (sum > 0x1p24) break;
    }
    if (sum <= 0x1p24) return t;
  }
  return kSnapNone;
}

std::uint16_t model_snapped(std::uint16_t bits, int t) {
  if (t == kSnapNone || std::isnan(value(bits))) return 0x7fff;
  if (!is_finite(bits)) return bits;
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value(bits), -t)), t);
  const std::uint16_t made = word(rounded == 0.0 ? 0.0 : rounded);
  EXPECT_EQ(value(made), rounded) << "not a bf16 number";
  return made;
}

int grid(const Leaf& leaf) {
  return arithmetic::snap_grid(static_cast<std::int64_t>(leaf.size()),
                               [&](std::int64_t i) { return leaf[static_cast<std::size_t>(i)]; });
}

Leaf snapped(const Leaf& leaf) {
  const int t = grid(leaf);
  Leaf made;
  for (const std::uint16_t bits : leaf) made.push_back(arithmetic::snapped(bits, t));
  return made;
}

void expect_rule(const Leaf& leaf) {
  const int t = model_grid(leaf);
  ASSERT_EQ(grid(leaf), t) << leaf.size() << " numbers, the first " << leaf[0];
  const Leaf made = snapped(leaf);
  for (std::size_t i = 0; i < leaf.size(); ++i) {
    ASSERT_EQ(made[i], model_snapped(leaf[i], t))
        << std::hex << leaf[i] << " at 2^" << std::dec << t;
  }
  ASSERT_EQ(snapped(made), made) << "snapping again changes something";
}

/// Numbers of one of several kinds; `kind` 0 has every pattern.
Leaf drawn(Generator& random, std::size_t count, int kind) {
  std::normal_distribution<double> normal;
  const double scale = std::ldexp(1.0, static_cast<int>(random() % 120) - 60);
  Leaf leaf(count);
  for (std::uint16_t& bits : leaf) {
    if (kind == 0) {
      bits = static_cast<std::uint16_t>(random());
      continue;
    }
    double x = normal(random);
    if (kind == 2) x *= std::exp(3.0 * normal(random));
    if (kind == 3) x = std::fabs(x);
    if (kind == 4) x = 1.99;
    if (kind == 5 && random() % 7 == 0) x = 0.0;
    bits = word(x * scale);
    if (kind == 6 && random() % 40 == 0) bits = static_cast<std::uint16_t>(random() | 0x7f80U);
  }
  return leaf;
}

TEST(Snap, EveryPatternAsTheMaximum) {
  for (std::uint32_t pattern = 0; pattern < 0x10000; ++pattern) {
    const auto bits = static_cast<std::uint16_t>(pattern);
    Leaf leaf{bits};
    expect_rule(leaf);
    if (pattern % 7 != 0 || !is_finite(bits)) continue;
    for (int i = 1; i < 5; ++i) {  // smaller ones of both signs, and one as large
      const auto less = static_cast<std::uint16_t>(i == 4 ? bits : (bits & 0x7fffU) * (i + 3) / 8);
      leaf.push_back(static_cast<std::uint16_t>(less ^ (i % 2 != 0 ? 0x8000U : 0U)));
    }
    expect_rule(leaf);
  }
}

TEST(Snap, TheLimitBelongsToTheGrid) {
  for (const int t : {-62, -61, -3, 0, 17, 50, 51}) {
    Leaf leaf(64, word(std::ldexp(512.0, t)));  // 64 * 512^2 = 2^24 units
    EXPECT_EQ(grid(leaf), t);
    EXPECT_EQ(snapped(leaf), leaf);
    leaf.push_back(word(std::ldexp(1.0, t)));  // 2^24 + 1
    EXPECT_EQ(grid(leaf), t == 51 ? kSnapNone : t + 1);
    expect_rule(leaf);
    EXPECT_EQ(snapped(leaf).back(), t == 51 ? 0x7fff : 0);  // half a unit goes to the even 0
  }
}

TEST(Snap, TheLeastGridAndTheGreatest) {
  EXPECT_EQ(grid({0, 0x8000, 1, 0x8001}), -62);
  EXPECT_EQ(snapped({0, 0x8000, 1, 0x8001}), (Leaf{0, 0, 0, 0}));
  const double unit = 0x1p-62;
  EXPECT_EQ(snapped({word(0.5 * unit), word(-0.5 * unit)}), (Leaf{0, 0}));
  EXPECT_EQ(snapped({word(1.5 * unit), word(-2.5 * unit)}),
            (Leaf{word(2 * unit), word(-2 * unit)}));
  EXPECT_EQ(grid({word(0x1p63)}), 51);
  EXPECT_EQ(grid({word(0x1.02p63)}), kSnapNone);
  EXPECT_EQ(snapped({word(0x1.02p63), 0, 0x7f80}), (Leaf{0x7fff, 0x7fff, 0x7fff}));
  EXPECT_EQ(snapped({0x7f80, 0xff80, 0x7f81, 0xffff, word(3.0)}),
            (Leaf{0x7f80, 0xff80, 0x7fff, 0x7fff, word(3.0)}));
}

TEST(Snap, LeavesOfEveryLengthAndKind) {
  Generator random(1);
  for (std::size_t count = 1; count <= 512; ++count) {
    for (int kind = 0; kind < 7; ++kind) expect_rule(drawn(random, count, kind));
  }
  for (const std::size_t count : {4095U, 4096U, 4097U, 70000U}) {
    expect_rule(drawn(random, count, 1));
    expect_rule(Leaf(count, 0x3fff));
  }
}

/// A chain of a leaf from +0, padded with zeros to whole steps.
template <Arithmetic A>
float chain(const Leaf& a, const Leaf& b) {
  constexpr std::size_t products = Step<A, DType::bf16>::products;
  float acc = 0.0F;
  for (std::size_t k = 0; k < a.size(); k += products) {
    std::uint16_t x[products] = {};
    std::uint16_t y[products] = {};
    const std::size_t count = std::min(products, a.size() - k);
    std::copy_n(a.begin() + static_cast<std::ptrdiff_t>(k), count, x);
    std::copy_n(b.begin() + static_cast<std::ptrdiff_t>(k), count, y);
    acc = Step<A, DType::bf16>::apply(x, y, acc);
  }
  return acc;
}

/// How many of the arithmetics return something else than `want`.
int others(const Leaf& a, const Leaf& b, float want) {
  int count = 0;
  for (const float got : {chain<Arithmetic::ieee_fma>(a, b), chain<Arithmetic::hopper>(a, b),
                          chain<Arithmetic::ampere>(a, b), chain<Arithmetic::blackwell>(a, b),
                          chain<Arithmetic::cdna3>(a, b), chain<Arithmetic::cdna2>(a, b)}) {
    const float value = arithmetic::canonical(got);
    count += std::memcmp(&value, &want, sizeof want) != 0 ? 1 : 0;
  }
  return count;
}

/// Each pair of leaves in three orders: as it is, backwards, and shuffled.
template <class Make>
std::int64_t disagreements(int leaves, std::uint64_t seed, Make&& make, std::int64_t& compared) {
  Generator random(seed);
  std::int64_t differ = 0;
  for (int turn = 0; turn < leaves; ++turn) {
    const std::size_t count = 1 + random() % (turn % 4 == 0 ? 520 : 130);
    const int kind = static_cast<int>(random() % 7);
    const Leaf a = drawn(random, count, kind);
    const Leaf b = random() % 5 == 0 ? a : drawn(random, count, kind);  // parallel vectors too
    const float want = arithmetic::snap_sum(
        static_cast<std::int64_t>(count),
        [&](std::int64_t i) { return a[static_cast<std::size_t>(i)]; },
        [&](std::int64_t i) { return b[static_cast<std::size_t>(i)]; });
    Leaf x = make(a);
    Leaf y = make(b);
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), 0);
    for (int pass = 0; pass < 3; ++pass) {
      if (pass == 1) std::reverse(order.begin(), order.end());
      if (pass == 2) std::shuffle(order.begin(), order.end(), random);
      Leaf left, right;
      for (const std::size_t i : order) {
        left.push_back(x[i]);
        right.push_back(y[i]);
      }
      differ += others(left, right, want);
      compared += 6;
    }
  }
  return differ;
}

TEST(Snap, EveryArithmeticReturnsTheSumOfALeafInAnyOrder) {
  std::int64_t compared = 0;
  EXPECT_EQ(disagreements(8000, 1, snapped, compared), 0);
  EXPECT_EQ(compared, 8000 * 18);
}

/// Snapped in one piece with what follows it in memory: another, coarser grid.
Leaf by_double_leaf(const Leaf& leaf) {
  Leaf both = leaf;
  both.insert(both.end(), leaf.begin(), leaf.end());
  both = snapped(both);
  both.resize(leaf.size());
  return both;
}
/// The grid of a row in which some leaf is 16 times as large.
Leaf by_row(const Leaf& leaf) {
  Leaf row = leaf;
  for (const std::uint16_t bits : leaf) row.push_back(word(16.0 * value(bits)));
  row = snapped(row);
  row.resize(leaf.size());
  return row;
}
Leaf truncated(const Leaf& leaf) {
  const int t = grid(leaf);
  Leaf made = snapped(leaf);
  for (std::size_t i = 0; i < leaf.size() && t != kSnapNone; ++i) {
    if (!is_finite(leaf[i])) continue;
    made[i] = word(std::ldexp(std::trunc(std::ldexp(value(leaf[i]), -t)), t));
  }
  return made;
}

TEST(Snap, OtherRulesDoNot) {
  std::int64_t compared = 0;
  EXPECT_GT(disagreements(
                300, 2, [](const Leaf& leaf) { return leaf; }, compared),
            1000);
  EXPECT_GT(disagreements(300, 2, by_double_leaf, compared), 1000);
  EXPECT_GT(disagreements(300, 2, by_row, compared), 1000);
  EXPECT_GT(disagreements(300, 2, truncated, compared), 1000);
}

}  // namespace
}  // namespace detgemm
