// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

// The leaf walk against the tree's recursive definition.

#include "core/contract/reduction.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/arithmetic/host_device.hpp"

namespace detgemm {
namespace {

/// The definition: a range of leaves splits at lo + (hi - lo) / 2.
std::string by_definition(std::int64_t lo, std::int64_t hi) {
  if (hi - lo == 1) return std::to_string(lo);
  const std::int64_t mid = lo + (hi - lo) / 2;
  return "(" + by_definition(lo, mid) + "+" + by_definition(mid, hi) + ")";
}

TEST(TreeWalk, ClosesTheNodesOfTheRecursiveTree) {
  for (std::int64_t count = 1; count <= 300; ++count) {
    std::vector<std::string> stack;
    std::size_t deepest = 0;
    for (std::int64_t leaf = 0; leaf < count; ++leaf) {
      std::string value = std::to_string(leaf);
      deepest = std::max(deepest, stack.size() + 1);
      for (int closed = nodes_closed_by(leaf, count); closed > 0; --closed) {
        ASSERT_FALSE(stack.empty()) << count << " leaves, leaf " << leaf;
        value = "(" + stack.back() + "+" + value + ")";
        stack.pop_back();
      }
      stack.push_back(value);
    }
    ASSERT_EQ(stack.size(), 1U) << count << " leaves";
    EXPECT_EQ(stack[0], by_definition(0, count));
    EXPECT_LE(deepest, static_cast<std::size_t>(tree_stack_size(count))) << count << " leaves";
  }
}

TEST(TreeWalk, StackIsBoundedForAnyCount) {
  EXPECT_EQ(tree_stack_size(1), 1);
  EXPECT_EQ(tree_stack_size(2), 2);
  EXPECT_EQ(tree_stack_size(300), 10);
  EXPECT_LE(tree_stack_size(INT64_MAX), kMaxTreeDepth);
  EXPECT_EQ(nodes_closed_by(INT64_MAX - 1, INT64_MAX), 63);
  EXPECT_EQ(nodes_closed_by(0, INT64_MAX), 0);
}

/// reduce_leaves over leaves whose sums tell the order: 2^24 + 1 + 1 differs from 2^24 + (1 + 1).
float reduced(ReductionKind kind, std::vector<float> leaves, float start = 0.0F) {
  const auto leaf = [&](std::int64_t begin, std::int64_t, float) {
    return leaves[static_cast<std::size_t>(begin)];
  };
  return reduce_leaves({kind, 1}, static_cast<std::int64_t>(leaves.size()), start, leaf);
}

TEST(Reduce, FoldGoesLeftAndTreeSplitsAtTheMiddle) {
  constexpr float big = 16777216.0F;
  EXPECT_EQ(reduced(ReductionKind::fold, {big, 1, 1, 0}), big);
  EXPECT_EQ(reduced(ReductionKind::tree, {big, 1, 1, 0}), big);   // (big+1) + (1+0)
  EXPECT_EQ(reduced(ReductionKind::tree, {big, 1, 1}), big + 2);  // big + (1+1)
  EXPECT_EQ(reduced(ReductionKind::fold, {1, 1, big}), big + 2);  // ((0+1)+1) + big
  EXPECT_EQ(reduced(ReductionKind::fold, {1, 1}, big), big);      // (C+1) + 1
}

TEST(Reduce, NoProductsGiveTheStart) {
  const auto never = [](std::int64_t, std::int64_t, float) -> float {
    ADD_FAILURE() << "there is no leaf";
    return 1.0F;
  };
  for (ReductionKind kind : {ReductionKind::chain, ReductionKind::fold, ReductionKind::tree}) {
    const float none = reduce_leaves({kind, 1}, 0, 0.0F, never);
    EXPECT_EQ(arithmetic::bits_of(none), 0U);
    EXPECT_EQ(reduce_leaves({kind, 1}, 0, 3.5F, never), 3.5F);
  }
}

}  // namespace
}  // namespace detgemm
