// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "core/contract/cover.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "core/contract/compute_element.hpp"
#include "detgemm/cluster.hpp"

namespace detgemm {
namespace {

using cluster::Range;
using cluster::rows_of;
using cluster::Shares;

const Contract kTree = *Contract::parse("ieee_fma/bf16/tree:16->fp32");

/// A sum that shows its order: fp32 additions of numbers of very different sizes.
float leaf_value(std::int64_t leaf) {
  std::mt19937 random(static_cast<unsigned>(leaf) * 2654435761U + 1);
  return std::ldexp(static_cast<float>(static_cast<int>(random() % 2001) - 1000),
                    static_cast<int>(random() % 24));
}

float tree_over(LeafRange range) {
  return reduce_leaves(
      {ReductionKind::tree, 1}, range.end - range.begin, 0.0F,
      [&](std::int64_t begin, std::int64_t, float) { return leaf_value(range.begin + begin); });
}

/// The roots of nodes, joined by the program that backends run.
float joined(const std::vector<LeafRange>& nodes, std::int64_t count) {
  float d = 0;
  GemmArguments g{};
  g.d = &d;
  g.output = DType::fp32;
  combine_element(
      g, 0, 0, static_cast<std::int64_t>(nodes.size()),
      [&](std::int64_t i) { return tree_over(nodes[static_cast<std::size_t>(i)]); },
      [&](std::int64_t i) { return nodes_closed_by(nodes[static_cast<std::size_t>(i)], count); });
  return d;
}

TEST(Cover, AnyCutsGiveTheWholeTree) {
  std::mt19937_64 random(11);
  int other_orders = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const auto count = static_cast<std::int64_t>(1 + random() % (trial % 10 == 0 ? 300 : 40));
    std::vector<std::int64_t> cuts{0, count};
    for (std::uint64_t i = random() % 9; i > 0; --i) {
      cuts.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(count + 1)));
    }
    std::sort(cuts.begin(), cuts.end());
    std::vector<LeafRange> nodes;
    float folded = 0;
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
      const auto some = cover(kTree, count * 16, {cuts[i], cuts[i + 1]});
      ASSERT_TRUE(some) << some.status().message();
      std::int64_t at = cuts[i];
      for (const LeafRange& node : *some) {
        ASSERT_EQ(node.begin, at);
        ASSERT_TRUE(is_node(node, count));
        at = node.end;
        nodes.push_back(node);
        folded += tree_over(node);
      }
      ASSERT_EQ(at, cuts[i + 1]);
    }
    const float whole = tree_over({0, count});
    ASSERT_EQ(std::bit_cast<std::uint32_t>(joined(nodes, count)),
              std::bit_cast<std::uint32_t>(whole))
        << count << " leaves";
    other_orders += folded != whole ? 1 : 0;
  }
  EXPECT_GT(other_orders, 150) << "the data does not show the order of additions";
}

TEST(Cover, HasTheFewestNodes) {
  const auto nodes = [](std::int64_t count, LeafRange range) {
    return *cover(kTree, count * 16, range);
  };
  EXPECT_EQ(nodes(8, {0, 8}), (std::vector<LeafRange>{{0, 8}}));
  EXPECT_EQ(nodes(8, {0, 3}), (std::vector<LeafRange>{{0, 2}, {2, 3}}));
  EXPECT_EQ(nodes(8, {3, 6}), (std::vector<LeafRange>{{3, 4}, {4, 6}}));
  EXPECT_EQ(nodes(5, {1, 5}), (std::vector<LeafRange>{{1, 2}, {2, 5}}));
  EXPECT_TRUE(nodes(5, {2, 2}).empty());
}

TEST(Cover, NodesAreToldFromOtherRanges) {
  // The tree over 5 leaves: [0,5) [0,2) [2,5) [2,3) [3,5) and the leaves.
  const std::vector<LeafRange> all{{0, 5}, {0, 2}, {2, 5}, {3, 5}, {0, 1},
                                   {1, 2}, {2, 3}, {3, 4}, {4, 5}};
  for (std::int64_t begin = -1; begin <= 6; ++begin) {
    for (std::int64_t end = -1; end <= 6; ++end) {
      const LeafRange range{begin, end};
      EXPECT_EQ(is_node(range, 5), std::find(all.begin(), all.end(), range) != all.end())
          << begin << " " << end;
    }
  }
}

TEST(Cover, RefusesInSentences) {
  const auto says = [](const auto& result) { return result.status().message(); };
  EXPECT_EQ(says(cover(kTree, 64, {0, 5})),
            "leaves is [0, 5): it must be a range of the 4 leaves of k = 64");
  EXPECT_EQ(says(cover(kTree, 64, {-1, 2})),
            "leaves is [-1, 2): it must be a range of the 4 leaves of k = 64");
  EXPECT_EQ(says(k_of(kTree, 64, {3, 2})),
            "leaves is [3, 2): it must be a range of the 4 leaves of k = 64");
  EXPECT_EQ(says(cover(*Contract::parse("ieee_fma/bf16/chain"), 64, {0, 1})),
            "contract is ieee_fma/bf16/chain->bf16: only a tree can be shared between ranks");
}

