// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The parts of snap3: what CONTRACT.md says about them, products over copies under every other
// arithmetic, and the cuts of a tree.

#include "core/arithmetic/snap3.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "core/contract/compute_element.hpp"
#include "core/contract/cover.hpp"
#include "core/contract/snap3_copies.hpp"

namespace detgemm {
namespace {

using arithmetic::kSnapNone;
using arithmetic::Snap3Grids;
using arithmetic::Snap3Parts;
using Leaf = std::vector<float>;
using Generator = std::mt19937_64;

double value(std::uint16_t bits) { return arithmetic::to_float<DType::bf16>(bits); }

/// Numbers in windows of exponents, ties, any bits, special ones, at the ends of what has a grid.
Leaf drawn(Generator& random, std::size_t count, int kind) {
  Leaf leaf(count);
  const auto centre = kind == 3 ? 127U - 62U : kind == 4 ? 127U + 54U : 40U + random() % 170U;
  for (float& x : leaf) {
    auto bits = static_cast<std::uint32_t>(random());
    const auto window = static_cast<std::uint32_t>(centre + random() % (kind == 1 ? 30 : 8));
    bits = (bits & 0x807fffffU) | window << 23;
    if (kind == 2) bits = static_cast<std::uint32_t>(random());
    if (kind == 5 && random() % 30 == 0) bits = 0x7f800000U | (bits & 0x80000000U);
    if (kind == 6) bits = (bits & 0xffff0000U) | (random() % 2 != 0 ? 0x8000U : 0U);
    if (random() % 12 == 0) bits &= 0x80000000U;
    if (random() % 3000 == 0) bits = 0x7f7fffffU;
    x = arithmetic::float_of(bits);
  }
  return leaf;
}

Snap3Grids grids_of(const Leaf& leaf) {
  return arithmetic::snap3_grids(static_cast<std::int64_t>(leaf.size()),
                                 [&](std::int64_t i) { return leaf[static_cast<std::size_t>(i)]; });
}

TEST(Snap3, TheNearestBf16NumberOfAFiniteNumberIsFinite) {
  EXPECT_EQ(arithmetic::snap3_near(arithmetic::float_of(0x7f7f8000U)), 0x7f7f);
  EXPECT_EQ(arithmetic::snap3_near(arithmetic::float_of(0xff7fffffU)), 0xff7f);
  EXPECT_EQ(arithmetic::snap3_near(arithmetic::float_of(0x7f800000U)), 0x7f80);
  EXPECT_EQ(arithmetic::snap3_near(arithmetic::float_of(0xff800000U)), 0xff80);
  EXPECT_EQ(arithmetic::snap3_near(arithmetic::float_of(0xffc00000U)), 0x7fff);
  EXPECT_EQ(arithmetic::snap3_near(arithmetic::float_of(0x3f808000U)), 0x3f80);  // ties to even
  EXPECT_EQ(arithmetic::snap3_near(arithmetic::float_of(0x3f818000U)), 0x3f82);
}

/// The difference is exact, second parts have a grid that is no coarser, and what both parts leave
/// is within the bound that follows from the grids.
TEST(Snap3, PartsAreAsThePageSays) {
  Generator random(1);
  int none = 0, dropped = 0;
  for (int turn = 0; turn < 20000; ++turn) {
    const std::size_t count = 1 + random() % (turn % 8 == 0 ? 600 : 130);
    const Leaf leaf = drawn(random, count, static_cast<int>(random() % 7));
    const Snap3Grids grids = grids_of(leaf);
    ASSERT_NE(grids.second, kSnapNone);
    none += grids.first == kSnapNone;
    ASSERT_LE(grids.second, grids.first);
    for (const float x : leaf) {
      const Snap3Parts parts = arithmetic::snap3_parts(x, grids);
      ASSERT_FALSE(std::isnan(value(parts.second)) || std::isinf(value(parts.second)));
      if (!std::isfinite(value(parts.first))) {
        EXPECT_TRUE(grids.first == kSnapNone || !std::isfinite(x));
        EXPECT_EQ(parts.bare, 0);
        EXPECT_EQ(parts.second, 0);
        continue;
      }
      EXPECT_EQ(parts.bare, parts.first);
      const double rest = static_cast<double>(x) - value(parts.first);
      ASSERT_EQ(rest, static_cast<double>(x - static_cast<float>(value(parts.first)))) << "exact";
      const double left = std::fabs(rest - value(parts.second));
      ASSERT_LE(left, std::ldexp(0.5, grids.second) + std::fabs(rest) * 0x1p-8 + 0x1p-134);
      dropped += left != 0.0;
    }
  }
  EXPECT_GE(none, 20);
  EXPECT_GE(dropped, 1000);
}

/// A bf16 number in fp32 memory is the bf16 number.
TEST(Snap3, Bf16NumbersHaveTheSamePartsInFp32) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto word = static_cast<std::uint16_t>(bits);
    const float x = arithmetic::float_of(bits << 16);
    if (!std::isnan(x)) {
      EXPECT_EQ(arithmetic::snap3_near(x), word);
    }
    const Snap3Grids grids = grids_of({x, 3.0F});
    const Snap3Parts parts = arithmetic::snap3_parts(x, grids);
    if (!std::isfinite(value(parts.first))) continue;
    // Nothing is rounded but to the grid.
    const double rest = static_cast<double>(x) - value(parts.first);
    EXPECT_EQ(arithmetic::snap3_rest(x, parts.first),
              arithmetic::to_bf16(static_cast<float>(rest)));
    if (rest != 0.0) {
      EXPECT_EQ(value(arithmetic::snap3_rest(x, parts.first)), rest);
    }
  }
}

