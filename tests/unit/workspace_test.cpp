// SPDX-FileCopyrightText: 2026 The detgemm authors
// SPDX-License-Identifier: Apache-2.0

#include "detgemm/workspace.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "backends/skeleton/skeleton.hpp"
#include "tests/support/problem.hpp"
#include "tests/support/scratch_backend.hpp"

// Workspaces of every size from the needed one on: what a plan says about them and what a run uses.

namespace detgemm {
namespace {

constexpr std::size_t kNeeded = 256 * Problem::m;
constexpr std::size_t kFast = 512 * Problem::m;

Plan plan_of(const Problem& p, const Backend& backend) {
  return Plan::create(backend, p.spec, p.options).value();
}

TEST(Workspace, AFastOneIsNeverSmallerThanTheNeededOne) {
  const Problem p;
  const Plan plan = plan_of(p, scratch_backend());
  EXPECT_EQ(plan.workspace_bytes(Problem::m).value(), kNeeded);
  EXPECT_EQ(plan.fast_workspace_bytes(p.operands).value(), kFast);
  EXPECT_EQ(plan.fast_workspace_bytes(Problem::m).value(), kFast);
  const std::string text = plan.describe(Problem::m);
  EXPECT_NE(text.find("workspace  1024 bytes\nfast       up to 2048 bytes\n"), std::string::npos)
      << text;
  // A backend without a faster way wants nothing more, and the text is silent about it.
  const Plan plain = plan_of(p, skeleton_backend());
  const std::size_t needed = plain.workspace_bytes(Problem::m).value();
  EXPECT_EQ(plain.fast_workspace_bytes(p.operands).value(), needed);
  EXPECT_EQ(plain.fast_workspace_bytes(Problem::m).value(), needed);
  EXPECT_EQ(plain.describe(Problem::m).find("fast "), std::string::npos);
}

TEST(Workspace, BadQuestionsAreRefusedInASentence) {
  Problem p;
  const Plan plan = plan_of(p, scratch_backend());
  const auto negative = plan.fast_workspace_bytes(-1);
  EXPECT_EQ(negative.status().code(), Errc::invalid_argument);
  EXPECT_EQ(negative.status().message(), "max_m is -1: it must not be negative");
  p.operands.a.cols = 31;
  const auto shape = plan.fast_workspace_bytes(p.operands);
  EXPECT_EQ(shape.status().code(), Errc::invalid_argument);
  EXPECT_EQ(shape.status().message(), "a is 4 x 31: it must be 4 x 32 (m x k)");
}

/// A run uses the fast size or the needed one, nothing in between, and never a byte more.
TEST(Workspace, ARunUsesWhatItSaysAndHasTheSameBits) {
  const Problem expected;
  ASSERT_TRUE(plan_of(expected, scratch_backend())
                  .run(expected.stream, expected.operands, {expected.workspace.data, kNeeded}));
  for (const std::size_t bytes : {kNeeded, kNeeded + 1, kFast - 1, kFast, kFast + 1, 2 * kFast}) {
    const Problem p;
    const std::size_t used = bytes >= kFast ? kFast : kNeeded;
    std::memset(p.workspace.data, 0x77, p.workspace.bytes);
    ASSERT_TRUE(plan_of(p, scratch_backend()).run(p.stream, p.operands, {p.workspace.data, bytes}))
        << bytes;
    const auto* scratch = static_cast<const unsigned char*>(p.workspace.data);
    for (std::size_t i = 0; i < p.workspace.bytes; ++i) {
      ASSERT_EQ(scratch[i], i < used ? 0xff : 0x77) << "byte " << i << " of " << bytes;
    }
    EXPECT_EQ(std::memcmp(p.operands.d.data, expected.operands.d.data, Problem::m * Problem::n * 4),
              0);
  }
}

/// Arrays may lie in the part of a workspace that a run does not use.
TEST(Workspace, WhatIsNotUsedMayHoldAnything) {
  Problem p;
  const Plan plan = plan_of(p, scratch_backend());
  p.operands.d.data = static_cast<char*>(p.workspace.data) + kNeeded;
  EXPECT_TRUE(plan.run(p.stream, p.operands, {p.workspace.data, kFast - 1}));
  EXPECT_FALSE(plan.run(p.stream, p.operands, {p.workspace.data, kFast}));
}

TEST(HostWorkspace, IsAlignedWholeAndReleased) {
  for (const std::size_t bytes :
       {std::size_t{1}, std::size_t{255}, std::size_t{257}, std::size_t{107008}}) {
    const auto scratch = HostWorkspace::allocate(bytes);
    ASSERT_TRUE(scratch) << scratch.status().message();
    const Workspace view = *scratch;
    EXPECT_EQ(view.bytes, bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view.data) % kWorkspaceAlignment, 0U);
    std::memset(view.data, 0x5a, bytes);  // a sanitizer finds what is too short or is not released
  }
}

TEST(HostWorkspace, MovesAndLeavesNothingBehind) {
  HostWorkspace first = *HostWorkspace::allocate(300);
  void* const memory = first.get().data;
  HostWorkspace second = std::move(first);
  EXPECT_EQ(second.get().data, memory);
  EXPECT_EQ(second.get().bytes, 300U);
  EXPECT_EQ(first.get().data, nullptr);  // NOLINT: what a moved one says is the point
  EXPECT_EQ(first.get().bytes, 0U);
  first = std::move(second);
  EXPECT_EQ(first.get().data, memory);
  const auto empty = HostWorkspace::allocate(0);
  ASSERT_TRUE(empty);
  EXPECT_EQ(empty->get().data, nullptr);
  EXPECT_EQ(HostWorkspace().get().bytes, 0U);
}

TEST(HostWorkspace, TooMuchIsRefusedInASentence) {
  const auto much = HostWorkspace::allocate(SIZE_MAX);
  EXPECT_EQ(much.status().code(), Errc::internal);
  EXPECT_EQ(much.status().message(),
            "host memory is exhausted: " + std::to_string(SIZE_MAX) + " bytes requested");
}

TEST(HostWorkspace, IsWhatAPlanNeeds) {
  const Problem p;
  const Plan plan = plan_of(p, scratch_backend());
  EXPECT_FALSE(plan.run(p.stream, p.operands));
  EXPECT_FALSE(plan.run(p.stream, p.operands, *HostWorkspace::allocate(kNeeded - 1)));
  EXPECT_TRUE(plan.run(p.stream, p.operands, *HostWorkspace::allocate(kNeeded)));
}

}  // namespace
}  // namespace detgemm