TEST(Cover, TheLastLeafMayBeShortAndLong) {
  EXPECT_EQ(*k_of(kTree, 70, {4, 5}), (KRange{64, 70}));
  const std::int64_t all = kTree.leaves(INT64_MAX);
  EXPECT_EQ(k_of(kTree, INT64_MAX, {all - 1, all})->end, INT64_MAX);
}

TEST(Shares, EvenOnesDifferByOneLeafAndFollowEachOther) {
  for (const std::int64_t k : {0, 1, 16, 17, 160, 1000, 4096}) {
    for (int ranks = 1; ranks <= 9; ++ranks) {
      const auto shares = Shares::even(kTree, k, ranks);
      ASSERT_TRUE(shares) << shares.status().message();
      std::int64_t at = 0, fewest = INT64_MAX, most = 0;
      for (int r = 0; r < ranks; ++r) {
        EXPECT_EQ(shares->k_range(r).begin, at);
        at = shares->k_range(r).end;
        const LeafRange leaves = shares->leaves(r);
        fewest = std::min(fewest, leaves.end - leaves.begin);
        most = std::max(most, leaves.end - leaves.begin);
      }
      EXPECT_EQ(at, k);
      EXPECT_LE(most - fewest, 1);
    }
  }
}

TEST(Shares, PowersOfTwoHaveOneNodeEach) {
  const auto shares = *Shares::even(kTree, 16 * 64, 8);
  for (int r = 0; r < 8; ++r) EXPECT_EQ(shares.cover(r).size(), 1U);
}

TEST(Shares, RefusesInSentences) {
  const auto says = [](const Contract& contract, std::vector<KRange> ranges) {
    return Shares::of(contract, 3500, ranges).status().message();
  };
  const Contract tree = *Contract::parse("hopper/bf16/tree:1792->bf16");
  EXPECT_EQ(says(tree, {{0, 3500}, {3500, 3500}}), "");
  EXPECT_EQ(says(tree, {{0, 1000}, {1000, 3500}}),
            "ranges[0] is [0, 1000): leaves are 1792 products, so the nearest cuts are 0 and 1792");
  EXPECT_EQ(says(tree, {{0, 1792}, {1800, 3500}}),
            "ranges[1] is [1800, 3500): it must begin at 1792, where the share before it ends");
  EXPECT_EQ(says(tree, {{0, 1792}}), "ranges end at 1792: they must hold all of k = 3500");
  EXPECT_EQ(says(tree, {{0, 4000}}), "ranges[0] is [0, 4000): it must end between 0 and k = 3500");
  EXPECT_EQ(says(tree, {}), "ranges has no elements: there is one per rank");
  EXPECT_EQ(
      says(*Contract::parse("hopper/bf16/chain"), {{0, 3500}}),
      "contract is hopper/bf16/chain->bf16: its sum runs through all of K in order, so give K "
      "to one rank or choose tree:LEAF");
  EXPECT_EQ(Shares::even(tree, 3500, 0).status().message(), "ranks is 0: it must be at least 1");
}

TEST(Rows, SlicesAreWholeEightsAndCoverAllRows) {
  for (std::int64_t m = 0; m < 200; ++m) {
    for (int ranks = 1; ranks <= 9; ++ranks) {
      std::int64_t at = 0;
      for (int r = 0; r < ranks; ++r) {
        const Range rows = rows_of(m, r, ranks);
        if (rows.size() == 0) continue;
        EXPECT_EQ(rows.begin, at);
        EXPECT_EQ(rows.begin % 8, 0);
        at = rows.end;
        EXPECT_LE(rows.size(), rows_of(m, 0, ranks).size());
      }
      EXPECT_EQ(at, m);
    }
  }
  EXPECT_EQ(rows_of(-1, 0, 2), (Range{0, 0}));
}

/// Slices end at multiples of 8, and the last one of these would end at 2^63.
TEST(Rows, TheLargestExtents) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t m : {kMax, kMax - 6, kMax - 7, kMax - 8}) {
    for (const int ranks : {1, 2, 7, 8, 1000}) {
      std::int64_t at = 0;
      for (int r = 0; r < ranks; ++r) {
        const Range rows = rows_of(m, r, ranks);
        EXPECT_EQ(rows.begin, at) << "m " << m << ", rank " << r << " of " << ranks;
        EXPECT_GT(rows.size(), 0);
        at = rows.end;
      }
      EXPECT_EQ(at, m);
    }
  }
}

}  // namespace
}  // namespace detgemm