struct Matrices {
  std::int64_t m = 3, n = 2, k = 0;
  std::vector<float> a, b;  // rows of A and columns of B, k apart
};

/// The product of copies under arithmetic A, outputs in fp32.
template <Arithmetic A>
std::vector<float> over_copies(const Matrices& p, const Reduction& reduction, bool omit = false) {
  const Snap3Copies copies = snap3_copies(p.k, reduction.leaf_k);
  const auto copied = [&](const std::vector<float>& from, std::int64_t lines, bool of_a) {
    std::vector<std::uint16_t> to(static_cast<std::size_t>(lines * copies.k));
    for (std::int64_t i = 0; i < lines * copies.leaves; ++i) {
      const std::int64_t begin = i % copies.leaves * copies.leaf_k;
      const float* numbers = from.data() + i / copies.leaves * p.k + begin;
      std::uint16_t* leaf = to.data() + i / copies.leaves * copies.k + 3 * begin;
      arithmetic::snap3_leaf(
          std::min(copies.leaf_k, p.k - begin), [&](std::int64_t j) { return numbers[j]; },
          [&](std::int64_t j, const Snap3Parts& parts) {
            for (int sum = 0; sum < (omit ? 1 : 3); ++sum) {
              leaf[sum * copies.leaf_k + j] = arithmetic::snap3_operand(parts, of_a, sum);
            }
          });
    }
    return to;
  };
  const auto a = copied(p.a, p.m, true);
  const auto b = copied(p.b, p.n, false);
  std::vector<float> d(static_cast<std::size_t>(p.m * p.n));
  GemmArguments g;
  g.a = a.data();
  g.b = b.data();
  g.d = d.data();
  g.as = {copies.k, 1};
  g.bs = {1, copies.k};
  g.ds = {p.n, 1};
  g.m = p.m;
  g.n = p.n;
  g.k = copies.k;
  g.reduction = {reduction.kind, copies.leaf_k};
  for (std::int64_t i = 0; i < p.m * p.n; ++i) {
    compute_element<A, DType::bf16>(g, i / p.n, i % p.n);
  }
  return d;
}

std::vector<float> by_the_definition(const Matrices& p, const Reduction& reduction) {
  std::vector<float> d(static_cast<std::size_t>(p.m * p.n));
  GemmArguments g;
  g.a = p.a.data();
  g.b = p.b.data();
  g.d = d.data();
  g.as = {p.k, 1};
  g.bs = {1, p.k};
  g.ds = {p.n, 1};
  g.m = p.m;
  g.n = p.n;
  g.k = p.k;
  g.reduction = reduction;
  for (std::int64_t i = 0; i < p.m * p.n; ++i) {
    compute_element<Arithmetic::snap3, DType::fp32>(g, i / p.n, i % p.n);
  }
  return d;
}

bool same(const std::vector<float>& x, const std::vector<float>& y) {
  return std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
}

/// Six arithmetics and snap itself return the bits of the definition on copies of three times the
/// leaves, padded with zeros; and one sum does not.
TEST(Snap3, EveryArithmeticComputesItOnCopies) {
  Generator random(2);
  int differs = 0, infinite = 0;
  constexpr int kTurns = 600;
  for (int turn = 0; turn < kTurns; ++turn) {
    Matrices p;
    p.k = 1 + static_cast<std::int64_t>(random() % 700);
    const int kind = static_cast<int>(random() % 7);
    p.a = drawn(random, static_cast<std::size_t>(p.m * p.k), kind);
    p.b = drawn(random, static_cast<std::size_t>(p.n * p.k), kind == 5 ? 0 : kind);
    const Reduction reduction{turn % 2 != 0 ? ReductionKind::fold : ReductionKind::tree,
                              64 * static_cast<std::int64_t>(1 + random() % 4)};
    const auto want = by_the_definition(p, reduction);
    for (const float x : want) infinite += std::isinf(x);
    ASSERT_TRUE(same(want, over_copies<Arithmetic::snap>(p, reduction))) << turn;
    ASSERT_TRUE(same(want, over_copies<Arithmetic::ieee_fma>(p, reduction))) << turn;
    ASSERT_TRUE(same(want, over_copies<Arithmetic::hopper>(p, reduction))) << turn;
    ASSERT_TRUE(same(want, over_copies<Arithmetic::ampere>(p, reduction))) << turn;
    ASSERT_TRUE(same(want, over_copies<Arithmetic::cdna3>(p, reduction))) << turn;
    ASSERT_TRUE(same(want, over_copies<Arithmetic::cdna2>(p, reduction))) << turn;
    differs += !same(want, over_copies<Arithmetic::ieee_fma>(p, reduction, true));
  }
  EXPECT_GE(differs, kTurns / 4);
  EXPECT_GE(infinite, 10);
}

TEST(Snap3, ATreeIsCutBetweenLeavesOfK) {
  const Contract tree = *Contract::parse("snap3/bf16/tree:64->fp32");
  const auto cut = [&](std::int64_t leaves, LeafRange range) {
    return cover(tree, leaves * 64, range);
  };
  EXPECT_EQ(tree.leaves(8 * 64), 8);
  EXPECT_EQ(*cut(8, {2, 7}), (std::vector<LeafRange>{{2, 4}, {4, 6}, {6, 7}}));
  EXPECT_EQ(*cut(5, {0, 5}), (std::vector<LeafRange>{{0, 5}}));
  EXPECT_EQ(*cut(10, {5, 10}), (std::vector<LeafRange>{{5, 10}}));
  EXPECT_EQ(*cut(5, {0, 1}), (std::vector<LeafRange>{{0, 1}}));  // of sums 0 to 6, the first 3
  const Status refused = cut(5, {2, 5}).status();
  EXPECT_EQ(refused.code(), Errc::unsupported);
  EXPECT_EQ(refused.message(),
            "leaves is [2, 5): snap3/bf16/tree:64->fp32 has a tree over 15 sums, three for each "
            "leaf of k = 320, whose nodes cut within leaf 2");
  EXPECT_EQ(*rank_share(tree, 640, 1, 2), (KRange{320, 640}));
}

}  // namespace
}  // namespace detgemm
